"""Faster forms of a transformer encoder, asked for by a suffix of its name."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protorynet.encoders.embedding_cache import EmbeddingCache, keep_file, read_kept
from protorynet.encoders.embeddings import Encoder
from protorynet.encoders.encoder_folder import hash_recipe
from protorynet.errors import EncoderError, MissingExtraError, ModelFormatError

if TYPE_CHECKING:
    from protorynet.encoders.onnx_encoder import OnnxEncoder
    from protorynet.encoders.transformer_encoder import TransformerEncoder

VARIANTS = {
    "bf16": "weights and activations in 16 bits",
    "int8": "weights and activations in 8 bits, in ONNX Runtime",
    "static": "the mean of one vector per token",
}
# Raised with every change of what is computed.
RECIPE_VERSIONS = {"bf16": 1, "int8": 1}
# Only Linux tells what a processor can do without further packages.
CPU_DESCRIPTION = Path("/proc/cpuinfo")
_BFLOAT16 = {"avx512_bf16", "amx_bf16", "bf16"}
_BYTE_PRODUCTS = {"avx512_vnni", "avx_vnni", "amx_int8", "asimddp", "i8mm"}


@dataclass(frozen=True)
class EncoderChoice:
    """The encoder that ``"auto"`` stands for on this machine, and why."""

    name: str
    reason: str


def choose_encoder(device: str = "auto") -> EncoderChoice:
    """Return what ``"auto"`` stands for: the fastest form whose accuracy is that of float32.

    It follows from the machine, not from timing.
    """
    if _has_bfloat16(device):
        return EncoderChoice(
            "minilm:bf16", "bfloat16 is faster here, and as accurate as float32 but for noise"
        )
    if not _processor_flags():
        return EncoderChoice("minilm", "what this processor can do is known on Linux only")
    return EncoderChoice("minilm", "there are no instructions for bfloat16 here")


def suit_machine(name: str, device: str) -> str:
    """Return the form of an encoder to read a model with: float32 where bfloat16 would be slow."""
    base, variant = split_variant(name)
    return base if variant == "bf16" and not _has_bfloat16(device) else name


def _has_bfloat16(device: str) -> bool:
    import torch

    from protorynet.encoders.transformer_encoder import choose_device

    target = choose_device(device)
    if target.type == "cuda":
        return torch.cuda.get_device_capability(target) >= (8, 0)
    return target.type == "cpu" and bool(_processor_flags() & _BFLOAT16)


def split_variant(spec: str) -> tuple[str, str | None]:
    """Return the name of an encoder and its variant, None where the name ends in none."""
    name, colon, suffix = spec.rpartition(":")
    return (name, suffix) if colon and name and suffix in VARIANTS else (spec, None)


def make_variant(teacher: TransformerEncoder, variant: str) -> Encoder:
    """Return one of `VARIANTS` of an encoder, which must not be used any more itself."""
    name = f"{teacher.name}:{variant}"
    if variant == "bf16":
        return Bfloat16Encoder(teacher, name=name)
    if variant == "int8":
        return _make_int8(teacher, name)
    from protorynet.encoders.static_encoder import make_static

    return make_static(teacher)


def is_form_of(encoder: Encoder, fingerprint: str) -> bool:
    """Say whether an encoder is the one of a fingerprint, perhaps in another precision."""
    plain = getattr(encoder, "plain_fingerprint", encoder.fingerprint)
    forms = (hash_recipe([plain, *recipe]) for recipe in RECIPE_VERSIONS.items())
    return fingerprint in {plain, *forms}


class Bfloat16Encoder:
    """A transformer computed in bfloat16; its token vectors are pooled in float32.

    The teacher, in float32, is changed and must not be used any more itself.
    """

    def __init__(self, teacher: TransformerEncoder, *, name: str) -> None:
        self.name = name
        self.plain_fingerprint = teacher.fingerprint
        self.fingerprint = _fingerprint(teacher, "bf16")
        self.dimension, self.window = teacher.dimension, teacher.window
        self.source, self.tokenizer = teacher.source, teacher.tokenizer
        network: Any = teacher.network
        if _processor_flags() and not _has_bfloat16(str(next(network.parameters()).device)):
            _warn(
                f"this processor has no bfloat16 instructions, so {name!r} is slower here than "
                f"{teacher.name!r}"
            )
        network.backbone.bfloat16().register_forward_hook(_widen)
        self.teacher = teacher

    @property
    def is_on_gpu(self) -> bool:
        """Whether other work can be done while it encodes."""
        return self.teacher.is_on_gpu

    def encode(self, sentences: list[str]) -> NDArray[np.float32]:
        """Return one vector per sentence; what lies beyond the window is not read."""
        return self.teacher.encode(sentences)

    def count_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of tokens of each text, special tokens included, nothing cut."""
        return self.teacher.count_tokens(texts)


