"""Every measure of an evaluation against a slow version."""

from __future__ import annotations

import copy
import itertools
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from protorynet import Evaluation, ProtoryNetClassifier, Settings
from protorynet.errors import InputError
from protorynet.explain import faithfulness, tfidf_judge
from protorynet.reading import Reading


def measure(evaluation: Evaluation, name: str) -> float | None:
    return {m.name: m.value for m in evaluation.measures}[name]


def label_of(clf: ProtoryNetClassifier, steps: list[tuple[int, float]]) -> str:
    columns = np.array([column for column, _ in steps])
    values = np.array([value for _, value in steps], np.float32)
    trajectory = Reading(columns, values, columns, values, np.array([len(steps)]))
    return str(clf.classes_[clf.model_.read(trajectory).probabilities[0].argmax()])


def test_accuracy_is_the_share_of_right_labels(
    evaluation: Evaluation, clf: ProtoryNetClassifier, unseen_reviews: Any
) -> None:
    predicted = clf.predict(unseen_reviews.texts).tolist()
    right = [p == truth for p, truth in zip(predicted, unseen_reviews.labels, strict=True)]
    assert evaluation.accuracy == pytest.approx(sum(right) / len(right))
    assert evaluation.n_documents == len(right)
    assert evaluation.n_prototypes == len(clf.prototypes_)


def test_macro_f1_is_the_mean_over_classes(
    evaluation: Evaluation, clf: ProtoryNetClassifier, unseen_reviews: Any
) -> None:
    predicted, scores = clf.predict(unseen_reviews.texts).tolist(), []
    for label in ("bad", "good"):
        pairs = list(zip(predicted, unseen_reviews.labels, strict=True))
        both = sum(p == label and t == label for p, t in pairs)
        either = sum((p == label) + (t == label) for p, t in pairs)
        scores.append(2 * both / either)
    assert evaluation.macro_f1 == pytest.approx(sum(scores) / 2)


def test_ids_only_accuracy_reads_every_similarity_as_one(
    evaluation: Evaluation, clf: ProtoryNetClassifier, trajectories: Any, unseen_reviews: Any
) -> None:
    predicted = [label_of(clf, [(column, 1.0) for column, _ in steps]) for steps in trajectories]
    right = np.mean([p == t for p, t in zip(predicted, unseen_reviews.labels, strict=True)])
    assert measure(evaluation, "ids_only_accuracy") == pytest.approx(float(right))


def test_substitution_agreement_runs_the_model_on_the_prototypes_sentences(
    evaluation: Evaluation, clf: ProtoryNetClassifier, trajectories: Any, unseen_reviews: Any
) -> None:
    replaced = [
        " ".join(clf.prototypes_[column].sentence for column, _ in steps) for steps in trajectories
    ]
    same = np.mean(clf.predict(replaced) == clf.predict(unseen_reviews.texts))
    assert measure(evaluation, "substitution_agreement") == pytest.approx(float(same))


def test_prototype_error_is_the_largest_difference_of_vectors(
    evaluation: Evaluation, clf: ProtoryNetClassifier, encoder: Any
) -> None:
    vectors = clf.model_.embed(encoder.encode([item.sentence for item in clf.prototypes_]))
    expected = max(
        abs(a - b)
        for row, own in zip(vectors.tolist(), clf.model_.network.prototypes.tolist(), strict=True)
        for a, b in zip(row, own, strict=True)
    )
    assert measure(evaluation, "prototype_error") == pytest.approx(expected, abs=1e-9)
    assert expected < 1e-5


def test_score_calibration_is_the_correlation_of_score_and_class_rate(
    evaluation: Evaluation, clf: ProtoryNetClassifier, trajectories: Any, unseen_reviews: Any
) -> None:
    seen: dict[int, list[bool]] = {}
    for steps, label in zip(trajectories, unseen_reviews.labels, strict=True):
        for column, _ in steps:
            seen.setdefault(column, []).append(label == "good")
    rates = [sum(found) / len(found) for found in seen.values()]
    scores = [clf.prototypes_[column].scores["good"] for column in seen]
    expected = float(np.corrcoef(rates, scores)[0, 1])
    assert measure(evaluation, "score_calibration") == pytest.approx(expected, abs=1e-6)


