from .embedding_cache import EmbeddingCache as EmbeddingCache
from .embeddings import (
    Embeddings as Embeddings,
    Encoder as Encoder,
    TokenEncoder as TokenEncoder,
    WindowedEncoder as WindowedEncoder,
    encode_corpus as encode_corpus,
    stack_sequences as stack_sequences,
)
from .encoder_folder import file_sha256 as file_sha256, first_line as first_line
from .encoder_variants import (
    VARIANTS as VARIANTS,
    Bfloat16Encoder as Bfloat16Encoder,
    EncoderChoice as EncoderChoice,
    StaticEncoder as StaticEncoder,
    choose_encoder as choose_encoder,
    is_form_of as is_form_of,
    make_variant as make_variant,
    split_variant as split_variant,
    suit_machine as suit_machine,
)
from .onnx_encoder import (
    OnnxEncoder as OnnxEncoder,
    export_encoder as export_encoder,
    export_graph as export_graph,
    export_int8 as export_int8,
    open_session as open_session,
    run_session as run_session,
)
from .registry import (
    ListedEncoder as ListedEncoder,
    hub_name as hub_name,
    list_encoders as list_encoders,
    load_encoder as load_encoder,
)
from .sentence_network import Rows as Rows, SentenceNetwork as SentenceNetwork
from .sentence_tokenizer import (
    SentenceTokenizer as SentenceTokenizer,
    Tokens as Tokens,
    parse_tokenizer as parse_tokenizer,
)
from .transformer_encoder import (
    TransformerEncoder as TransformerEncoder,
    choose_device as choose_device,
)