def _widen(backbone: Any, given: Any, output: Any) -> None:
    """Hand the token vectors to the pooling in float32."""
    output.last_hidden_state = output.last_hidden_state.float()


def _make_int8(teacher: TransformerEncoder, name: str) -> OnnxEncoder:
    """Return an encoder in 8 bits; its graph is made once and kept beside the embeddings."""
    from protorynet.encoders.onnx_encoder import OnnxEncoder

    flags = _processor_flags()
    if flags and not flags & _BYTE_PRODUCTS:
        _warn(
            f"this processor has no instructions for products of 8-bit numbers, so {name!r} is "
            "slower here and less exact, for large sums overflow"
        )
    path = _kept_graph(teacher)
    fingerprint, plain = _fingerprint(teacher, "int8"), teacher.fingerprint

    def open_graph(graph: bytes) -> OnnxEncoder:
        encoder = OnnxEncoder(
            graph, teacher.tokenizer, name=name, fingerprint=fingerprint, source=path
        )
        encoder.plain_fingerprint = plain
        return encoder

    if (kept := read_kept(path)) is not None:
        # One that this machine cannot open is made again.
        with contextlib.suppress(ModelFormatError):
            return open_graph(kept)
    return open_graph(_write_graph(teacher, path))


def _kept_graph(teacher: TransformerEncoder) -> Path:
    try:
        import onnxruntime
        import torch
    except ImportError:
        raise MissingExtraError("An encoder in 8 bits", "onnxruntime", extra="onnx") from None
    # Another exporter may draw another graph, and another runtime may not open it.
    version = RECIPE_VERSIONS["int8"]
    facts = [teacher.fingerprint, version, torch.__version__, onnxruntime.__version__]
    return EmbeddingCache().folder / "int8" / f"{hash_recipe(facts)[:32]}.onnx"


def _write_graph(teacher: TransformerEncoder, path: Path) -> bytes:
    from protorynet.encoders.onnx_encoder import export_encoder, quantise

    with TemporaryDirectory() as folder:
        whole, small = Path(folder) / "float32.onnx", Path(folder) / "int8.onnx"
        export_encoder(teacher.network, whole)
        quantise(whole, small)
        graph = small.read_bytes()
    try:
        keep_file(path, graph)
    except OSError as error:
        raise EncoderError(
            f"the encoder {teacher.name!r} in 8 bits cannot be kept at {path} ({error}); set the "
            "environment variable PROTORYNET_CACHE to a folder with room."
        ) from None
    return graph


def _fingerprint(teacher: TransformerEncoder, variant: str) -> str:
    return hash_recipe([teacher.fingerprint, variant, RECIPE_VERSIONS[variant]])


def _processor_flags() -> set[str]:
    """Return the names of the processor's instructions; empty where they are not known."""
    try:
        description = CPU_DESCRIPTION.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return set()
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", description, re.MULTILINE)
    return set(found[1].split()) if found else set()


def _warn(message: str) -> None:
    remedy = "`protorynet encoders` tells which is fastest."
    warnings.warn(f"{message}; {remedy}", RuntimeWarning, stacklevel=3)
