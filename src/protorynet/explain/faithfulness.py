"""How far the explanations can be trusted: measures that are reported with every accuracy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from protorynet.data import Sentences
from protorynet.encoders import Embeddings
from protorynet.explain.erasure import erasure_measures
from protorynet.explain.evaluation import Evaluation, Measure
from protorynet.explain.judging import Judge, judged_sentences, match_qualities
from protorynet.explain.pretrained import (
    Encode,
    duplicate_prototypes,
    pretrained_space,
    semantic_measures,
)
from protorynet.explain.walk import Walk
from protorynet.model import Model
from protorynet.reading import Reading

__all__ = ["evaluate_model"]


def evaluate_model(
    model: Model,
    sentences: Sentences,
    embeddings: Embeddings,
    targets: NDArray[np.float32],
    *,
    encode: Encode | None,
    pretrained: Encode | None = None,
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
    pretrained
        A fine-tuned encoder as it was before training (see `pretrained_encode`); without it what
        needs it is not known. For all other models `encode` is that already.
    judge, judge_name
        An independent judge of likeness, and what it is called in the report.
    seed
        Seed of the shuffling and sampling.
    """
    from sklearn.metrics import f1_score

    trajectory = model.read(model.match(embeddings, sentences.lengths))
    predicted = model.labels.decide(trajectory.probabilities)
    truth = model.labels.decide(targets)
    measures, space = [_ids_only(model, trajectory, truth)], None
    if encode is not None:
        shown = encode([item.sentence for item in model.prototypes])
        judged = judged_sentences(np.random.default_rng(seed), len(sentences))
        space = pretrained_space(
            model, sentences, embeddings, shown, judged=judged, pretrained=pretrained, seed=seed
        )
        measures += [
            _substitution(model, trajectory, predicted, shown),
            _exactness(model, shown),
            duplicate_prototypes(model, space),
            *semantic_measures(space, trajectory),
        ]
    if judge is not None:
        measures += match_qualities(
            model, sentences, trajectory, space, judge, judge_name=judge_name, seed=seed
        )
    measures += [
        _projection_drop(model),
        _calibration(model, trajectory, targets),
        *erasure_measures(model, trajectory, seed),
        _shuffled(model, trajectory, truth, seed),
        *_usage(model, trajectory),
        *_automata(model, trajectory),
    ]
    labels = (model.labels.decode(targets), model.labels.decode(trajectory.probabilities))
    return Evaluation(
        accuracy=_agreement(predicted, truth),
        macro_f1=float(f1_score(*labels, average="macro", zero_division=0)),
        n_documents=len(targets),
        n_prototypes=len(model.prototypes),
        measures=tuple(measures),
    )


def _ids_only(model: Model, trajectory: Reading, truth: NDArray[np.bool_]) -> Measure:
    accuracy = _agreement(_labels(model, trajectory.with_full_similarity()), truth)
    return Measure(
        "ids_only_accuracy",
        accuracy,
        "Accuracy when the reader sees only which prototype each sentence is matched to, not how "
        "similar it is. Much lower than the accuracy: the shown matches are not the whole reason.",
    )


def _substitution(
    model: Model,
    trajectory: Reading,
    predicted: NDArray[np.bool_],
    shown: NDArray[np.float32],
) -> Measure:
    k = len(shown)
    again = model.match(Embeddings(shown, np.arange(k)), np.ones(k, np.int64))
    replaced = again.take(trajectory.columns, trajectory.lengths)
    return Measure(
        "substitution_agreement",
        _agreement(_labels(model, replaced), predicted),
        "Share of predictions that stay the same when every sentence is replaced by its "
        "prototype's sentence and the whole model runs again. Low: the prototypes do not stand "
        "for the sentences they are shown for.",
    )


def _exactness(model: Model, shown: NDArray[np.float32]) -> Measure:
    error = (model.embed(shown) - model.network.prototypes).abs().max()
    return Measure(
        "prototype_error",
        float(error),
        "Largest difference between a prototype's vector and its sentence encoded again. Above "
        "0.00001: the sentence shown is not what the model computes with.",
    )


def _projection_drop(model: Model) -> Measure:
    meaning = (
        "Validation accuracy lost when the prototypes that training had left free became real "
        "sentences. Well above 0: the sentences shown say less than what the model had learnt."
    )
    free = model.training.free_accuracy
    if free is None:
        return Measure("projection_drop", None, meaning + " It was not recorded for this model.")
    return Measure("projection_drop", free - model.training.validation_accuracy, meaning)


def _calibration(model: Model, trajectory: Reading, targets: NDArray[np.float32]) -> Measure:
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


def _shuffled(model: Model, trajectory: Reading, truth: NDArray[np.bool_], seed: int) -> Measure:
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


def _usage(model: Model, trajectory: Reading) -> list[Measure]:
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


def _automata(model: Model, trajectory: Reading) -> list[Measure]:
    meaning = (
        "Share of the documents on which the automaton of a class decides as the model does, "
        "averaged over the classes. Much below 1: the patterns that explanations name are not how "
        "the model decides."
    )
    size = (
        "States of the largest automaton. More than about 20: it is no summary that a person could "
        "follow."
    )
    if not model.automata:
        missing = " The model holds no automata."
        return [
            Measure("automaton_fidelity", None, meaning + missing),
            Measure("automaton_states", None, size + missing),
        ]
    members = model.labels.decide(trajectory.probabilities)
    walk, shares = Walk(trajectory, members[:, 0]), []
    for place, automaton in enumerate(model.automata):
        accepting = np.array([state.accepting for state in automaton.states])
        judged = walk.judged(members[:, place])
        shares.append(judged.fidelity(np.array(automaton.transitions), automaton.start, accepting))
    most = max(len(automaton.states) for automaton in model.automata)
    return [
        Measure("automaton_fidelity", float(np.mean(shares)), meaning),
        Measure("automaton_states", float(most), size),
    ]


def _labels(model: Model, trajectory: Reading) -> NDArray[np.bool_]:
    return model.labels.decide(model.read(trajectory).probabilities)


def _agreement(predicted: NDArray[np.bool_], truth: NDArray[np.bool_]) -> float:
    """Return the share of documents with equal labels; all of them, for several at once."""
    return float((predicted == truth).all(axis=1).mean())
