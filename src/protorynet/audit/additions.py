"""Findings about what was added to many texts alike: passages and sentences of no single author."""

from __future__ import annotations

import numpy as np

from protorynet.audit.corpus import AuditCorpus
from protorynet.audit.findings import Finding, counted, quoted, share_of
from protorynet.audit.words import PASSAGE

__all__ = ["copied_passages", "fixed_sentences"]

_MIN_DOCUMENTS, _NOTABLE = 8, 0.02
_NEARLY_ALWAYS = 0.9
_TELLING = 0.2


def fixed_sentences(corpus: AuditCorpus) -> list[Finding]:
    """Look for sentences that begin or end many documents of all classes."""
    whole = int(corpus.is_first.sum())
    base = corpus.truth[corpus.is_first].mean(axis=0)
    findings = []
    for edge, is_there in (("first", corpus.places_from_start), ("last", corpus.places_from_end)):
        at_edge = np.flatnonzero((is_there == 0) & corpus.is_first[corpus.documents])
        numbers, first, counts = np.unique(
            corpus.same_sentence[at_edge], return_index=True, return_counts=True
        )
        for k in np.flatnonzero(counts >= max(_MIN_DOCUMENTS, _NOTABLE * whole)).tolist():
            same = corpus.same_sentence == numbers[k]
            sentence = corpus.sentences[at_edge[first[k]]]
            told_class = np.abs(corpus.truth[corpus.documents[same]].mean(axis=0) - base).max()
            if (is_there[same] == 0).mean() > _NEARLY_ALWAYS and told_class < _TELLING:
                findings.append(_fixed(corpus, sentence, edge, int(counts[k]), whole))
    return findings


def _fixed(corpus: AuditCorpus, sentence: str, edge: str, count: int, whole: int) -> Finding:
    message = (
        f'The sentence "{quoted(sentence, 60)}" is the {edge} of {counted(count, "document")} '
        f"({share_of(count, whole)}) and stands hardly anywhere else: a remark of where the texts "
        "come from, it seems, and not the authors' own. It hardly tells the class, but takes a "
        "step of each explanation: remove it from all texts."
    )
    evidence = {
        "sentence": quoted(sentence),
        "place": edge,
        "n_documents": count,
        "share_of_documents": count / whole,
    }
    return Finding("fixed_sentence", "note", message, evidence)


def copied_passages(corpus: AuditCorpus) -> list[Finding]:
    """Look for long passages that many documents share word for word."""
    copied = corpus.passages
    count = len(np.unique(corpus.documents[copied]))
    whole = len(corpus.texts)
    if count < _MIN_DOCUMENTS or count / whole < _NOTABLE:
        return []
    message = (
        f"{counted(count, 'document')} ({share_of(count, whole)}) share whole passages of "
        f"{PASSAGE} words or more with at least two others: replies, signatures, forms or "
        "templates. If the authors did not write them, or if they will not be there when the model "
        "is used, remove them from the texts and train again."
    )
    evidence = {
        "n_documents": count,
        "share_of_documents": count / whole,
        "n_sentences": int(copied.sum()),
        "n_texts": len(np.unique(corpus.same_sentence[copied])),
        "share_in_second_half": float((corpus.places_from_end[copied] <= 0.5).mean()),
        "examples": [
            {
                **corpus.example(int(corpus.documents[place])),
                "text": quoted(corpus.sentences[place]),
                "times": times,
            }
            for place, times in corpus.most_copied(np.flatnonzero(copied), 10)
        ],
    }
    return [Finding("copied_passages", "warning", message, evidence)]
