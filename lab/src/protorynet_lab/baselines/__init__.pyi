from .bag_of_words import BagOfWordsClassifier as BagOfWordsClassifier
from .black_box import BlackBoxClassifier as BlackBoxClassifier
from .contract import (
    Evidence as Evidence,
)
from .contract import (
    Rival as Rival,
)
from .contract import (
    RivalExplanation as RivalExplanation,
)
from .prosenet import (
    DocumentPrototype as DocumentPrototype,
)
from .prosenet import (
    ProSeNetClassifier as ProSeNetClassifier,
)
from .protoattend import ProtoAttendClassifier as ProtoAttendClassifier
from .substitutes import (
    SUBSTITUTES as SUBSTITUTES,
)
from .substitutes import (
    SubstituteClassifier as SubstituteClassifier,
)
from .substitutes import (
    fit_substitutes as fit_substitutes,
)
from .substitutes import (
    substitute_predictions as substitute_predictions,
)
from .transformer_classifier import TransformerClassifier as TransformerClassifier
from .vanilla_lstm import VanillaLSTMClassifier as VanillaLSTMClassifier
