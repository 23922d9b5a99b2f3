"""Findings about the texts: copies, leftovers, boilerplate and labels that contradict."""

import random
from dataclasses import replace

import numpy as np
import pytest
from audit_scene import TEST, TRAIN, Labelled, audit_of, corpus_of, only, reviews

from protorynet.audit import Finding
from protorynet.audit.audit_corpus import read_words
from protorynet.audit.copied_documents import copy_findings, near_copies
from protorynet.audit.leftovers import (
    WordEvidence,
    artefact_sentences,
    copied_passages,
    find_artefacts,
    fixed_sentences,
    sign_findings,
)
from protorynet.audit.prediction_findings import worded_shift_findings

_LONG = (
    "We thank every guest for the kind comments and hope to welcome all of them again very soon "
    "in our house by the river."
)
_NEAR = "near_shared_texts"


def copies(train: Labelled, test: Labelled, kind: str) -> list[Finding]:
    return [f for f in copy_findings(corpus_of(train, test)) if f.kind == kind]


def with_ending(labelled: Labelled, ending: str, label: str) -> Labelled:
    """Add a last sentence to every second document of a class."""
    chosen = [number for number, (_, own) in enumerate(labelled) if own == label][::2]
    return [
        (f"{text} {ending}" if number in chosen else text, own)
        for number, (text, own) in enumerate(labelled)
    ]


def test_texts_in_both_splits_are_named_whatever_their_case_with_the_accuracy_without_them():
    wrong, loud = (TRAIN[7][0], "bad"), TRAIN[3][0].upper().replace(".", " !")
    (finding,) = copies(TRAIN, [*TEST, wrong], "shared_texts")
    (example,) = finding.evidence["examples"]
    assert (example["train_rows"], example["test_rows"]) == ([7], [80])
    assert finding.evidence["accuracy_on_these"] == 0
    assert finding.evidence["accuracy_on_the_others"] > 0.9
    assert finding.severity == "serious"
    (finding,) = copies(TRAIN, [*reviews(200, seed=5), (loud, "good")], "shared_texts")
    assert finding.severity == "warning"


def test_a_changed_or_shorter_test_text_is_nearly_shared_and_an_equal_one_is_not():
    (text, label), (other, _) = TRAIN[4], TRAIN[6]
    (finding,) = copies([(f"{text} {other}", label), *TRAIN[8:]], [*TEST, (text, label)], _NEAR)
    assert finding.evidence["examples"][0]["train_row"] == 0
    changed = text.replace(" was ", " is ", 1)
    (finding,) = copies(TRAIN, [*TEST, (changed, label)], _NEAR)
    assert finding.evidence["examples"][0]["train_row"] == 4
    assert not copies(TRAIN, [*TEST, TRAIN[4]], _NEAR)


@pytest.mark.parametrize(
    "pair",
    [
        (f"{TRAIN[0][0]} {_LONG}", f"{TEST[0][0]} {_LONG}"),
        ("one of the best stays that I ever had", "one of the best stays that I ever had Sam"),
    ],
    ids=["one sentence", "a formula of nine words"],
)
def test_texts_that_share_a_sentence_or_a_formula_are_no_near_copies(pair):
    assert near_copies(read_words(pair), np.array([False, True]), np.ones(2, bool)) == []


def test_near_copies_are_those_of_a_slow_comparison():
    draw = random.Random(2)
    train = [" ".join(draw.choices("abcdefgh", k=30)) for _ in range(40)]
    test = [" ".join(w if draw.random() < 0.97 else "z" for w in t.split()) for t in train[:20]]
    sets = [
        {tuple(t.split()[i : i + 5]) for i in range(len(t.split()) - 4)} for t in [*train, *test]
    ]
    expected = {
        number
        for number in range(40, 60)
        if max(len(sets[number] & s) / len(sets[number] | s) for s in sets[:40]) >= 0.65
    }
    words = read_words([*train, *test])
    found = near_copies(words, np.arange(60) >= 40, np.ones(60, bool))
    assert expected <= {pair.test for pair in found}


def test_texts_that_several_authors_filled_in_alike_are_forms_and_no_copies():
    forms = [(f"Guest {name}: {_LONG}", "good") for name in ("Ann", "Bob", "Cy", "Dee")]
    told = copies(TRAIN + forms[:3], TEST + forms[3:], "shared_forms")
    assert [finding.evidence["n_test_documents"] for finding in told] == [1]
    assert not copies(TRAIN + forms[:3], TEST + forms[3:], _NEAR)


def test_repeated_texts_are_duplicates_of_their_split_and_many_are_worth_a_warning():
    found = copies(TRAIN + TRAIN[:20], TEST + TEST[:2], "duplicates")
    counts = [(each.evidence["split"], each.evidence["n_surplus"]) for each in found]
    assert counts == [("train", 20), ("test", 2)]
    assert [each.severity for each in found] == ["warning", "note"]


def test_the_same_text_with_two_labels_is_a_conflict_and_with_one_label_is_none():
    (finding,) = copies([*TRAIN, (TRAIN[0][0], "good")], TEST, "conflicting_labels")
    assert finding.evidence["examples"][0]["labels"] == ["bad", "good"]
    assert not copies([*TRAIN, TRAIN[0]], TEST, "conflicting_labels")


