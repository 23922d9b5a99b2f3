"""What the words of a sentence say about a class, judged by all other sentences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from protorynet.audit.corpus import AuditCorpus

__all__ = ["WordEvidence"]

_FOLDS = 3
_WORD = r"(?u)\w+|[?!]"
_SAMPLE = 30_000


class WordEvidence:
    """Expected class rates of sentences, learnt only from sentences that read otherwise.

    Sentences of the same words are kept together, and predicted by a bag of words and pairs of
    words fitted without them. So "Horrible!" is expected to be negative, because that word is so
    elsewhere; "More" is not, however often it stands under negative texts.

    Parameters
    ----------
    corpus
        The documents.
    seed
        Seed of the sampling.
    """

    def __init__(self, corpus: AuditCorpus, seed: int = 0) -> None:
        from sklearn.feature_extraction.text import HashingVectorizer

        self._corpus = corpus
        count = len(corpus.sentences)
        random = np.random.default_rng(seed)
        self._sample = np.sort(random.choice(count, min(_SAMPLE, count), replace=False))
        self._vectorizer = HashingVectorizer(
            n_features=2**18,
            ngram_range=(1, 2),
            token_pattern=_WORD,
            alternate_sign=False,
        )
        self._vectors = self._vectorizer.transform([corpus.sentences[p] for p in self._sample])
        self._readers: dict[int, list[object]] = {}

    def rates(self, label: int, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the expected share of a class among documents with the sentences at places."""
        if len(self._corpus.model.labels.names) == 2 and label == 0 and self._is_exclusive:
            return 1 - self.rates(1, places)
        readers = self._readers.setdefault(label, self._fitted(label))
        vectors = self._vectorizer.transform([self._corpus.sentences[p] for p in places])
        folds = self._corpus.same_sentence[places] % _FOLDS
        found = np.full(len(places), self._corpus.truth[:, label].mean(dtype=np.float64))
        for fold, reader in enumerate(readers):
            mine = np.flatnonzero(folds == fold)
            if reader is not None and len(mine):
                found[mine] = reader.predict_proba(vectors[mine])[:, 1]  # type: ignore[attr-defined]
        return found

    @property
    def _is_exclusive(self) -> bool:
        return self._corpus.model.labels.task == "multiclass"

    def _fitted(self, label: int) -> list[object]:
        """Fit one reader per fold; None where the other folds hold only one class."""
        from sklearn.linear_model import LogisticRegression

        truth = self._corpus.truth[self._corpus.documents[self._sample], label]
        folds = self._corpus.same_sentence[self._sample] % _FOLDS
        readers: list[object] = []
        for fold in range(_FOLDS):
            others = np.flatnonzero(folds != fold)
            if len(np.unique(truth[others])) < 2:
                readers.append(None)
                continue
            reader = LogisticRegression(C=3.0, solver="liblinear", max_iter=1000)
            readers.append(reader.fit(self._vectors[others], truth[others]))
        return readers
