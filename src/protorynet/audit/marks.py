"""Findings about signs in the texts: what no author wrote, and what one split only holds."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protorynet.audit.corpus import AuditCorpus
from protorynet.audit.findings import Finding, Severity, quoted, share_of
from protorynet.audit.prototypes import listed_ids

__all__ = ["mark_findings"]

_MIN_DOCUMENTS, _NOTABLE = 8, 0.01
_ENOUGH_DOCUMENTS = 30
_OTHER, _QUITE_OTHER = 0.2, 0.5
_AROUND = 30

# Tags of line breaks end sentences and are read by nobody, so they do no harm.
_TAGS = "a|b|blockquote|code|div|em|font|h[1-6]|hr|i|img|li|ol|p|pre|span|strong|table|td|tr|u|ul"
_UNWRITTEN = {
    "HTML tags": rf"</?(?:{_TAGS})(?:\s[^<>]{{0,200}})?/?>",
    "HTML entities": r"&(?:amp|lt|gt|quot|apos|nbsp|#\d{1,6}|#x[0-9A-Fa-f]{1,5});",
    "escaped characters": r"\\(?:[nrt\"']|u[0-9a-fA-F]{4})",
    "broken characters": "[ÃÂ][\u0080-\u00bf]|â€|\ufffd",
    "placeholders": r"\bX{3,}\b|\[(?:[A-Z]{3,}|redacted|removed|deleted)\]|<(?:unk|[A-Z]{3,})>",
}
_WRITTEN = {
    "capital letters": r"[A-Z]",
    "commas": ",",
    "digits": r"\d",
    "full stops": r"\.",
    "line breaks": r"\n|<br\b",
}


class _Mark(NamedTuple):
    """A sign, the documents that hold it and where it first stands in each."""

    name: str
    documents: NDArray[np.int64]
    starts: NDArray[np.int64]


def mark_findings(corpus: AuditCorpus) -> list[Finding]:
    """Look for markup, placeholders and broken characters, and for splits prepared differently."""
    return [*_unwritten(corpus), *_other_preparation(corpus)]


def _unwritten(corpus: AuditCorpus) -> list[Finding]:
    least = max(_MIN_DOCUMENTS, _NOTABLE * len(corpus.texts))
    marks = [mark for name in _UNWRITTEN if len((mark := _mark(corpus, name)).documents) >= least]
    if not marks:
        return []
    marks.sort(key=lambda mark: -len(mark.documents))
    shares = {mark.name: len(mark.documents) / len(corpus.texts) for mark in marks}
    listed = "; ".join(f"{name} in {share_of(share, 1)}" for name, share in shares.items())
    held = [
        column
        for column, item in enumerate(corpus.model.prototypes)
        if any(_pattern(name).search(item.sentence) for name in shares)
    ]
    shown = (
        f" Prototype{'s' if len(held) > 1 else ''} {listed_ids(corpus, held)} "
        f"{'show' if len(held) > 1 else 'shows'} some."
        if held
        else ""
    )
    message = (
        f"The documents hold what no author wrote: {listed}. The model reads such signs like "
        f"words.{shown} Clean the texts and train again; where that cannot be, prepare new texts "
        "in the very same way."
    )
    evidence: dict[str, Any] = {
        "shares_of_documents": shares,
        "prototypes": sorted(corpus.model.prototypes[column].id for column in held),
        "examples": [example for mark in marks for example in _examples(corpus, mark)],
    }
    severity: Severity = "warning" if held else "note"
    return [Finding("unclean_texts", severity, message, evidence)]


def _other_preparation(corpus: AuditCorpus) -> list[Finding]:
    """Compare how many documents of each split hold signs that authors use alike."""
    n_test = int(corpus.is_test.sum())
    n_train = len(corpus.texts) - n_test
    if min(n_train, n_test) < _ENOUGH_DOCUMENTS:
        return []
    shares = {}
    for name in (*_WRITTEN, *_UNWRITTEN):
        in_test = corpus.is_test[_mark(corpus, name).documents]
        shares[name] = (float((~in_test).sum() / n_train), float(in_test.sum() / n_test))
    gaps = {name: abs(test - train) for name, (train, test) in shares.items()}
    other = sorted((name for name in gaps if gaps[name] >= _OTHER), key=lambda name: -gaps[name])
    if not other:
        return []
    listed = "; ".join(
        f"{name} in {share_of(train, 1)} of the training and {share_of(test, 1)} of the test "
        "documents"
        for name in other
        for train, test in [shares[name]]
    )
    message = (
        f"Training and test data were not prepared in the same way: there are {listed}. What the "
        "model meets in the test is then not what it was trained on. Prepare both alike."
    )
    evidence = {
        "shares": {name: dict(zip(("train", "test"), shares[name], strict=True)) for name in other}
    }
    severity: Severity = "warning" if gaps[other[0]] >= _QUITE_OTHER else "note"
    return [Finding("other_preparation", severity, message, evidence)]


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile((_UNWRITTEN | _WRITTEN)[name])


def _mark(corpus: AuditCorpus, name: str) -> _Mark:
    hits = [
        (document, found.start())
        for document, text in enumerate(corpus.texts)
        if (found := _pattern(name).search(text))
    ]
    documents, starts = np.array(hits, np.int64).reshape(-1, 2).T
    return _Mark(name, documents, starts)


def _examples(corpus: AuditCorpus, mark: _Mark) -> list[dict[str, Any]]:
    """Return the first few places of a sign, with the words around it."""
    found = []
    for document, start in zip(mark.documents[:2].tolist(), mark.starts[:2].tolist(), strict=True):
        text = corpus.texts[document]
        begin = max(start - _AROUND, 0)
        shown = quoted(text[begin : start + 2 * _AROUND])
        found.append(
            {**corpus.example(document), "sign": mark.name, "text": "… " * (begin > 0) + shown}
        )
    return found
