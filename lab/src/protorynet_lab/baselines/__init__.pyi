from .bag_of_words import BagOfWordsClassifier as BagOfWordsClassifier
from .prosenet import (
    DocumentPrototype as DocumentPrototype,
    ProSeNetClassifier as ProSeNetClassifier,
)
from .protoattend import ProtoAttendClassifier as ProtoAttendClassifier
from .rival_base import Evidence as Evidence, Rival as Rival, RivalExplanation as RivalExplanation
from .sentence_rivals import BlackBoxClassifier as BlackBoxClassifier
from .sequence_rivals import VanillaLSTMClassifier as VanillaLSTMClassifier
from .substitutes import (
    SUBSTITUTES as SUBSTITUTES,
    SubstituteClassifier as SubstituteClassifier,
    fit_substitutes as fit_substitutes,
    substitute_predictions as substitute_predictions,
)
from .transformer_rival import TransformerClassifier as TransformerClassifier
