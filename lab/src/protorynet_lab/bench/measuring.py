"""One job: train a model, read the test split once, and write down what came out."""

from __future__ import annotations

import importlib.metadata
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.classifier import ProtoryNetClassifier
from protorynet.data import Table
from protorynet.encoders import Encoder
from protorynet.errors import InputError
from protorynet.prototypes import is_complete
from protorynet_lab.baselines import SUBSTITUTES, fit_substitutes, substitute_predictions
from protorynet_lab.bench.documents import Documents
from protorynet_lab.bench.jobs import Job
from protorynet_lab.bench.rivals import build_rival, count_prototypes
from protorynet_lab.bench.significance import pack_flags
from protorynet_lab.bench.thresholds import prune_to_thresholds
from protorynet_lab.bench.weights import weights_of

__all__ = ["Material", "measure"]

_SHORT = 25  # words; the paper calls documents with fewer short
_PACKAGES = ("protorynet", "torch", "transformers", "numpy", "scikit-learn", "sentencex")


@dataclass(frozen=True)
class Material:
    """What a job works on.

    Parameters
    ----------
    documents
        The documents to learn from and to test on.
    encoder
        The encoder, which no job may change; None for a model without one.
    judge, judge_name
        An encoder that judges matches, and its name in the record; None leaves the choice to
        `ProtoryNetClassifier.evaluate`.
    device
        Where to work.
    vectors
        Word vectors for the rivals that read word by word.
    """

    documents: Documents
    encoder: Encoder | None
    judge: Encoder | None
    judge_name: str
    device: str
    vectors: Path | None = None


def measure(job: Job, material: Material) -> dict[str, Any]:
    """Train the job's model and return its record, ready for JSON."""
    way = _measure_protorynet if job.kind.has_prototypes else _measure_rival
    measured = way(job, material)
    return {
        "settings": job.changes,
        "recipe": job.recipe,
        "weights": weights_of(job, material.encoder, material.vectors),
        "data": material.documents.digest,
        "columns": material.documents.columns,
        "n_train": len(material.documents.train),
        "device": _device_name(material.device),
        "versions": {name: importlib.metadata.version(name) for name in _PACKAGES},
        **measured,
    }


def _measure_protorynet(job: Job, material: Material) -> dict[str, Any]:
    start = time.perf_counter()
    train, test = material.documents.train, material.documents.test
    assert material.encoder is not None, "models with prototypes have an encoder"
    classifier = ProtoryNetClassifier(
        material.encoder,
        settings=job.settings,
        on_empty="skip",
        random_state=job.seed,
        device=material.device,
    )
    classifier.fit(train.texts, train.labels)
    trained = time.perf_counter()
    if job.settings.encoder_training == "full":
        # What a fine-tuned encoder gives is read once; keeping it would only push others out.
        classifier.set_params(cache=False)
    evaluation = classifier.evaluate(test.texts, test.labels, judge=material.judge)
    substitutes = fit_substitutes(classifier, train.texts, train.labels)
    predictions = substitute_predictions(classifier, substitutes, test.texts)
    thresholds = job.variant.thresholds
    pruning = prune_to_thresholds(classifier, thresholds, train, test) if thresholds else None
    record = classifier.model_.training
    return {
        **_judged(predictions["protorynet"], test),
        **_described(classifier, job),
        **({} if pruning is None else {"pruning": pruning}),
        "n_prototypes": evaluation.n_prototypes,
        "substitutes": {
            name: float((predictions[name] == _truth(test)).mean()) for name in SUBSTITUTES
        },
        "faithfulness": {each.name: each.value for each in evaluation.measures},
        "judge": material.judge_name,
        "validation_accuracy": record.validation_accuracy,
        "seconds": {
            "prepare": max(0.0, trained - start - sum(record.seconds.values())),
            **record.seconds,
            "evaluate": time.perf_counter() - trained,
        },
    }


def _described(classifier: ProtoryNetClassifier, job: Job) -> dict[str, Any]:
    """Return the automata of a model, and its prototypes, which of variants nothing shows."""
    prototypes = [item.to_dict() for item in classifier.prototypes_.ranked()]
    return {
        "fragment_prototypes": float(
            np.mean([not is_complete(item["sentence"]) for item in prototypes])
        ),
        "prototypes": [
            {key: item[key] for key in ("id", "sentence", "usage", "scores", "class_rate")}
            for item in ([] if job.variant.name else prototypes)
        ],
        "automata": [
            {
                "label": str(each.label),
                "fidelity": each.fidelity,
                "n_states": len(each.states),
                "n_transitions": each.n_transitions,
            }
            for each in classifier.model_.automata
        ],
    }


def _measure_rival(job: Job, material: Material) -> dict[str, Any]:
    train, test = material.documents.train, material.documents.test
    rival = build_rival(
        job, encoder=material.encoder, device=material.device, vectors=material.vectors
    )
    rival.fit(train.texts, train.labels)
    trained = time.perf_counter()
    count = count_prototypes(rival)
    return {
        **_judged(rival.predict(test.texts), test),
        **({} if count is None else {"n_prototypes": count}),
        "validation_accuracy": rival.validation_accuracy_,
        "seconds": {
            **getattr(rival, "stage_seconds_", {"train": rival.seconds_}),
            "evaluate": time.perf_counter() - trained,
        },
    }


def _judged(predicted: NDArray[Any], test: Table) -> dict[str, Any]:
    """Return the accuracy, of short and of long documents too, and which documents were right."""
    from sklearn.metrics import f1_score

    truth = _truth(test)
    correct = predicted == truth
    # By number, since scikit-learn takes classes such as 1.5 for a regression's.
    _, numbers = np.unique(np.concatenate([truth, predicted]), return_inverse=True)
    places = np.split(numbers, 2)
    short = np.array([len(text.split()) < _SHORT for text in test.texts])
    return {
        "accuracy": float(correct.mean()),
        "macro_f1": float(f1_score(*places, average="macro", zero_division=0)),
        "n_test": len(test),
        "n_short": int(short.sum()),
        "short_accuracy": float(correct[short].mean()) if short.any() else None,
        "long_accuracy": float(correct[~short].mean()) if not short.all() else None,
        "correct": pack_flags(correct),
    }


def _truth(table: Table) -> NDArray[Any]:
    assert table.labels is not None, "tables are read with their labels"
    return np.array(table.labels)


def _device_name(device: str) -> str:
    import torch

    from protorynet.encoders import choose_device

    try:
        chosen = choose_device(device)
    except InputError:
        return "cpu"  # the model was measured all the same, so it did not ask for a device
    return torch.cuda.get_device_name(chosen) if chosen.type == "cuda" else chosen.type
