from .cache import EmbeddingCache as EmbeddingCache
from .corpus import encode_corpus as encode_corpus
from .embeddings import Embeddings as Embeddings
from .folder import (
    file_sha256 as file_sha256,
    first_line as first_line,
)
from .loading import choose_device as choose_device
from .onnx_encoder import (
    OnnxEncoder as OnnxEncoder,
    open_session as open_session,
    run_session as run_session,
)
from .onnx_graph import export_encoder as export_encoder
from .pooling import SentenceNetwork as SentenceNetwork
from .precomputed import stack_sequences as stack_sequences
from .protocol import (
    Encoder as Encoder,
    WindowedEncoder as WindowedEncoder,
)
from .quantising import quantise as quantise
from .registry import load_encoder as load_encoder
from .speed import (
    ListedEncoder as ListedEncoder,
    list_encoders as list_encoders,
)
from .static import StaticEncoder as StaticEncoder
from .tokenizer_folder import parse_tokenizer as parse_tokenizer
from .tokens import SentenceTokenizer as SentenceTokenizer
from .transformer import TransformerEncoder as TransformerEncoder
from .variants import (
    VARIANTS as VARIANTS,
    Bfloat16Encoder as Bfloat16Encoder,
    EncoderChoice as EncoderChoice,
    choose_encoder as choose_encoder,
    split_variant as split_variant,
)
