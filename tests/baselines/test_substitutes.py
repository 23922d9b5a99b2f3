"""What stands in for the LSTM, against slow and obvious versions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from hashing_encoder import HashingEncoder
from protorynet import ProtoryNetClassifier, Settings
from protorynet.baselines.sentence_scores import best_threshold, mean_scores, score_panel
from protorynet.baselines.substitutes import SUBSTITUTES, Substitutes, fit_substitutes
from protorynet.errors import EmptyDocumentError, InputError


@pytest.fixture(scope="module")
def classifier(reviews: Any, quick: Settings) -> ProtoryNetClassifier:
    settings = quick.replace(epochs=6, retrain_epochs=6)
    classifier = ProtoryNetClassifier(HashingEncoder(), settings=settings)
    return classifier.fit(reviews.texts, reviews.labels)


@pytest.fixture(scope="module")
def substitutes(classifier: ProtoryNetClassifier, reviews: Any) -> Substitutes:
    return fit_substitutes(classifier, reviews.texts, reviews.labels)


@pytest.fixture(scope="module")
def three_classes(reviews: Any, quick: Settings) -> tuple[Substitutes, list[str]]:
    labels = [
        "long stay" if "nine" in text else label
        for text, label in zip(reviews.texts, reviews.labels, strict=True)
    ]
    classifier = ProtoryNetClassifier(HashingEncoder(), settings=quick, on_empty="skip")
    classifier.fit(reviews.texts, labels)
    return fit_substitutes(classifier, reviews.texts, labels), labels


def documents_of_scores() -> st.SearchStrategy[list[np.ndarray]]:
    lengths = st.lists(st.integers(1, 15), min_size=1, max_size=6)
    score = st.floats(0, 1, width=32)
    return lengths.flatmap(
        lambda counts: st.tuples(
            *(arrays.arrays(np.float64, (count, 2), elements=score) for count in counts)
        ).map(list)
    )


@given(documents_of_scores())
def test_a_panel_is_what_a_loop_over_documents_makes(documents: list[np.ndarray]) -> None:
    slow = []
    for document in documents:
        rows = [row.tolist() for row in document[:10]]
        while len(rows) < 10:
            rows.append(document.mean(axis=0).tolist())
        slow.append([value for row in rows for value in row])
    lengths = np.array([len(document) for document in documents])
    assert np.allclose(score_panel(np.concatenate(documents), lengths), slow)


@given(documents_of_scores())
def test_means_are_those_of_all_sentences(documents: list[np.ndarray]) -> None:
    lengths = np.array([len(document) for document in documents])
    slow = [document.mean(axis=0) for document in documents]
    assert np.allclose(mean_scores(np.concatenate(documents), lengths), slow)


@given(st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=20))
def test_no_threshold_is_right_more_often_than_the_best(rows: list[tuple[int, bool]]) -> None:
    values = np.array([value / 8 for value, _ in rows])
    truth = np.array([label for _, label in rows])

    def right(threshold: float) -> int:
        return int(((values > threshold) == truth).sum())

    best = right(best_threshold(values, truth))
    assert best == max(right((half - 1) / 16) for half in range(19))


def test_substitutes_tell_good_reviews_from_bad(
    substitutes: Substitutes, unseen_reviews: Any
) -> None:
    accuracies = substitutes.accuracies(unseen_reviews.texts, unseen_reviews.labels)
    assert min(accuracies[name] for name in SUBSTITUTES) > 0.75


def test_the_average_follows_from_the_prototypes_shown(
    substitutes: Substitutes, classifier: ProtoryNetClassifier, unseen_reviews: Any
) -> None:
    slow = []
    for explanation in classifier.explain(unseen_reviews.texts):
        scores = [sentence.scores["good"] for sentence in explanation.sentences]
        slow.append("good" if sum(scores) / len(scores) > substitutes.threshold else "bad")
    assert substitutes.predict("average", unseen_reviews.texts).tolist() == slow


def test_the_models_own_accuracy_is_told_beside_them(
    substitutes: Substitutes, classifier: ProtoryNetClassifier, unseen_reviews: Any
) -> None:
    texts, labels = unseen_reviews.texts, unseen_reviews.labels
    told = substitutes.accuracies(texts, labels)
    assert set(told) == {*SUBSTITUTES, "protorynet"}
    assert told["protorynet"] == classifier.score(texts, labels)


def test_accuracies_are_those_of_the_predictions(
    substitutes: Substitutes, unseen_reviews: Any
) -> None:
    texts, labels = unseen_reviews.texts, np.array(unseen_reviews.labels)
    told = substitutes.accuracies(texts, labels)
    for name in SUBSTITUTES:
        assert told[name] == (substitutes.predict(name, texts) == labels).mean()


def test_fitting_again_gives_the_same(
    substitutes: Substitutes, classifier: ProtoryNetClassifier, reviews: Any
) -> None:
    again = fit_substitutes(classifier, reviews.texts, reviews.labels)
    assert again.threshold == substitutes.threshold
    assert (again.regression.coef_ == substitutes.regression.coef_).all()
    assert again.rules() == substitutes.rules()


def test_rules_speak_of_sentences_and_classes(substitutes: Substitutes) -> None:
    rules = substitutes.rules()
    assert "p(good) of sentence" in rules
    assert "class: good" in rules


def test_rules_name_every_class_of_several(three_classes: tuple[Substitutes, list[str]]) -> None:
    rules = three_classes[0].rules()
    assert "class: long stay" in rules
    assert three_classes[0].threshold is None


def test_of_several_classes_the_highest_mean_score_wins(
    three_classes: tuple[Substitutes, list[str]], unseen_reviews: Any
) -> None:
    substitutes, _ = three_classes
    slow = []
    for explanation in substitutes.classifier.explain(unseen_reviews.texts):
        totals = {
            name: sum(sentence.scores[name] for sentence in explanation.sentences)
            for name in explanation.classes
        }
        slow.append(max(totals, key=lambda name: totals[name]))
    assert substitutes.predict("average", unseen_reviews.texts).tolist() == slow


def test_a_document_without_a_sentence_gets_the_most_frequent_class(
    three_classes: tuple[Substitutes, list[str]], reviews: Any
) -> None:
    substitutes, labels = three_classes
    frequent = max(sorted(set(labels)), key=labels.count)
    for name in SUBSTITUTES:
        mixed = substitutes.predict(name, ["", reviews.texts[0]]).tolist()
        assert mixed == [frequent, substitutes.predict(name, reviews.texts[:1])[0]]
        assert substitutes.predict(name, [" "]).tolist() == [frequent]


def test_a_classifier_that_refuses_empty_documents_still_does(substitutes: Substitutes) -> None:
    with pytest.raises(EmptyDocumentError):
        substitutes.predict("average", [""])


def test_an_unknown_substitute_is_refused_by_name(substitutes: Substitutes) -> None:
    with pytest.raises(InputError, match="no substitute 'forest'; the substitutes are average"):
        substitutes.predict("forest", ["Fine."])


def test_labels_that_do_not_fit_the_documents_are_refused(substitutes: Substitutes) -> None:
    with pytest.raises(InputError, match="1 documents but 2 labels"):
        substitutes.accuracies(["Fine."], ["good", "bad"])


def test_documents_of_one_class_cannot_teach(classifier: ProtoryNetClassifier) -> None:
    with pytest.raises(InputError, match="at least two classes"):
        fit_substitutes(classifier, ["Fine.", "Nice."], ["good", "good"])


def test_several_labels_at_once_are_refused(reviews: Any, quick: Settings) -> None:
    sets = [(label, "review") for label in reviews.labels]
    classifier = ProtoryNetClassifier(HashingEncoder(), settings=quick).fit(reviews.texts, sets)
    with pytest.raises(InputError, match="one class per document"):
        fit_substitutes(classifier, reviews.texts, sets)
