"""Faster forms of a transformer encoder, asked for by a suffix of its name.

The static one has no network: a sentence is the mean of its tokens' vectors, distilled by a recipe
that was chosen on held-out parts of training splits (docs/static-encoder.md). Each token is
described twice: by the embedding of the token alone, which knows what the transformer was trained
for, and by the transformer's input vector, which kept more of the sentiment. Their leading
principal components, times the logarithm of the token's rank, make the token's vector:
vocabularies are ordered by frequency, and frequent tokens say little. Only distilling needs torch.
"""

from __future__ import annotations

import faulthandler
import os
import re
import warnings
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protorynet.encoders.embedding_cache import EmbeddingCache, make_once, read_kept
from protorynet.encoders.embeddings import Encoder
from protorynet.encoders.encoder_folder import hash_recipe
from protorynet.encoders.sentence_tokenizer import SentenceTokenizer, Tokens
from protorynet.errors import EncoderError, import_extra
from protorynet.progress import progress_bar

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
_STATIC_VERSION, MOST_COMPONENTS = 1, 384
TOKENS_PER_BATCH = 1_024
# Only Linux tells what a processor can do without further packages.
CPU_DESCRIPTION = Path("/proc/cpuinfo")
_BFLOAT16 = {"avx512_bf16", "amx_bf16", "bf16"}
_ISA, _WITHOUT_AMX = "ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16"
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
    claimed = target.type == "cpu" and bool(_processor_flags() & _BFLOAT16)
    return claimed and is_bfloat16_safe()


@cache
def is_bfloat16_safe() -> bool:
    """Say whether the processor runs the instructions for bfloat16 that it names.

    Some virtual machines name AMX, and a process that uses it dies. So a child process tries it;
    where that dies, this one does without, if it has not multiplied matrices already.
    """
    if "amx_bf16" not in _processor_flags() or _survives_bfloat16():
        return True
    os.environ[_ISA] = _WITHOUT_AMX
    return False


def _survives_bfloat16() -> bool:
    import torch

    one = torch.ones(32, 32, dtype=torch.bfloat16)
    with warnings.catch_warnings():
        # Python warns of a child without the parent's threads: this one multiplies and is gone.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            faulthandler.disable()
            torch.set_num_threads(1)
            torch.nn.functional.linear(one, one)
        finally:
            os._exit(0)
    return os.WIFEXITED(os.waitpid(child, 0)[1])


def split_variant(spec: str) -> tuple[str, str | None]:
    """Return the name of an encoder and its variant, None where the name ends in none."""
    name, colon, suffix = spec.rpartition(":")
    return (name, suffix) if colon and name and suffix in VARIANTS else (spec, None)


def make_variant(teacher: TransformerEncoder, variant: str) -> Encoder:
    """Return one of `VARIANTS` of an encoder, which must not be used any more itself."""
    name = f"{teacher.name}:{variant}"
    if variant == "bf16":
        return Bfloat16Encoder(teacher, name=name)
    return _make_int8(teacher, name) if variant == "int8" else make_static(teacher)


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
        self.encode, self.count_tokens = teacher.encode, teacher.count_tokens
        self.tokenize, self.encode_tokens = teacher.tokenize, teacher.encode_tokens
        self.is_on_gpu = teacher.is_on_gpu
        network: Any = teacher.network
        if not (teacher.is_on_gpu or is_bfloat16_safe() or _survives_bfloat16()):
            raise EncoderError(
                f"{name!r} cannot be computed here: the processor names AMX instructions that it "
                f"does not run. Take {teacher.name!r}, or set the environment variable "
                f"{_ISA}={_WITHOUT_AMX} before Python starts."
            )
        if _processor_flags() and not _has_bfloat16(str(next(network.parameters()).device)):
            _warn(
                f"this processor has no bfloat16 instructions, so {name!r} is slower here than "
                f"{teacher.name!r}"
            )
        network.backbone.bfloat16().register_forward_hook(_widen)
        self.teacher = teacher


def _widen(backbone: Any, given: Any, output: Any) -> None:
    """Hand the token vectors to the pooling in float32."""
    output.last_hidden_state = output.last_hidden_state.float()


