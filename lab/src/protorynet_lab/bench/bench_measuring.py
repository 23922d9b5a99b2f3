"""One job: train a model, read the test split once, and write down what came out."""

from __future__ import annotations

import hashlib
import importlib.metadata
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protorynet.classifier import ProtoryNetClassifier
from protorynet.data import Table, split_documents
from protorynet.encoders import EmbeddingCache, Encoder, encode_corpus
from protorynet.errors import InputError
from protorynet.explain import PERTURBATIONS, perturb
from protorynet.model import Model
from protorynet.prototypes import Edits, is_complete
from protorynet.training import Labelled, edit_model, retrain_reader
from protorynet_lab.baselines import SUBSTITUTES, fit_substitutes, substitute_predictions
from protorynet_lab.bench.bench_jobs import Documents, Job
from protorynet_lab.bench.bench_significance import pack_flags, pack_numbers

if TYPE_CHECKING:
    from protorynet_lab.baselines import Rival

_SHORT_WORDS = 25  # the paper calls documents with fewer words short
_PACKAGES = ("protorynet", "torch", "transformers", "numpy", "scikit-learn", "sentencex")
_FEWEST_PROTOTYPES = 2
_COUNTERPART_COSINE = 0.6  # from which two sentences of different models count as the same
_SAMPLED_DOCUMENTS = 1_000
_KEPT_OF_PROTOTYPES = ("id", "sentence", "usage", "scores", "class_rate", "words")
_KEPT_MEMBERS, _ASSIGNED_SENTENCES, _NOISY_DOCUMENTS = 5, 2_000, 1_000
_DIGESTED_BYTES = 1 << 20  # of the beginning of a file of word vectors, which may be gigabytes


@dataclass(frozen=True)
class Material:
    """What a job works on."""

    documents: Documents
    encoder: Encoder | None  # which no job may change
    judge: Encoder | None  # of matches; None leaves the choice to `ProtoryNetClassifier.evaluate`
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
        "weights": digest_weights(job, material.encoder, material.vectors),
        "data": material.documents.digest,
        "columns": material.documents.columns,
        "n_train": len(material.documents.train),
        "device": _name_device(material.device),
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
    reading = classifier.read(test.texts)
    substitutes = fit_substitutes(classifier, train.texts, train.labels)
    predictions = substitute_predictions(classifier, substitutes, test.texts)
    thresholds = job.variant.thresholds
    pruning = {"pruning": _prune(classifier, thresholds, train, test)} if thresholds else {}
    training = classifier.model_.training
    prototypes = [item.to_dict() for item in classifier.prototypes_.ranked()]
    members = classifier.prototypes_.members
    fragments = [not is_complete(member.sentence) for member in members]
    return {
        **_score_predictions(predictions["protorynet"], test),
        **_score_noise(classifier.predict, test),
        **pruning,
        "fragment_prototypes": float(np.mean(fragments)),
        "prototypes": [
            {
                **{key: item[key] for key in _KEPT_OF_PROTOTYPES},
                "n_members": len(item["members"]),
                "members": [member["sentence"] for member in item["members"][:_KEPT_MEMBERS]],
            }
            for item in ([] if job.variant.name else prototypes)  # of variants nothing shows them
        ],
        "assigned": pack_numbers(reading.prototypes[:_ASSIGNED_SENTENCES]),
        "automata": [
            {
                "label": str(each.label),
                "fidelity": each.fidelity,
                "n_states": len(each.states),
                "n_transitions": each.n_transitions,
            }
            for each in classifier.model_.automata
        ],
        "n_prototypes": evaluation.n_prototypes,
        "n_members": evaluation.n_members,
        "substitutes": {
            name: float((predictions[name] == np.array(test.labels)).mean()) for name in SUBSTITUTES
        },
        "faithfulness": {each.name: each.value for each in evaluation.measures},
        "judge": material.judge_name,
        "validation_accuracy": training.validation_accuracy,
        "seconds": {
            "prepare": max(0.0, trained - start - sum(training.seconds.values())),
            **training.seconds,
            "evaluate": time.perf_counter() - trained,
        },
    }


def _measure_rival(job: Job, material: Material) -> dict[str, Any]:
    train, test = material.documents.train, material.documents.test
    rival = _build_rival(job, material)
    rival.fit(train.texts, train.labels)
    trained = time.perf_counter()
    prototypes = getattr(rival, "prototypes_", None)
    return {
        **_score_predictions(rival.predict(test.texts), test),
        **_score_noise(rival.predict, test),
        **({} if prototypes is None else {"n_prototypes": len(prototypes)}),
        "validation_accuracy": rival.validation_accuracy_,
        "seconds": {
            **getattr(rival, "stage_seconds_", {"train": rival.seconds_}),
            "evaluate": time.perf_counter() - trained,
        },
    }


def _build_rival(job: Job, material: Material) -> Rival:
    from protorynet_lab import baselines

    seed: dict[str, Any] = {"random_state": job.seed}
    device: dict[str, Any] = {"device": material.device, **seed}
    encoder: Any = material.encoder  # loaded for every job of a model that uses one
    if job.kind.family == "ceiling":
        return baselines.BlackBoxClassifier(encoder, settings=job.settings, **device)
    if job.model in ("bag-of-words", "bag-of-words-paper"):
        return baselines.BagOfWordsClassifier(**job.options, **seed)
    if job.model == "transformer":
        return baselines.TransformerClassifier(encoder, **job.options, **device)
    if job.model == "protoattend":
        return baselines.ProtoAttendClassifier(encoder, **job.options, **device)
    # The record names the file of the vectors; the rival needs its path.
    by_word = {**job.options, "vectors": material.vectors, **device}
    if job.model == "prosenet":
        return baselines.ProSeNetClassifier(**by_word)
    return baselines.VanillaLSTMClassifier(**by_word)


