"""Wrong answers by the beginning that misled the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from protorynet import ProtoryNetClassifier, Settings
from protorynet.explain import LabelledDocuments, learn_automata, misled_documents


@pytest.fixture(scope="module")
def clf(reviews: Any, encoder: Any, quick: Settings) -> ProtoryNetClassifier:
    return ProtoryNetClassifier(encoder, settings=quick, device="cpu", cache=False).fit(
        reviews.texts, reviews.labels
    )


@pytest.fixture(scope="module")
def scene(clf: ProtoryNetClassifier, reviews: Any) -> Any:
    """Documents of which every label is wrong, with the automata of the model."""
    answers = clf.predict(reviews.texts)
    turned = ["good" if answer == "bad" else "bad" for answer in answers]
    sentences, embeddings = clf.prepare(reviews.texts)
    targets = clf.model_.labels.encode(turned)
    rows = np.arange(len(turned)) + 100
    documents = LabelledDocuments(reviews.texts, rows, sentences, embeddings, targets)
    trajectory = clf.model_.match(embeddings, sentences.lengths)
    return documents, learn_automata(clf.model_, trajectory), trajectory


def test_every_wrong_answer_is_in_one_group(clf: ProtoryNetClassifier, scene: Any) -> None:
    documents, automata, _ = scene
    groups = misled_documents(clf.model_, automata, documents)
    rows = [row for group in groups for row in group.rows]
    assert sorted(rows) == documents.rows.tolist()
    assert all(group.n_given == group.n_wrong for group in groups)


def test_documents_of_a_group_begin_with_its_pattern(clf: ProtoryNetClassifier, scene: Any) -> None:
    documents, automata, trajectory = scene
    columns = np.split(trajectory.columns, trajectory.offsets[1:-1])
    for group in misled_documents(clf.model_, automata, documents):
        automaton = next(each for each in automata if each.label == group.label)
        for row in group.rows:
            steps = columns[row - 100].tolist()
            assert automaton.deciding_pattern(steps) == group.pattern
            assert automaton.accepts(steps) is group.followed


def test_beginnings_come_first_and_the_most_misleading_first(
    clf: ProtoryNetClassifier, scene: Any
) -> None:
    documents, automata, _ = scene
    order = [
        (group.pattern is None, -group.n_wrong)
        for group in misled_documents(clf.model_, automata, documents)
    ]
    assert order == sorted(order)


def test_right_answers_mislead_nobody(clf: ProtoryNetClassifier, scene: Any) -> None:
    documents, automata, _ = scene
    right = LabelledDocuments(
        documents.texts,
        documents.rows,
        documents.sentences,
        documents.embeddings,
        1 - documents.targets,
    )
    assert misled_documents(clf.model_, automata, right) == ()
