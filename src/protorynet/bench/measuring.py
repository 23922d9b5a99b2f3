"""One job: train a model, read the test split once, and write down what came out."""

from __future__ import annotations

import importlib.metadata
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from protorynet.baselines import fit_bag_of_words, fit_black_box
from protorynet.bench.catalogue import Family
from protorynet.bench.jobs import Job
from protorynet.classifier import ProtoryNetClassifier
from protorynet.encoders import EmbeddingCache, Encoder
from protorynet.prototypes import is_complete
from protorynet.text import Table

__all__ = ["Material", "measure"]

_PACKAGES = ("protorynet", "torch", "transformers", "numpy", "scikit-learn", "sentencex")


@dataclass(frozen=True)
class Material:
    """What a job works on.

    Parameters
    ----------
    train, test
        The documents.
    encoder
        The encoder, which no job may change; None for a model without one.
    judge, judge_name
        An encoder that judges matches, and its name in the record; None leaves the choice to
        `ProtoryNetClassifier.evaluate`.
    device
        Where to work.
    """

    train: Table
    test: Table
    encoder: Encoder | None
    judge: Encoder | None
    judge_name: str
    device: str


def measure(job: Job, material: Material) -> dict[str, Any]:
    """Train the job's model and return its record, ready for JSON."""
    measured = _WAYS[job.kind.family](job, material)
    return {
        "settings": job.changes,
        "recipe": job.recipe,
        "n_train": len(material.train),
        "device": _device_name(material.device),
        "versions": {name: importlib.metadata.version(name) for name in _PACKAGES},
        **measured,
    }


def _measure_protorynet(job: Job, material: Material) -> dict[str, Any]:
    start = time.perf_counter()
    classifier = ProtoryNetClassifier(
        _needed(material.encoder),
        settings=job.settings,
        on_empty="skip",
        random_state=job.seed,
        device=material.device,
    )
    classifier.fit(material.train.texts, material.train.labels)
    trained = time.perf_counter()
    if job.settings.encoder_training == "full":
        # What a fine-tuned encoder gives is read once; keeping it would only push others out.
        classifier.set_params(cache=False)
    evaluation = classifier.evaluate(
        material.test.texts, material.test.labels, judge=material.judge
    )
    record = classifier.model_.training
    prototypes = [item.to_dict() for item in classifier.prototypes_.ranked()]
    return {
        "accuracy": evaluation.accuracy,
        "macro_f1": evaluation.macro_f1,
        "n_prototypes": evaluation.n_prototypes,
        "n_test": evaluation.n_documents,
        "faithfulness": {each.name: _finite(each.value) for each in evaluation.measures},
        "fragment_prototypes": float(
            np.mean([not is_complete(item["sentence"]) for item in prototypes])
        ),
        "judge": material.judge_name,
        "validation_accuracy": record.validation_accuracy,
        "seconds": {
            "prepare": max(0.0, trained - start - sum(record.seconds.values())),
            **record.seconds,
            "evaluate": time.perf_counter() - trained,
        },
        "prototypes": [
            {key: item[key] for key in ("id", "sentence", "usage", "scores", "class_rate")}
            for item in prototypes
        ],
    }


def _measure_ceiling(job: Job, material: Material) -> dict[str, Any]:
    box = fit_black_box(
        material.train.texts,
        material.train.labels,
        encoder=_needed(material.encoder),
        settings=job.settings,
        seed=job.seed,
        device=material.device,
        cache=EmbeddingCache(),
    )
    return {
        **_scored(box.predict, material.test, box.seconds),
        "validation_accuracy": box.validation_accuracy,
    }


def _measure_floor(job: Job, material: Material) -> dict[str, Any]:
    start = time.perf_counter()
    bag = fit_bag_of_words(material.train.texts, _labels(material.train), job.seed)
    seconds = {"train": time.perf_counter() - start}
    return {
        **_scored(bag.predict, material.test, seconds),
        "validation_accuracy": bag.validation_accuracy,
    }


_WAYS: dict[Family, Callable[[Job, Material], dict[str, Any]]] = {
    "ours": _measure_protorynet,
    "paper": _measure_protorynet,
    "ceiling": _measure_ceiling,
    "floor": _measure_floor,
}


def _scored(
    predict: Callable[[Sequence[str]], Any], test: Table, seconds: dict[str, float]
) -> dict[str, Any]:
    from sklearn.metrics import f1_score

    start = time.perf_counter()
    truth, predicted = np.array(_labels(test)), predict(test.texts)
    return {
        "accuracy": float((predicted == truth).mean()),
        "macro_f1": float(f1_score(truth, predicted, average="macro", zero_division=0)),
        "n_test": len(test),
        "seconds": {**seconds, "evaluate": time.perf_counter() - start},
    }


def _finite(value: float | None) -> float | None:
    """Return a figure that JSON can hold."""
    return value if value is not None and math.isfinite(value) else None


def _labels(table: Table) -> Sequence[Any]:
    assert table.labels is not None, "tables are read with their labels"
    return table.labels


def _needed(encoder: Encoder | None) -> Encoder:
    assert encoder is not None, "only a bag of words does without an encoder"
    return encoder


def _device_name(device: str) -> str:
    import torch

    from protorynet.encoders import choose_device

    chosen = choose_device(device)
    return torch.cuda.get_device_name(chosen) if chosen.type == "cuda" else chosen.type
