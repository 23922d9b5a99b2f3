"""Findings about what no single author wrote: leftovers, remarks, passages and signs."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protorynet.audit.audit_corpus import PASSAGE_WORDS, AuditCorpus
from protorynet.audit.findings import Finding, Severity, describe, quote

_EVIDENCE_FOLDS, _EVIDENCE_SENTENCES = 3, 30_000
_EVIDENCE_WORD = r"\w+|[?!]"
_LEAST_DOCUMENTS = 8
_LEAST_SHARE = 0.002
_SIGNIFICANT = 0.001
_FAR_FROM_USUAL = 0.2
# Words that move the expected rate by more than this say something about the class.
_SAYS_NOTHING = 0.25
_MOST_CLASSES = 6
_FREQUENT, _MANY_DOCUMENTS = 0.01, 0.05
# The number of an item: "3.", "(b)".
_LIST_NUMBER = re.compile(r"\W*(?:\d{1,2}|[^\W\d_])\W*")
_NOTABLE_SHARE = 0.02
_NEARLY_ALWAYS = 0.9
_NOTABLE_SIGNS = 0.01
_ENOUGH_TO_COMPARE = 30
_OTHER, _QUITE_OTHER = 0.2, 0.5
_CHARACTERS_AROUND = 30

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


class WordEvidence:
    """Expected class rates of sentences, learned only from sentences that read otherwise.

    So "Horrible!" is expected to be negative, because that word is so elsewhere; "More" is not,
    however often it stands under negative texts.
    """

    def __init__(self, corpus: AuditCorpus, seed: int = 0) -> None:
        from sklearn.feature_extraction.text import HashingVectorizer

        self._corpus = corpus
        count = len(corpus.sentences)
        random = np.random.default_rng(seed)
        self._sample = np.sort(random.choice(count, min(_EVIDENCE_SENTENCES, count), replace=False))
        self._vectorizer = HashingVectorizer(
            n_features=2**18, ngram_range=(1, 2), token_pattern=_EVIDENCE_WORD, alternate_sign=False
        )
        self._vectors = self._vectorizer.transform([corpus.sentences[p] for p in self._sample])
        self._readers: dict[int, list[Any]] = {}

    def rates(self, label: int, sentences: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the expected share of a class among documents with these sentences."""
        labels = self._corpus.model.labels
        if len(labels.names) == 2 and label == 0 and labels.task == "multiclass":
            return 1 - self.rates(1, sentences)
        if label not in self._readers:
            self._readers[label] = self._fit(label)
        vectors = self._vectorizer.transform([self._corpus.sentences[p] for p in sentences])
        folds = self._corpus.same_sentence[sentences] % _EVIDENCE_FOLDS
        found = np.full(len(sentences), self._corpus.truth[:, label].mean(dtype=np.float64))
        for fold, reader in enumerate(self._readers[label]):
            mine = np.flatnonzero(folds == fold)
            if reader is not None and len(mine):
                found[mine] = reader.predict_proba(vectors[mine])[:, 1]
        return found

    def _fit(self, label: int) -> list[Any]:
        """Fit one reader per fold; None where the other folds hold only one class."""
        from sklearn.linear_model import LogisticRegression

        truth = self._corpus.truth[self._corpus.documents[self._sample], label]
        folds = self._corpus.same_sentence[self._sample] % _EVIDENCE_FOLDS
        readers: list[Any] = []
        for fold in range(_EVIDENCE_FOLDS):
            others = np.flatnonzero(folds != fold)
            if len(np.unique(truth[others])) < 2:
                readers.append(None)
                continue
            reader = LogisticRegression(C=3.0, solver="liblinear", max_iter=1000)
            readers.append(reader.fit(self._vectors[others], truth[others]))
        return readers


class _Repeated(NamedTuple):
    """A sentence that stands in many documents."""

    number: int
    sentence: int
    n_documents: int
    label: int
    rate: float  # of documents with this label
    expected: float = 0.0  # by its words