def _score_predictions(predicted: NDArray[Any], test: Table) -> dict[str, Any]:
    """Return the accuracy, of short and of long documents too, and which documents were right."""
    from sklearn.metrics import f1_score

    truth = np.array(test.labels)
    correct = predicted == truth
    # By number, since scikit-learn takes classes such as 1.5 for a regression's.
    _, numbers = np.unique(np.concatenate([truth, predicted]), return_inverse=True)
    short = np.array([len(text.split()) < _SHORT_WORDS for text in test.texts])
    return {
        "accuracy": float(correct.mean()),
        "macro_f1": float(f1_score(*np.split(numbers, 2), average="macro", zero_division=0)),
        "n_test": len(test),
        "n_short": int(short.sum()),
        "short_accuracy": float(correct[short].mean()) if short.any() else None,
        "long_accuracy": float(correct[~short].mean()) if not short.all() else None,
        "correct": pack_flags(correct),
    }


def _score_noise(predict: Callable[[list[str]], NDArray[Any]], test: Table) -> dict[str, float]:
    """Return the accuracy under each kind of noise, on documents spread over the test split."""
    every = -(-len(test) // _NOISY_DOCUMENTS)
    texts, truth = test.texts[::every], np.array(test.labels)[::every]
    noisy = {name: [perturb(text, name) for text in texts] for name in ("none", *PERTURBATIONS)}
    return {f"{name}_noise": float((predict(noisy[name]) == truth).mean()) for name in noisy}


def _prune(
    classifier: ProtoryNetClassifier, thresholds: Sequence[float], train: Table, test: Table
) -> list[dict[str, float]]:
    """Remove the prototypes used less than each threshold, and train the reader again.

    Every threshold starts from the model as it was trained, which is the first point.
    """
    model = classifier.model_
    learned = classifier.labelled(train.texts, train.labels)
    unseen = classifier.labelled(test.texts, test.labels)
    points = [_measure_pruned(0.0, model, unseen)]
    before = frozenset[int]()
    for threshold in thresholds:
        dropped = frozenset(item.id for item in model.prototypes if item.usage < threshold)
        if len(model.prototypes) - len(dropped) < _FEWEST_PROTOTYPES:
            break
        if dropped != before:
            edited = edit_model(model, Edits.of(drop=sorted(dropped)), None)
            pruned = retrain_reader(model, edited, learned).model
            points.append(_measure_pruned(threshold, pruned, unseen))
        else:
            points.append({**points[-1], "threshold": threshold})
        before = dropped
    return points


def _measure_pruned(threshold: float, model: Model, unseen: Labelled) -> dict[str, float]:
    trajectory = model.match(unseen.embeddings, unseen.sentences.lengths)
    predicted = model.read(trajectory).probabilities.argmax(axis=1)
    return {
        "threshold": threshold,
        "n_prototypes": len(model.prototypes),
        "accuracy": float((predicted == unseen.targets.argmax(axis=1)).mean()),
    }


def measure_stability(
    encoder: Encoder, sets_of_sentences: Sequence[Sequence[str]], mean: NDArray[np.float32]
) -> float:
    """Return the share of a model's prototypes that another seed's model has as well.

    The mean is that of the corpus: raw cosines lie in a narrow band, those around it do not.
    """
    vectors = []
    for sentences in sets_of_sentences:
        centred = encoder.encode(list(sentences)) - mean
        lengths = np.linalg.norm(centred, axis=1, keepdims=True).astype(np.float32)
        vectors.append(centred / np.maximum(lengths, np.float32(1e-12)))
    return float(np.mean([match_share(a, b) for a, b in combinations(vectors, 2)]))


def match_share(first: NDArray[np.float32], second: NDArray[np.float32]) -> float:
    """Return the share of unit vectors with a counterpart in the other set, each used only once."""
    from scipy.optimize import linear_sum_assignment

    cosines = first @ second.T
    pairs = linear_sum_assignment(cosines, maximize=True)
    matched = int((cosines[pairs] >= _COUNTERPART_COSINE).sum())
    return (matched / len(first) + matched / len(second)) / 2


def mean_sentence(encoder: Encoder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the mean vector of the sentences of the first documents."""
    sentences = split_documents(texts[:_SAMPLED_DOCUMENTS], on_empty="skip")
    vectors = encode_corpus(encoder, sentences.texts, cache=EmbeddingCache()).vectors
    mean: NDArray[np.float32] = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    return mean


def digest_weights(job: Job, encoder: Encoder | None, vectors: Path | None) -> str:
    """Return a digest of the encoder or the word vectors a job starts from; empty for none."""
    if encoder is not None and job.kind.uses_encoder:
        text = encoder.fingerprint
    elif vectors is not None and job.vectors:
        parts = []
        for file in sorted(vectors.iterdir()) if vectors.is_dir() else [vectors]:
            if file.is_file():
                with file.open("rb") as opened:
                    beginning = hashlib.sha256(opened.read(_DIGESTED_BYTES)).hexdigest()
                parts.append(f"{file.stat().st_size} {beginning}")
        text = "\n".join(parts)
    else:
        return ""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _name_device(device: str) -> str:
    import torch

    from protorynet.encoders import choose_device

    try:
        chosen = choose_device(device)
    except InputError:
        return "cpu"  # the model was measured all the same, so it did not ask for a device
    return torch.cuda.get_device_name(chosen) if chosen.type == "cuda" else chosen.type
