"""Every measure of an evaluation against a slow version."""

import copy
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from protorynet import Evaluation, ProtoryNetClassifier as Classifier
from protorynet.explain.likeness import measure_coherence
from protorynet.reading import Reading

Steps = list[tuple[int, float]]
NAMES = """
ids_only_accuracy substitution_agreement prototype_error projection_drop duplicate_prototypes
semantic_similarity semantic_limit match_quality match_quality_untrained score_calibration
comprehensiveness sufficiency shuffled_accuracy top_usage usage_perplexity unused_prototypes
automaton_fidelity automaton_states family_coherence family_spread unfamiliar_sentences score_error
"""


def measure(evaluation: Evaluation, name: str) -> float | None:
    return {m.name: m.value for m in evaluation.measures}[name]


def probabilities(clf: Classifier, steps: Steps) -> Any:
    prototypes = np.array([prototype for prototype, _ in steps])
    values = np.array([value for _, value in steps], np.float32)
    ids_only = clf.model_.settings.selection == "one_hot"
    lengths = np.array([len(steps)])
    matches = Reading(prototypes, values, prototypes, values, lengths, ids_only=ids_only)
    return clf.model_.read(matches).probabilities[0]


def label_of(clf: Classifier, steps: Steps) -> str:
    return str(clf.classes_[probabilities(clf, steps).argmax()])


def test_accuracy_and_macro_f1_are_those_of_scikit_learn(evaluation, clf, unseen_reviews):
    from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score

    truth, predicted = unseen_reviews.labels, clf.predict(unseen_reviews.texts)
    assert evaluation.accuracy == pytest.approx(accuracy_score(truth, predicted))
    assert evaluation.macro_f1 == pytest.approx(f1_score(truth, predicted, average="macro"))
    assert evaluation.n_documents == len(truth)
    assert evaluation.balanced_accuracy == pytest.approx(balanced_accuracy_score(truth, predicted))
    low, high = evaluation.accuracy_interval
    assert 0 <= low < evaluation.accuracy <= high <= 1
    assert evaluation.n_prototypes == len(clf.prototypes_)
    assert evaluation.n_members == sum(clf.prototypes_.sizes) > evaluation.n_prototypes


def test_matches_alone_and_prototypes_are_read(
    evaluation, clf, trajectories, unseen_reviews, encoder
):
    predicted = [label_of(clf, [(k, 1.0) for k, _ in steps]) for steps in trajectories]
    right = np.mean([p == t for p, t in zip(predicted, unseen_reviews.labels, strict=True)])
    assert measure(evaluation, "ids_only_accuracy") == pytest.approx(float(right))
    shown = [member.sentence for member in clf.prototypes_.members]
    matched = clf.read(unseen_reviews.texts)
    each = np.split(matched.members, matched.offsets[1:-1])
    replaced = [" ".join(shown[member] for member in members) for members in each]
    same = np.mean(clf.predict(replaced) == clf.predict(unseen_reviews.texts))
    assert measure(evaluation, "substitution_agreement") == pytest.approx(float(same))
    vectors = clf.model_.embed(clf.model_.add_words(encoder.encode(shown), shown)).numpy()
    expected = float(np.abs(vectors - clf.model_.network.members.numpy()).max())
    assert measure(evaluation, "prototype_error") == pytest.approx(expected, abs=1e-9)
    assert expected < 1e-5


def test_scores_are_compared_with_the_class_rates_of_the_sentences_they_stand_for(
    evaluation, clf, trajectories, unseen_reviews
):
    seen: dict[int, list[bool]] = {}
    for steps, label in zip(trajectories, unseen_reviews.labels, strict=True):
        for prototype, _ in steps:
            seen.setdefault(prototype, []).append(label == "good")
    rates = [sum(found) / len(found) for found in seen.values()]
    scores = [clf.prototypes_[prototype].scores["good"] for prototype in seen]
    expected = float(np.corrcoef(rates, scores)[0, 1])
    assert measure(evaluation, "score_calibration") == pytest.approx(expected, abs=1e-6)
    uses = [len(found) for found in seen.values()]
    gaps = np.average(np.abs(np.array(rates) - scores), weights=uses)
    assert measure(evaluation, "score_error") == pytest.approx(gaps)


