"""What the tests of the benchmark share: where things lie, and the words of a command."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from protorynet.bench.catalogue import MODELS

ALL_MODELS = ",".join(kind.name for kind in MODELS)


@dataclass(frozen=True)
class Scene:
    """Where data, encoders and records lie."""

    data: Path
    encoder: Path
    judge: Path
    records: Path


def run_words(scene: Scene, models: str = ALL_MODELS, seeds: str = "0,1") -> list[str]:
    """Return the words of a `run` command."""
    words = ["run", "--data", scene.data, "--sets", "hotel", "--encoders", scene.encoder]
    words += ["--models", models, "--seeds", seeds, "--judge", scene.judge]
    words += ["--out", scene.records, "--device", "cpu", "--quick"]
    return [str(word) for word in words]
