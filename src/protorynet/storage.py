"""The model directory: JSON, safetensors and a model card; nothing pickled, written atomically.

::

    config.json         format_version, classes, encoder, splitter, settings, training, checksums
    model.safetensors   corpus mean, adapter, members (many of them in 16 bits), reader
    prototypes.json     id, headline, source row, usage, scores, class rates, name, words and
                        members of each prototype
    words.json          words and pairs of words, and their weights; only if the model looks at them
    automata.json       the automaton of each class; only if the model holds them
    README.md           the model card
    encoder/            the fine-tuned encoder; only where training changed it
    edits.json          edits made by hand, and prototypes and automata before the last ten; only
                        if edited
    edits.safetensors   members' vectors, each once, and the readers before the last ten edits;
                        only if edited
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors, save as save_tensors
from torch import nn

from protorynet.automaton import Automaton
from protorynet.data import Splitter, one_line
from protorynet.errors import ModelFormatError, SettingsError
from protorynet.files import check_replaceable, hash_folder, read_limited, replaced_directory
from protorynet.labels import LabelCode, read_labels
from protorynet.model import EncoderRecord, Model, TrainingRecord
from protorynet.network import (
    Adapter,
    Centring,
    Evidence,
    Kinds,
    ProtoryNetwork,
    Reader,
    pack_rows,
    unpack_rows,
)
from protorynet.prototypes import EditEntry, EditLog, PastState, Prototype, Prototypes
from protorynet.records import DAMAGE, digest_values, json_object, read_record
from protorynet.settings import Settings
from protorynet.words import WordWeights

if TYPE_CHECKING:
    from protorynet.encoders import TransformerEncoder

FORMAT_VERSION = 2
_CONFIG, _WEIGHTS, _PROTOTYPES = "config.json", "model.safetensors", "prototypes.json"
_CARD, _ENCODER, _AUTOMATA = "README.md", "encoder", "automata.json"
_EDITS, _STATES, _WORDS = "edits.json", "edits.safetensors", "words.json"
_EXPORTED = "export.json"  # what an exported model has in a configuration's place
# What members say, as whole numbers, and the size of a step in each row; what they tell.
_PACKED = ("members.steps", "members.exponents", "members.tone")
_WHOLE = dict(zip(_PACKED, (torch.int16, torch.int8), strict=False))
_MARKS = (_CONFIG, _WEIGHTS, _PROTOTYPES)
_OURS = {*_MARKS, _CARD, _ENCODER, _EDITS, _STATES, _AUTOMATA, _WORDS}
MODEL_FILES = (*sorted(_OURS - {_ENCODER}), f"{_ENCODER}/*")
"""Patterns of all files that a model directory may hold."""

# In version 1 every prototype is one sentence.
_READABLE_VERSIONS = (1, FORMAT_VERSION)
_LARGEST_JSON = 64 * 2**20
_LARGEST_WEIGHTS = 4 * 2**30


def save_model(model: Model, path: Path, *, tuned: TransformerEncoder | Path | None = None) -> None:
    """Write a model directory; one that exists is replaced only when the new one is complete.

    `tuned` is the encoder where training changed it, or the folder of one saved before, to share.
    """
    from protorynet.report import model_card

    check_free(path)
    tensors = {
        f"{part}.{name}": tensor.detach().cpu().contiguous()
        for part, module in _modules(model).items()
        for name, tensor in module.state_dict().items()
    }
    tensors = _pack_members(tensors, model.adapter)
    prototypes = _one_line(model.prototypes.to_dict())
    config = {
        "format_version": FORMAT_VERSION,
        **model.labels.to_dict(),
        "encoder": vars(model.encoder),
        "splitter": vars(model.splitter),
        "settings": model.settings.to_dict(),
        "training": model.training.to_dict(),
        "familiar": model.familiar,
        "reach": model.reach,
    }
    files = {_WEIGHTS: save_tensors(tensors), _PROTOTYPES: prototypes}
    if model.words is not None:
        config["words"] = len(model.words.ngrams)
        files[_WORDS] = model.words.to_json()
    if model.automata:
        config["automata"] = len(model.automata)
        files[_AUTOMATA] = _one_line({"automata": _plain_automata(model.automata)})
    if model.edits.entries:
        config["edits"] = len(model.edits.entries)
        files |= _edit_files(model.edits)
    with replaced_directory(path) as fresh:
        for name, content in files.items():
            (fresh / name).write_bytes(content)
        (fresh / _CARD).write_text(model_card(model), encoding="utf-8")
        checksums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        checksums[_CONFIG] = digest_values(config)
        if tuned is not None:
            if isinstance(tuned, Path):
                shutil.copytree(tuned, fresh / _ENCODER, copy_function=_link)
            else:
                tuned.save(fresh / _ENCODER)
            checksums[_ENCODER] = hash_folder(fresh / _ENCODER)
        (fresh / _CONFIG).write_bytes(_json({**config, "sha256": checksums}))


def _pack_members(
    tensors: dict[str, torch.Tensor], adapter: nn.Module | None
) -> dict[str, torch.Tensor]:
    """Return tensors with members, in what they say, as 16 bits, where these are all they have.

    Those of which one was typed by hand since are kept as they are.
    """
    if not isinstance(adapter, Evidence) or adapter.axes is None:
        return tensors
    members, width = tensors["network.members"], adapter.meaning_width
    steps, exponents = pack_rows(members[:, :width])
    if not torch.equal(unpack_rows(steps, exponents), members[:, :width]):
        return tensors
    packed = dict(zip(_PACKED, (steps, exponents, members[:, width:].contiguous()), strict=True))
    return {name: tensors[name] for name in tensors if name != "network.members"} | packed


def _unpack_members(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    if _PACKED[0] not in tensors:
        return tensors
    steps, exponents, tone = (tensors[name] for name in _PACKED)
    return tensors | {"network.members": torch.cat([unpack_rows(steps, exponents), tone], dim=1)}


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        shutil.copy2(source, target)


def load_model(path: Path, *, device: str = "cpu") -> tuple[Model, Path | None]:
    """Read a model directory: the model, and the folder of its fine-tuned encoder, if any."""
    if not path.is_dir():
        raise ModelFormatError(f"there is no model directory {path}.")
    if (path / _EXPORTED).exists() and not (path / _CONFIG).exists():
        raise ModelFormatError(
            f"{path} is an exported model, which only `predict` and `explain` read; give the model "
            "it was made of."
        )
    config = json_object(path / _CONFIG, _read(path / _CONFIG, _LARGEST_JSON))
    version = config.get("format_version")
    if version not in _READABLE_VERSIONS:
        raise ModelFormatError(
            f"{path} has format_version {version!r}, but this release reads up to "
            f"{FORMAT_VERSION}. Load it with the release that wrote it, or train again."
        )
    try:
        checksums = config["sha256"]
        if digest_values(config) != checksums[_CONFIG]:
            raise _changed(path / _CONFIG)
        model = _build(config, path)
    except SettingsError as error:
        raise ModelFormatError(f"{path / _CONFIG} is not valid: {error}") from None
    except DAMAGE as error:
        raise ModelFormatError(
            f"{path} is not a valid model directory ({type(error).__name__}: {one_line(error)}). "
            "Restore it from a copy, or train again."
        ) from None
    for module in _modules(model).values():
        module.to(device)
    folder = path / _ENCODER if model.encoder.tuned else None
    if folder is not None and hash_folder(folder) != checksums.get(_ENCODER):
        raise _changed(folder)
    return model, folder


def is_model_directory(path: Path) -> bool:
    """Say whether a path looks like a model directory."""
    # All three are asked for: an encoder's folder, too, holds config.json and model.safetensors.
    return all((path / name).is_file() for name in _MARKS)


def check_free(path: Path) -> None:
    """Refuse to put a model in the place of anything but another model."""
    check_replaceable(path, kind="a model directory", marks=_MARKS, is_own=_OURS.__contains__)


def _build(config: dict[str, Any], path: Path) -> Model:
    checksums = config["sha256"]
    tensors = _unpack_members(_read_weights(path / _WEIGHTS, checksums[_WEIGHTS]))
    listed = _read_json(path / _PROTOTYPES, checksums)
    labels = read_labels(config)
    of_version_1 = {"members": 1} if config["format_version"] == 1 else {}
    settings = Settings.from_dict({**of_version_1, **config["settings"]})
    prototypes = _prototypes(listed, labels)
    centring = Centring(tensors["centring.mean"], float(tensors["centring.scale"]))
    words = _read_optional(config, path, "words", _WORDS)
    model = Model(
        centring=centring,
        adapter=_adapter(_below(tensors, "adapter."), settings, centring, labels),
        network=_network(tensors, settings, len(labels.classes), prototypes.sizes),
        prototypes=prototypes,
        labels=labels,
        encoder=read_record(EncoderRecord, config["encoder"]),
        splitter=Splitter.read(config["splitter"]),
        settings=settings,
        training=read_record(TrainingRecord, config["training"]),
        familiar=float(config.get("familiar", 0.0)),
        reach=float(config.get("reach", 0.0)),
        words=None if words is None else WordWeights.from_dict(words, len(labels.classes)),
    )
    _check_agreement(model)
    if (values := _read_optional(config, path, "automata", _AUTOMATA)) is not None:
        automata = _read_automata(values["automata"], labels, path / _AUTOMATA)
        _check_automata(automata, prototypes)
        model = replace(model, automata=automata)
    return replace(model, edits=_edits(config, path, model))


def _prototypes(listed: dict[str, Any], labels: LabelCode) -> Prototypes:
    items = tuple(read_record(Prototype, entry) for entry in listed["prototypes"])
    return Prototypes(items, labels.names)


def _read_automata(entries: Any, labels: LabelCode, file: Path) -> tuple[Automaton, ...]:
    try:
        automata = tuple(Automaton.from_dict(entry) for entry in entries)
    except ModelFormatError as error:
        raise ModelFormatError(f"{file}: {error}") from None
    if tuple(automaton.label for automaton in automata) != labels.names:
        raise ValueError(f"{file.name} should have one automaton for each class, in their order")
    return automata


def _check_automata(automata: tuple[Automaton, ...], prototypes: Prototypes) -> None:
    ids = tuple(item.id for item in prototypes)
    if any(automaton.prototypes != ids for automaton in automata):
        raise ValueError("the automata have other prototypes than the model")


def _plain_automata(automata: tuple[Automaton, ...]) -> list[dict[str, Any]]:
    """Return automata as plain values, without the edges, which follow from the rest."""
    plain = [automaton.to_dict() for automaton in automata]
    return [{name: each[name] for name in each if name != "edges"} for each in plain]


def _read_optional(
    config: dict[str, Any], path: Path, kind: str, *names: str
) -> dict[str, Any] | None:
    """Return what the first of some files holds; refuse those that config.json does not know of."""
    if config.get(kind):
        return _read_json(path / names[0], config["sha256"])
    if strange := [name for name in names if (path / name).exists()]:
        raise ModelFormatError(
            f"{path / strange[0]} does not belong to this model: {_CONFIG} knows of no {kind}. "
            "Remove it, or restore the directory from a copy."
        )
    return None


def _edits(config: dict[str, Any], path: Path, model: Model) -> EditLog:
    """Read the log of edits, and check that each past state is one of this model."""
    values = _read_optional(config, path, "edits", _EDITS, _STATES)
    if values is None:
        return EditLog()
    if config["format_version"] == 1:
        for change in (change for entry in values["entries"] for change in entry["changes"]):
            change.pop("nearest", None)  # which prototype was nearest to one that was removed
    entries = tuple(read_record(EditEntry, entry) for entry in values["entries"])
    if len(entries) != config["edits"]:
        raise ValueError(f"{len(entries)} edits in {_EDITS}, but {config['edits']!r} in {_CONFIG}")
    tensors = _read_weights(path / _STATES, config["sha256"][_STATES])
    kept = [
        _read_automata(automata, model.labels, path / _EDITS)
        for automata in values.get("automata", ())
    ]
    states = []
    for entry in values["states"]:
        number, n_classes = int(entry["number"]), len(model.labels.classes)
        prototypes = _prototypes(entry, model.labels)
        weights = _below(tensors, f"{number}.")
        if "vectors" in entry:  # not in version 1
            vectors = tensors["vectors"]
            _check_positions(entry["vectors"], len(vectors), "vectors of members")
            weights["network.members"] = vectors[entry["vectors"]]
        automata: tuple[Automaton, ...] = ()
        if (at := entry.get("automata")) is not None:
            _check_positions([at], len(kept), "automata")
            automata = kept[at]
        network = _network(weights, model.settings, n_classes, prototypes.sizes)
        state = PastState(number, network, prototypes, automata)
        _check_agreement(replace(model, network=state.network, prototypes=state.prototypes))
        _check_automata(state.automata, state.prototypes)
        states.append(state)
    return EditLog(entries, tuple(states))


def _check_positions(positions: Any, count: int, what: str) -> None:
    if not all(type(number) is int and 0 <= number < count for number in positions):
        raise ValueError(f"a state has other {what} than the {count} kept")


def _edit_files(log: EditLog) -> dict[str, bytes]:
    # States between which only names changed share their automata, and most members are in all
    # states: what is the same is written once.
    distinct: list[tuple[Automaton, ...]] = []
    vectors: dict[bytes, int] = {}
    states = []
    for state in log.states:
        if state.automata and state.automata not in distinct:
            distinct.append(state.automata)
        values = {
            "number": state.number,
            "automata": distinct.index(state.automata) if state.automata else None,
            "vectors": [
                vectors.setdefault(vector.tobytes(), len(vectors))
                for vector in state.network.members.detach().cpu().numpy()
            ],
        }
        states.append({**values, **state.prototypes.to_dict()})
    content = {
        "entries": [entry.to_dict() for entry in log.entries],
        "states": states,
        "automata": [_plain_automata(automata) for automata in distinct],
    }
    # States between which only names changed share their weights; safetensors wants copies.
    tensors = {
        f"{state.number}.network.{name}": tensor.detach().cpu().contiguous().clone()
        for state in log.states
        for name, tensor in state.network.state_dict().items()
        if name != "members"
    }
    if vectors:
        kept = torch.frombuffer(bytearray(b"".join(vectors)), dtype=torch.float32)
        tensors["vectors"] = kept.view(len(vectors), -1)
    return {_EDITS: _one_line(content), _STATES: save_tensors(tensors)}


def _check_agreement(model: Model) -> None:
    """Refuse parts that are each valid but do not belong together."""
    vectors, names = model.network.members, model.labels.names
    members, width = model.prototypes.members, len(model.centring.mean)
    if isinstance(model.adapter, Evidence):
        width = model.adapter.width
    elif model.words is not None:
        raise ValueError("there are words, but nothing that reads them")
    if vectors.shape != (len(members), width):
        raise ValueError(f"members of shape {tuple(vectors.shape)}")
    if not 0 <= model.familiar <= 1 or not 0 <= model.reach < math.inf:
        raise ValueError(f"familiar is {model.familiar}, reach is {model.reach}")
    model.prototypes.check()
    if len(model.training.class_frequencies) != len(names):
        raise ValueError(f"{len(model.training.class_frequencies)} class frequencies")
    if model.training.figures is not None:
        model.training.figures.check(names)


def _modules(model: Model) -> dict[str, nn.Module]:
    modules: dict[str, nn.Module] = {"centring": model.centring, "network": model.network}
    return modules if model.adapter is None else {**modules, "adapter": model.adapter}


def _adapter(
    tensors: dict[str, torch.Tensor], settings: Settings, centring: Centring, labels: LabelCode
) -> Adapter | Evidence | None:
    if not tensors:
        return None
    dimension = len(centring.mean)
    adapter: Adapter | Evidence
    # Built without memory, so that a wrong size in the settings costs nothing before it is seen.
    with torch.device("meta"):
        if "weight" in tensors:
            hidden = len(tensors["down.bias"])
            adapter = Evidence(dimension, hidden, len(labels.classes), labels.task)
            adapter.axes = tensors.get("axes")
            if adapter.axes is not None and adapter.axes.shape[:-1] != (dimension,):
                raise ValueError(f"axes of shape {tuple(adapter.axes.shape)}")
            if "kinds.up.bias" in tensors:
                sizes = (len(tensors[f"kinds.{part}.bias"]) for part in ("down", "up"))
                adapter.kinds = Kinds(len(labels.classes), *sizes)
        else:
            adapter = Adapter(dimension, settings.adapter_size, unit_length=centring.unit_length)
    adapter.load_state_dict(tensors, assign=True)
    return adapter.eval().requires_grad_(False)


def _network(
    tensors: dict[str, torch.Tensor], settings: Settings, n_classes: int, sizes: tuple[int, ...]
) -> ProtoryNetwork:
    state = _below(tensors, "network.")
    if "prototypes" in state:  # as version 1 names them
        state["members"] = state.pop("prototypes")
    if len(state["members"]) != sum(sizes):
        raise ValueError(f"{len(state['members'])} vectors of {sum(sizes)} members")
    with torch.device("meta"):
        reader = Reader.of(settings, len(sizes), n_classes)
    network = ProtoryNetwork(state["members"], reader, settings, sizes)
    network.load_state_dict(state, assign=True)
    return network.eval().requires_grad_(False)


def _read_weights(path: Path, checksum: str) -> dict[str, torch.Tensor]:
    try:
        tensors = load_tensors(_unchanged(path, _LARGEST_WEIGHTS, checksum))
    except SafetensorError as error:
        raise ModelFormatError(f"{path} is damaged: {error}.") from None
    for name, tensor in tensors.items():
        kind = _WHOLE.get(name, torch.float32)
        if tensor.dtype != kind or not bool(tensor.isfinite().all()):
            called = str(kind).removeprefix("torch.")
            raise ModelFormatError(f"{path} holds {name}, which is not of finite {called} numbers.")
    return tensors


def _read(path: Path, largest: int) -> bytes:
    try:
        return read_limited(path, largest)
    except OSError as error:
        raise ModelFormatError(
            f"{path} cannot be read ({error.strerror}); the model directory is incomplete."
        ) from None


def _read_json(path: Path, checksums: dict[str, str]) -> dict[str, Any]:
    return json_object(path, _unchanged(path, _LARGEST_JSON, checksums[path.name]))


def _unchanged(path: Path, largest: int, checksum: str) -> bytes:
    content = _read(path, largest)
    if hashlib.sha256(content).hexdigest() != checksum:
        raise _changed(path)
    return content


def _changed(path: Path) -> ModelFormatError:
    return ModelFormatError(
        f"{path} was changed or cut off after the model was saved (its sha256 differs from the "
        f"one in {_CONFIG}). Restore it from a copy, or train again."
    )


def _below(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {n.removeprefix(prefix): value for n, value in tensors.items() if n.startswith(prefix)}


def _json(values: dict[str, Any]) -> bytes:
    return (json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _one_line(values: dict[str, Any]) -> bytes:
    """Return values as JSON that takes little room, as those of many members should."""
    dumped = json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return dumped.encode()
