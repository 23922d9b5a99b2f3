"""The whole model on labelled documents, against slow and obvious versions."""

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from prepared_documents import prepare
from protorynet import Explanation
from protorynet.errors import InputError
from protorynet.explain import (
    find_slices,
    overview_model,
)
from protorynet.figures import measure_figures, reliability_bins

_MOST = 1000


@pytest.fixture(scope="module")
def labels(unseen_reviews):
    """The labels with every seventh turned round, so that there are mistakes."""
    turned = {"good": "bad", "bad": "good"}
    return [turned[y] if n % 7 == 3 else y for n, y in enumerate(unseen_reviews.labels)]


@pytest.fixture(scope="module")
def documents(clf, unseen_reviews, labels):
    return prepare(clf, unseen_reviews.texts, labels, first_row=100)


@pytest.fixture(scope="module")
def figures(clf, documents, unseen_reviews):
    said = clf.predict_proba(unseen_reviews.texts)
    return measure_figures(clf.model_.labels, documents.targets, said)


@pytest.fixture(scope="module")
def overview(clf, documents):
    return overview_model(clf.model_, documents, nearest=3, mistakes=_MOST)


@pytest.fixture(scope="module")
def explained(clf, unseen_reviews):
    explanations: list[Explanation] = clf.explain(unseen_reviews.texts)
    return explanations


def test_accuracy_confusion_and_class_figures_are_scikit_learns(
    overview, figures, explained, labels
):
    from sklearn.metrics import confusion_matrix, f1_score, precision_score, recall_score

    predicted = [each.label for each in explained]
    names = list(overview.classes)
    matrix = confusion_matrix(labels, predicted, labels=names)
    assert np.array(figures.confusion).tolist() == matrix.tolist()
    assert figures.n_right == int(matrix.trace())
    assert figures.accuracy == figures.n_right / len(labels)
    assert figures.majority_baseline == max(Counter(labels).values()) / len(labels)
    how = {"labels": names, "average": None, "zero_division": 0}
    for name, score in (("recall", recall_score), ("precision", precision_score), ("f1", f1_score)):
        expected = score(labels, predicted, **how)
        assert [getattr(each, name) for each in figures.classes] == pytest.approx(expected)


def test_usage_and_class_rates_count_the_matched_sentences(overview, explained, labels):
    matched = [
        (step.prototype, label)
        for each, label in zip(explained, labels, strict=True)
        for step in each.sentences
    ]
    scores = [each.prototype.scores[overview.classes[-1]] for each in overview.prototypes]
    assert scores == sorted(scores, reverse=True)
    for figures in overview.prototypes:
        own = [label for number, label in matched if number == figures.prototype.id]
        assert figures.usage == pytest.approx(len(own) / len(matched))
        for name, rate in figures.class_rate.items():
            assert rate == pytest.approx(own.count(name) / len(own))


def test_the_nearest_sentences_are_the_most_similar_distinct_ones(overview, explained):
    for figures in overview.prototypes:
        own: dict[str, float] = {}
        rows: dict[str, set[int]] = {}
        for row, each in enumerate(explained, start=100):
            for step in each.sentences:
                if step.prototype == figures.prototype.id:
                    own.setdefault(step.text, step.similarity)
                    rows.setdefault(step.text, set()).add(row)
        first = sorted(own, key=lambda text: -own[text])[:3]
        assert [near.text for near in figures.nearest] == first
        assert [near.rows for near in figures.nearest] == [tuple(sorted(rows[t])) for t in first]


def test_reliability_bins_hold_every_prediction_once(overview, figures, explained, labels):
    last = overview.classes[-1]
    said = [each.probabilities[last] for each in explained]
    for bin_ in figures.reliability:
        own = [
            (p, label == last)
            for p, label in zip(said, labels, strict=True)
            if bin_.low <= np.float64(np.float32(p)) < bin_.high
        ]
        assert bin_.count == len(own)
        assert bin_.n_true == sum(true for _, true in own)
        assert bin_.said == pytest.approx(sum(p for p, _ in own) / len(own))
    assert sum(bin_.count for bin_ in figures.reliability) == len(labels)
    bins = reliability_bins(np.array([1.0, 1.0, 0.0]), np.array([True, False, False]))
    assert [(each.low, each.count) for each in bins] == [(0.0, 1), (0.9, 2)]
    assert replace(figures, reliability=bins).calibration_error == pytest.approx(1 / 3)


