"""Exported models: their folder, read with suspicion, computed by ONNX Runtime without torch.

::

    export.json       format_version, classes, encoder, splitter, prototypes, checksums
    reader.onnx       from the encoder's vectors to prototypes and probabilities
    encoder.onnx      from token ids to vectors; only where the model's encoder is exported
    tokenizer.json    from texts to token ids; only with encoder.onnx
    words.json        weights of words; only where the model looks at them
    requirements.txt  what an environment needs to run it
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from protorynet.automaton import Automaton
from protorynet.data import Splitter, one_line
from protorynet.encoders import (
    Embeddings,
    Encoder,
    OnnxEncoder,
    SentenceTokenizer,
    first_line,
    open_session,
    parse_tokenizer,
    run_session,
)
from protorynet.errors import EncoderError, InputError, ModelFormatError
from protorynet.explain import falls_without_each
from protorynet.files import read_limited
from protorynet.labels import LabelCode, read_labels
from protorynet.prototypes import Prototype, Prototypes
from protorynet.reading import Reading, group_by_length
from protorynet.records import DAMAGE, digest_values, json_object, read_record
from protorynet.words import WordWeights

FORMAT_VERSION = 2
EXPORT, READER, REQUIREMENTS = "export.json", "reader.onnx", "requirements.txt"
ENCODER, TOKENIZER, WORDS = "encoder.onnx", "tokenizer.json", "words.json"
Precision = Literal["float32", "int8"]

_LARGEST_BYTES = {EXPORT: 64 * 2**20, TOKENIZER: 256 * 2**20, READER: 2**31, ENCODER: 2**31}
_LARGEST_BYTES[WORDS] = _LARGEST_BYTES[EXPORT]
_LARGEST_WINDOW = 1_000_000  # tokens
INPUTS = ("vectors", "rows", "lengths")
_OF_SENTENCES = ("columns", "similarities", "runner_up", "runner_up_similarities")
OUTPUTS = ("probabilities", "running", *_OF_SENTENCES, "unfamiliar")
_STEPS_PER_BATCH = 16_384  # sentences, padding included, read at once
_SIMILARITIES_PER_BATCH = 4_194_304  # of sentences to prototypes, held at once


@dataclass(frozen=True)
class EncoderPart:
    """The encoder that comes with an exported model: most tokens, padding id, precision."""

    window: int
    pad_token_id: int
    precision: Precision


@dataclass(frozen=True)
class _Plain:
    """The values of `Exported` that JSON holds as they are."""

    version: str
    splitter: Splitter
    encoder_name: str
    encoder_fingerprint: str
    dimension: int
    encoder: EncoderPart | None
    class_frequencies: tuple[float, ...]
    validation_accuracy: float
    reader_is_behind: bool
    familiar: float


_PLAIN = tuple(field.name for field in fields(_Plain))
_NAMES = {"format_version", "classes", "task", "prototypes", "sha256", *_PLAIN}


@dataclass(frozen=True)
class Exported(_Plain):
    """What an exported model says of itself: the model's facts, and the digest of each file.

    `encoder` is the encoder's part of the folder; None where vectors have to be given.
    """

    labels: LabelCode
    prototypes: Prototypes
    sha256: Mapping[str, str]
    words: WordWeights | None = None

    automata: ClassVar[tuple[Automaton, ...]] = ()  # they are not exported

    def to_json(self) -> bytes:
        """Return the content of export.json."""
        values = {
            "format_version": FORMAT_VERSION,
            **{name: getattr(self, name) for name in _PLAIN},
            "splitter": vars(self.splitter),
            "encoder": None if self.encoder is None else vars(self.encoder),
            **self.labels.to_dict(),
            **self.prototypes.to_dict(),
        }
        checksums = {**self.sha256, EXPORT: digest_values(values)}
        content = {**values, "sha256": checksums}
        return (json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def is_exported(folder: Path) -> bool:
    """Say whether a folder looks like an exported model."""
    return (folder / EXPORT).is_file()


def read_exported(folder: Path) -> Exported:
    """Read what an exported model says of itself; a ModelFormatError where it is wrong."""
    path = folder / EXPORT
    values = json_object(path, _read(path))
    version = values.get("format_version")
    if type(version) is not int or version not in (1, FORMAT_VERSION):
        raise ModelFormatError(
            f"{path} has format_version {str(version)[:40]!r}, but this release reads up to "
            f"{FORMAT_VERSION}. Read it with the release that wrote it, or export the model again."
        )
    try:
        exported = _parse_description(values)
        if WORDS not in exported.sha256:
            return exported
        weights = json_object(folder / WORDS, read_part(folder, WORDS, exported))
        return replace(exported, words=WordWeights.from_dict(weights, len(exported.labels.classes)))
    except DAMAGE as error:
        raise ModelFormatError(
            f"{path} is not valid ({one_line(error)}); copy the folder again, or export the model "
            "again."
        ) from None


def read_part(folder: Path, name: str, exported: Exported) -> bytes:
    """Return the content of a file, if it is the one that export.json names."""
    content = _read(folder / name)
    if hashlib.sha256(content).hexdigest() != exported.sha256[name]:
        raise ModelFormatError(
            f"{folder / name} was changed or cut off after the export (its sha256 differs from "
            f"the one in {EXPORT}). Copy the folder again, or export the model again."
        )
    return content


def _parse_description(values: dict[str, Any]) -> Exported:
    names = _NAMES - {"familiar"} if values["format_version"] == 1 else _NAMES
    if strange := sorted((values.keys() - {"names"}) ^ names):
        raise ValueError(f"the entries {', '.join(map(repr, strange))} are missing or unknown")
    given = {name: values[name] for name in _PLAIN if name in names}
    given["splitter"] = vars(Splitter.read(values["splitter"]))
    # Version 1 knows of no unfamiliar sentences.
    plain = read_record(_Plain, {"familiar": 0.0, **given})
    sha256 = values["sha256"]
    files = {EXPORT, READER} | ({ENCODER, TOKENIZER} if plain.encoder is not None else set())
    # Only these very names are ever read, so that no entry can point out of the folder.
    if not isinstance(sha256, dict) or set(sha256) - {WORDS} != files:
        raise ValueError(f"sha256 should name {', '.join(sorted(files))}")
    sha256 = dict(sha256)
    if digest_values(values) != sha256.pop(EXPORT):
        raise ValueError("it was changed by hand: its own sha256 differs")
    labels = read_labels(values)
    entries = values["prototypes"]
    if not isinstance(entries, list) or not entries:
        raise ValueError("there are no prototypes")
    items = tuple(read_record(Prototype, entry) for entry in entries)
    result = Exported(
        **vars(plain), labels=labels, prototypes=Prototypes(items, labels.names), sha256=sha256
    )
    _check_agreement(result)
    return result


def _check_agreement(exported: Exported) -> None:
    """Refuse parts that are each valid but do not belong together."""
    exported.prototypes.check()
    if len(exported.class_frequencies) != len(exported.labels.names):
        raise ValueError(f"{len(exported.class_frequencies)} class frequencies")
    if not 0 <= exported.familiar <= 1:
        raise ValueError(f"familiar {exported.familiar}")
    if exported.dimension < 1:
        raise ValueError(f"dimension {exported.dimension}")
    encoder = exported.encoder
    if encoder is not None:
        if not 1 <= encoder.window <= _LARGEST_WINDOW:
            raise ValueError(f"window {encoder.window}")
        if not 0 <= encoder.pad_token_id < 2**31:
            raise ValueError(f"pad_token_id {encoder.pad_token_id}")


def _read(path: Path) -> bytes:
    try:
        return read_limited(path, _LARGEST_BYTES[path.name])
    except OSError as error:
        raise ModelFormatError(
            f"{path} cannot be read ({error.strerror}); the folder is no exported model, or not "
            "all of it. Make one with: protorynet export MODEL -o FOLDER"
        ) from None


def open_export(folder: Path, encoder: Encoder | None = None) -> tuple[OnnxBackend, Encoder | None]:
    """Open a folder that ``protorynet export`` made."""
    exported = read_exported(folder)
    if exported.encoder is not None:
        if encoder is not None:
            raise InputError(f"{folder} holds its encoder; load it without encoder=….")
        encoder = _open_encoder(folder, exported, exported.encoder)
    elif encoder is not None and encoder.fingerprint != exported.encoder_fingerprint:
        raise EncoderError(
            f"the model was made with another encoder than {encoder.name!r}: "
            f"{exported.encoder_name!r}. Give the right one with encoder=…."
        )
    return OnnxBackend(exported, read_part(folder, READER, exported), folder / READER), encoder


class OnnxBackend:
    """The reader of an exported model in ONNX Runtime; `source` is its file, for messages."""

    def __init__(self, exported: Exported, graph: bytes, source: Path) -> None:
        self.facts = exported
        # Models that do not know what is familiar may be exports from before it was told.
        self._outputs = OUTPUTS if exported.familiar else OUTPUTS[:-1]
        self._session = open_session(graph, source, inputs=INPUTS, outputs=self._outputs)
        self._source = source
        self._families = exported.prototypes.families
        # The encoder's components, and what words tell beside them.
        self._width = exported.dimension + (exported.words.n_classes if exported.words else 0)
        self._n_classes = len(exported.labels.classes)
        self._steps = max(1, min(_STEPS_PER_BATCH, _SIMILARITIES_PER_BATCH // len(self._families)))

    def read(self, embeddings: Embeddings, lengths: NDArray[np.int64]) -> Reading:
        """Match and read documents; long and short ones go in separate batches."""
        vectors, index = embeddings.vectors, embeddings.index
        if len(vectors) and vectors.shape[1] != self._width:
            raise InputError(
                f"the vectors have {vectors.shape[1]} components, but the model was trained on "
                f"vectors of {self._width}."
            )
        n = len(index)
        result = Reading(
            prototypes=np.empty(n, np.int64),
            similarities=np.empty(n, np.float32),
            runner_up=np.empty(n, np.int64),
            runner_up_similarities=np.empty(n, np.float32),
            lengths=lengths,
            probabilities=np.empty((len(lengths), self._n_classes), np.float32),
            running=np.empty((n, self._n_classes), np.float32),
            members=np.empty(n, np.int64),
            runner_up_members=np.empty(n, np.int64),
            unfamiliar=np.zeros(n, np.bool_),
        )
        starts = np.cumsum(lengths) - lengths
        for documents in group_by_length(lengths, self._steps):
            step = np.arange(lengths[documents].max())
            inside = step < lengths[documents, None]  # the rest is padding
            at = (starts[documents, None] + step)[inside]
            used, local = np.unique(index[at], return_inverse=True)
            layout = np.zeros(inside.shape, np.int64)
            layout[inside] = local
            values: tuple[NDArray[Any], ...] = (vectors[used], layout, lengths[documents])
            feed = dict(zip(INPUTS, values, strict=True))
            outputs = run_session(self._session, self._outputs, feed, self._source)
            given = dict(zip(self._outputs, outputs, strict=True))
            self._check(given, inside)
            result.probabilities[documents] = given.pop("probabilities")
            result.members[at] = given.pop("columns")[inside]
            result.runner_up_members[at] = given.pop("runner_up")[inside]
            for name, padded in given.items():
                getattr(result, name)[at] = padded[inside]
        result.prototypes[:] = self._families[result.members]
        result.runner_up[:] = self._families[result.runner_up_members]
        return result

    def leave_one_out(self, reading: Reading, embeddings: Embeddings) -> NDArray[np.float32]:
        """Return the effect of every sentence."""

        def read(sentences: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.float32]:
            some = Embeddings(embeddings.vectors, embeddings.index[sentences])
            return self.read(some, lengths).probabilities

        return falls_without_each(reading, self.facts.class_frequencies, read)

    def _check(self, given: dict[str, NDArray[Any]], inside: NDArray[np.bool_]) -> None:
        """Refuse what a graph of another model, or no reader at all, would say."""
        classes = (self._n_classes,)
        shapes = {"probabilities": inside.shape[:1] + classes, "running": inside.shape + classes}
        is_right = all(
            array.shape == shapes.get(name, inside.shape) and array.dtype.kind in "fib"
            for name, array in given.items()
        )
        if is_right:
            both = np.concatenate([given[name][inside] for name in ("columns", "runner_up")])
            is_right = bool(both.min() >= 0 and both.max() < len(self._families))
        if not is_right:
            raise ModelFormatError(
                f"{self._source} has other classes or prototypes than export.json; export the "
                "model again."
            )


def _open_encoder(folder: Path, exported: Exported, part: EncoderPart) -> OnnxEncoder:
    graph = read_part(folder, ENCODER, exported)
    content = read_part(folder, TOKENIZER, exported)
    try:
        tokenizer = parse_tokenizer(content)
    except ValueError as error:
        raise ModelFormatError(
            f"{folder / TOKENIZER} is damaged ({first_line(error)}); export the model again."
        ) from None
    digests = [hashlib.sha256(each).hexdigest() for each in (graph, content)]
    recipe = " ".join(["onnx", *digests, str(part.window), str(part.pad_token_id)])
    special_tokens = tokenizer.num_special_tokens_to_add(False)
    if part.window <= special_tokens:
        raise ModelFormatError(
            f"{folder} has a window of {part.window} token(s), of which {special_tokens} are "
            "special; export the model again."
        )
    encoder = OnnxEncoder(
        graph,
        SentenceTokenizer(tokenizer, part.window, part.pad_token_id),
        name=f"{exported.encoder_name} (ONNX {part.precision})",
        # Computed from the content: a name that the folder gave itself could spoil the cache.
        fingerprint=hashlib.sha256(recipe.encode()).hexdigest(),
        source=folder / ENCODER,
    )
    if encoder.dimension != exported.dimension:
        raise ModelFormatError(
            f"{folder / ENCODER} gives vectors of {encoder.dimension} components, but the model "
            f"reads {exported.dimension}; export the model again."
        )
    return encoder
