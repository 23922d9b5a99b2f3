"""Findings about texts that stand in the data more than once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.audit.corpus import AuditCorpus
from protorynet.audit.findings import Finding, Severity, counted, quoted, share_of
from protorynet.audit.near_copies import NearCopy, near_copies

__all__ = ["copy_findings"]

_MOST_EXAMPLES = 50
_SERIOUS_SHARE = 0.01
_MANY_DUPLICATES = 0.05


def copy_findings(corpus: AuditCorpus) -> list[Finding]:
    """Look for texts in both splits, duplicates, and equal texts with different labels."""
    near = near_copies(corpus.document_words, corpus.is_test, corpus.is_first)
    return [
        *_shared_texts(corpus),
        *_near_shared_texts(corpus, [pair for pair in near if not pair.is_form]),
        *_shared_forms(corpus, [pair for pair in near if pair.is_form]),
        *_duplicates(corpus, is_test=False),
        *_duplicates(corpus, is_test=True),
        *_conflicting_labels(corpus),
    ]


def _shared_texts(corpus: AuditCorpus) -> list[Finding]:
    trained = np.unique(corpus.same_document[~corpus.is_test])
    shared = corpus.is_test & np.isin(corpus.same_document, trained)
    count, whole = int(shared.sum()), int(corpus.is_test.sum())
    if not count:
        return []
    evidence: dict[str, Any] = {
        **_accuracy_on(corpus, shared),
        "examples": [
            _copies(corpus, number)
            for number in dict.fromkeys(corpus.same_document[shared].tolist())
        ][:_MOST_EXAMPLES],
    }
    message = (
        f"{counted(count, 'test text')} ({share_of(count, whole)} of the test data) also "
        f"{'stand' if count > 1 else 'stands'} in the training data, so the model has seen "
        f"{'them' if count > 1 else 'it'} with the answer. Remove "
        f"{'them' if count > 1 else 'it'} from one of the two before quoting any accuracy."
    )
    serious = count / whole >= _SERIOUS_SHARE
    return [Finding("shared_texts", "serious" if serious else "warning", message, evidence)]


def _near_shared_texts(corpus: AuditCorpus, pairs: list[NearCopy]) -> list[Finding]:
    if not pairs:
        return []
    count, whole = len(pairs), int(corpus.is_test.sum())
    message = (
        f"{counted(count, 'test text')} ({share_of(count, whole)} of the test data) "
        f"{'hold' if count > 1 else 'holds'} most of a training text word for word, or the other "
        "way round: copies with changes, longer or shorter versions, or a long passage put into "
        f"both. Look at the pair{'s' if count > 1 else ''}; where they are copies, remove one "
        "before quoting any accuracy."
    )
    evidence = _near_evidence(corpus, pairs)
    severity: Severity = "warning" if count / whole >= _SERIOUS_SHARE else "note"
    return [Finding("near_shared_texts", severity, message, evidence)]


def _shared_forms(corpus: AuditCorpus, pairs: list[NearCopy]) -> list[Finding]:
    """Tell of test texts that differ from several others by what was filled in."""
    if not pairs:
        return []
    count, whole = len(pairs), int(corpus.is_test.sum())
    evidence = _near_evidence(corpus, pairs)
    others = evidence["accuracy_on_the_others"]
    compared = "" if others is None else f", and on {share_of(others, 1)} of the others"
    message = (
        f"{counted(count, 'test text')} ({share_of(count, whole)} of the test data) "
        f"{'follow' if count > 1 else 'follows'} a form that several texts share, some of them in "
        "training: most of the words are the same. The model is right on "
        f"{share_of(evidence['accuracy_on_these'], 1)} of {'them' if count > 1 else 'such'}"
        f"{compared}. If new texts will not follow the same forms, expect the latter."
    )
    return [Finding("shared_forms", "note", message, evidence)]


def _near_evidence(corpus: AuditCorpus, pairs: list[NearCopy]) -> dict[str, Any]:
    chosen = np.zeros(len(corpus.texts), np.bool_)
    chosen[[pair.test for pair in pairs]] = True
    examples = [
        {
            **corpus.example(pair.test),
            "likeness": pair.likeness,
            "train_row": int(corpus.rows[pair.train]),
            "train_text": quoted(corpus.texts[pair.train]),
        }
        for pair in pairs[:_MOST_EXAMPLES]
    ]
    return {**_accuracy_on(corpus, chosen), "examples": examples}


def _accuracy_on(corpus: AuditCorpus, chosen: NDArray[np.bool_]) -> dict[str, Any]:
    """Return how many test documents are chosen, and the accuracy on these and on the others."""
    others = corpus.is_test & ~chosen
    return {
        "n_test_documents": int(chosen.sum()),
        "share_of_test": float(chosen.sum() / corpus.is_test.sum()),
        "accuracy_on_these": float(corpus.right[chosen].mean()),
        "accuracy_on_the_others": float(corpus.right[others].mean()) if others.any() else None,
    }


def _duplicates(corpus: AuditCorpus, *, is_test: bool) -> list[Finding]:
    chosen = corpus.is_test == is_test
    numbers, counts = np.unique(corpus.same_document[chosen], return_counts=True)
    surplus, whole = int((counts - 1).sum()), int(chosen.sum())
    if not surplus:
        return []
    split = "test" if is_test else "training"
    harm = (
        "Each counts several times in every figure."
        if is_test
        else "The model learns them by heart, and its validation accuracy looks better than it is."
    )
    message = (
        f"{counted(surplus, f'{split} text')} ({share_of(surplus, whole)}) "
        f"{'repeat' if surplus > 1 else 'repeats'} another text of the same split. {harm} "
        "Keep one of each."
    )
    most = numbers[np.argsort(-counts, kind="stable")][: min(10, int((counts > 1).sum()))]
    evidence = {
        "split": "test" if is_test else "train",
        "n_surplus": surplus,
        "examples": [_copies(corpus, int(number)) for number in most],
    }
    many = surplus / whole >= _MANY_DUPLICATES
    return [Finding("duplicates", "warning" if many else "note", message, evidence)]


def _conflicting_labels(corpus: AuditCorpus) -> list[Finding]:
    labels = np.unique(corpus.truth, axis=0, return_inverse=True)[1].reshape(-1)
    pairs = np.unique(np.stack([corpus.same_document, labels]), axis=1)
    numbers, counts = np.unique(pairs[0], return_counts=True)
    conflicting = numbers[counts > 1]
    if not len(conflicting):
        return []
    message = (
        f"{counted(len(conflicting), 'text')} "
        f"{'stand' if len(conflicting) > 1 else 'stands'} in the data several times with different "
        "labels, so at least one label is wrong. Decide which, or drop the text."
    )
    examples = [_copies(corpus, int(number)) for number in conflicting[:_MOST_EXAMPLES]]
    evidence = {"n_texts": len(conflicting), "examples": examples}
    serious = len(conflicting) / len(corpus.texts) >= _SERIOUS_SHARE
    return [Finding("conflicting_labels", "serious" if serious else "warning", message, evidence)]


def _copies(corpus: AuditCorpus, number: int) -> dict[str, Any]:
    """Return a text with all its rows and labels."""
    places = np.flatnonzero(corpus.same_document == number)
    return {
        "text": quoted(corpus.texts[places[0]]),
        "train_rows": corpus.rows[places[~corpus.is_test[places]]].tolist(),
        "test_rows": corpus.rows[places[corpus.is_test[places]]].tolist(),
        "labels": sorted({corpus.label(int(place)) for place in places}),
    }