def test_mistakes_come_surest_first_and_blame_the_largest_effect(overview, explained, labels):
    wrong = [
        (-max(each.probabilities.values()), row)
        for row, (each, label) in enumerate(zip(explained, labels, strict=True), start=100)
        if each.label != label
    ]
    assert wrong
    assert [each.row for each in overview.mistakes] == [row for _, row in sorted(wrong)]
    for mistake in overview.mistakes:
        effects = [step.effect for step in explained[mistake.row - 100].sentences]
        assert mistake.truth == labels[mistake.row - 100]
        assert mistake.wrong_class == mistake.explanation.label
        assert effects[mistake.blamed] == pytest.approx(max(effects), abs=1e-6)
        assert mistake.blamed_effect == pytest.approx(max(effects), abs=1e-6)
    misled = {each.row for each in overview.mistakes if each.one_misled}
    assert misled == {each.row for each in overview.mistakes if each.blamed_effect >= 0.05}
    answers = [each.explanation.label for each in overview.examples]
    assert answers == [each.truth for each in overview.examples]


def test_documents_may_be_empty_or_vectors_but_not_all_empty(clf, of_vectors):
    other, sequences, labels = of_vectors
    found = overview_model(other.model_, prepare(other, sequences, labels))
    assert (found.has_texts, found.plainest, found.n_sentences) == (False, None, 120)
    given = prepare(clf, ["\u200b", "The room was lovely."], ["bad", "good"], first_row=100)
    found = overview_model(clf.model_, given)
    assert found.n_sentences == 1
    assert {row for each in found.prototypes for near in each.nearest for row in near.rows} == {101}
    with pytest.raises(InputError, match="no documents with a sentence"):
        overview_model(clf.model_, prepare(clf, ["\u200b"], ["bad"]))


def test_several_labels_have_no_confusion_matrix_but_figures_per_class(several, unseen_reviews):
    truth = [("room", "pool")] * len(unseen_reviews.texts)
    found = overview_model(several.model_, prepare(several, unseen_reviews.texts, truth))
    answers = several.predict(unseen_reviews.texts)
    targets = several.model_.labels.encode(truth)
    figures = measure_figures(several.model_.labels, targets, answers.astype(np.float32))
    assert (figures.confusion, figures.majority_baseline, found.n_sure) == (None, None, 0)
    assert figures.n_right == int((answers == targets).all(axis=1).sum())
    assert [each.n_both for each in figures.classes] == (answers * targets).sum(0).tolist()


def test_a_missing_label_is_blamed_on_the_sentence_that_hides_it(several, unseen_reviews):
    model = several.model_
    truth = [("room", "pool", "staff")] * len(unseen_reviews.texts)
    given = prepare(several, unseen_reviews.texts, truth, first_row=100)
    mistake = next(
        each
        for each in overview_model(model, given, mistakes=_MOST).mistakes
        if not each.given and len(each.explanation.sentences) > 1
    )
    text = unseen_reviews.texts[mistake.row - 100]
    label = model.labels.names.index(mistake.wrong_class)
    whole = several.predict_proba([text])[0, label]
    assert mistake.certainty == pytest.approx(1 - whole, abs=1e-5)
    rises = []
    for step in mistake.explanation.sentences:
        without = text[: step.start] + text[step.end :]
        rises.append(several.predict_proba([without])[0, label] - whole)
    assert mistake.blamed == int(np.argmax(rises))
    assert mistake.blamed_effect == pytest.approx(max(rises), abs=1e-5)


def test_slices_count_the_mistakes_of_the_documents_that_they_name(clf, reviews):
    turned = {"good": "bad", "bad": "good"}
    labels = [
        turned[answer] if "pool" in text else answer
        for text, answer in zip(reviews.texts, clf.predict(reviews.texts), strict=True)
    ]
    documents = prepare(clf, reviews.texts, labels)
    reading = clf.read(reviews.texts)
    wrong = clf.predict(reviews.texts) != np.array(labels)
    paths = reading.paths(clf.prototypes_.ids.tolist())
    holds = {
        "length": lambda n, asked: (
            asked["min_sentences"] <= reading.lengths[n] <= asked["max_sentences"]
        ),
        "class": lambda n, asked: labels[n] == asked["truth"],
        "prototype": lambda n, asked: asked["prototype"] in paths[n].tolist(),
        "word": lambda n, asked: asked["word"] in re.findall(r"\w+", reviews.texts[n].lower()),
    }
    found = find_slices(clf.model_, documents, reading)
    assert "pool" in [each.name for each in found if each.kind == "word"]
    for each in found:
        own = [n for n in range(len(labels)) if holds[each.kind](n, each.holds)]
        assert (each.n_documents, each.n_wrong) == (len(own), wrong[own].sum()), each.name
    lengths = [each.n_documents for each in found if each.kind == "length"]
    assert sum(lengths) == len(labels)
