"""Comprehensiveness and sufficiency against a version that reads one document at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from protorynet import ProtoryNetClassifier, Settings
from protorynet.explain import evaluation
from protorynet.explain.evaluation import _most_important
from protorynet.reading import Reading

Steps = list[tuple[int, float]]


@pytest.fixture(scope="module")
def documents(unseen_reviews: Any) -> list[str]:
    """Documents of two to about twenty sentences."""
    texts = unseen_reviews.texts
    return [" ".join(texts[place : place + 1 + place % 6]) for place in range(len(texts) - 6)]


def measures(clf: ProtoryNetClassifier, documents: list[str]) -> dict[str, float | None]:
    trajectory = clf.read(documents)
    return {item.name: item.value for item in erasure_measures(clf.model_, trajectory, seed=0)}


def steps_of(trajectory: Reading) -> list[Steps]:
    steps = list(zip(trajectory.columns.tolist(), trajectory.similarities.tolist(), strict=True))
    ends = np.cumsum(trajectory.lengths).tolist()
    return [steps[end - size : end] for end, size in zip(ends, trajectory.lengths, strict=True)]


def probabilities(clf: ProtoryNetClassifier, steps: Steps) -> Any:
    columns = np.array([column for column, _ in steps])
    values = np.array([value for _, value in steps], np.float32)
    trajectory = Reading(columns, values, columns, values, np.array([len(steps)]))
    return clf.model_.read(trajectory).probabilities[0]


def slowly(clf: ProtoryNetClassifier, steps: Steps) -> tuple[float, float]:
    """Return the probability lost without the most important fifth, and with it alone."""
    whole = probabilities(clf, steps)
    label = whole.argmax()
    lost = [
        whole[label] - probabilities(clf, steps[:place] + steps[place + 1 :])[label]
        for place in range(len(steps))
    ]
    count = max(1, len(steps) // 5)
    important = sorted(range(len(steps)), key=lambda place: -lost[place])[:count]
    kept = [step for place, step in enumerate(steps) if place in important]
    rest = [step for place, step in enumerate(steps) if place not in important]
    return tuple(whole[label] - probabilities(clf, part)[label] for part in (rest, kept))


def test_probability_lost_is_that_of_documents_read_one_by_one(
    clf: ProtoryNetClassifier, documents: list[str]
) -> None:
    steps = steps_of(clf.read(documents))
    assert max(map(len, steps)) >= 10
    removed, alone = zip(*(slowly(clf, document) for document in steps), strict=True)
    found = measures(clf, documents)
    assert found["comprehensiveness"] == pytest.approx(float(np.mean(removed)), abs=1e-5)
    assert found["sufficiency"] == pytest.approx(float(np.mean(alone)), abs=1e-5)


def test_several_labels_are_measured_by_the_leading_one(
    reviews: Any, encoder: Any, quick: Settings, documents: list[str]
) -> None:
    tags = [[tag in text for tag in ("room", "pool")] for text in reviews.texts]
    clf = ProtoryNetClassifier(encoder, settings=quick, device="cpu", cache=False)
    clf.fit(reviews.texts, tags)
    steps = steps_of(clf.read(documents))
    removed = [slowly(clf, document)[0] for document in steps]
    found = measures(clf, documents)["comprehensiveness"]
    assert found == pytest.approx(float(np.mean(removed)), abs=1e-5)


def test_documents_of_one_sentence_do_not_count(
    clf: ProtoryNetClassifier, documents: list[str]
) -> None:
    short = ["The room was clean.", "The bed was awful."]
    assert measures(clf, documents + short) == pytest.approx(measures(clf, documents))
    assert measures(clf, short) == {"comprehensiveness": None, "sufficiency": None}


def test_what_cannot_be_measured_says_what_it_needs(clf: ProtoryNetClassifier) -> None:
    trajectory = clf.read(["The room was clean."])
    for item in erasure_measures(clf.model_, trajectory, seed=0):
        assert item.meaning.endswith("Needs documents of 2 to 60 sentences.")


def test_very_long_documents_do_not_count(clf: ProtoryNetClassifier, documents: list[str]) -> None:
    long = " ".join(["The room was clean."] * 61)
    assert measures(clf, [*documents, long]) == pytest.approx(measures(clf, documents))


def test_a_sample_holds_whole_documents_and_repeats_with_its_seed(
    clf: ProtoryNetClassifier, documents: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure, "_MOST_DOCUMENTS", 5)
    trajectory = clf.read(documents)
    whole = steps_of(trajectory)
    samples = [steps_of(erasure._sampled(trajectory, seed)) for seed in (0, 0, 1)]
    assert [len(sample) for sample in samples] == [5, 5, 5]
    assert all(document in whole for document in samples[0])
    assert samples[0] == samples[1] != samples[2]


@given(st.lists(st.lists(st.sampled_from([-0.1, 0.0, 0.2, 0.3]), min_size=2), min_size=1))
def test_a_fifth_is_important_at_least_one_never_all_and_the_first_of_equals(
    documents: list[list[float]],
) -> None:
    effects = np.array([value for document in documents for value in document], np.float32)
    lengths = np.array([len(document) for document in documents])
    marked = np.split(most_important(effects, lengths), np.cumsum(lengths)[:-1])
    for document, found in zip(documents, marked, strict=True):
        order = sorted(range(len(document)), key=lambda place: (-document[place], place))
        expected = set(order[: max(1, len(document) // 5)])
        assert set(np.flatnonzero(found).tolist()) == expected
        assert 0 < len(expected) < len(document)
