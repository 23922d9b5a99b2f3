"""Explaining documents against predicting them, measured in one run.

Both split and encode the same made-up texts, no sentence of which occurs twice, with nothing kept
on disk; explaining also leaves out every sentence in turn. The same is measured on vectors given
in place of texts, so that what explaining adds is seen without the encoder::

    python benchmarks/explaining_speed.py [--device cuda] [--documents 1000]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from protorynet import ProtoryNetClassifier, Settings

NOUNS = ("room", "bed", "hotel", "pool", "staff", "view", "breakfast", "night", "noise", "lobby")
OTHERS = (
    "the",
    "was",
    "and",
    "but",
    "we",
    "they",
    "clean",
    "dirty",
    "lovely",
    "rude",
    "never",
    "very",
)
WORDS = NOUNS + OTHERS
SETTINGS = Settings(epochs=2, retrain_epochs=2, min_prototypes=10, max_prototypes=20)
DIMENSION = 384


def make_texts(documents: int, seed: int) -> list[str]:
    """Make documents of 1 to 24 sentences of 5 to 25 words."""
    random = np.random.default_rng(seed)
    return [
        " ".join(
            " ".join(random.choice(WORDS, random.integers(5, 26))).capitalize() + "."
            for _ in range(random.integers(1, 25))
        )
        for _ in range(documents)
    ]


def make_sequences(documents: int, seed: int) -> list[np.ndarray]:
    """Make documents of 1 to 24 random vectors."""
    random = np.random.default_rng(seed)
    return [
        random.normal(size=(random.integers(1, 25), DIMENSION)).astype(np.float32)
        for _ in range(documents)
    ]


def compare(encoder: str, make: Callable[[int, int], Any], options: Any) -> dict[str, float]:
    """Train a model, then time predicting and explaining by turns; the fastest of each counts."""
    labels = ["good", "bad"] * 50
    classifier = ProtoryNetClassifier(
        encoder, settings=SETTINGS, device=options.device, cache=False
    ).fit(make(100, 0), labels)
    documents = make(options.documents, 1)
    classifier.explain(documents[:10])  # the first call pays for allocations
    predicting, explaining = [], []
    for _ in range(options.rounds):
        predicting.append(seconds(classifier.predict_proba, documents))
        explaining.append(seconds(classifier.explain, documents))
    return {
        "predicting_s": min(predicting),
        "explaining_s": min(explaining),
        "ratio": min(explaining) / min(predicting),
    }


def seconds(work: Callable[[Any], Any], documents: Any) -> float:
    """Time some work; its results lie in main memory, so a GPU has done when it returns."""
    start = time.perf_counter()
    work(documents)
    return time.perf_counter() - start


def main() -> None:
    """Measure with and without the encoder, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    result = {
        "texts": compare("minilm", make_texts, options),
        "vectors": compare("precomputed", make_sequences, options),
        "documents": options.documents,
        "device": options.device,
        "threads": torch.get_num_threads(),
    }
    print(json.dumps(result, indent=2))
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