def find_artefacts(corpus: AuditCorpus, evidence: WordEvidence) -> list[_Repeated]:
    """Look for repeated sentences that give the class away though their words say nothing."""
    from scipy.stats import binom

    candidates, tests = _find_telling(corpus)
    base = corpus.truth[corpus.is_first].mean(axis=0)
    labels = [found.label for found in candidates]
    chosen = sorted(set(labels), key=lambda label: (-labels.count(label), label))[:_MOST_CLASSES]
    artefacts: list[_Repeated] = []
    for label in chosen:
        mine = [found for found in candidates if found.label == label]
        rates = evidence.rates(label, np.array([found.sentence for found in mine]))
        for found, expected in zip(mine, rates.tolist(), strict=True):
            hits = round(found.rate * found.n_documents)
            chance = binom.sf(hits - 1, found.n_documents, max(expected, base[label]))
            if (
                expected - base[label] < _SAYS_NOTHING
                and found.rate - expected >= _FAR_FROM_USUAL
                and chance * tests < _SIGNIFICANT
            ):
                artefacts.append(found._replace(expected=expected))
    return sorted(artefacts, key=lambda found: (-found.n_documents, found.number))


def artefact_sentences(corpus: AuditCorpus, artefacts: list[_Repeated]) -> list[Finding]:
    """Describe the frequent ones each, and the others together."""
    base = corpus.truth[corpus.is_first].mean(axis=0)
    least = _FREQUENT * int(corpus.is_first.sum())
    often = [found for found in artefacts if found.n_documents >= least]
    described = [_describe_artefact(corpus, each, float(base[each.label])) for each in often]
    rare = [found for found in artefacts if found.n_documents < least]
    return described + _describe_rare_artefacts(corpus, rare)


def _find_telling(corpus: AuditCorpus) -> tuple[list[_Repeated], int]:
    """Return the repeated sentences whose class rate is far from usual, and how many were asked."""
    from scipy.stats import binom

    first = corpus.is_first[corpus.documents]
    n_documents = len(corpus.texts)
    pairs = np.unique(corpus.same_sentence[first] * np.int64(n_documents) + corpus.documents[first])
    numbers, documents = pairs // n_documents, pairs % n_documents
    counts = np.bincount(numbers)
    whole = int(corpus.is_first.sum())
    often = np.flatnonzero(counts >= max(_LEAST_DOCUMENTS, _LEAST_SHARE * whole))
    sentences = np.unique(corpus.same_sentence, return_index=True)[1]
    base = corpus.truth[corpus.is_first].mean(axis=0)
    tests = len(often) * len(base)
    found = []
    starts = np.searchsorted(numbers, often)
    for number, start in zip(often.tolist(), starts.tolist(), strict=True):
        rates = corpus.truth[documents[start : start + counts[number]]].mean(axis=0)
        label, n = int((rates - base).argmax()), int(counts[number])
        chance = binom.sf(round(rates[label] * n) - 1, n, base[label])
        if rates[label] - base[label] >= _FAR_FROM_USUAL and chance * tests < _SIGNIFICANT:
            sentence = int(sentences[number])
            if not _is_list_number(corpus, sentence):
                found.append(_Repeated(number, sentence, n, label, float(rates[label])))
    return found, tests


def _is_list_number(corpus: AuditCorpus, sentence: int) -> bool:
    """Say whether a sentence is only the number of an item, which mostly goes on behind it."""
    if not _LIST_NUMBER.fullmatch(corpus.sentences[sentence]):
        return False
    same = corpus.same_sentence == corpus.same_sentence[sentence]
    return bool((corpus.share_from_end[same] > 0).mean() > 0.5)


