"""Findings about test data that do not look like the training data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from protorynet.audit.corpus import AuditCorpus
from protorynet.audit.findings import Finding, Severity, counted, quoted, share_of
from protorynet.data import split_documents

__all__ = ["empty_documents", "unfamiliar_sentences", "worded_shift_findings"]

_ENOUGH_DOCUMENTS, _ENOUGH_SENTENCES = 30, 50
_FAR = 0.05
_MANY_FAR, _MOST_FAR = 3 * _FAR, 8 * _FAR
_MANY_UNKNOWN, _MORE_UNKNOWN = 0.1, 2.5
_OTHER_LENGTH = 2.0
_MANY_EMPTY = 0.05
_MANY_CUT = 0.02
_RESPLIT = 4_000


def unfamiliar_sentences(corpus: AuditCorpus) -> list[Finding]:
    """Look whether more test sentences lie far from every prototype than training sentences do."""
    similarities = corpus.reading.similarities
    in_test = np.flatnonzero(corpus.in_test)
    if min(len(in_test), len(similarities) - len(in_test)) < _ENOUGH_SENTENCES:
        return []
    limit = float(np.quantile(similarities[~corpus.in_test], _FAR))
    far = in_test[similarities[in_test] < limit]
    share = len(far) / len(in_test)
    if share < _MANY_FAR:
        return []
    message = (
        f"{share_of(share, 1)} of the test sentences are less like any prototype than "
        f"{share_of(1 - _FAR, 1)} of the training sentences are: the test data do not look like "
        "the training data. Read the examples; if such texts are to be classified, train on some."
    )
    far = far[np.argsort(similarities[far], kind="stable")]
    _, first = np.unique(corpus.same_sentence[far], return_index=True)
    evidence = {
        "share_of_test_sentences": share,
        "least_usual_similarity": limit,
        "examples": [
            {
                **corpus.example(int(corpus.documents[place])),
                "text": quoted(corpus.sentences[place]),
                "similarity": float(similarities[place]),
                "prototype": corpus.model.prototypes[int(corpus.reading.columns[place])].id,
            }
            for place in far[np.sort(first)[:5]].tolist()
        ],
    }
    severity: Severity = "serious" if share >= _MOST_FAR else "warning"
    return [Finding("unfamiliar_sentences", severity, message, evidence)]


def worded_shift_findings(corpus: AuditCorpus) -> list[Finding]:
    """Compare the words and lengths of the splits, and count sentences that were cut."""
    return [*_unknown_words(corpus), *_other_length(corpus), *_cut_sentences(corpus)]


def empty_documents(corpus: AuditCorpus) -> list[Finding]:
    """Count the documents without a sentence."""
    findings = []
    for is_test, empty in zip((False, True), corpus.n_empty, strict=True):
        if not empty:
            continue
        whole = empty + int((corpus.is_test == is_test).sum())
        split = "test" if is_test else "training"
        message = (
            f"{counted(empty, f'{split} document')} ({share_of(empty, whole)}) hold no sentence. "
            "The model can only guess their class by its frequency; find out why they are empty."
        )
        evidence = {"split": "test" if is_test else "train", "n_documents": empty}
        severity: Severity = "warning" if empty / whole >= _MANY_EMPTY else "note"
        findings.append(Finding("empty_documents", severity, message, evidence))
    return findings


def _unknown_words(corpus: AuditCorpus) -> list[Finding]:
    """Compare the share of words unknown from training with what training itself would give."""
    words = corpus.document_words
    is_test = corpus.is_test
    if min(is_test.sum(), (~is_test).sum()) < _ENOUGH_DOCUMENTS:
        return []
    part = np.zeros(len(is_test), np.int64)
    part[is_test] = 2
    # Copies would make training look more like itself than new texts are.
    part[np.flatnonzero(~is_test & corpus.is_first)[::5]] = 1
    of_word = part[words.owners]
    unknown = ~_known(words.words, of_word < 2, words.n_words)[words.words]
    held_out = ~_known(words.words, of_word == 0, words.n_words)[words.words]
    in_test, in_part = of_word == 2, of_word == 1
    if not in_test.any() or not in_part.any():
        return []
    share, usual = float(unknown[in_test].mean()), float(held_out[in_part].mean())
    if share < max(_MANY_UNKNOWN, _MORE_UNKNOWN * usual):
        return []
    message = (
        f"{share_of(share, 1)} of the words in the test data never occur in the training data "
        f"({share_of(usual, 1)} would be usual): another subject, another language, or texts "
        "prepared in another way. Read the examples, and train on texts like those to be "
        "classified."
    )
    counts = np.bincount(words.owners, weights=unknown & in_test, minlength=len(is_test))
    worst = np.argsort(-counts / np.maximum(words.lengths, 1), kind="stable")[:5]
    evidence = {
        "share_of_words": share,
        "usual_share": usual,
        "examples": [corpus.example(int(document)) for document in worst],
    }
    return [Finding("unknown_words", "warning", message, evidence)]


def _known(words: NDArray[np.int64], chosen: NDArray[np.bool_], n_words: int) -> NDArray[np.bool_]:
    known = np.zeros(n_words, np.bool_)
    known[words[chosen]] = True
    return known


def _other_length(corpus: AuditCorpus) -> list[Finding]:
    lengths, is_test = corpus.document_words.lengths, corpus.is_test
    if min(is_test.sum(), (~is_test).sum()) < _ENOUGH_DOCUMENTS:
        return []
    train, test = (float(np.median(lengths[is_test == split])) for split in (False, True))
    if max(train, test) < _OTHER_LENGTH * max(min(train, test), 1):
        return []
    message = (
        f"Half of the test documents have more than {test:.0f} words, half of the training "
        f"documents more than {train:.0f}. A model knows documents of the length it was trained "
        "on: test on documents like those it is made for."
    )
    evidence = {"median_words_train": train, "median_words_test": test}
    return [Finding("other_length", "warning", message, evidence)]


def _cut_sentences(corpus: AuditCorpus) -> list[Finding]:
    """Split the documents without the encoder's window, to see how often it cuts."""
    chosen = np.arange(0, len(corpus.texts), -(-len(corpus.texts) // _RESPLIT))
    texts = [corpus.texts[document] for document in chosen]
    whole = split_documents(texts, splitter=corpus.model.splitter, on_empty="skip")
    starts = np.cumsum(whole.lengths) - whole.lengths
    lengths, offsets = corpus.reading.lengths[chosen], corpus.reading.offsets[chosen]
    cut = np.zeros(len(chosen), np.int64)
    for place in np.flatnonzero(lengths != whole.lengths).tolist():
        sentences = set(whole.texts[starts[place] : starts[place] + whole.lengths[place]])
        pieces = corpus.sentences[offsets[place] : offsets[place] + lengths[place]]
        cut[place] = sum(piece not in sentences for piece in pieces)
    share = float(cut.sum() / lengths.sum())
    if share < _MANY_CUT:
        return []
    most = np.argsort(-cut, kind="stable")[:5]
    message = (
        f"{share_of(share, 1)} of the pieces read as sentences are parts of longer ones, cut "
        "because the encoder reads only so much at once: lists, tables, or texts without full "
        "stops. Look at the examples; line breaks in the texts help."
    )
    examples = [{**corpus.example(int(chosen[place])), "pieces": int(cut[place])} for place in most]
    return [Finding("cut_sentences", "note", message, {"share": share, "examples": examples})]
