"""The model directory: JSON, safetensors and a model card; nothing pickled, written atomically.

::

    config.json         format_version, classes, encoder, splitter, settings, training, checksums
    model.safetensors   corpus mean, adapter, prototypes, reader
    prototypes.json     id, sentence, source row, usage, scores and class rates
    README.md           the model card
    encoder/            the fine-tuned encoder; only where training changed it
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors

from protorynet.card import model_card
from protorynet.errors import InputError, ModelFormatError, SettingsError
from protorynet.files import replaced_directory
from protorynet.labels import LabelCode
from protorynet.model import EncoderRecord, Model, TrainingRecord
from protorynet.network import Adapter, Centring, ProtoryNetwork, Reader
from protorynet.prototypes import Prototype, Prototypes
from protorynet.settings import Settings

if TYPE_CHECKING:
    from protorynet.encoders import TransformerEncoder

__all__ = ["FORMAT_VERSION", "is_model_directory", "load_model", "save_model"]

FORMAT_VERSION = 1
_CONFIG, _WEIGHTS, _PROTOTYPES, _CARD, _ENCODER = (
    "config.json",
    "model.safetensors",
    "prototypes.json",
    "README.md",
    "encoder",
)
_LARGEST_JSON = 64 * 2**20
_LARGEST_WEIGHTS = 4 * 2**30


def save_model(model: Model, path: Path, *, tuned: TransformerEncoder | None = None) -> None:
    """Write a model directory; one that exists is replaced only when the new one is complete.

    Parameters
    ----------
    model
        The model.
    path
        The directory. One that exists must be a model directory.
    tuned
        The fine-tuned encoder, where training changed it.
    """
    if path.exists() and not is_model_directory(path):
        raise InputError(f"{path} exists and is not a model directory; choose another name.")
    weights = save_tensors(_tensors(model))
    prototypes = _json(model.prototypes.to_dict())
    config = {
        "format_version": FORMAT_VERSION,
        "classes": list(model.labels.classes),
        "task": model.labels.task,
        "encoder": vars(model.encoder),
        "splitter": model.splitter,
        "settings": model.settings.to_dict(),
        "training": model.training.to_dict(),
        "sha256": {_WEIGHTS: _sha256(weights), _PROTOTYPES: _sha256(prototypes)},
    }
    with replaced_directory(path) as fresh:
        (fresh / _WEIGHTS).write_bytes(weights)
        (fresh / _PROTOTYPES).write_bytes(prototypes)
        (fresh / _CONFIG).write_bytes(_json(config))
        (fresh / _CARD).write_text(model_card(model), encoding="utf-8")
        if tuned is not None:
            tuned.save(fresh / _ENCODER)


def load_model(path: Path, *, device: str = "cpu") -> tuple[Model, Path | None]:
    """Read a model directory.

    Returns
    -------
    The model, and the folder of its fine-tuned encoder (None where it uses one as published).
    """
    if not path.is_dir():
        raise ModelFormatError(f"there is no model directory {path}.")
    config = _read_json(path / _CONFIG)
    version = config.get("format_version")
    if version != FORMAT_VERSION:
        raise ModelFormatError(
            f"{path} has format_version {version!r}, but this release reads {FORMAT_VERSION}. "
            "Load it with the release that wrote it, or train again."
        )
    try:
        model = _build(config, path)
    except SettingsError as error:
        raise ModelFormatError(f"{path / _CONFIG} is not valid: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise ModelFormatError(
            f"{path} is not a valid model directory ({type(error).__name__}: {error}). "
            "Restore it from a copy, or train again."
        ) from None
    _move(model, device)
    folder = path / _ENCODER if model.encoder.tuned else None
    if folder is not None and not folder.is_dir():
        raise ModelFormatError(f"{path} lacks its fine-tuned encoder (the folder {_ENCODER}/).")
    return model, folder


def is_model_directory(path: Path) -> bool:
    """Say whether a path looks like a model directory."""
    return path.is_dir() and (path / _CONFIG).is_file() and (path / _WEIGHTS).is_file()


def _build(config: dict[str, Any], path: Path) -> Model:
    checksums = config["sha256"]
    tensors = _read_weights(path / _WEIGHTS, checksums[_WEIGHTS])
    listed = _read_json(path / _PROTOTYPES, checksums[_PROTOTYPES])
    labels = LabelCode(tuple(config["classes"]), config["task"])
    if labels.task not in ("multiclass", "multilabel") or len(labels.classes) < 1:
        raise ValueError(f"task {labels.task!r} with {len(labels.classes)} classes")
    settings = Settings.from_dict(config["settings"])
    prototypes = Prototypes(
        tuple(Prototype(**entry) for entry in listed["prototypes"]), labels.names
    )
    centring = Centring(tensors["centring.mean"], float(tensors["centring.scale"]))
    adapter = _adapter(tensors, settings, centring) if _has(tensors, "adapter.") else None
    network = _network(tensors, settings, len(labels.classes))
    if len(network.prototypes) != len(prototypes):
        raise ValueError(f"{len(network.prototypes)} vectors for {len(prototypes)} prototypes")
    return Model(
        centring=centring,
        adapter=adapter,
        network=network.eval().requires_grad_(False),
        prototypes=prototypes,
        labels=labels,
        encoder=EncoderRecord(**config["encoder"]),
        splitter=config["splitter"],
        settings=settings,
        training=TrainingRecord.from_dict(config["training"]),
    )


def _tensors(model: Model) -> dict[str, torch.Tensor]:
    parts = {"centring": model.centring, "network": model.network}
    if model.adapter is not None:
        parts["adapter"] = model.adapter  # type: ignore[assignment]
    return {
        f"{part}.{name}": tensor.detach().cpu().contiguous()
        for part, module in parts.items()
        for name, tensor in module.state_dict().items()
    }


def _adapter(
    tensors: dict[str, torch.Tensor], settings: Settings, centring: Centring
) -> Adapter:
    dimension = len(tensors["centring.mean"])
    adapter = Adapter(dimension, settings.adapter_size, unit_length=centring.unit_length)
    adapter.load_state_dict(_below(tensors, "adapter."))
    return adapter.eval().requires_grad_(False)


def _network(
    tensors: dict[str, torch.Tensor], settings: Settings, n_classes: int
) -> ProtoryNetwork:
    vectors = tensors["network.prototypes"]
    reader = Reader(
        len(vectors),
        n_classes,
        hidden=settings.reader_size,
        layers=settings.reader_layers,
        dropout=settings.reader_dropout,
    )
    network = ProtoryNetwork(vectors.clone(), reader, settings)
    network.load_state_dict(_below(tensors, "network."))
    return network


def _move(model: Model, device: str) -> None:
    model.centring.to(device)
    model.network.to(device)
    if model.adapter is not None:
        model.adapter.to(device)


def _read_weights(path: Path, checksum: str) -> dict[str, torch.Tensor]:
    content = _read(path, _LARGEST_WEIGHTS)
    _check(path, content, checksum)
    try:
        return load_tensors(content)
    except SafetensorError as error:
        raise ModelFormatError(f"{path} is damaged: {error}.") from None


def _read_json(path: Path, checksum: str | None = None) -> dict[str, Any]:
    content = _read(path, _LARGEST_JSON)
    if checksum is not None:
        _check(path, content, checksum)
    try:
        values = json.loads(content)
    except ValueError as error:
        raise ModelFormatError(f"{path} is not valid JSON: {error}.") from None
    if not isinstance(values, dict):
        raise ModelFormatError(f"{path} should hold a JSON object.")
    return values


def _read(path: Path, largest: int) -> bytes:
    try:
        if path.stat().st_size > largest:
            raise ModelFormatError(f"{path} is larger than {largest:,} bytes; it is not read.")
        return path.read_bytes()
    except OSError as error:
        raise ModelFormatError(
            f"{path} cannot be read ({error.strerror}); the model directory is incomplete."
        ) from None


def _check(path: Path, content: bytes, checksum: str) -> None:
    if _sha256(content) != checksum:
        raise ModelFormatError(
            f"{path} was changed or cut off after the model was saved (its sha256 differs from "
            f"{_CONFIG}). Restore it from a copy, or train again."
        )


def _has(tensors: dict[str, torch.Tensor], prefix: str) -> bool:
    return any(name.startswith(prefix) for name in tensors)


def _below(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {n.removeprefix(prefix): value for n, value in tensors.items() if n.startswith(prefix)}


def _json(values: dict[str, Any]) -> bytes:
    return (json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
