"""Opening a model for scoring, with or without torch."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from protorynet.errors import InputError, ModelFormatError
from protorynet.inference.onnx_exported import is_exported
from protorynet.inference.scores import ClassifierScorer, Scorer

if TYPE_CHECKING:
    from protorynet.inference import OnnxScorer

__all__ = ["Runtime", "is_exported", "model_digest", "open_exported", "open_scorer"]

Runtime = Literal["torch", "onnx"]


def open_scorer(
    model: Path,
    *,
    encoder: str | None = None,
    runtime: Runtime = "torch",
    device: str = "auto",
    cache: bool = True,
) -> Scorer:
    """Return what scores texts with a model.

    Parameters
    ----------
    model
        A model directory; or one made by ``protorynet export``, which ONNX Runtime opens whatever
        `runtime` says, without torch.
    encoder
        The encoder, where it lies elsewhere than in training.
    runtime
        ``"torch"`` or ``"onnx"``.
    device
        ``"auto"``, ``"cpu"`` or ``"cuda"``, for torch.
    cache
        Keep embeddings on disk between runs.
    """
    if is_exported(model):
        return open_exported(model, encoder=encoder, cache=cache)
    if runtime == "onnx" and model.is_dir():
        raise ModelFormatError(
            f"{model} is not exported, so ONNX Runtime cannot open it. Export it first with: "
            f"protorynet export {model} --format onnx -o EXPORTED"
        )
    from protorynet.classifier import ProtoryNetClassifier

    loaded = ProtoryNetClassifier.load(model, encoder=encoder, device=device, cache=cache)
    return ClassifierScorer(loaded)


def model_digest(model: Path) -> str:
    """Return a hash of all that a model directory holds, but for what is hidden there.

    The parts of an output are hidden, and an output may be made in the directory itself.
    """
    digest = hashlib.sha256()
    for name in sorted(path.relative_to(model) for path in model.rglob("*") if path.is_file()):
        if any(part.startswith(".") for part in name.parts):
            continue
        digest.update(os.fsencode(name.as_posix()) + b"\0")
        with (model / name).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def open_exported(model: Path, *, encoder: str | None = None, cache: bool = True) -> OnnxScorer:
    """Return an exported model in ONNX Runtime; it can explain, too."""
    if encoder is not None:
        raise InputError(
            f"{model} holds its encoder, so --encoder {encoder} has nothing to say; leave it out."
        )
    from protorynet.inference import OnnxScorer

    return OnnxScorer.load(model, cache=cache)
