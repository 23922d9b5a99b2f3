"""Explanations: what they show is what the model computed."""

import copy
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from protorynet import ProtoryNetClassifier as Classifier
from protorynet.explain import (
    Explanation,
    Pattern,
    explanation as explanation_module,
    falls_without_each,
)
from protorynet.labels import Task
from protorynet.network import Reader, read_matches
from protorynet.reading import Reading

_TEXT = (
    "  The room was clean.<br />We stayed for two nights!\n\n"
    "What an awful bed… «Tolle Aussicht»? Yes."
)


@pytest.mark.parametrize("which", ["clf", "several"])
def test_the_effect_of_a_sentence_is_what_leaving_it_out_costs(which, unseen_reviews, request):
    clf = request.getfixturevalue(which)
    texts = [*unseen_reviews.texts[:15], "The room was clean."]
    reading = clf.read(texts)
    for document, explanation in enumerate(clf.explain(texts)):
        whole = reading.probabilities[document]
        leading = whole.argmax()
        inside = range(reading.offsets[document], reading.offsets[document + 1])
        for gone, step in zip(inside, explanation.sentences, strict=True):
            rest = np.array([other for other in inside if other != gone], np.int64)
            without: Any = clf.model_.training.class_frequencies
            if len(rest):
                part = reading.take(rest, np.array([len(rest)]))
                without = clf.model_.read(part).probabilities[0]
            assert step.effect == pytest.approx(whole[leading] - without[leading], abs=1e-5)


def test_offsets_reproduce_the_documents_text_and_the_table_has_a_row_per_sentence(clf):
    explanation = clf.explain(_TEXT)
    assert isinstance(explanation, Explanation)
    assert len(explanation.sentences) >= 4
    table = explanation.to_pandas()
    assert table["text"].tolist() == [step.text for step in explanation.sentences]
    assert {"scores good", "running bad", "effect"} <= set(table.columns)
    end = 0
    for step in explanation.sentences:
        assert step.start >= end
        assert _TEXT[step.start : step.end] == step.text
        end = step.end


def test_the_explanation_agrees_with_predict(clf, unseen_reviews):
    assert clf.explain([]) == []
    explanations = clf.explain(unseen_reviews.texts)
    labels = [explanation.label for explanation in explanations]
    assert labels == clf.predict(unseen_reviews.texts).tolist()
    probabilities = [list(explanation.probabilities.values()) for explanation in explanations]
    np.testing.assert_allclose(probabilities, clf.predict_proba(unseen_reviews.texts), atol=1e-6)


def test_each_step_shows_the_nearest_prototype_and_its_scores(clf, encoder, unseen_reviews):
    model, known = clf.model_, {item.id: item for item in clf.prototypes_}
    for step in clf.explain(unseen_reviews.texts[0]).sentences:
        vectors = model.add_words(encoder.encode([step.text]), [step.text])
        vector = model.embed(vectors).double()[0]
        distances = (model.network.members.double() - vector).norm(dim=1)
        families = [item for item in clf.prototypes_ for _ in item.members]
        order = distances.argsort().tolist()
        first = order[0]
        second = next(at for at in order if families[at] != families[first])
        assert [step.prototype, step.runner_up] == [families[first].id, families[second].id]
        closeness = np.exp(-distances[first].item() / model.settings.psi_squared)
        assert step.similarity == pytest.approx(closeness, abs=1e-5)
        shown, other = (clf.prototypes_.members[at] for at in (first, second))
        assert (step.member, step.prototype_sentence) == (shown.id, shown.sentence)
        assert step.runner_up_sentence == other.sentence
        assert step.headline == families[first].sentence
        far = model.distances(encoder.encode([step.text]))[0] > model.reach
        assert step.unfamiliar == (far or step.similarity < model.familiar)
        assert step.scores == known[step.prototype].scores


def test_running_probabilities_are_those_of_the_text_so_far(clf, unseen_reviews):
    text = unseen_reviews.texts[1]
    explanation = clf.explain(text)
    for step in explanation.sentences:
        so_far = clf.predict_proba([text[: step.end]])[0]
        assert list(step.running.values()) == pytest.approx(so_far.tolist(), abs=1e-5)
    assert explanation.sentences[-1].running == pytest.approx(explanation.probabilities)


def test_json_has_the_keys_that_other_programs_read(clf):
    values = json.loads(json.dumps(clf.explain(_TEXT).to_dict()))
    assert {"label", "probabilities", "sentences", "automaton", "pattern"} <= set(values)
    assert set(values["probabilities"]) == {"bad", "good"}
    wanted = "text start end prototype prototype_sentence similarity scores running effect"
    for step in values["sentences"]:
        assert set(wanted.split()) <= set(step)
        assert set(step["scores"]) == set(step["running"]) == {"bad", "good"}


