from .bag_of_words import BagOfWordsClassifier as BagOfWordsClassifier
from .black_box import BlackBoxClassifier as BlackBoxClassifier
from .contract import (
    Evidence as Evidence,
    Rival as Rival,
    RivalExplanation as RivalExplanation,
)
from .prosenet import (
    DocumentPrototype as DocumentPrototype,
    ProSeNetClassifier as ProSeNetClassifier,
)
from .protoattend import ProtoAttendClassifier as ProtoAttendClassifier
from .substitutes import (
    SUBSTITUTES as SUBSTITUTES,
    SubstituteClassifier as SubstituteClassifier,
    fit_substitutes as fit_substitutes,
    substitute_predictions as substitute_predictions,
)
from .transformer_classifier import TransformerClassifier as TransformerClassifier
from .vanilla_lstm import VanillaLSTMClassifier as VanillaLSTMClassifier
