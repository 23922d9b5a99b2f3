"""How far the explanations can be trusted: measures that are reported with every accuracy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from protorynet.encoders import Embeddings
from protorynet.explain.evaluation import Evaluation, Measure
from protorynet.model import Model
from protorynet.network import Trajectory
from protorynet.text import Sentences

__all__ = ["Encode", "Judge", "encoder_judge", "evaluate_model", "tfidf_judge"]

Encode = Callable[[list[str]], NDArray[np.float32]]
"""Gives the vectors of sentences, as the model's own encoder does."""

Judge = Callable[[list[str], list[str]], NDArray[np.float32]]
"""Gives the likeness of every sentence of a first list to every one of a second."""

_JUDGED_SENTENCES = 1000


def evaluate_model(
    model: Model,
    sentences: Sentences,
    embeddings: Embeddings,
    targets: NDArray[np.float32],
    *,
    encode: Encode | None,
    judge: Judge | None,
    judge_name: str = "",
    seed: int = 0,
) -> Evaluation:
    """Measure accuracy and faithfulness on labelled documents.

    Parameters
    ----------
    model
        The model.
    sentences, embeddings, targets
        The documents, none empty, with one-hot or multi-hot labels.
    encode
        The model's encoder, to encode the prototypes' sentences again; None for vectors that the
        user gave, whose prototypes cannot be encoded again.
    judge, judge_name
        An independent judge of likeness, and what it is called in the report.
    seed
        Seed of the shuffling and sampling.
    """
    from sklearn.metrics import f1_score

    trajectory = model.trace(embeddings, sentences.lengths)
    predicted = _labels(model, trajectory)
    truth = _decided(model, targets)
    measures = [
        _ids_only(model, trajectory, truth),
        *([_substitution(model, trajectory, predicted, encode)] if encode else []),
        *([_exactness(model, encode)] if encode else []),
        *([_match_quality(model, sentences, trajectory, judge, judge_name, seed)] if judge else []),
        _calibration(model, trajectory, targets),
        _shuffled(model, trajectory, truth, seed),
        *_usage(model, trajectory),
    ]
    return Evaluation(
        accuracy=_agreement(predicted, truth),
        macro_f1=float(f1_score(truth, predicted, average="macro", zero_division=0)),
        n_documents=len(targets),
        n_prototypes=len(model.prototypes),
        measures=tuple(measures),
    )


def encoder_judge(encode: Encode) -> Judge:
    """Return a judge that compares by the cosine of an encoder's centred vectors."""

    def judge(sentences: list[str], prototypes: list[str]) -> NDArray[np.float32]:
        vectors, others = encode(sentences), encode(prototypes)
        centre = vectors.mean(axis=0)
        likeness: NDArray[np.float32] = _unit(vectors - centre) @ _unit(others - centre).T
        return likeness

    return judge


