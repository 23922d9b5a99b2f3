"""Findings about the model: its prototypes, its predictions and data it does not know."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from audit_scene import (
    TEST,
    TRAIN,
    audit_of,
    clean_audit,
    corpus_of,
    found,
    only,
    reviews,
)

from protorynet import ProtoryNetClassifier, Settings
from protorynet.audit import Finding, LabelledDocuments, audit_model
from protorynet.audit.audit_corpus import AuditCorpus
from protorynet.audit.leftovers import WordEvidence
from protorynet.audit.prediction_findings import prediction_findings, unfamiliar_sentences
from protorynet.audit.prototype_findings import meaning_findings, usage_findings
from protorynet.errors import InputError
from protorynet.prototypes import Prototypes

_REPLY = (
    "We thank every guest for the kind comments and hope to welcome all of them again very soon "
    "in our house by the river."
)


def matched(corpus: AuditCorpus, columns: Any) -> AuditCorpus:
    """Return the documents as if each sentence had been matched so, at full similarity."""
    columns = np.asarray(columns, np.int64)
    ones = np.ones(len(columns), np.float32)
    trajectory = replace(corpus.reading, columns=columns, similarities=ones)
    return replace(corpus, reading=trajectory)


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
    return [f for f in meaning_findings(corpus, WordEvidence(corpus)) if f.kind == kind]


def kinds(findings: list[Finding]) -> set[str]:
    return {finding.kind for finding in findings}


@pytest.fixture(scope="module")
def corpus() -> AuditCorpus:
    return corpus_of()


@pytest.fixture(scope="module")
def replied() -> AuditCorpus:
    """Half of the documents end in one reply, with a prototype of its own."""
    train = [
        (f"{text} Dear guest {place}. {_REPLY}", label) if place % 2 else (text, label)
        for place, (text, label) in enumerate(TRAIN)
    ]
    read = corpus_of(train)
    is_reply = np.array([text == _REPLY for text in read.sentences])
    k = len(read.model.prototypes)
    spread = np.arange(len(is_reply)) % (k - 1) + 1
    return matched(read, np.where(is_reply, 0, spread))


def test_a_prototype_of_replies_is_boilerplate(replied: AuditCorpus) -> None:
    (finding,) = meanings(replied, "boilerplate_prototypes")
    first = replied.model.prototypes[0].id
    assert [example["prototype"] for example in finding.evidence["examples"]] == [first]


def test_boilerplate_is_shown_by_a_repeated_sentence(replied: AuditCorpus) -> None:
    (finding,) = meanings(replied, "boilerplate_prototypes")
    assert finding.evidence["examples"][0]["repeated"][0].startswith("We thank every guest")


def test_a_prototype_of_one_text_is_told(replied: AuditCorpus) -> None:
    (finding,) = meanings(replied, "repeated_text_prototype")
    assert finding.evidence["share_of_its_sentences"] == 1


def test_a_prototype_that_shows_another_text_than_it_stands_for_is_told(
    replied: AuditCorpus,
) -> None:
    (finding,) = meanings(replied, "repeated_text_prototype")
    assert "What is shown is not what it means" in finding.message


def test_a_prototype_that_shows_the_text_it_stands_for_does_not_mislead(
    replied: AuditCorpus,
) -> None:
    first, *others = replied.model.prototypes
    items = (replace(first, sentence=_REPLY), *others)
    prototypes = Prototypes(items, replied.model.prototypes.classes)
    honest = replace(replied, model=replace(replied.model, prototypes=prototypes))
    (finding,) = meanings(honest, "repeated_text_prototype")
    assert "What is shown" not in finding.message


def test_the_numbers_of_lists_make_no_boilerplate(replied: AuditCorpus) -> None:
    shown = ["2." if text == _REPLY else text for text in replied.sentences]
    assert meanings(replace(replied, sentences=shown), "boilerplate_prototypes") == []


def test_a_contentless_prototype_of_one_class_is_told(corpus: AuditCorpus) -> None:
    travel = np.array([text.startswith("My ") for text in corpus.sentences])
    is_good = corpus.truth[corpus.documents, 1]
    columns = np.where(travel & is_good, 0, np.where(travel, 1, 2 + is_good))
    told = meanings(matched(corpus, columns), "pure_prototype")
    assert {finding.evidence["class"] for finding in told} == {"bad", "good"}


def test_a_pure_prototype_whose_words_say_the_class_is_no_wonder(corpus: AuditCorpus) -> None:
    travel = np.array([text.startswith("My ") for text in corpus.sentences])
    columns = np.where(travel, 0, 1 + corpus.truth[corpus.documents, 1])
    assert meanings(matched(corpus, columns), "pure_prototype") == []


def test_training_data_of_another_model_are_told() -> None:
    finding = only(audit_of(reviews(160, seed=8)), "other_training_data")
    assert finding.severity == "serious"


def test_a_class_without_prototype_is_named(corpus: AuditCorpus) -> None:
    k = len(corpus.model.prototypes)
    told = usage_findings(scored(corpus, [0.9] * k))
    (finding,) = [f for f in told if f.kind == "class_without_prototype"]
    assert finding.evidence["classes"] == ["bad"]


def test_one_prototype_for_most_sentences_is_told(corpus: AuditCorpus) -> None:
    columns = np.arange(len(corpus.sentences)) % len(corpus.model.prototypes)
    columns[: len(columns) * 2 // 3] = 1
    assert "few_prototypes_take_most" in kinds(usage_findings(matched(corpus, columns)))


def test_unused_prototypes_are_named(corpus: AuditCorpus) -> None:
    columns = np.arange(len(corpus.sentences)) % (len(corpus.model.prototypes) - 1)
    told = usage_findings(matched(corpus, columns))
    (finding,) = [f for f in told if f.kind == "unused_prototypes"]
    last = corpus.model.prototypes[len(corpus.model.prototypes) - 1]
    assert [example["prototype"] for example in finding.evidence["examples"]] == [last.id]


def test_scores_against_the_observed_classes_are_told(corpus: AuditCorpus) -> None:
    turned = [1 - item.scores["good"] for item in corpus.model.prototypes]
    assert "poor_score_calibration" in kinds(usage_findings(scored(corpus, turned)))


def test_a_wrong_label_is_suspected_with_the_sentence_that_weighs_most(
    corpus: AuditCorpus,
) -> None:
    good = np.where(corpus.truth[:, 1], 0.99, 0.01)
    good[5] = 1 - good[5]
    told = prediction_findings(predicted(corpus, good))
    (finding,) = [f for f in told if f.kind == "label_suspects"]
    (example,) = finding.evidence["examples"]
    assert (example["split"], example["row"], example["label"]) == ("train", 5, TRAIN[5][1])
    assert example["sentence"] in TRAIN[5][0]


def test_where_most_labels_are_suspected_the_model_is_suspect_too(corpus: AuditCorpus) -> None:
    wrong = np.where(corpus.truth[:, 1], 0.01, 0.99)
    told = prediction_findings(predicted(corpus, wrong))
    (finding,) = [f for f in told if f.kind == "label_suspects"]
    assert "make the model suspect" in finding.message


def test_a_doubtful_prediction_suspects_no_label(corpus: AuditCorpus) -> None:
    wrong = np.where(corpus.truth[:, 1], 0.1, 0.9)
    assert "label_suspects" not in kinds(prediction_findings(predicted(corpus, wrong)))


def test_a_class_that_is_never_predicted_is_serious(corpus: AuditCorpus) -> None:
    told = prediction_findings(predicted(corpus, 0.1))
    (finding,) = [f for f in told if f.kind == "class_never_predicted"]
    assert (finding.severity, finding.evidence["class"]) == ("serious", "good")


def test_a_class_that_the_test_data_lack_is_told() -> None:
    finding = only(
        audit_of(TRAIN, [pair for pair in TEST if pair[1] == "bad"]), "class_not_in_test"
    )
    assert finding.evidence["class"] == "good"


def test_order_that_changes_nothing_is_noted() -> None:
    of_one_mind = [
        (" ".join(s + "." for s in text.split(".") if "The " in s), label)
        for text, label in reviews(300, seed=1)
    ]
    assert only(audit_of(TRAIN, of_one_mind), "order_not_used").severity == "note"


def test_order_that_changes_predictions_is_not(corpus: AuditCorpus) -> None:
    turned = predicted(corpus, np.where(corpus.truth[:, 1], 0.1, 0.9))
    assert "order_not_used" not in kinds(prediction_findings(turned))


def test_a_model_too_sure_of_itself_is_told(corpus: AuditCorpus) -> None:
    good = np.where(np.arange(len(corpus.texts)) % 3 == 0, 0.99, 0.01)
    (finding,) = [
        f for f in prediction_findings(predicted(corpus, good)) if f.kind == "misplaced_certainty"
    ]
    assert finding.evidence["mean_certainty"] > finding.evidence["share_right"]


def test_sentences_far_from_every_prototype_are_told(corpus: AuditCorpus) -> None:
    similarities = np.linspace(0.5, 1, len(corpus.sentences), dtype=np.float32)
    similarities[corpus.in_test] = 0.1
    far = replace(corpus, reading=replace(corpus.reading, similarities=similarities))
    (finding,) = unfamiliar_sentences(far)
    assert (finding.severity, len(finding.evidence["examples"])) == ("serious", 5)


@pytest.mark.parametrize(
    "kind",
    [
        "boilerplate_prototypes",
        "class_never_predicted",
        "class_not_in_test",
        "class_without_prototype",
        "few_prototypes_take_most",
        "label_suspects",
        "misplaced_certainty",
        "other_training_data",
        "poor_score_calibration",
        "pure_prototype",
        "repeated_text_prototype",
        "unfamiliar_sentences",
        "unused_prototypes",
    ],
)
def test_a_sound_model_raises_no_alarm(kind: str) -> None:
    assert found(clean_audit(), kind) == []


def test_the_most_serious_findings_come_first() -> None:
    severities = [f.severity for f in audit_of(TRAIN, TEST + TRAIN[:9]).findings]
    assert severities == sorted(severities, key=["serious", "warning", "note"].index)


def test_an_audit_is_plain_json() -> None:
    audit = audit_of(TRAIN + TRAIN[:3], TEST + TRAIN[:9])
    read = json.loads(json.dumps(audit.to_dict(), allow_nan=False))
    assert all(set(f) == {"kind", "severity", "message", "evidence"} for f in read["findings"])


def test_an_audit_says_the_same_every_time() -> None:
    assert audit_of() == clean_audit()


def test_every_message_is_a_sentence() -> None:
    audit = audit_of(TRAIN + TRAIN[:3], TEST + TRAIN[:9])
    assert all(f.message[0].isupper() or f.message[0].isdigit() for f in audit.findings)
    assert all(f.message.endswith(".") for f in audit.findings)


def test_documents_without_any_sentence_are_refused() -> None:
    with pytest.raises(InputError, match="no test documents"):
        audit_of(TRAIN, [(" ", "good")])


def test_several_labels_at_once_are_audited(encoder: Any, quick: Settings) -> None:
    texts = [text for text, _ in TRAIN]
    tags = np.array([["room" in text, "pool" in text] for text in texts])
    clf = ProtoryNetClassifier(encoder, settings=quick, device="cpu", cache=False)
    clf.fit(texts, tags)
    sentences, embeddings = clf.prepare(texts)
    both = LabelledDocuments(
        texts, np.arange(len(texts)), sentences, embeddings, tags.astype(np.float32)
    )
    assert found(audit_model(clf.model_, both, both), "shared_texts")


def test_vectors_without_texts_leave_out_what_needs_texts(quick: Settings) -> None:
    random = np.random.default_rng(0)
    labels = ["good", "bad"] * 30
    signs = [1 if label == "good" else -1 for label in labels]
    sequences = [random.normal(sign, 1, (3, 4)).astype(np.float32) for sign in signs]
    clf = ProtoryNetClassifier("precomputed", settings=quick, device="cpu", cache=False)
    clf.fit(sequences, labels)
    sentences, embeddings = clf.prepare(sequences)
    both = LabelledDocuments(
        [""] * 60, np.arange(60), sentences, embeddings, clf.model_.labels.encode(labels)
    )
    assert not found(audit_model(clf.model_, both, both), "shared_texts")
