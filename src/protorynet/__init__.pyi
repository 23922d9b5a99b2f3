from .classifier import NotFittedError as NotFittedError
from .classifier import ProtoryNetClassifier as ProtoryNetClassifier
from .data import read_table as read_table
from .errors import ProtoryNetError as ProtoryNetError
from .explain import Evaluation as Evaluation
from .explain import Explanation as Explanation
from .prototypes import Prototype as Prototype
from .prototypes import Prototypes as Prototypes
from .settings import Settings as Settings

__version__: str