def _describe_artefact(corpus: AuditCorpus, found: _Repeated, base: float) -> Finding:
    sentences = np.flatnonzero(corpus.same_sentence == found.number)
    sentence, name = corpus.sentences[found.sentence], corpus.model.labels.names[found.label]
    whole = int(corpus.is_first.sum())
    at_end = float((corpus.share_from_end[sentences] == 0).mean())
    prototypes = corpus.model.prototypes
    prototype = prototypes[int(np.bincount(corpus.reading.prototypes[sentences]).argmax())]
    member = prototypes.members[int(np.bincount(corpus.reading.members[sentences]).argmax())]
    changed, tested = _count_changes_without(corpus, sentences)
    evidence: dict[str, Any] = {
        "sentence": quote(sentence),
        "n_documents": found.n_documents,
        "share_of_documents": found.n_documents / whole,
        "class": name,
        "class_rate": found.rate,
        "usual_class_rate": base,
        "class_rate_expected_from_its_words": found.expected,
        "share_at_the_end": at_end,
        "prototype": prototype.id,
        "prototype_sentence": quote(member.sentence),
        "n_test_documents_with_it": tested,
        "n_test_predictions_changed_without_it": changed,
        "examples": [_show_in_context(corpus, int(at)) for at in sentences[:3]],
    }
    severity: Severity = "serious" if found.n_documents / whole >= _MANY_DOCUMENTS else "warning"
    return describe("artefact_sentence", severity, evidence, whole=whole)


def _describe_rare_artefacts(corpus: AuditCorpus, rare: list[_Repeated]) -> list[Finding]:
    if not rare:
        return []
    names = corpus.model.labels.names
    listed = ", ".join(f'"{quote(corpus.sentences[found.sentence], 30)}"' for found in rare[:5])
    examples = [
        {
            "text": quote(corpus.sentences[found.sentence]),
            "times": found.n_documents,
            "class": names[found.label],
            "class_rate": found.rate,
        }
        for found in rare[:20]
    ]
    evidence = {"n_sentences": len(rare), "examples": examples}
    return [describe("telling_sentences", "note", evidence, listed=listed)]


def _show_in_context(corpus: AuditCorpus, sentence: int) -> dict[str, Any]:
    document = int(corpus.documents[sentence])
    is_first = sentence == corpus.reading.offsets[document]
    before = "" if is_first else f"… {quote(corpus.sentences[sentence - 1], 80)} "
    return {**corpus.example(document), "text": before + quote(corpus.sentences[sentence], 80)}


def _count_changes_without(corpus: AuditCorpus, sentences: NDArray[np.int64]) -> tuple[int, int]:
    """Return how many test predictions change without these sentences, and how many have them."""
    kept = np.ones(len(corpus.sentences), np.bool_)
    kept[sentences] = False
    lengths = np.bincount(corpus.documents[kept], minlength=len(corpus.texts))
    touched = (lengths < corpus.reading.lengths) & (lengths > 0) & corpus.is_test
    if not touched.any():
        return 0, 0
    rest = corpus.reading.take(np.flatnonzero(kept & touched[corpus.documents]), lengths[touched])
    without = corpus.model.labels.decide(corpus.model.read(rest).probabilities)
    changed = (without != corpus.predicted[touched]).any(axis=1)
    return int(changed.sum()), int(touched.sum())


def fixed_sentences(corpus: AuditCorpus) -> Iterator[Finding]:
    """Look for sentences that begin or end many documents of all classes."""
    whole = int(corpus.is_first.sum())
    base = corpus.truth[corpus.is_first].mean(axis=0)
    offsets = corpus.reading.offsets
    for edge, edges in (("first", offsets[:-1]), ("last", offsets[1:] - 1)):
        at_edge = edges[corpus.is_first]
        numbers, first, counts = np.unique(
            corpus.same_sentence[at_edge], return_index=True, return_counts=True
        )
        for k in np.flatnonzero(counts >= max(_LEAST_DOCUMENTS, _NOTABLE_SHARE * whole)).tolist():
            same = np.flatnonzero(corpus.same_sentence == numbers[k])
            sentence = corpus.sentences[at_edge[first[k]]]
            class_shift = np.abs(corpus.truth[corpus.documents[same]].mean(axis=0) - base).max()
            if np.isin(same, edges).mean() > _NEARLY_ALWAYS and class_shift < _FAR_FROM_USUAL:
                evidence = {
                    "sentence": quote(sentence),
                    "place": edge,
                    "n_documents": int(counts[k]),
                    "share_of_documents": counts[k] / whole,
                }
                yield describe("fixed_sentence", "note", evidence, whole=whole)


