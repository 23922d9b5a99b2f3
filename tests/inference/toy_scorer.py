"""A scorer without weights: what a sentence says decides its prototype, and a text its class."""

from __future__ import annotations

import sys
import time
import types
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import numpy as np

from protorynet.inference import Scores
from protorynet.labels import LabelCode

MODULE = "protorynet.inference"


class ToyScorer:
    """Scores any text at once; one without a letter holds no sentence."""

    labels = LabelCode(("bad", "good"), "multiclass")
    prototype_ids = ("0", "1", "2", "3", "4")

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def score(self, texts: Sequence[str]) -> Scores:
        time.sleep(self.seconds)
        sentences = [[s for s in text.split(".") if any(map(str.isalpha, s))] for text in texts]
        filled = np.array([bool(some) for some in sentences], np.bool_)
        columns = [crc32(s.encode()) % 5 for some in sentences for s in some]
        good = [crc32(t.encode()) / 2**32 for t, some in zip(texts, sentences, strict=True) if some]
        probabilities = np.array([[1 - p, p] for p in good], np.float32).reshape(-1, 2)
        lengths = np.array([len(some) for some in sentences if some], np.int64)
        return Scores(probabilities, np.array(columns, np.int64), lengths, filled)

    @classmethod
    def load(cls, folder: Path, *, cache: bool) -> ToyScorer:
        """Open an "exported" folder, whose export.json holds the seconds that scoring takes."""
        return cls(float((folder / "export.json").read_text()))


def toy_runtime() -> types.ModuleType:
    """Return a module that stands for the one which opens exported models."""
    module = types.ModuleType(MODULE)
    module.OnnxScorer = ToyScorer  # type: ignore[attr-defined]
    return module


def exported(folder: Path, *, seconds: float = 0.0) -> Path:
    """Make a folder that the toy runtime opens."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "export.json").write_text(str(seconds))
    return folder


if __name__ == "__main__":
    sys.modules[MODULE] = toy_runtime()
    from protorynet.cli import main

    sys.exit(main())
