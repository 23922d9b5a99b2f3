"""Explaining documents against predicting them, measured in one run.

Both split and encode the same made-up texts, no sentence of which occurs twice; explaining also
leaves out every sentence in turn. Measured with nothing kept on disk, with all embeddings in the
cache, and on vectors given in place of texts, so that what explaining adds is seen without
encoder and splitting. On a CPU processor time is told, which other work on the machine leaves
alone. Python's garbage collector rests meanwhile: its full runs would fall on either by chance::

    python benchmarks/explaining_speed.py [--device cuda] [--documents 1000] [--json FILE]
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from charts import Bar, Picture, draw_bars, write_figure

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


def trained(encoder: str, make: Callable[[int, int], Any], device: str) -> ProtoryNetClassifier:
    """Train a model on a hundred documents."""
    classifier = ProtoryNetClassifier(encoder, settings=SETTINGS, device=device, cache=False)
    return classifier.fit(make(100, 0), ["good", "bad"] * 50)


def compare(classifier: ProtoryNetClassifier, documents: Any, rounds: int) -> dict[str, float]:
    """Time predicting and explaining by turns; the fastest of each counts."""
    classifier.explain(documents[:10])  # the first call pays for allocations
    predicting, explaining = [], []
    for _ in range(rounds):
        predicting.append(seconds(classifier.predict_proba, documents, classifier.device))
        explaining.append(seconds(classifier.explain, documents, classifier.device))
    return {
        "predicting_s": min(predicting),
        "explaining_s": min(explaining),
        "ratio": min(explaining) / min(predicting),
    }


def seconds(work: Callable[[Any], Any], documents: Any, device: str) -> float:
    """Time some work; its results lie in main memory, so a GPU has done when it returns."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    gc.collect()
    gc.disable()
    start = clock()
    work(documents)
    taken = clock() - start
    gc.enable()
    return taken


def draw(result: dict[str, Any]) -> Picture:
    """Draw how many times as long as predicting explaining takes."""
    names = {"texts": "texts", "cached": "texts, cached", "vectors": "vectors"}
    bars = [
        Bar(name, result[key]["ratio"], f"{result[key]['ratio']:.1f} times")
        for key, name in names.items()
    ]
    return draw_bars("Explaining against predicting", bars)


def main() -> None:
    """Measure with and without encoding, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5, help="of those that encode nothing")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    classifier = trained("minilm", make_texts, options.device)
    texts = make_texts(options.documents, 1)
    encoding = compare(classifier, texts, 1)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PROTORYNET_CACHE"] = folder
        classifier.set_params(cache=True).predict(texts)
        cached = compare(classifier, texts, options.rounds)
    classifier = trained("precomputed", make_sequences, options.device)
    result = {
        "texts": encoding,
        "cached": cached,
        "vectors": compare(classifier, make_sequences(options.documents, 1), options.rounds),
        "documents": options.documents,
        "device": options.device,
        "threads": torch.get_num_threads(),
    }
    print(json.dumps(result, indent=2))
    if options.json:
        write_figure(options.json, result, draw(result))


if __name__ == "__main__":
    main()