def test_usage_measures_count_the_sentences_of_each_prototype(
    evaluation: Evaluation, clf: ProtoryNetClassifier, trajectories: Any
) -> None:
    columns = [column for steps in trajectories for column, _ in steps]
    shares = [columns.count(column) / len(columns) for column in range(len(clf.prototypes_))]
    entropy = -sum(share * math.log(share) for share in shares if share)
    assert measure(evaluation, "top_usage") == pytest.approx(max(shares))
    assert measure(evaluation, "usage_perplexity") == pytest.approx(math.exp(entropy))
    assert measure(evaluation, "unused_prototypes") == pytest.approx(shares.count(0) / len(shares))


def test_shuffling_keeps_every_sentence_in_its_document(
    clf: ProtoryNetClassifier, unseen_reviews: Any, encoder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []
    real = faithfulness._labels

    def watched(model: Any, trajectory: Reading) -> Any:
        read.append(trajectory)
        return real(model, trajectory)

    monkeypatch.setattr(faithfulness, "_labels", watched)
    clf.evaluate(unseen_reviews.texts, unseen_reviews.labels, judge=encoder)
    whole, shuffled = clf.read(unseen_reviews.texts), read[-1]
    assert (whole.columns != shuffled.columns).any()
    for start, end in itertools.pairwise(whole.offsets):
        pairs = [
            sorted(zip(t.columns[start:end], t.similarities[start:end], strict=True))
            for t in (whole, shuffled)
        ]
        assert pairs[0] == pairs[1]


def test_shuffled_accuracy_of_one_sentence_documents_is_the_accuracy(
    clf: ProtoryNetClassifier, encoder: Any
) -> None:
    texts = ["The room was clean.", "The bed was awful.", "The pool was noisy."]
    found = clf.evaluate(texts, ["good", "bad", "bad"], judge=encoder)
    assert measure(found, "shuffled_accuracy") == found.accuracy


def test_match_quality_is_one_for_a_judge_who_agrees_and_zero_for_one_who_does_not(
    clf: ProtoryNetClassifier, unseen_reviews: Any, trajectories: Any
) -> None:
    active = [clf.prototypes_[column].sentence for steps in trajectories for column, _ in steps]

    def agreeing(sentences: list[str], prototypes: list[str]) -> Any:
        assert len(sentences) == len(active)
        return np.array([[float(p == own) for p in prototypes] for own in active], np.float32)

    values = []
    for judge in (agreeing, lambda a, b: -agreeing(a, b), lambda a, b: 0 * agreeing(a, b)):
        sentences, embeddings = clf.prepare(unseen_reviews.texts)
        found = faithfulness.evaluate_model(
            clf.model_,
            sentences,
            embeddings,
            clf.model_.labels.encode(unseen_reviews.labels),
            encode=None,
            judge=judge,
        )
        values.append(measure(found, "match_quality"))
    assert values == [1.0, 0.0, 0.0]


def test_measures_that_cannot_be_computed_say_so(clf: ProtoryNetClassifier, encoder: Any) -> None:
    found = clf.evaluate(["The room was clean."], ["good"], judge=encoder)
    assert measure(found, "match_quality") is None
    assert measure(found, "score_calibration") is None


def test_projection_drop_is_the_validation_accuracy_lost_since_the_prototypes_were_free(
    clf: ProtoryNetClassifier, encoder: Any
) -> None:
    values = []
    for free in (0.95, None):
        record = replace(clf.model_.training, validation_accuracy=0.9, free_accuracy=free)
        other = copy.copy(clf)
        other.model_ = replace(clf.model_, training=record)
        found = other.evaluate(["The room was clean."], ["good"], judge=encoder)
        values.append(measure(found, "projection_drop"))
    assert values == [pytest.approx(0.05), None]


def test_vectors_without_texts_leave_out_what_needs_texts(reviews: Any, quick: Settings) -> None:
    random = np.random.default_rng(0)
    signs = [1 if label == "good" else -1 for label in reviews.labels]
    sequences = [random.normal(sign, 1, (3, 4)).astype(np.float32) for sign in signs]
    clf = ProtoryNetClassifier("precomputed", settings=quick, device="cpu", cache=False)
    found = clf.fit(sequences, reviews.labels).evaluate(sequences, reviews.labels)
    names = {m.name for m in found.measures}
    assert {"ids_only_accuracy", "comprehensiveness", "sufficiency"} <= names
    assert not {"match_quality", "semantic_similarity", "duplicate_prototypes"} & names


def test_every_measure_explains_itself_in_a_sentence(evaluation: Evaluation) -> None:
    assert all(m.meaning.endswith(".") and len(m.meaning) > 40 for m in evaluation.measures)


def test_automaton_fidelity_is_the_share_of_documents_judged_alike(
    evaluation: Evaluation, clf: ProtoryNetClassifier, trajectories: Any
) -> None:
    alike = [
        automaton.accepts([column for column, _ in steps])
        == (label_of(clf, steps) == automaton.label)
        for automaton in clf.model_.automata
        for steps in trajectories
    ]
    assert measure(evaluation, "automaton_fidelity") == pytest.approx(np.mean(alike))
    most = max(len(automaton.states) for automaton in clf.model_.automata)
    assert measure(evaluation, "automaton_states") == most


def test_without_automata_their_fidelity_is_not_known(
    clf: ProtoryNetClassifier, unseen_reviews: Any, encoder: Any
) -> None:
    bare = copy.copy(clf)
    bare.model_ = replace(clf.model_, automata=())
    found = bare.evaluate(unseen_reviews.texts, unseen_reviews.labels, judge=encoder)
    assert measure(found, "automaton_fidelity") is None
    assert measure(found, "automaton_states") is None


def test_json_has_the_keys_that_other_programs_read(evaluation: Evaluation) -> None:
    values = json.loads(json.dumps(evaluation.to_dict()))
    assert set(values) >= {"accuracy", "macro_f1", "n_documents", "n_prototypes", "faithfulness"}
    assert set(values["faithfulness"]) >= {
        "automaton_fidelity",
        "automaton_states",
        "comprehensiveness",
        "duplicate_prototypes",
        "ids_only_accuracy",
        "match_quality",
        "match_quality_untrained",
        "projection_drop",
        "prototype_error",
        "score_calibration",
        "semantic_limit",
        "semantic_similarity",
        "shuffled_accuracy",
        "substitution_agreement",
        "sufficiency",
        "top_usage",
        "unused_prototypes",
        "usage_perplexity",
    }


def test_evaluating_twice_gives_the_same_figures(
    clf: ProtoryNetClassifier, evaluation: Evaluation, unseen_reviews: Any, encoder: Any
) -> None:
    assert clf.evaluate(unseen_reviews.texts, unseen_reviews.labels, judge=encoder) == evaluation


def test_the_word_piece_judge_finds_equal_sentences_alike() -> None:
    sentences = ["The room was clean.", "A dreadful film"]
    likeness = tfidf_judge(sentences, [*sentences, "The rooms were clean."])
    assert likeness.shape == (2, 3)
    assert likeness[0, 0] == pytest.approx(1, abs=1e-5)
    assert likeness[0, 2] > likeness[0, 1]


def test_a_label_never_seen_in_training_is_refused(clf: ProtoryNetClassifier) -> None:
    with pytest.raises(InputError, match="'so-so' were not seen in training"):
        clf.evaluate(["The room was clean."], ["so-so"])


def test_a_multilabel_document_is_right_only_if_all_its_labels_are(
    reviews: Any, encoder: Any, quick: Settings
) -> None:
    tags = [[tag in text for tag in ("room", "pool")] for text in reviews.texts]
    clf = ProtoryNetClassifier(encoder, settings=quick, device="cpu", cache=False)
    found = clf.fit(reviews.texts, tags).evaluate(reviews.texts, tags, judge=encoder)
    right = (clf.predict(reviews.texts) == np.array(tags)).all(axis=1).mean()
    assert found.accuracy == pytest.approx(float(right))
