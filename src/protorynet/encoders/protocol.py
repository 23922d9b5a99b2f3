"""What an encoder has to offer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Encoder", "WindowedEncoder"]


@runtime_checkable
class Encoder(Protocol):
    """The whole contract a user's own encoder must meet.

    Plain attributes serve as well as properties.

    Examples
    --------
    >>> class LengthEncoder:
    ...     name = "length"
    ...     fingerprint = "length-1"
    ...
    ...     def encode(self, sentences):
    ...         return np.array([[len(text)] for text in sentences], dtype=np.float32)
    >>> isinstance(LengthEncoder(), Encoder)
    True
    """

    @property
    def name(self) -> str:
        """What people call the encoder, and what `load_encoder` may find it by."""

    @property
    def fingerprint(self) -> str:
        """A text that changes whenever the vectors would change."""

    def encode(self, sentences: list[str]) -> NDArray[np.float32]:
        """Return one row per sentence, each of the same width."""


@runtime_checkable
class WindowedEncoder(Encoder, Protocol):
    """An encoder that knows how much text it can read at once."""

    @property
    def window(self) -> int:
        """The most tokens read of one sentence, special tokens included."""

    def count_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of tokens of each text, special tokens included."""
