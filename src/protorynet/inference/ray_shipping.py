"""Sending a model to the machines of a cluster, which need not share a folder with it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from protorynet.errors import InputError
from protorynet.inference.opening import Runtime, open_predictor
from protorynet.inference.predictor import Predictor

__all__ = ["ShippedModel", "ship_model"]

_MOST_BYTES = 2 * 2**30


@dataclass(frozen=True)
class ShippedModel:
    """A model as a worker finds it.

    Parameters
    ----------
    content
        Its folder, on the machine of the command; or a reference to its files.
    encoder, runtime
        As `open_predictor` takes them.
    """

    content: Any
    encoder: str | None
    runtime: Runtime

    def open(self) -> Predictor:
        """Load the model in this process; nothing of it is left on disk."""
        if isinstance(self.content, Path):
            return self._open(self.content)
        import ray

        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            _unpack(ray.get(self.content), Path(folder))
            return self._open(Path(folder))

    def _open(self, folder: Path) -> Predictor:
        # Documents to be scored are new, so looking them up would only cost.
        return open_predictor(folder, encoder=self.encoder, runtime=self.runtime, cache=False)


def ship_model(
    ray: ModuleType, model: Path, *, encoder: str | None, runtime: Runtime, is_here: bool
) -> ShippedModel:
    """Return a model that workers can load; unless all are here, its files are sent to them."""
    if encoder is not None and Path(encoder).is_dir():
        encoder = str(Path(encoder).absolute())
    if is_here:
        return ShippedModel(model.absolute(), encoder, runtime)
    root = model.resolve()
    # A link could name any file of this machine.
    files = sorted(
        path for path in model.rglob("*") if path.is_file() and path.resolve().is_relative_to(root)
    )
    if (size := sum(path.stat().st_size for path in files)) > _MOST_BYTES:
        raise InputError(
            f"{model} holds {size / 2**30:.1f} GB, more than the {_MOST_BYTES / 2**30:.0f} GB that "
            "are sent to a cluster; remove what does not belong to the model."
        )
    content = {path.relative_to(model).as_posix(): path.read_bytes() for path in files}
    return ShippedModel(ray.put(content), encoder, runtime)


def _unpack(files: Mapping[str, bytes], folder: Path) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
