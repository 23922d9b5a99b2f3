"""The floor: weighted words and pairs of words, and a logistic regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from protorynet.errors import InputError
from protorynet.labels import check_labels, learn_labels
from protorynet.training import validation_documents

__all__ = ["BagOfWords", "fit_bag_of_words"]

_STRENGTHS = (1.0, 10.0)  # inverse regularisation, the weaker model first
_VALIDATION_FRACTION = 0.1
_MANY_DOCUMENTS = 1_000  # from here on, a word that only one document has teaches nothing


@dataclass(frozen=True)
class BagOfWords:
    """TF-IDF of words and pairs of words, read by a logistic regression.

    Parameters
    ----------
    vectorizer, regression
        The fitted parts.
    validation_accuracy
        Accuracy on the documents held out to choose the regularisation; the delivered regression
        has then learnt from them as well.
    """

    vectorizer: Any
    regression: Any
    validation_accuracy: float

    def predict(self, texts: Sequence[str]) -> NDArray[Any]:
        """Return the class of each document."""
        predicted: NDArray[Any] = self.regression.predict(self.vectorizer.transform(texts))
        return predicted


def fit_bag_of_words(texts: Sequence[str], labels: Sequence[Any], seed: int = 0) -> BagOfWords:
    """Fit a bag of words; its regularisation is chosen on a part of the documents.

    Parameters
    ----------
    texts, labels
        The documents, one class each.
    seed
        Chooses the documents held out, the same as for every other model.

    Examples
    --------
    >>> texts = ["A great film, truly great.", "A dull film, truly dull."] * 10
    >>> fit_bag_of_words(texts, ["good", "bad"] * 10).predict(["Great fun."]).tolist()
    ['good']
    """
    check_labels(labels, len(texts))
    code = learn_labels(labels)
    if code.task != "multiclass":
        raise InputError("a bag of words gives one class per document, not several.")
    targets = code.encode(labels)
    classes = code.array()[targets.argmax(axis=1)]
    vectorizer = TfidfVectorizer(
        ngram_range=(1, 2), sublinear_tf=True, min_df=2 if len(texts) >= _MANY_DOCUMENTS else 1
    )
    try:
        vectors = vectorizer.fit_transform(texts)
    except ValueError as error:
        raise InputError(f"the documents hold no words to count ({error}).") from None
    held_out = validation_documents(targets, code, _VALIDATION_FRACTION, seed)
    kept = np.setdiff1d(np.arange(len(texts)), held_out)
    accuracies = {
        strength: float(
            _regression(vectors[kept], classes[kept], strength, seed).score(
                vectors[held_out], classes[held_out]
            )
        )
        for strength in _STRENGTHS
    }
    best = max(_STRENGTHS, key=lambda strength: (accuracies[strength], -strength))
    return BagOfWords(vectorizer, _regression(vectors, classes, best, seed), accuracies[best])


def _regression(vectors: Any, classes: NDArray[Any], strength: float, seed: int) -> Any:
    return LogisticRegression(C=strength, max_iter=1_000, random_state=seed).fit(vectors, classes)
