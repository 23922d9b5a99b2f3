"""Explaining documents against predicting them, measured in one run.

Both split and encode the same made-up texts, no sentence of which occurs twice; explaining also
leaves out every sentence in turn. Measured with nothing kept on disk, with all embeddings in the
cache, and on vectors given in place of texts, so that what explaining adds is seen without
encoder and splitting. On a CPU processor time counts, which other work on the machine leaves
alone. Python's garbage collector rests meanwhile: its full runs would fall on either by chance::

    python benchmarks/explaining_speed.py [--device cuda] [--documents 1000] [--json FILE]
"""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from charts import Bar, report
from measuring import best_times, make_reviews, new_parser

from protorynet import ProtoryNetClassifier, Settings

SETTINGS = Settings(epochs=2, retrain_epochs=2, min_prototypes=10, max_prototypes=20)
DIMENSION = 384


def make_texts(documents: int, seed: int) -> list[str]:
    """Make documents of 1 to 24 sentences of 7 to 25 words."""
    return make_reviews(documents, seed=seed, sentences=(1, 24), more_words=(0, 18))[0]


def make_sequences(documents: int, seed: int) -> list[np.ndarray]:
    """Make documents of 1 to 24 random vectors."""
    random = np.random.default_rng(seed)
    return [
        random.normal(size=(random.integers(1, 25), DIMENSION)).astype(np.float32)
        for _ in range(documents)
    ]


def train(encoder: str, make: Callable[[int, int], Any], device: str) -> ProtoryNetClassifier:
    """Train a model on a hundred documents."""
    classifier = ProtoryNetClassifier(encoder, settings=SETTINGS, device=device, cache=False)
    return classifier.fit(make(100, 0), ["good", "bad"] * 50)


def compare(classifier: ProtoryNetClassifier, documents: Any, rounds: int) -> dict[str, float]:
    """Time predicting and explaining by turns; the fastest of each counts."""
    classifier.explain(documents[:10])  # the first call pays for allocations
    # Their results lie in main memory, so a GPU has done when they return.
    ways = {"predicting_s": classifier.predict_proba, "explaining_s": classifier.explain}
    gc.disable()
    best = best_times({name: partial(way, documents) for name, way in ways.items()}, rounds)
    gc.enable()
    clock = "processor_seconds" if classifier.device == "cpu" else "seconds"
    taken = {name: getattr(times, clock) for name, times in best.items()}
    return {**taken, "ratio": taken["explaining_s"] / taken["predicting_s"]}


def main() -> None:
    """Measure with and without encoding, and print the ratios."""
    parser = new_parser(__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5, help="of those that encode nothing")
    options = parser.parse_args()
    classifier = train("minilm", make_texts, options.device)
    texts = make_texts(options.documents, 1)
    encoding = compare(classifier, texts, 1)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PROTORYNET_CACHE"] = folder
        classifier.set_params(cache=True).predict(texts)
        cached = compare(classifier, texts, options.rounds)
    classifier = train("precomputed", make_sequences, options.device)
    result = {
        "texts": encoding,
        "cached": cached,
        "vectors": compare(classifier, make_sequences(options.documents, 1), options.rounds),
        "documents": options.documents,
        "device": options.device,
        "threads": torch.get_num_threads(),
    }
    names = {"texts": "texts", "cached": "texts, cached", "vectors": "vectors"}
    bars = [
        Bar(name, result[key]["ratio"], f"{result[key]['ratio']:.1f} times")
        for key, name in names.items()
    ]
    report(result, options.output, "Explaining against predicting", bars)


if __name__ == "__main__":
    main()