def copied_passages(corpus: AuditCorpus) -> list[Finding]:
    """Look for long passages that many documents share word for word."""
    copied = corpus.passages
    count = len(np.unique(corpus.documents[copied]))
    whole = len(corpus.texts)
    if count < _LEAST_DOCUMENTS or count / whole < _NOTABLE_SHARE:
        return []
    evidence = {
        "n_documents": count,
        "share_of_documents": count / whole,
        "n_sentences": int(copied.sum()),
        "n_texts": len(np.unique(corpus.same_sentence[copied])),
        "share_in_second_half": float((corpus.share_from_end[copied] <= 0.5).mean()),
        "examples": [
            {
                **corpus.example(int(corpus.documents[sentence])),
                "text": quote(corpus.sentences[sentence]),
                "times": times,
            }
            for sentence, times in corpus.most_copied(np.flatnonzero(copied), 10)
        ],
    }
    return [describe("copied_passages", "warning", evidence, whole=whole, n_words=PASSAGE_WORDS)]


def sign_findings(corpus: AuditCorpus) -> list[Finding]:
    """Look for markup, placeholders and broken characters, and for splits prepared differently."""
    return [*_unclean_texts(corpus), *_other_preparation(corpus)]


def _unclean_texts(corpus: AuditCorpus) -> list[Finding]:
    least = max(_LEAST_DOCUMENTS, _NOTABLE_SIGNS * len(corpus.texts))
    found = {name: hits for name in _UNWRITTEN if len(hits := _find_sign(corpus, name)) >= least}
    if not found:
        return []
    frequent_first = sorted(found, key=lambda name: -len(found[name]))
    shares = {name: len(found[name]) / len(corpus.texts) for name in frequent_first}
    held = [
        position
        for position, item in enumerate(corpus.model.prototypes)
        if any(re.search(_UNWRITTEN[name], m.sentence) for name in shares for m in item.members)
    ]
    evidence: dict[str, Any] = {
        "shares_of_documents": shares,
        "prototypes": sorted(corpus.model.prototypes[position].id for position in held),
        "examples": [_show_sign(corpus, name, *hit) for name in shares for hit in found[name][:2]],
    }
    severity: Severity = "warning" if held else "note"
    return [describe("unclean_texts", severity, evidence, ids=corpus.list_ids(held))]


def _other_preparation(corpus: AuditCorpus) -> list[Finding]:
    """Compare how many documents of each split hold signs that authors use alike."""
    n_test = int(corpus.is_test.sum())
    n_train = len(corpus.texts) - n_test
    if min(n_train, n_test) < _ENOUGH_TO_COMPARE:
        return []
    shares = {}
    for name in (*_WRITTEN, *_UNWRITTEN):
        hits = _find_sign(corpus, name)
        tested = sum(bool(corpus.is_test[document]) for document, _ in hits)
        shares[name] = ((len(hits) - tested) / n_train, tested / n_test)
    gaps = {name: abs(test - train) for name, (train, test) in shares.items()}
    other = [name for name in sorted(gaps, key=lambda name: -gaps[name]) if gaps[name] >= _OTHER]
    if not other:
        return []
    evidence = {
        "shares": {name: dict(zip(("train", "test"), shares[name], strict=True)) for name in other}
    }
    severity: Severity = "warning" if gaps[other[0]] >= _QUITE_OTHER else "note"
    return [describe("other_preparation", severity, evidence)]


def _find_sign(corpus: AuditCorpus, name: str) -> list[tuple[int, int]]:
    """Return the documents that hold a sign, and where it first stands in each."""
    pattern = re.compile((_UNWRITTEN | _WRITTEN)[name])
    return [
        (document, found.start())
        for document, text in enumerate(corpus.texts)
        if (found := pattern.search(text))
    ]


def _show_sign(corpus: AuditCorpus, name: str, document: int, start: int) -> dict[str, Any]:
    begin = max(start - _CHARACTERS_AROUND, 0)
    shown = quote(corpus.texts[document][begin : start + 2 * _CHARACTERS_AROUND])
    return {**corpus.example(document), "sign": name, "text": "… " * (begin > 0) + shown}
