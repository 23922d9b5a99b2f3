"""Sentence encoders behind one protocol, and the cache of what they computed."""

from typing import TYPE_CHECKING, Any

from protorynet.encoders.cache import EmbeddingCache
from protorynet.encoders.corpus import encode_corpus
from protorynet.encoders.embeddings import Embeddings
from protorynet.encoders.precomputed import stack_sequences
from protorynet.encoders.protocol import Encoder, WindowedEncoder
from protorynet.encoders.registry import load_encoder

if TYPE_CHECKING:
    from protorynet.encoders.loading import choose_device
    from protorynet.encoders.transformer import TransformerEncoder

__all__ = [
    "EmbeddingCache",
    "Embeddings",
    "Encoder",
    "TransformerEncoder",
    "WindowedEncoder",
    "choose_device",
    "encode_corpus",
    "load_encoder",
    "stack_sequences",
]


def __getattr__(name: str) -> Any:
    # torch takes seconds to import, so it waits until somebody asks for the class.
    if name == "TransformerEncoder":
        from protorynet.encoders.transformer import TransformerEncoder

        return TransformerEncoder
    if name == "choose_device":
        from protorynet.encoders.loading import choose_device

        return choose_device
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
