"""Findings about leftovers: sentences that give the class away though they say nothing."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protorynet.audit.corpus import AuditCorpus
from protorynet.audit.evidence import WordEvidence
from protorynet.audit.findings import Finding, counted, quoted, share_of

__all__ = ["artefact_sentences"]

_MIN_DOCUMENTS, _MIN_SHARE = 8, 0.002
_SIGNIFICANT = 0.001
_FAR = 0.2
# Words that move the expected rate by more than this say something about the class.
_SAYS_NOTHING = 0.25
_MOST_CLASSES = 6
_FREQUENT, _MANY_DOCUMENTS = 0.01, 0.05
# The number of an item: "3.", "(b)".
_LIST_NUMBER = re.compile(r"\W*(?:\d{1,2}|[^\W\d_])\W*")


class _Repeated(NamedTuple):
    """A sentence that stands in many documents."""

    number: int
    place: int
    n_documents: int
    label: int
    rate: float


def artefact_sentences(corpus: AuditCorpus, evidence: WordEvidence) -> list[Finding]:
    """Look for repeated sentences that give the class away though their words say nothing."""
    from scipy.stats import binom

    candidates, tests = _telling(corpus)
    base = corpus.truth[corpus.is_first].mean(axis=0)
    labels = [found.label for found in candidates]
    chosen = sorted(set(labels), key=lambda label: (-labels.count(label), label))[:_MOST_CLASSES]
    artefacts: list[tuple[_Repeated, float]] = []
    for label in chosen:
        mine = [found for found in candidates if found.label == label]
        rates = evidence.rates(label, np.array([found.place for found in mine]))
        for found, expected in zip(mine, rates.tolist(), strict=True):
            hits = round(found.rate * found.n_documents)
            chance = binom.sf(hits - 1, found.n_documents, max(expected, base[label]))
            if (
                expected - base[label] < _SAYS_NOTHING
                and found.rate - expected >= _FAR
                and chance * tests < _SIGNIFICANT
            ):
                artefacts.append((found, expected))
    artefacts.sort(key=lambda pair: (-pair[0].n_documents, pair[0].number))
    least = _FREQUENT * int(corpus.is_first.sum())
    rare = [found for found, _ in artefacts if found.n_documents < least]
    return [
        _artefact(corpus, found, expected, float(base[found.label]))
        for found, expected in artefacts
        if found.n_documents >= least
    ] + _rare_artefacts(corpus, rare)


def _telling(corpus: AuditCorpus) -> tuple[list[_Repeated], int]:
    """Return the repeated sentences whose class rate is far from usual, and how many were asked."""
    from scipy.stats import binom

    first = corpus.is_first[corpus.documents]
    n_documents = len(corpus.texts)
    pairs = np.unique(corpus.same_sentence[first] * np.int64(n_documents) + corpus.documents[first])
    numbers, documents = pairs // n_documents, pairs % n_documents
    counts = np.bincount(numbers)
    whole = int(corpus.is_first.sum())
    often = np.flatnonzero(counts >= max(_MIN_DOCUMENTS, _MIN_SHARE * whole))
    place_of = dict(zip(*np.unique(corpus.same_sentence, return_index=True), strict=True))
    base = corpus.truth[corpus.is_first].mean(axis=0)
    tests = len(often) * len(base)
    found = []
    starts = np.searchsorted(numbers, often)
    for number, start in zip(often.tolist(), starts.tolist(), strict=True):
        rates = corpus.truth[documents[start : start + counts[number]]].mean(axis=0)
        label = int((rates - base).argmax())
        n = int(counts[number])
        chance = binom.sf(round(rates[label] * n) - 1, n, base[label])
        if rates[label] - base[label] >= _FAR and chance * tests < _SIGNIFICANT:
            place = int(place_of[number])
            if _is_list_number(corpus, place):
                continue
            found.append(_Repeated(number, place, n, label, float(rates[label])))
    return found, tests


def _is_list_number(corpus: AuditCorpus, place: int) -> bool:
    """Say whether a sentence is but the number of an item, which mostly goes on behind it."""
    if not _LIST_NUMBER.fullmatch(corpus.sentences[place]):
        return False
    same = corpus.same_sentence == corpus.same_sentence[place]
    return bool((corpus.places_from_end[same] > 0).mean() > 0.5)


def _artefact(corpus: AuditCorpus, found: _Repeated, expected: float, base: float) -> Finding:
    places = np.flatnonzero(corpus.same_sentence == found.number)
    sentence, name = corpus.sentences[found.place], corpus.model.labels.names[found.label]
    whole = int(corpus.is_first.sum())
    at_end = float((corpus.places_from_end[places] == 0).mean())
    columns = np.bincount(corpus.reading.columns[places])
    prototype = corpus.model.prototypes[int(columns.argmax())]
    changed, tested = _changed_without(corpus, places)
    where = ", nearly always as the last sentence" if at_end > 0.9 else ""
    message = (
        f'The sentence "{quoted(sentence, 60)}" stands in {counted(found.n_documents, "document")} '
        f"({share_of(found.n_documents, whole)}){where}. {share_of(found.rate, 1)} of these are "
        f'labelled "{name}", against {share_of(base, 1)} of all, though its words say little. '
        "It looks like a leftover of how the texts were collected, and gives the answer away to "
        f"whatever is trained on them. {_effect(changed, tested)}Remove it from all texts and "
        "train again."
    )
    evidence: dict[str, Any] = {
        "sentence": quoted(sentence),
        "n_documents": found.n_documents,
        "share_of_documents": found.n_documents / whole,
        "class": name,
        "class_rate": found.rate,
        "usual_class_rate": base,
        "class_rate_expected_from_its_words": expected,
        "share_at_the_end": at_end,
        "prototype": prototype.id,
        "prototype_sentence": quoted(prototype.sentence),
        "n_test_documents_with_it": tested,
        "n_test_predictions_changed_without_it": changed,
        "examples": [_in_place(corpus, int(place)) for place in places[:3]],
    }
    serious = found.n_documents / whole >= _MANY_DOCUMENTS
    return Finding("artefact_sentence", "serious" if serious else "warning", message, evidence)


def _effect(changed: int, tested: int) -> str:
    if not tested:
        return ""
    return f"Taken out, it changes {changed:,} of {counted(tested, 'test prediction')}. "


def _rare_artefacts(corpus: AuditCorpus, rare: list[_Repeated]) -> list[Finding]:
    """Tell of all sentences that stand in few documents each at once."""
    if not rare:
        return []
    names = corpus.model.labels.names
    listed = ", ".join(f'"{quoted(corpus.sentences[found.place], 30)}"' for found in rare[:5])
    message = (
        f"{counted(len(rare), 'short sentence')} ({listed}{', …' if len(rare) > 5 else ''}) "
        f"{'tell' if len(rare) > 1 else 'tells'} the class more surely than the words in "
        f"{'them' if len(rare) > 1 else 'it'} do elsewhere: ratings, perhaps, or leftovers of how "
        "the texts were collected. If they will not be there when the model is used, remove them."
    )
    examples = [
        {
            "text": quoted(corpus.sentences[found.place]),
            "times": found.n_documents,
            "class": names[found.label],
            "class_rate": found.rate,
        }
        for found in rare[:20]
    ]
    evidence = {"n_sentences": len(rare), "examples": examples}
    return [Finding("telling_sentences", "note", message, evidence)]


def _in_place(corpus: AuditCorpus, place: int) -> dict[str, Any]:
    """Return a sentence with the one before it, as evidence."""
    document = int(corpus.documents[place])
    is_first = place == corpus.reading.offsets[document]
    before = "" if is_first else f"… {quoted(corpus.sentences[place - 1], 80)} "
    return {**corpus.example(document), "text": before + quoted(corpus.sentences[place], 80)}


def _changed_without(corpus: AuditCorpus, places: NDArray[np.int64]) -> tuple[int, int]:
    """Return how many test predictions change without these sentences, and how many have them."""
    kept = np.ones(len(corpus.sentences), np.bool_)
    kept[places] = False
    lengths = np.bincount(corpus.documents[kept], minlength=len(corpus.texts))
    touched = (lengths < corpus.reading.lengths) & (lengths > 0) & corpus.is_test
    if not touched.any():
        return 0, 0
    rest = corpus.reading.take(np.flatnonzero(kept & touched[corpus.documents]), lengths[touched])
    without = corpus.model.labels.decide(corpus.model.read(rest).probabilities)
    changed = (without != corpus.predicted[touched]).any(axis=1)
    return int(changed.sum()), int(touched.sum())
