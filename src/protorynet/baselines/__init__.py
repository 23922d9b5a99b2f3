"""What ProtoryNet is measured against, all behind one contract: `Rival`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protorynet.lazy import lazy_names

if TYPE_CHECKING:
    from protorynet.baselines.bag_of_words import BagOfWordsClassifier
    from protorynet.baselines.black_box import BlackBoxClassifier
    from protorynet.baselines.contract import Evidence, Rival, RivalExplanation
    from protorynet.baselines.prosenet import DocumentPrototype, ProSeNetClassifier
    from protorynet.baselines.protoattend import ProtoAttendClassifier
    from protorynet.baselines.substitutes import SubstituteClassifier
    from protorynet.baselines.transformer_classifier import TransformerClassifier
    from protorynet.baselines.vanilla_lstm import VanillaLSTMClassifier

__all__ = [
    "BagOfWordsClassifier",
    "BlackBoxClassifier",
    "DocumentPrototype",
    "Evidence",
    "ProSeNetClassifier",
    "ProtoAttendClassifier",
    "Rival",
    "RivalExplanation",
    "SubstituteClassifier",
    "TransformerClassifier",
    "VanillaLSTMClassifier",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "bag_of_words": "BagOfWordsClassifier",
        "black_box": "BlackBoxClassifier",
        "contract": "Evidence Rival RivalExplanation",
        "prosenet": "DocumentPrototype ProSeNetClassifier",
        "protoattend": "ProtoAttendClassifier",
        "substitutes": "SubstituteClassifier",
        "transformer_classifier": "TransformerClassifier",
        "vanilla_lstm": "VanillaLSTMClassifier",
    },
)