def tfidf_judge(sentences: list[str], prototypes: list[str]) -> NDArray[np.float32]:
    """Judge likeness by shared pieces of words (TF-IDF of 3 to 5 characters, cosine)."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    vectors = vectorizer.fit_transform([*sentences, *prototypes])
    likeness = vectors[: len(sentences)] @ vectors[len(sentences) :].T
    return np.asarray(likeness.todense(), dtype=np.float32)


def _ids_only(model: Model, trajectory: Trajectory, truth: NDArray[np.int64]) -> Measure:
    accuracy = _agreement(_labels(model, trajectory.with_full_similarity()), truth)
    return Measure(
        "ids_only_accuracy",
        accuracy,
        "Accuracy when the reader sees only which prototype each sentence is matched to, not how "
        "similar it is. Much lower than the accuracy: the shown matches are not the whole reason.",
    )


def _substitution(
    model: Model, trajectory: Trajectory, predicted: NDArray[np.int64], encode: Encode
) -> Measure:
    vectors = encode([item.sentence for item in model.prototypes])
    k = len(vectors)
    again = model.trace(Embeddings(vectors, np.arange(k)), np.ones(k, np.int64))
    replaced = again.take(trajectory.columns, trajectory.lengths)
    return Measure(
        "substitution_agreement",
        _agreement(_labels(model, replaced), predicted),
        "Share of predictions that stay the same when every sentence is replaced by its "
        "prototype's sentence and the whole model runs again. Low: the prototypes do not stand "
        "for the sentences they are shown for.",
    )


def _exactness(model: Model, encode: Encode) -> Measure:
    vectors = model.embed(encode([item.sentence for item in model.prototypes]))
    error = (vectors - model.network.prototypes).abs().max()
    return Measure(
        "prototype_error",
        float(error),
        "Largest difference between a prototype's vector and its sentence encoded again. Above "
        "0.00001: the sentence shown is not what the model computes with.",
    )


def _match_quality(
    model: Model,
    sentences: Sentences,
    trajectory: Trajectory,
    judge: Judge,
    judge_name: str,
    seed: int,
) -> Measure:
    meaning = (
        "How often an independent judge"
        + (f" ({judge_name})" if judge_name else "")
        + " finds the sentence more like its prototype than like two random others. One third "
        "would be chance."
    )
    live = np.unique(trajectory.columns)
    if len(live) < 3:
        return Measure("match_quality", None, meaning + " Needs three prototypes in use.")
    random = np.random.default_rng(seed)
    count = min(_JUDGED_SENTENCES, len(sentences))
    sample = np.sort(random.choice(len(sentences), count, replace=False))
    likeness = judge(
        [sentences.texts[place] for place in sample],
        [model.prototypes[int(column)].sentence for column in live],
    )
    active = np.searchsorted(live, trajectory.columns[sample])
    # Two different other prototypes for each sentence: the two smallest of random numbers.
    order = random.random(likeness.shape)
    order[np.arange(len(sample)), active] = np.inf
    others = np.argsort(order, axis=1)[:, :2]
    own = likeness[np.arange(len(sample)), active]
    best_other = np.take_along_axis(likeness, others, axis=1).max(axis=1)
    return Measure("match_quality", float((own > best_other).mean()), meaning)


def _calibration(model: Model, trajectory: Trajectory, targets: NDArray[np.float32]) -> Measure:
    meaning = (
        "Correlation, over the prototypes, of the model's score with the share of the class among "
        "the documents of the sentences matched to it. Near 0: the scores mean nothing."
    )
    counts = np.bincount(trajectory.columns, minlength=len(model.prototypes))
    sums = np.zeros((len(counts), targets.shape[1]))
    np.add.at(sums, trajectory.columns, np.repeat(targets, trajectory.lengths, axis=0))
    live = counts > 0
    rates = sums[live] / counts[live][:, None]
    scores = np.array([list(item.scores.values()) for item in model.prototypes])[live]
    first = 1 if rates.shape[1] == 2 and model.labels.task == "multiclass" else 0
    rates, scores = rates[:, first:].ravel(), scores[:, first:].ravel()
    if len(rates) < 3 or rates.std() == 0 or scores.std() == 0:
        return Measure("score_calibration", None, meaning)
    return Measure("score_calibration", float(np.corrcoef(rates, scores)[0, 1]), meaning)


def _shuffled(model: Model, trajectory: Trajectory, truth: NDArray[np.int64], seed: int) -> Measure:
    random = np.random.default_rng(seed)
    document = np.repeat(np.arange(len(trajectory.lengths)), trajectory.lengths)
    order = np.lexsort((random.random(len(document)), document))
    shuffled = trajectory.take(order, trajectory.lengths)
    return Measure(
        "shuffled_accuracy",
        _agreement(_labels(model, shuffled), truth),
        "Accuracy with the sentences of each document in random order. Equal to the accuracy: the "
        "order of the sentences is not used.",
    )


def _usage(model: Model, trajectory: Trajectory) -> list[Measure]:
    counts = np.bincount(trajectory.columns, minlength=len(model.prototypes))
    share = counts / counts.sum()
    used = share[share > 0]
    return [
        Measure(
            "top_usage",
            float(share.max()),
            "Share of the sentences matched to the most used prototype. Near 1: the trajectories "
            "say little.",
        ),
        Measure(
            "usage_perplexity",
            float(np.exp(-(used * np.log(used)).sum())),
            "How many equally used prototypes would be as varied as these. Near 2: trajectories "
            "are hardly more than yes and no.",
        ),
        Measure(
            "unused_prototypes",
            float((counts == 0).mean()),
            "Share of the prototypes that no sentence of these documents is matched to.",
        ),
    ]


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True).astype(np.float32)
    unit: NDArray[np.float32] = vectors / np.maximum(lengths, np.float32(1e-12))
    return unit


def _labels(model: Model, trajectory: Trajectory) -> NDArray[np.int64]:
    return _decided(model, model.read(trajectory).probabilities)


def _decided(model: Model, values: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the class of each row, or a 0/1 matrix for several labels."""
    if model.labels.task == "multilabel":
        return (values >= 0.5).astype(np.int64)
    classes: NDArray[np.int64] = values.argmax(axis=1)
    return classes


def _agreement(predicted: NDArray[np.int64], truth: NDArray[np.int64]) -> float:
    """Return the share of documents with equal labels; all of them, for several at once."""
    equal = predicted == truth
    return float(equal.mean() if equal.ndim == 1 else equal.all(axis=1).mean())
