"""Faster forms of a transformer encoder, asked for by a suffix of its name."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protorynet.encoders.processor import has_bfloat16, has_byte_products, is_known
from protorynet.encoders.protocol import Encoder

if TYPE_CHECKING:
    from protorynet.encoders.transformer import TransformerEncoder

__all__ = [
    "AUTO",
    "VARIANTS",
    "Bfloat16Encoder",
    "EncoderChoice",
    "choose_encoder",
    "make_variant",
    "split_variant",
]

AUTO = "auto"

VARIANTS = {
    "bf16": "weights and activations in 16 bits",
    "int8": "weights and activations in 8 bits, in ONNX Runtime",
    "static": "the mean of one vector per token",
}
_BFLOAT16_RECIPE = 1


@dataclass(frozen=True)
class EncoderChoice:
    """The encoder that ``"auto"`` stands for on this machine, and why."""

    name: str
    reason: str


def choose_encoder(device: str = "auto") -> EncoderChoice:
    """Return what ``"auto"`` stands for: it follows from the machine alone, not from timing.

    Parameters
    ----------
    device
        Where the encoder is to compute.

    Examples
    --------
    >>> choose_encoder("cpu").name.startswith("minilm")
    True
    """
    from protorynet.encoders.loading import choose_device

    if choose_device(device).type != "cpu":
        return EncoderChoice("minilm", "a GPU is fast enough for float32")
    if has_bfloat16():
        return EncoderChoice(
            "minilm:bf16", "the processor has bfloat16 instructions, and 16 bits lose less than 8"
        )
    if not is_known():
        return EncoderChoice("minilm", "what this processor can do is told on Linux only")
    if not has_byte_products():
        return EncoderChoice(
            "minilm", "the processor has instructions neither for bfloat16 nor for int8"
        )
    if any(importlib.util.find_spec(package) is None for package in ("onnx", "onnxruntime")):
        remedy = "pip install 'protorynet[onnx]' would make it several times as fast"
        return EncoderChoice("minilm", f"ONNX Runtime is not installed; {remedy}")
    return EncoderChoice(
        "minilm:int8", "the processor has instructions for int8, but not for bfloat16"
    )


def split_variant(spec: str) -> tuple[str, str | None]:
    """Return the name of an encoder and its variant, None where the name ends in none.

    Examples
    --------
    >>> split_variant("minilm:bf16"), split_variant("minilm")
    (('minilm', 'bf16'), ('minilm', None))
    """
    name, colon, suffix = spec.rpartition(":")
    return (name, suffix) if colon and name and suffix in VARIANTS else (spec, None)


def make_variant(teacher: TransformerEncoder, variant: str) -> Encoder:
    """Return a variant of an encoder, which must not be used any more itself.

    Parameters
    ----------
    teacher
        The encoder in float32.
    variant
        One of `VARIANTS`.
    """
    name = f"{teacher.name}:{variant}"
    if variant == "bf16":
        return Bfloat16Encoder(teacher, name=name)
    if variant == "int8":
        from protorynet.encoders.quantising import quantised_encoder

        if is_known() and not has_byte_products():
            _warn(
                f"this processor has no instructions for products of 8-bit numbers, so {name!r} is "
                "slower here and less exact, for large sums overflow"
            )
        return quantised_encoder(teacher, name=name)
    from protorynet.encoders.static_cache import static_encoder

    return static_encoder(teacher, name=name, progress=True)


class Bfloat16Encoder:
    """A transformer computed in bfloat16; its token vectors are pooled in float32.

    Parameters
    ----------
    teacher
        The encoder in float32; it is changed and must not be used any more itself.
    name
        What people call the encoder in bfloat16.

    Attributes
    ----------
    fingerprint
        A text that changes whenever the vectors would change.
    dimension, window
        Components of an embedding; most tokens read of one text.
    source
        The file of the weights as they were loaded.
    teacher
        The encoder that computes, in bfloat16 now.

    Examples
    --------
    >>> from protorynet.encoders import load_encoder
    >>> load_encoder("minilm:bf16").encode(["A fine hotel."]).shape
    (1, 384)
    """

    def __init__(self, teacher: TransformerEncoder, *, name: str) -> None:
        recipe = json.dumps([teacher.fingerprint, "bf16", _BFLOAT16_RECIPE])
        self.name = name
        self.fingerprint = hashlib.sha256(recipe.encode()).hexdigest()
        self.dimension, self.window = teacher.dimension, teacher.window
        self.source = teacher.source
        network: Any = teacher.network
        if next(network.parameters()).device.type == "cpu" and is_known() and not has_bfloat16():
            _warn(
                f"this processor has no bfloat16 instructions, so {name!r} is slower here than "
                f"{teacher.name!r}"
            )
        network.backbone.bfloat16().register_forward_hook(_widen)
        self.teacher = teacher

    def encode(self, sentences: list[str]) -> NDArray[np.float32]:
        """Return one row per sentence; what lies beyond the window is not read."""
        return self.teacher.encode(sentences)

    def count_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of tokens of each text, special tokens included, nothing cut."""
        return self.teacher.count_tokens(texts)


def _warn(message: str) -> None:
    remedy = "`protorynet encoders` tells which is fastest."
    warnings.warn(f"{message}; {remedy}", RuntimeWarning, stacklevel=3)


def _widen(backbone: Any, given: Any, output: Any) -> None:
    """Hand the token vectors to the pooling in float32."""
    output.last_hidden_state = output.last_hidden_state.float()