def test_the_rates_of_members_lie_apart_by_more_than_chance(evaluation, clf, unseen_reviews):
    read = clf.read(unseen_reviews.texts)
    document = np.repeat(np.arange(len(read.lengths)), read.lengths)
    found = set(zip(document, read.prototypes, read.members, strict=True))  # each document once
    good = [(f, m, unseen_reviews.labels[d] == "good") for d, f, m in found]
    spreads = []
    for family in {f for f, _, _ in good}:
        total, weight = 0.0, 0
        mean = np.mean([is_good for f, _, is_good in good if f == family])
        for member in {m for f, m, _ in good if f == family}:
            own = [is_good for _, m, is_good in good if m == member]
            if (n := len(own)) > 1:
                rate = np.mean(own)
                total += n * ((rate - mean) ** 2 - rate * (1 - rate) / (n - 1))
                weight += n
        spreads += [math.sqrt(max(0.0, total / weight))] if weight else []
    assert measure(evaluation, "family_spread") == pytest.approx(np.mean(spreads))
    assert measure(evaluation, "unfamiliar_sentences") == pytest.approx(read.unfamiliar.mean())


def test_texts_of_another_kind_are_warned_of(evaluation):
    def warnings_of(share: float) -> list[str]:
        measures = [
            replace(each, value=share) if each.name == "unfamiliar_sentences" else each
            for each in evaluation.measures
        ]
        return replace(evaluation, measures=tuple(measures)).warnings

    (warning,) = [each for each in warnings_of(0.44) if each not in warnings_of(0.1)]
    assert warning.startswith("44% of the sentences are unlike anything the model learned from")


def test_usage_measures_count_the_sentences_of_each_prototype(evaluation, clf, trajectories):
    prototypes = [prototype for steps in trajectories for prototype, _ in steps]
    shares = [prototypes.count(k) / len(prototypes) for k in range(len(clf.prototypes_))]
    entropy = -sum(share * math.log(share) for share in shares if share)
    assert measure(evaluation, "top_usage") == pytest.approx(max(shares))
    assert measure(evaluation, "usage_perplexity") == pytest.approx(math.exp(entropy))
    assert measure(evaluation, "unused_prototypes") == pytest.approx(shares.count(0) / len(shares))


def test_shuffled_accuracy_is_that_of_documents_read_in_another_order(
    clf, unseen_reviews, evaluation
):
    shuffled = clf.read(unseen_reviews.texts).shuffle(0)
    said = clf.model_.labels.decode(clf.model_.read(shuffled).probabilities)
    right = float((said == unseen_reviews.labels).mean())
    assert measure(evaluation, "shuffled_accuracy") == pytest.approx(right)


def test_prototypes_of_one_sentence_have_no_measures_of_families(quick, reviews, encoder):
    clf = Classifier(encoder, settings=quick.replace(members=1), device="cpu", cache=False)
    clf.fit(reviews.texts, reviews.labels)
    names = {m.name for m in clf.evaluate(reviews.texts, reviews.labels).measures}
    gone = set(NAMES.split()) - names
    assert gone == {"family_coherence", "family_spread", "unfamiliar_sentences"}


def test_measures_that_cannot_be_computed_are_none_and_say_what_they_need(clf, encoder, of_vectors):
    bare = copy.copy(clf)
    record = replace(clf.model_.training, validation_accuracy=0.9, free_accuracy=0.95)
    bare.model_ = replace(clf.model_, automata=(), training=record)
    known = bare.evaluate(["The room was clean."], ["good"], judge=encoder)
    assert measure(known, "projection_drop") == pytest.approx(0.05)
    bare.model_ = replace(bare.model_, training=replace(record, free_accuracy=None))
    found = bare.evaluate(["The room was clean."], ["good"], judge=encoder)
    unknown = {m.name: m.meaning for m in found.measures if m.value is None}
    expected = {"match_quality", "family_spread", "sufficiency", "projection_drop"}
    assert set(unknown) >= expected
    assert unknown["match_quality"].endswith("Needs three prototypes in use.")
    assert unknown["comprehensiveness"].endswith("Needs documents of 2 to 60 sentences.")
    assert unknown["automaton_fidelity"].endswith("The model holds no automata.")
    assert measure(found, "shuffled_accuracy") == found.accuracy
    other, sequences, labels = of_vectors
    names = {m.name for m in other.evaluate(sequences, labels).measures}
    assert {"ids_only_accuracy", "comprehensiveness", "sufficiency"} <= names
    assert not {"match_quality", "semantic_similarity", "duplicate_prototypes"} & names


def test_automaton_fidelity_is_the_share_of_documents_judged_alike(evaluation, clf, trajectories):
    alike = [
        automaton.accepts([prototype for prototype, _ in steps])
        == (label_of(clf, steps) == automaton.label)
        for automaton in clf.model_.automata
        for steps in trajectories
    ]
    assert measure(evaluation, "automaton_fidelity") == pytest.approx(np.mean(alike))
    most = max(len(automaton.states) for automaton in clf.model_.automata)
    assert measure(evaluation, "automaton_states") == most


