from .classifier import (
    NotFittedError as NotFittedError,
    ProtoryNetClassifier as ProtoryNetClassifier,
)
from .data import read_table as read_table
from .errors import ProtoryNetError as ProtoryNetError
from .explain import Evaluation as Evaluation, Explanation as Explanation
from .prototypes import Prototype as Prototype, Prototypes as Prototypes
from .settings import Settings as Settings

__version__: str
