"""Sentence encoders behind one protocol, and the cache of what they computed."""

from typing import TYPE_CHECKING, Any

from protorynet.encoders.cache import EmbeddingCache
from protorynet.encoders.corpus import encode_corpus
from protorynet.encoders.embeddings import Embeddings
from protorynet.encoders.precomputed import stack_sequences
from protorynet.encoders.protocol import Encoder, WindowedEncoder
from protorynet.encoders.registry import load_encoder
from protorynet.encoders.variants import EncoderChoice, choose_encoder, split_variant

if TYPE_CHECKING:
    from protorynet.encoders.loading import choose_device
    from protorynet.encoders.speed import ListedEncoder, list_encoders
    from protorynet.encoders.static import StaticEncoder
    from protorynet.encoders.transformer import TransformerEncoder

__all__ = [
    "EmbeddingCache",
    "Embeddings",
    "Encoder",
    "EncoderChoice",
    "ListedEncoder",
    "StaticEncoder",
    "TransformerEncoder",
    "WindowedEncoder",
    "choose_device",
    "choose_encoder",
    "encode_corpus",
    "list_encoders",
    "load_encoder",
    "split_variant",
    "stack_sequences",
]


def __getattr__(name: str) -> Any:
    # torch takes seconds to import, so it waits until somebody asks for the class.
    if name == "TransformerEncoder":
        from protorynet.encoders.transformer import TransformerEncoder

        return TransformerEncoder
    if name == "StaticEncoder":
        from protorynet.encoders.static import StaticEncoder

        return StaticEncoder
    if name == "choose_device":
        from protorynet.encoders.loading import choose_device

        return choose_device
    if name in ("ListedEncoder", "list_encoders"):
        from protorynet.encoders import speed

        return getattr(speed, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