def _make_int8(teacher: TransformerEncoder, name: str) -> OnnxEncoder:
    """Return an encoder in 8 bits; its graph is made once and kept beside the embeddings."""
    import torch

    from protorynet.encoders.onnx_encoder import OnnxEncoder

    flags = _processor_flags()
    if flags and not flags & _BYTE_PRODUCTS:
        _warn(
            f"this processor has no instructions for products of 8-bit numbers, so {name!r} is "
            "slower here and less exact, for large sums overflow"
        )
    onnxruntime = import_extra("An encoder in 8 bits", "onnxruntime", extra="onnx")
    # Another exporter may draw another graph, and another runtime may not open it.
    versions = [RECIPE_VERSIONS["int8"], torch.__version__, onnxruntime.__version__]
    file = f"{hash_recipe([teacher.fingerprint, *versions])[:32]}.onnx"
    path = EmbeddingCache().folder / "int8" / file
    graph, fingerprint = make_once(path, partial(_quantise, teacher)), _fingerprint(teacher, "int8")
    encoder = OnnxEncoder(graph, teacher.tokenizer, name=name, fingerprint=fingerprint, source=path)
    encoder.plain_fingerprint = teacher.fingerprint
    return encoder


def _quantise(teacher: TransformerEncoder) -> bytes:
    from protorynet.encoders.onnx_encoder import export_int8

    with TemporaryDirectory() as folder:
        small = Path(folder) / "int8.onnx"
        export_int8(teacher.network, small)
        return small.read_bytes()


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


class StaticEncoder:
    """The mean of one vector per token, at length 1: fast, and blind to the order of words.

    `vectors` has one row per token id, its weight included; zeros where a token says nothing.
    """

    # Encoding a sentence is quicker than looking it up, so no cache is asked.
    is_quick = True

    def __init__(
        self,
        vectors: NDArray[np.float32],
        tokenizer: SentenceTokenizer,
        *,
        name: str,
        fingerprint: str,
    ) -> None:
        self.name = name
        self.fingerprint = fingerprint
        self.dimension = int(vectors.shape[1])
        self.window, self.count_tokens = tokenizer.window, tokenizer.count_tokens
        self.vectors = vectors
        # What a text of every token would give, at length 1: it says nothing in particular.
        mean = vectors.sum(axis=0, dtype=np.float64)
        length = np.linalg.norm(mean)
        direction: NDArray[np.float64] = mean / length if length else np.eye(len(mean))[0]
        self.blank = direction.astype(np.float32)
        self.tokenizer = tokenizer

    def encode(self, sentences: list[str]) -> NDArray[np.float32]:
        """Return one vector per sentence; what lies beyond the window is not read."""
        result = self._sum(self.tokenizer.tokenize(sentences))
        lengths = np.linalg.norm(result, axis=1, keepdims=True)
        np.divide(result, lengths, out=result, where=lengths > 0)
        result[lengths[:, 0] == 0] = self.blank
        return result

    def __deepcopy__(self, memo: dict[int, Any]) -> StaticEncoder:
        return self  # nothing in it ever changes

    def _sum(self, tokens: Tokens) -> NDArray[np.float32]:
        """Return the sum of the vectors of each list of token ids.

        Position by position, so that the order of adding, and with it every bit of a sum, does not
        depend on the other sentences.
        """
        ids, lengths = tokens.ids, tokens.lengths
        longest_first = np.argsort(-lengths, kind="stable")
        starts = (np.cumsum(lengths) - lengths)[longest_first]
        # How many sentences reach each position.
        reach = len(tokens) - np.cumsum(np.bincount(lengths))[:-1]
        sums = np.zeros((len(tokens), self.dimension), dtype=np.float32)
        for position, count in enumerate(reach):
            sums[:count] += self.vectors[ids[starts[:count] + position]]
        result = np.empty_like(sums)
        result[longest_first] = sums
        return result