def test_the_automaton_reads_what_the_model_reads(clf, unseen_reviews):
    positions = {item.id: position for position, item in enumerate(clf.prototypes_)}
    for explanation in clf.explain(unseen_reviews.texts):
        automaton, reading = clf.automaton(explanation.label), explanation.automaton
        steps = [positions[step.prototype] for step in explanation.sentences]
        assert reading.states == automaton.run(steps)
        assert reading.agrees is reading.accepts is automaton.accepts(steps)
        assert reading.fidelity == automaton.fidelity


def with_automata(clf: Classifier, *, accepting: bool) -> Classifier:
    """Return the model with automata that accept all or nothing; each beginning is a pattern."""
    patterns = tuple(Pattern((item.id,), 212, 0.97) for item in clf.prototypes_)
    automata = tuple(
        replace(
            automaton,
            patterns=patterns,
            states=tuple(replace(state, accepting=accepting) for state in automaton.states),
        )
        for automaton in clf.model_.automata
    )
    changed = copy.copy(clf)
    changed.model_ = replace(clf.model_, automata=automata)
    return changed


def test_a_pattern_is_how_the_document_begins_unless_automaton_and_model_differ(clf):
    changed = with_automata(clf, accepting=True)
    explanation = changed.explain(_TEXT)
    pattern, first = explanation.pattern, explanation.sentences[0]
    assert (pattern.label, pattern.prototypes) == (explanation.label, (first.prototype,))
    assert pattern.sentences == (first.headline,)
    assert (pattern.support, pattern.purity) == (212, 0.97)
    assert not explanation.reader_is_behind
    changed.edit(rename={first.prototype: "the first"})
    named = changed.explain(_TEXT).pattern
    assert named.sentences[0].startswith("the first: ")
    changed.edit(drop=[changed.prototypes_[0].id])
    assert changed.explain(_TEXT).to_dict()["reader_is_behind"] is True
    differing = with_automata(clf, accepting=False).explain(_TEXT)
    assert (differing.automaton.agrees, differing.pattern) == (False, None)


def test_a_multilabel_explanation_names_every_predicted_class(several, unseen_reviews):
    texts = unseen_reviews.texts[:10]
    for explanation, given in zip(several.explain(texts), several.predict(texts), strict=True):
        names = [name for name, chosen in zip(several.classes_, given, strict=True) if chosen]
        assert explanation.label == (", ".join(names) or "(none)")


_K = 5


def make_matches(lengths: list[int], *, is_dense: bool) -> Reading:
    draw = np.random.default_rng(0)
    n = sum(lengths)
    matched = draw.integers(0, _K, n)
    similarities = draw.random(n, np.float32)
    dense = draw.random((n, _K), np.float32) if is_dense else None
    return Reading(matched, similarities, matched, similarities, np.array(lengths), dense=dense)


@pytest.mark.parametrize("at_once", [1, 16, 8_192])
@pytest.mark.parametrize("most_variants", [3, 256])
@pytest.mark.parametrize("is_dense", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
def test_every_variant_is_read_as_a_document(layers, is_dense, most_variants, at_once, monkeypatch):
    monkeypatch.setattr(explanation_module, "_VARIANTS_PER_DOCUMENT", most_variants)
    monkeypatch.setattr(explanation_module, "_SENTENCES_AT_ONCE", at_once)
    torch.manual_seed(layers)
    reader = Reader(_K, 3, hidden=7, layers=layers, dropout=0.5).train()
    task: Task = "multilabel" if is_dense else "multiclass"
    matches = make_matches([4, 1, 9, 2, 4], is_dense=is_dense)
    reading = read_matches(reader, matches, task)

    def read(sentences: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        return read_matches(reader, matches.take(sentences, lengths), task).probabilities

    effects = falls_without_each(reading, (0.5, 0.3, 0.2), read)
    for document, said in enumerate(reading.probabilities):
        leading, start = said.argmax(), reading.offsets[document]
        length = int(reading.lengths[document])
        size = -(-length // most_variants)
        for first in range(0, length, size):
            gone = range(first, min(first + size, length))
            kept = np.array([start + at for at in range(length) if at not in gone], np.int64)
            without = [0.5, 0.3, 0.2]
            if len(kept):
                without = read(kept, np.array([len(kept)]))[0]
            expected = (said[leading] - without[leading]) / len(gone)
            np.testing.assert_allclose(effects[start + np.array(gone)], expected, atol=1e-6)
    assert reader.training
