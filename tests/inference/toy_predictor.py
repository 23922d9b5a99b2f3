"""A predictor without weights: what a sentence says decides its prototype, and a text its class."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import numpy as np

from protorynet.inference import Predictor, predictor
from protorynet.labels import LabelCode
from protorynet.reading import Reading

_FACTS = SimpleNamespace(
    labels=LabelCode(("bad", "good"), "multiclass"),
    prototypes=[SimpleNamespace(id=number) for number in range(5)],
    familiar=0.5,
)


class ToyPredictor(Predictor):
    """Reads any text at once; one without a letter holds no sentence."""

    def __init__(self, seconds: float = 0.0) -> None:
        backend: Any = SimpleNamespace(facts=_FACTS)
        super().__init__(backend, None, cache=False)
        self.seconds = seconds

    def read(self, documents: Sequence[str], **_: Any) -> Reading:
        time.sleep(self.seconds)
        sentences = [[s for s in text.split(".") if any(map(str.isalpha, s))] for text in documents]
        prototypes = np.array([crc32(s.encode()) % 5 for some in sentences for s in some], np.int64)
        good = [
            crc32(text.encode()) / 2**32
            for text, some in zip(documents, sentences, strict=True)
            if some
        ]
        ones = np.ones(len(prototypes), np.float32)
        return Reading(
            prototypes,
            ones,
            prototypes,
            ones,
            np.array([len(some) for some in sentences if some], np.int64),
            np.array([[1 - p, p] for p in good], np.float32).reshape(-1, 2),
            unfamiliar=np.array(["odd" in s for some in sentences for s in some], np.bool_),
            empty=np.array([n for n, some in enumerate(sentences) if not some], np.int64),
        )


def open_toy(folder: Path, **_: Any) -> ToyPredictor:
    """Open an "exported" folder, whose export.json holds the seconds that reading takes."""
    return ToyPredictor(float((folder / "export.json").read_text()))


def exported(folder: Path, *, seconds: float = 0.0) -> Path:
    """Make a folder that `open_toy` opens."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "export.json").write_text(str(seconds))
    return folder


if __name__ == "__main__":
    predictor.open_predictor = open_toy  # type: ignore[assignment]
    from protorynet.cli import main

    sys.exit(main())
