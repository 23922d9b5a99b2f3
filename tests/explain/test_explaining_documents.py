"""Explanations: what they show is what the model computed."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from protorynet import ProtoryNetClassifier, Settings
from protorynet.explain import Explanation, Pattern, leave_one_out

_TEXT = (
    "  The room was clean.<br />We stayed for two nights!\n\n"
    "What an awful bed… «Tolle Aussicht»? Yes."
)


@pytest.fixture(scope="module")
def clf(reviews: Any, encoder: Any, quick: Settings) -> ProtoryNetClassifier:
    return ProtoryNetClassifier(encoder, settings=quick, device="cpu", cache=False).fit(
        reviews.texts, reviews.labels
    )


@pytest.fixture(scope="module")
def several(reviews: Any, encoder: Any, quick: Settings) -> ProtoryNetClassifier:
    """A model for several labels at once."""
    tags = [
        tuple(tag for tag in ("room", "pool", "staff") if tag in text) for text in reviews.texts
    ]
    return ProtoryNetClassifier(encoder, settings=quick, device="cpu", cache=False).fit(
        reviews.texts, tags
    )


def slow_probabilities(
    clf: ProtoryNetClassifier, columns: list[int], similarities: list[float]
) -> Any:
    """Read one trajectory step by step through the LSTM and the head."""
    import torch

    reader = clf.model_.network.reader
    state = None
    for column, value in zip(columns, similarities, strict=True):
        step = torch.zeros(1, 1, len(clf.prototypes_))
        step[0, 0, column] = value
        hidden, state = reader.lstm(step, state)
    logits = reader.head(hidden[0, -1])
    several = clf.model_.labels.task == "multilabel"
    return (torch.sigmoid(logits) if several else torch.softmax(logits, 0)).tolist()


def steps_of(clf: ProtoryNetClassifier, explanation: Explanation) -> tuple[list[int], list[float]]:
    columns = {item.id: column for column, item in enumerate(clf.prototypes_)}
    steps = explanation.sentences
    return [columns[step.prototype] for step in steps], [step.similarity for step in steps]


@pytest.mark.parametrize("which", ["clf", "several"])
def test_the_effect_of_a_sentence_is_what_leaving_it_out_costs(
    which: str, unseen_reviews: Any, request: pytest.FixtureRequest
) -> None:
    clf = request.getfixturevalue(which)
    for explanation in clf.explain(unseen_reviews.texts[:15]):
        columns, values = steps_of(clf, explanation)
        whole = slow_probabilities(clf, columns, values)
        leading = whole.index(max(whole))
        for place, step in enumerate(explanation.sentences):
            if len(columns) == 1:
                without = clf.model_.training.class_frequencies
            else:
                without = slow_probabilities(
                    clf,
                    columns[:place] + columns[place + 1 :],
                    values[:place] + values[place + 1 :],
                )
            assert step.effect == pytest.approx(whole[leading] - without[leading], abs=1e-5)


def test_effects_do_not_depend_on_how_documents_are_grouped(
    clf: ProtoryNetClassifier, unseen_reviews: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["Yes.", *unseen_reviews.texts[:10], "No.", " ".join(unseen_reviews.texts)]
    expected = [step.effect for e in clf.explain(texts) for step in e.sentences]
    for rows in (1, 7, 40):
        monkeypatch.setattr(leave_one_out, "_VARIANTS_PER_BATCH", rows)
        found = [step.effect for e in clf.explain(texts) for step in e.sentences]
        assert found == pytest.approx(expected, abs=1e-5)


def test_the_only_sentence_is_compared_with_the_class_frequency(clf: ProtoryNetClassifier) -> None:
    explanation = clf.explain("The room was clean.")
    (step,) = explanation.sentences
    place = explanation.classes.index(explanation.leading_class)
    frequency = clf.model_.training.class_frequencies[place]
    assert step.effect == pytest.approx(max(explanation.probabilities.values()) - frequency)


def test_offsets_reproduce_the_documents_text(clf: ProtoryNetClassifier) -> None:
    explanation = clf.explain(_TEXT)
    assert len(explanation.sentences) >= 4
    end = 0
    for step in explanation.sentences:
        assert step.start >= end
        assert _TEXT[step.start : step.end] == step.text
        end = step.end


def test_the_explanation_agrees_with_predict(
    clf: ProtoryNetClassifier, unseen_reviews: Any
) -> None:
    explanations = clf.explain(unseen_reviews.texts)
    labels = [explanation.label for explanation in explanations]
    assert labels == clf.predict(unseen_reviews.texts).tolist()
    probabilities = [list(explanation.probabilities.values()) for explanation in explanations]
    np.testing.assert_allclose(probabilities, clf.predict_proba(unseen_reviews.texts), atol=1e-6)


def test_each_step_shows_the_nearest_prototype_and_its_scores(
    clf: ProtoryNetClassifier, encoder: Any, unseen_reviews: Any
) -> None:
    model, known = clf.model_, {item.id: item for item in clf.prototypes_}
    for step in clf.explain(unseen_reviews.texts[0]).sentences:
        vector = model.embed(encoder.encode([step.text])).double()[0]
        distances = (model.network.prototypes.double() - vector).norm(dim=1)
        order = distances.argsort()[:2].tolist()
        assert [step.prototype, step.runner_up] == [clf.prototypes_[column].id for column in order]
        closeness = np.exp(-distances[order[0]].item() / model.settings.psi_squared)
        assert step.similarity == pytest.approx(closeness, abs=1e-5)
        assert step.prototype_sentence == known[step.prototype].sentence
        assert step.scores == known[step.prototype].scores


def test_running_probabilities_are_those_of_the_text_so_far(
    clf: ProtoryNetClassifier, unseen_reviews: Any
) -> None:
    text = unseen_reviews.texts[1]
    explanation = clf.explain(text)
    for step in explanation.sentences:
        so_far = clf.predict_proba([text[: step.end]])[0]
        assert list(step.running.values()) == pytest.approx(so_far.tolist(), abs=1e-5)
    assert explanation.sentences[-1].running == pytest.approx(explanation.probabilities)


def test_one_text_gives_one_explanation_and_a_list_gives_a_list(clf: ProtoryNetClassifier) -> None:
    assert isinstance(clf.explain("Fine."), Explanation)
    assert [type(e) for e in clf.explain(["Fine.", "Bad."])] == [Explanation] * 2
    assert clf.explain([]) == []


def test_json_has_exactly_the_keys_that_other_programs_read(clf: ProtoryNetClassifier) -> None:
    values = json.loads(json.dumps(clf.explain(_TEXT).to_dict()))
    assert {"label", "probabilities", "sentences", "automaton", "pattern"} <= set(values)
    assert set(values["probabilities"]) == {"bad", "good"}
    wanted = {
        "text",
        "start",
        "end",
        "prototype",
        "prototype_sentence",
        "similarity",
        "scores",
        "running",
        "effect",
    }
    for step in values["sentences"]:
        assert wanted <= set(step)
        assert set(step["scores"]) == set(step["running"]) == {"bad", "good"}


def test_the_automaton_reads_what_the_model_reads(
    clf: ProtoryNetClassifier, unseen_reviews: Any
) -> None:
    columns = {item.id: place for place, item in enumerate(clf.prototypes_)}
    for explanation in clf.explain(unseen_reviews.texts):
        automaton, reading = clf.automaton(explanation.label), explanation.automaton
        steps = [columns[step.prototype] for step in explanation.sentences]
        assert reading is not None
        assert reading.states == automaton.run(steps)
        assert reading.agrees is reading.accepts is automaton.accepts(steps)
        assert reading.fidelity == automaton.fidelity


@pytest.fixture
def with_patterns(clf: ProtoryNetClassifier) -> ProtoryNetClassifier:
    """A model whose automata accept all, for each beginning is a pattern."""
    patterns = tuple(Pattern((item.id,), 212, 0.97) for item in clf.prototypes_)
    automata = tuple(
        replace(
            automaton,
            patterns=patterns,
            states=tuple(replace(state, accepting=True) for state in automaton.states),
        )
        for automaton in clf.model_.automata
    )
    changed = copy.copy(clf)
    changed.model_ = replace(clf.model_, automata=automata)
    return changed


def test_the_pattern_named_is_how_the_document_begins(
    with_patterns: ProtoryNetClassifier,
) -> None:
    explanation = with_patterns.explain(_TEXT)
    pattern, first = explanation.pattern, explanation.sentences[0]
    assert pattern is not None
    assert pattern.label == explanation.label
    assert pattern.prototypes == (first.prototype,)
    assert pattern.sentences == (first.prototype_sentence,)
    assert (pattern.support, pattern.purity) == (212, 0.97)


def test_a_pattern_is_shown_with_the_names_of_its_prototypes(
    with_patterns: ProtoryNetClassifier,
) -> None:
    with_patterns.edit(rename={item.id: f"name {item.id}" for item in with_patterns.prototypes_})
    pattern = with_patterns.explain(_TEXT).pattern
    assert pattern is not None
    assert pattern.sentences[0].startswith(f"name {pattern.prototypes[0]}: ")


def test_no_pattern_is_named_where_automaton_and_model_differ(
    with_patterns: ProtoryNetClassifier,
) -> None:
    automata = tuple(
        replace(
            automaton, states=tuple(replace(state, accepting=False) for state in automaton.states)
        )
        for automaton in with_patterns.model_.automata
    )
    with_patterns.model_ = replace(with_patterns.model_, automata=automata)
    explanation = with_patterns.explain(_TEXT)
    assert explanation.automaton is not None
    assert explanation.automaton.agrees is False
    assert explanation.pattern is None


def test_an_explanation_says_where_the_reader_is_behind(clf: ProtoryNetClassifier) -> None:
    changed = copy.copy(clf)
    assert not changed.explain(_TEXT).reader_is_behind
    changed.edit(drop=[changed.prototypes_[0].id])
    assert changed.explain(_TEXT).reader_is_behind
    assert changed.explain(_TEXT).to_dict()["reader_is_behind"] is True


def test_the_table_has_a_row_per_sentence(clf: ProtoryNetClassifier) -> None:
    explanation = clf.explain(_TEXT)
    table = explanation.to_pandas()
    assert table["text"].tolist() == [step.text for step in explanation.sentences]
    assert {"scores good", "running bad", "effect"} <= set(table.columns)


def test_a_multilabel_explanation_names_every_predicted_class(
    several: ProtoryNetClassifier, unseen_reviews: Any
) -> None:
    texts = unseen_reviews.texts[:10]
    for explanation, row in zip(several.explain(texts), several.predict(texts), strict=True):
        names = [name for name, chosen in zip(several.classes_, row, strict=True) if chosen]
        assert explanation.label == (", ".join(names) or "(none)")


def test_a_very_long_document_is_explained(clf: ProtoryNetClassifier) -> None:
    explanation = clf.explain("The room was clean. The bed was awful. " * 300)
    assert len(explanation.sentences) == 600
    assert all(np.isfinite(step.effect) for step in explanation.sentences)
