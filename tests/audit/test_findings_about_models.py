"""Findings about the model: its prototypes, its predictions and data it does not know."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from audit_scene import TEST, TRAIN, audit_of, corpus_of, found, only, reviews

from prepared_documents import prepare
from protorynet.audit import Finding, audit_model
from protorynet.audit.audit_corpus import AuditCorpus
from protorynet.audit.leftovers import WordEvidence
from protorynet.audit.prediction_findings import (
    prediction_findings,
    unfamiliar_sentences,
)
from protorynet.audit.prototype_findings import meaning_findings, member_findings, usage_findings
from protorynet.errors import InputError
from protorynet.prototypes import Prototypes

WITHOUT = ("class_without_prototype", "warning")
_REPLY = (
    "We thank every guest for the kind comments and hope to welcome all of them again very soon "
    "in our house by the river."
)


def matched(corpus: AuditCorpus, prototypes: Any) -> AuditCorpus:
    """Return the documents as if each sentence had been matched so, at full similarity.

    All sentences of a prototype are matched to its first member.
    """
    prototypes = np.asarray(prototypes, np.int64)
    ones = np.ones(len(prototypes), np.float32)
    first = np.cumsum([0, *corpus.model.prototypes.sizes])
    how = {"prototypes": prototypes, "similarities": ones, "members": first[prototypes]}
    return replace(corpus, reading=replace(corpus.reading, **how))


def predicted(corpus: AuditCorpus, good: Any) -> AuditCorpus:
    """Return the documents as if these had been their probabilities of "good" throughout."""
    good = np.broadcast_to(np.asarray(good, np.float32), len(corpus.texts))
    both = np.stack([1 - good, good], axis=1)
    reading = replace(corpus.reading, probabilities=both, running=both[corpus.documents])
    return replace(corpus, reading=reading)


def scored(corpus: AuditCorpus, scores: list[float]) -> AuditCorpus:
    """Return the documents with prototypes of these scores for "good"."""
    prototypes = corpus.model.prototypes
    items = tuple(
        replace(item, scores={"bad": 1 - value, "good": value})
        for item, value in zip(prototypes, scores, strict=True)
    )
    model = replace(corpus.model, prototypes=Prototypes(items, prototypes.classes))
    return replace(corpus, model=model)


def meanings(corpus: AuditCorpus, kind: str) -> list[Finding]:
    findings = meaning_findings(corpus, WordEvidence(corpus))
    return [finding for finding in findings if finding.kind == kind]


def figures(corpus: AuditCorpus, kind: str) -> list[Finding]:
    findings = usage_findings(corpus) + prediction_findings(corpus) + unfamiliar_sentences(corpus)
    return [finding for finding in findings if finding.kind == kind]


@pytest.fixture(scope="module")
def corpus():
    return corpus_of()


@pytest.fixture(scope="module")
def replied():
    """Half of the documents end in one reply, with a prototype of its own."""
    train = [
        (f"{text} Dear guest {number}. {_REPLY}", label) if number % 2 else (text, label)
        for number, (text, label) in enumerate(TRAIN)
    ]
    read = corpus_of(train)
    is_reply = np.array([text == _REPLY for text in read.sentences])
    k = len(read.model.prototypes)
    spread = np.arange(len(is_reply)) % (k - 1) + 1
    return matched(read, np.where(is_reply, 0, spread))


def test_a_prototype_of_replies_is_boilerplate_shown_by_a_repeated_sentence(replied):
    (finding,) = meanings(replied, "boilerplate_prototypes")
    (example,) = finding.evidence["examples"]
    assert example["prototype"] == replied.model.prototypes[0].id
    assert example["repeated"][0].startswith("We thank every guest")
    # The numbers of lists are none.
    shown = ["2." if text == _REPLY else text for text in replied.sentences]
    assert meanings(replace(replied, sentences=shown), "boilerplate_prototypes") == []


def test_a_prototype_of_one_text_misleads_unless_it_shows_that_text(replied):
    (finding,) = meanings(replied, "repeated_text_prototype")
    assert finding.evidence["share_of_its_sentences"] == 1
    assert "What is shown is not what it means" in finding.message
    first, *others = replied.model.prototypes
    items = (replace(first, sentence=_REPLY), *others)
    prototypes = Prototypes(items, replied.model.prototypes.classes)
    honest = replace(replied, model=replace(replied.model, prototypes=prototypes))
    (finding,) = meanings(honest, "repeated_text_prototype")
    assert "What is shown" not in finding.message


def test_members_that_should_not_stand_for_others_are_named_with_the_reason(replied):
    first, second, *others = replied.model.prototypes
    # One member more stands in both splits.
    shared = "Nobody had told us that the ferry would leave before we had even paid."
    more = replace(others[-1].members[0], id=10**6, sentence=shared)
    last = replace(others[-1], members=(*others[-1].members, more))
    prototypes = Prototypes((first, second, *others[:-1], last), replied.model.prototypes.classes)
    corpus = replace(replied, model=replace(replied.model, prototypes=prototypes))
    sentences = [shared, *corpus.sentences[1:-1], shared]
    corpus = replace(corpus, sentences=sentences)
    number = int(replied.same_sentence[replied.sentences.index(_REPLY)])
    (finding,) = member_findings(corpus, set())
    named = {example["member"]: example for example in finding.evidence["examples"]}
    assert named[first.members[0].id]["reason"] == "copied"
    assert named[10**6]["reason"] == "in test"
    (finding,) = member_findings(corpus, {number})
    assert finding.evidence["n_members"]["gives the answer away"] == 1
    assert finding.evidence["examples"][0]["repeated"][0].startswith("We thank every guest")
    assert "--drop-member" in finding.message
    single = tuple(replace(item, members=item.members[:1]) for item in replied.model.prototypes)
    model = replace(replied.model, prototypes=Prototypes(single, prototypes.classes))
    assert member_findings(replace(replied, model=model), {number}) == []


def test_a_prototype_of_one_class_is_told_unless_its_words_say_the_class(corpus):
    travel = np.array([text.startswith("My ") for text in corpus.sentences])
    is_good = corpus.truth[corpus.documents, 1]
    prototypes = np.where(travel & is_good, 0, np.where(travel, 1, 2 + is_good))
    told = meanings(matched(corpus, prototypes), "pure_prototype")
    assert {finding.evidence["class"] for finding in told} == {"bad", "good"}
    assert meanings(matched(corpus, np.where(travel, 0, 1 + is_good)), "pure_prototype") == []
    # A model knows its training texts by heart, and is wrong of others.
    wrong = travel & corpus.in_test & (np.cumsum(travel & corpus.in_test) % 4 == 0)
    by_heart = np.where(travel, is_good != wrong, 2 + is_good)
    assert meanings(matched(corpus, by_heart), "pure_prototype") == []


def one_for_most(corpus: AuditCorpus) -> AuditCorpus:
    prototypes = np.arange(len(corpus.sentences)) % len(corpus.model.prototypes)
    prototypes[: len(prototypes) * 2 // 3] = 1
    return matched(corpus, prototypes)


def far_from_all(corpus: AuditCorpus) -> AuditCorpus:
    similarities = np.linspace(0.5, 1, len(corpus.sentences), dtype=np.float32)
    similarities[corpus.in_test] = 0.1
    changes = {"similarities": similarities, "unfamiliar": corpus.in_test}
    return replace(corpus, reading=replace(corpus.reading, **changes))


def some_strange(corpus: AuditCorpus) -> AuditCorpus:
    strange = np.isin(corpus.documents, np.flatnonzero(corpus.is_test)[:3])
    return replace(corpus, reading=replace(corpus.reading, unfamiliar=strange))


def turned(corpus: AuditCorpus) -> AuditCorpus:
    return scored(corpus, [1 - item.scores["good"] for item in corpus.model.prototypes])


def too_sure(corpus: AuditCorpus) -> AuditCorpus:
    return predicted(corpus, np.where(np.arange(len(corpus.texts)) % 3 == 0, 0.99, 0.01))


def rarely_good(corpus: AuditCorpus) -> AuditCorpus:
    """Return the documents with a good one in four found."""
    one_in_four = np.arange(len(corpus.texts)) % 8 == 1
    return predicted(corpus, np.where(corpus.truth[:, 1] & one_in_four, 0.9, 0.1))


@pytest.mark.parametrize(
    ("change", "kind", "severity", "evidence"),
    [
        (rarely_good, "low_recall", "warning", {}),
        (lambda c: predicted(c, 0.1), "no_better_than_majority", "serious", {"accuracy": 0.5}),
        (lambda c: scored(c, [0.9] * len(c.model.prototypes)), *WITHOUT, {"classes": ["bad"]}),
        (one_for_most, "few_prototypes_take_most", "warning", {}),
        (turned, "poor_score_calibration", "warning", {}),
        (lambda c: predicted(c, 0.1), "class_never_predicted", "serious", {"class": "good"}),
        (too_sure, "misplaced_certainty", "warning", {}),
        (far_from_all, "unfamiliar_sentences", "serious", {"n_test_documents": len(TEST)}),
        (some_strange, "unfamiliar_sentences", "note", {"n_test_documents": 3}),
    ],
)
def test_what_makes_a_model_unfit_is_found(corpus, change, kind, severity, evidence):
    (finding,) = figures(change(corpus), kind)
    assert finding.severity == severity
    assert evidence.items() <= finding.evidence.items()


def test_a_bag_of_words_that_is_better_is_told(corpus):
    worse = predicted(corpus, np.where(np.arange(len(corpus.texts)) % 3, corpus.truth[:, 1], 0.6))
    accuracy = worse.held_out_figures.accuracy
    kinds = [
        {finding.kind for finding in prediction_findings(worse, floor=accuracy + more)}
        for more in (0.02, -0.02)
    ]
    assert ["below_bag_of_words" in found for found in kinds] == [True, False]


def test_unused_prototypes_are_named(corpus):
    k = len(corpus.model.prototypes)
    spread = matched(corpus, np.arange(len(corpus.sentences)) % (k - 1))
    (finding,) = figures(spread, "unused_prototypes")
    (example,) = finding.evidence["examples"]
    assert example["prototype"] == corpus.model.prototypes[k - 1].id


def test_a_wrong_label_is_suspected_with_the_sentence_that_weighs_most(corpus):
    good = np.where(corpus.truth[:, 1], 0.99, 0.01)
    good[5] = 1 - good[5]
    (finding,) = figures(predicted(corpus, good), "label_suspects")
    (example,) = finding.evidence["examples"]
    assert (example["split"], example["row"], example["label"]) == ("train", 5, TRAIN[5][1])
    assert example["sentence"] in TRAIN[5][0]
    (finding,) = figures(
        predicted(corpus, np.where(corpus.truth[:, 1], 0.01, 0.99)), "label_suspects"
    )
    assert "make the model suspect" in finding.message
    doubtful = predicted(corpus, np.where(corpus.truth[:, 1], 0.1, 0.9))
    assert not figures(doubtful, "label_suspects") + figures(doubtful, "order_not_used")


def test_training_data_of_another_model_and_a_class_that_is_not_tested_are_found():
    assert only(audit_of(reviews(160, seed=8)), "other_training_data").severity == "serious"
    finding = only(
        audit_of(TRAIN, [pair for pair in TEST if pair[1] == "bad"]), "class_not_in_test"
    )
    assert finding.evidence["class"] == "good"


def test_order_that_changes_nothing_is_noted():
    assert only(audit_of(TRAIN, reviews(300, seed=1)), "order_not_used").severity == "note"


def test_clean_texts_and_a_sound_model_raise_no_alarm():
    kinds = {finding.kind for finding in audit_of().findings}
    assert kinds <= {"order_not_used", "label_suspects"}
    with pytest.raises(InputError, match="no test documents"):
        audit_of(TRAIN, [(" ", "good")])


def test_an_audit_is_plain_json_of_sentences_the_most_serious_first():
    audit = audit_of(TRAIN + TRAIN[:3], TEST + TRAIN[:9])
    assert audit_of(TRAIN + TRAIN[:3], TEST + TRAIN[:9]) == audit
    read = json.loads(json.dumps(audit.to_dict(), allow_nan=False))["findings"]
    assert all(set(f) == {"kind", "severity", "message", "evidence"} for f in read)
    assert all(f["message"][0].isupper() or f["message"][0].isdigit() for f in read)
    assert all(f["message"].endswith(".") for f in read)
    severities = [f["severity"] for f in read]
    assert severities == sorted(severities, key=["serious", "warning", "note"].index)


def test_vectors_without_texts_leave_out_what_needs_texts(of_vectors):
    both = prepare(*of_vectors)
    assert not found(audit_model(of_vectors[0].model_, both, both), "shared_texts")


@pytest.mark.parametrize(("n_strange", "severities"), [(8, ["serious"]), (1, [])])
def test_of_few_texts_several_strange_ones_are_told(n_strange, severities):
    few = corpus_of(test=TEST[:8])
    strange = np.isin(few.documents, np.flatnonzero(few.is_test)[:n_strange])
    read = replace(few, reading=replace(few.reading, unfamiliar=strange))
    assert [finding.severity for finding in unfamiliar_sentences(read)] == severities
