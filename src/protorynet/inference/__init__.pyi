from .batch import (
    BatchScorer as BatchScorer,
)
from .batch import (
    prediction_names as prediction_names,
)
from .export_comparing import (
    Comparison as Comparison,
)
from .export_comparing import (
    compare as compare,
)
from .onnx_exported import (
    EncoderPart as EncoderPart,
)
from .onnx_exported import (
    Exported as Exported,
)
from .onnx_exported import (
    read_exported as read_exported,
)
from .onnx_folder import export_onnx as export_onnx
from .onnx_reader import (
    OnnxReader as OnnxReader,
)
from .onnx_reader import (
    Reading as Reading,
)
from .onnx_scorer import OnnxScorer as OnnxScorer
from .opening import (
    Runtime as Runtime,
)
from .opening import (
    is_exported as is_exported,
)
from .opening import (
    model_digest as model_digest,
)
from .opening import (
    open_exported as open_exported,
)
from .opening import (
    open_scorer as open_scorer,
)
from .parts import PartsFolder as PartsFolder
from .ray_cluster import ray_session as ray_session
from .ray_encoding import encode_with_ray as encode_with_ray
from .ray_predicting import predict_with_ray as predict_with_ray
from .ray_training import fit_with_ray as fit_with_ray
from .running import (
    Written as Written,
)
from .running import (
    predict_to_file as predict_to_file,
)
from .running import (
    predict_to_stream as predict_to_stream,
)
from .scores import (
    ClassifierScorer as ClassifierScorer,
)
from .scores import (
    Scorer as Scorer,
)
from .scores import (
    Scores as Scores,
)
from .writing import (
    ENDINGS as ENDINGS,
)
from .writing import (
    check_columns as check_columns,
)
