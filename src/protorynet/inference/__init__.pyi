from .exporting import Comparison as Comparison, compare as compare, export_onnx as export_onnx
from .onnx_backend import (
    EncoderPart as EncoderPart,
    Exported as Exported,
    OnnxBackend as OnnxBackend,
    is_exported as is_exported,
    read_exported as read_exported,
)
from .part_store import Part as Part, PartFolder as PartFolder, PartStore as PartStore
from .predictor import (
    Backend as Backend,
    Predictor as Predictor,
    Runtime as Runtime,
    TorchBackend as TorchBackend,
    column_texts as column_texts,
    open_model as open_model,
    open_predictor as open_predictor,
    torch_model as torch_model,
)
from .ray_cluster import (
    encode_with_ray as encode_with_ray,
    error_of as error_of,
    load_same_encoder as load_same_encoder,
    ray_session as ray_session,
    start_here as start_here,
)
from .ray_prediction import predict_with_ray as predict_with_ray
from .running import (
    Written as Written,
    predict_to_file as predict_to_file,
    predict_to_stream as predict_to_stream,
)
from .table_writers import (
    ENDINGS as ENDINGS,
    check_columns as check_columns,
    values as values,
    writer_for as writer_for,
)
