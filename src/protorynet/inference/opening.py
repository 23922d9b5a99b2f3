"""Opening a model for predictions, with or without torch."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from protorynet.encoders import Encoder, load_encoder
from protorynet.errors import InputError, ModelFormatError
from protorynet.inference.export_folder import is_exported
from protorynet.inference.predictor import Predictor, TorchBackend

if TYPE_CHECKING:
    from protorynet.model import Model

__all__ = ["Runtime", "hash_model", "open_model", "open_predictor"]

Runtime = Literal["torch", "onnx"]


def open_predictor(
    model: str | Path,
    *,
    encoder: str | Path | Encoder | None = None,
    runtime: Runtime = "torch",
    device: str = "auto",
    cache: bool = True,
    progress: bool = False,
) -> Predictor:
    """Open a model for predictions and explanations.

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
    progress
        Show progress while encoding.
    """
    model = Path(model)
    if is_exported(model):
        if isinstance(encoder, str | Path):
            raise InputError(
                f"{model} holds its encoder, so --encoder {encoder} has nothing to say; leave it "
                "out."
            )
        from protorynet.inference.onnx_backend import open_export

        backend, own = open_export(model, encoder)
        return Predictor(backend, own, cache=cache, progress=progress)
    if runtime == "onnx" and model.is_dir():
        raise ModelFormatError(
            f"{model} is not exported, so ONNX Runtime cannot open it. Export it first with: "
            f"protorynet export {model} --format onnx -o EXPORTED"
        )
    opened, loaded = open_model(model, encoder=encoder, device=device)
    return Predictor(TorchBackend(opened), loaded, cache=cache, progress=progress)


def open_model(
    path: Path, *, encoder: str | Path | Encoder | None = None, device: str = "auto"
) -> tuple[Model, Encoder | None]:
    """Read a model directory and load its encoder; a tuned one lies in the directory itself."""
    from protorynet.encoders import choose_device
    from protorynet.model import PRECOMPUTED
    from protorynet.storage import load_model

    model, folder = load_model(path, device=str(choose_device(device)))
    named = model.encoder.name if encoder is None else encoder
    loaded = None
    if not (isinstance(named, str) and named == PRECOMPUTED):
        loaded = load_encoder(folder or named, device=device, fetch=False)
    model.encoder.check(loaded)
    return model, loaded


def hash_model(model: Path) -> str:
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