def test_a_leftover_at_the_end_of_one_class_is_named_with_the_predictions_that_hang_on_it():
    test = with_ending(TEST, "More", "bad")
    finding = only(audit_of(with_ending(TRAIN, "More", "bad"), test), "artefact_sentence")
    assert finding.evidence["sentence"] == "More"
    assert finding.evidence["share_at_the_end"] == 1
    assert finding.evidence["n_test_documents_with_it"] == 20


@pytest.mark.parametrize(
    ("train", "expected"),
    [
        (with_ending(with_ending(TRAIN, "More", "bad"), "More", "good"), []),
        ([(t.replace(". ", ". 2. ", 1) if y == "bad" else t, y) for t, y in TRAIN], []),
        (with_ending(TRAIN, "5", "bad"), ["5"]),
        (with_ending(TRAIN, "Horrible!", "bad"), []),
        ([(f"{t} More", y) for t, y in TRAIN[:12] if y == "bad"] + TRAIN[12:], []),
        (TRAIN + [TRAIN[0]] * 60, []),
    ],
    ids=[
        "of both classes",
        "numbers of lists",
        "a mark at the end that is a number",
        "words that say the class",
        "of a few documents",
        "copies of one document",
    ],
)
def test_only_what_gives_the_class_away_is_a_leftover(train, expected):
    corpus = corpus_of(train, TEST)
    found = artefact_sentences(corpus, find_artefacts(corpus, WordEvidence(corpus)))
    assert [finding.evidence["sentence"] for finding in found] == expected


def test_a_remark_before_documents_of_all_classes_is_told_unless_it_stands_anywhere():
    train = [(f"Sent for free. {text}", label) for text, label in TRAIN[:40]]
    (finding,) = fixed_sentences(corpus_of(train + TRAIN[40:]))
    assert (finding.evidence["sentence"], finding.evidence["place"]) == ("Sent for free.", "first")
    anywhere = [
        (f"{t} So be it." if n % 2 else f"So be it. {t}", y) for n, (t, y) in enumerate(TRAIN)
    ]
    assert not list(fixed_sentences(corpus_of(anywhere)))


def test_what_no_author_wrote_is_named():
    signs = ("<p>", "&amp;", "\\n", "cafÃ©", "XXXX")
    train = [(f"{text} Then {' '.join(signs)} it was.", label) for text, label in TRAIN]
    (finding,) = (f for f in sign_findings(corpus_of(train)) if f.kind == "unclean_texts")
    assert len(finding.evidence["shares_of_documents"]) == len(signs)
    assert signs[0] in finding.evidence["examples"][0]["text"]


def test_what_authors_write_is_no_markup():
    added = "Then <br /> <3 AT&T a < b xx XX it was."
    both = ([(f"{text} {added}", label) for text, label in split] for split in (TRAIN, TEST))
    assert sign_findings(corpus_of(*both)) == []


def test_splits_prepared_in_different_ways_are_told():
    lower = [(text.lower().replace(".", ""), label) for text, label in TEST]
    (finding,) = sign_findings(corpus_of(TRAIN, lower))
    assert finding.kind == "other_preparation"
    assert set(finding.evidence["shares"]) == {"capital letters", "full stops"}


def test_passages_that_many_documents_share_are_named():
    finding = only(audit_of(with_ending(TRAIN, _LONG, "good")), "copied_passages")
    assert finding.evidence["n_documents"] == 40
    assert finding.evidence["examples"][0]["text"].startswith("We thank every guest")


@pytest.mark.parametrize(
    "train",
    [with_ending(TRAIN, "It was one of the best stays ever.", "good"), TRAIN + [TRAIN[0]] * 60],
    ids=["a short formula", "a document that stands in the data often"],
)
def test_what_people_write_or_repeat_whole_is_no_copied_passage(train):
    assert copied_passages(corpus_of(train)) == []


def test_test_data_of_other_words_other_lengths_or_cut_sentences_are_found():
    foreign = [
        (f"Das Zimmer Nummer {n} war sauber, aber das Bad roch leider nach Farbe.", "good")
        for n in range(40)
    ]
    kinds = {finding.kind for finding in worded_shift_findings(corpus_of(TRAIN, TEST + foreign))}
    assert "unknown_words" in kinds
    short = [(text.split(". ")[0] + ".", label) for text, label in TEST]
    (finding,) = worded_shift_findings(corpus_of(TRAIN, short))
    assert finding.kind == "other_length"
    corpus = corpus_of()
    endless = replace(corpus, texts=[text.replace(".", ",") for text in corpus.texts])
    (finding,) = worded_shift_findings(endless)
    assert (finding.kind, finding.evidence["share"]) == ("cut_sentences", 1)


def test_empty_documents_are_counted_and_left_out():
    finding = only(audit_of(TRAIN, [*TEST, (" ", "good")]), "empty_documents")
    assert (finding.evidence["split"], finding.evidence["n_documents"]) == ("test", 1)
