"""The folder of an exported model: what it says of itself, read with suspicion.

::

    export.json       format_version, classes, encoder, splitter, prototypes, checksums
    reader.onnx       from the encoder's vectors to prototypes and probabilities
    encoder.onnx      from token ids to vectors; only where the model's encoder is exported
    tokenizer.json    from texts to token ids; only with encoder.onnx
    words.json        weights of words; only where the model looks at them
    requirements.txt  what an environment needs to run it
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from protorynet.automaton import Automaton
from protorynet.data import Splitter, one_line
from protorynet.errors import ModelFormatError
from protorynet.files import read_limited
from protorynet.labels import LabelCode, read_labels
from protorynet.prototypes import Prototype, Prototypes
from protorynet.records import DAMAGE, digest_values, json_object, read_record
from protorynet.words import WordWeights

FORMAT_VERSION = 2
EXPORT, READER, REQUIREMENTS = "export.json", "reader.onnx", "requirements.txt"
ENCODER, TOKENIZER, WORDS = "encoder.onnx", "tokenizer.json", "words.json"
Precision = Literal["float32", "int8"]

_LARGEST_BYTES = {EXPORT: 64 * 2**20, TOKENIZER: 256 * 2**20, READER: 2**31, ENCODER: 2**31}
_LARGEST_BYTES[WORDS] = _LARGEST_BYTES[EXPORT]
_LARGEST_WINDOW = 1_000_000  # tokens


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

    automata: ClassVar[tuple[Automaton, ...]] = ()
    """They are not exported."""

    @property
    def width(self) -> int:
        """Components of the vectors that the reader takes: the encoder's, and what words tell."""
        return self.dimension + (0 if self.words is None else self.words.n_classes)

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
    sha256 = _checksums(values["sha256"], with_encoder=plain.encoder is not None)
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


def _checksums(values: Any, *, with_encoder: bool) -> dict[str, str]:
    names = {EXPORT, READER} | ({ENCODER, TOKENIZER} if with_encoder else set())
    # Only these very names are ever read, so that no entry can point out of the folder.
    if not isinstance(values, dict) or set(values) - {WORDS} != names:
        raise ValueError(f"sha256 should name {', '.join(sorted(names))}")
    return dict(values)


def _read(path: Path) -> bytes:
    try:
        return read_limited(path, _LARGEST_BYTES[path.name])
    except OSError as error:
        raise ModelFormatError(
            f"{path} cannot be read ({error.strerror}); the folder is no exported model, or not "
            "all of it. Make one with: protorynet export MODEL -o FOLDER"
        ) from None