def test_json_has_the_keys_that_programs_read_and_the_same_figures(
    clf, evaluation, unseen_reviews, encoder
):
    assert clf.evaluate(unseen_reviews.texts, unseen_reviews.labels, judge=encoder) == evaluation
    values = json.loads(json.dumps(evaluation.to_dict()))
    assert set(values) >= {"accuracy", "macro_f1", "n_documents", "n_prototypes", "faithfulness"}
    assert {each["claim"]: each["answer"] for each in values["verdicts"]}.get(
        "matches carry the decision"
    ) in ("yes", "mostly", "no")
    assert str(evaluation).startswith("Accuracy ")
    assert "matches carry the decision".capitalize() in evaluation._repr_html_()
    assert set(values["faithfulness"]) == set(NAMES.split())
    assert all(m.meaning.endswith(".") and len(m.meaning) > 40 for m in evaluation.measures)


def test_a_multilabel_document_is_right_only_if_all_its_labels_are(several, reviews, encoder):
    tags = np.array([[tag in text for tag in several.classes_] for text in reviews.texts])
    right = (several.predict(reviews.texts) == tags).all(axis=1).mean()
    found = several.evaluate(reviews.texts, tags, judge=encoder)
    assert found.accuracy == pytest.approx(float(right))


@pytest.fixture(scope="module")
def documents(unseen_reviews):
    """Documents of two to about twenty sentences."""
    texts = unseen_reviews.texts
    return [" ".join(texts[number : number + 1 + number % 6]) for number in range(len(texts) - 6)]


def erasure(clf: Classifier, texts: list[str], encoder: Any) -> list[float | None]:
    several = clf.model_.labels.task == "multilabel"
    truth: list[Any] = [["room"]] * len(texts) if several else ["good"] * len(texts)
    found = clf.evaluate(texts, truth, judge=encoder)
    return [measure(found, name) for name in ("comprehensiveness", "sufficiency")]


def lose_slowly(clf: Classifier, steps: Steps) -> tuple[float, float]:
    """Return the probability lost without the most important fifth, and with it alone."""
    whole = probabilities(clf, steps)
    label = whole.argmax()
    lost = [
        whole[label] - probabilities(clf, steps[:number] + steps[number + 1 :])[label]
        for number in range(len(steps))
    ]
    count = max(1, len(steps) // 5)
    important = sorted(range(len(steps)), key=lambda number: -lost[number])[:count]
    kept = [step for number, step in enumerate(steps) if number in important]
    rest = [step for number, step in enumerate(steps) if number not in important]
    return tuple(whole[label] - probabilities(clf, part)[label] for part in (rest, kept))


@pytest.mark.parametrize("which", ["clf", "several"])
def test_probability_lost_is_that_of_documents_read_one_by_one(which, documents, encoder, request):
    clf = request.getfixturevalue(which)
    read = clf.read(documents)
    steps = list(zip(read.prototypes.tolist(), read.similarities.tolist(), strict=True))
    parts = [steps[a:b] for a, b in zip(read.offsets[:-1], read.offsets[1:], strict=True)]
    assert max(map(len, parts)) >= 10
    expected = np.mean([lose_slowly(clf, part) for part in parts], axis=0)
    assert erasure(clf, documents, encoder) == pytest.approx(expected.tolist(), abs=1e-5)


def test_documents_of_one_sentence_or_very_many_do_not_count(clf, documents, encoder):
    others = ["The room was clean.", " ".join(["The room was clean."] * 61)]
    expected = erasure(clf, documents, encoder)
    assert erasure(clf, documents + others, encoder) == pytest.approx(expected)


def test_coherence_is_the_share_of_triples_by_use(clf):
    members = clf.prototypes_.members
    family = np.repeat(np.arange(len(clf.prototypes_)), clf.prototypes_.sizes)
    use = np.array([member.usage for member in members])
    likeness = np.random.default_rng(3).random((len(members), len(members)), np.float32)
    total = weight = 0.0
    for a in range(len(members)):
        own = [b for b in range(len(members)) if family[b] == family[a] and b != a]
        for b in own:
            for c in np.flatnonzero(family != family[a]).tolist():
                chance = use[a] * use[c] * use[b] / use[own].sum()
                total += chance * (likeness[a, b] > likeness[a, c])
                weight += chance
    found = measure_coherence(clf.model_, lambda some, others: likeness)
    assert found == pytest.approx(total / weight, abs=0.05)