def make_static(teacher: TransformerEncoder) -> StaticEncoder:
    """Return the static encoder of a teacher, distilled unless it is kept already."""
    from safetensors.numpy import load, save

    content = make_once(_static_path(teacher), lambda: save({"vectors": _distil_tokens(teacher)}))
    name, fingerprint = f"{teacher.name}:static", _static_fingerprint(teacher)
    vectors = load(content)["vectors"]
    return StaticEncoder(vectors, teacher.tokenizer, name=name, fingerprint=fingerprint)


def is_static_made(teacher: TransformerEncoder) -> bool:
    """Say whether the static encoder was distilled before and is kept."""
    return read_kept(_static_path(teacher)) is not None


def _static_path(teacher: TransformerEncoder) -> Path:
    name = _static_fingerprint(teacher)[:32]
    return EmbeddingCache().folder / "static" / name / "vectors.safetensors"


def _static_fingerprint(teacher: TransformerEncoder) -> str:
    return hash_recipe([teacher.fingerprint, "static", _STATIC_VERSION, MOST_COMPONENTS])


def _distil_tokens(teacher: TransformerEncoder) -> NDArray[np.float32]:
    """Return a weighted vector for every token id; special tokens get zeros."""
    words = teacher.tokenizer.tokenizer
    encoding = words.encode("a")
    spoken = [at for at, special in enumerate(encoding.special_tokens_mask) if not special]
    first, last = (spoken[0], spoken[-1]) if spoken else (1, 0)
    before, after = encoding.ids[:first], encoding.ids[last + 1 :]
    special = {i for i, token in words.get_added_tokens_decoder().items() if token.special}
    unknown = words.get_vocab().get(getattr(words.model, "unk_token", None) or "", -1)
    special.update([teacher.pad_token_id, unknown, *before, *after])
    ids = np.array(sorted(set(words.get_vocab().values()) - special), dtype=np.int64)

    backbone: Any = teacher.network.backbone
    inputs = backbone.get_input_embeddings().weight.detach().float().cpu().numpy()
    alone = _encode_alone(teacher, before, ids, after)
    described = np.concatenate([_standardise(alone), _standardise(inputs[ids])], axis=1)
    reduced = described @ _principal_axes(described, MOST_COMPONENTS)
    highest = max(words.get_vocab().values())
    vectors = np.zeros((highest + 1, reduced.shape[1]), dtype=np.float32)
    vectors[ids] = reduced * np.log1p(ids)[:, None]
    return vectors


def _encode_alone(
    teacher: TransformerEncoder, before: list[int], ids: NDArray[np.int64], after: list[int]
) -> NDArray[np.float32]:
    """Return the teacher's embedding of each token as a text of its own."""
    import torch

    from protorynet.encoders.sentence_network import evaluating

    device = next(teacher.network.parameters()).device
    result = np.empty((len(ids), teacher.dimension), dtype=np.float32)
    with (
        evaluating(teacher.network),
        progress_bar(f"Distilling {len(ids)} tokens", len(ids)) as advance,
    ):
        for start in range(0, len(ids), TOKENS_PER_BATCH):
            some = ids[start : start + TOKENS_PER_BATCH]
            alone = np.tile(np.array([*before, 0, *after], dtype=np.int64), (len(some), 1))
            alone[:, len(before)] = some
            tokens = torch.from_numpy(alone).to(device)
            vectors = teacher.network(tokens, torch.ones_like(tokens))
            result[start : start + len(some)] = vectors.float().cpu().numpy()
            advance(len(some))
    return result


def _standardise(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vectors around zero, at a mean square of 1 over all components."""
    centred = vectors - vectors.mean(axis=0, dtype=np.float64)
    scale = np.sqrt(np.mean(centred**2))
    result: NDArray[np.float32] = (centred / (scale or 1.0)).astype(np.float32)
    return result


def _principal_axes(centred: NDArray[np.float32], dimension: int) -> NDArray[np.float32]:
    """Return the axes of most variance side by side, the largest component of each positive."""
    exact = centred.astype(np.float64)
    _, axes = np.linalg.eigh(exact.T @ exact)
    leading = axes[:, ::-1][:, :dimension]
    largest = np.abs(leading).argmax(axis=0)
    signs = np.sign(leading[largest, np.arange(leading.shape[1])])
    turned: NDArray[np.float32] = (leading * signs).astype(np.float32)
    return turned
