"""The floor: weighted words, or words and pairs of words, and a logistic regression."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from protorynet.errors import InputError
from protorynet_lab.baselines.rival_base import (
    Evidence,
    Part,
    Reasons,
    Rival,
    class_margin,
    parameter,
)

# Inverse regularisation to choose from, the weaker model first; the paper keeps the default.
_STRENGTHS = {1: (1.0,), 2: (1.0, 10.0)}
_PAPER_WORDS = 50_000  # the most frequent ones, as in Zhang, Zhao and LeCun (2015)
_MANY_DOCUMENTS = 1_000  # from here on, a pair that only one document has teaches nothing


@dataclass(kw_only=True, eq=False, repr=False)
class BagOfWordsClassifier(Rival):
    """TF-IDF of words, read by a logistic regression.

    The regularisation is chosen on the documents held out; the delivered regression has then
    learned from them as well.

    Parameters
    ----------
    ngrams
        2: words and pairs of words; 1: words alone, as in the ProtoryNet paper.
    random_state
        Seed; it chooses the documents held out.
    """

    ngrams: int = parameter(
        2, "should be 1 (words) or 2 (words and pairs of words)", _STRENGTHS.__contains__
    )

    def _learn(self, train: Part, validation: Part) -> float:
        # The documents held out are as unseen as any other while the strength is chosen.
        vectorizer, vectors = self._count_words(train.texts)
        held_out = vectorizer.transform(validation.texts)
        accuracies = {
            strength: float(
                self._regression(strength)
                .fit(vectors, train.targets)
                .score(held_out, validation.targets)
            )
            for strength in _STRENGTHS[self.ngrams]
        }
        best = max(accuracies, key=lambda strength: (accuracies[strength], -strength))
        self.vectorizer_, vectors = self._count_words([*train.texts, *validation.texts])
        targets = np.concatenate([train.targets, validation.targets])
        self.regression_ = self._regression(best).fit(vectors, targets)
        return accuracies[best]

    def _count_words(self, texts: list[str]) -> tuple[Any, Any]:
        """Learn the words of texts, and return how often each text has each of them."""
        options: dict[str, Any] = {"max_features": _PAPER_WORDS}
        if self.ngrams == 2:
            fewest = 2 if len(texts) >= _MANY_DOCUMENTS else 1
            options = {"ngram_range": (1, 2), "sublinear_tf": True, "min_df": fewest}
        vectorizer = TfidfVectorizer(**options)
        try:
            return vectorizer, vectorizer.fit_transform(texts)
        except ValueError as error:
            raise InputError(f"the documents hold no words to count ({error}).") from None

    def _regression(self, strength: float) -> Any:
        return LogisticRegression(C=strength, max_iter=1_000, random_state=int(self.random_state))

    def _probabilities(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not texts:
            return np.empty((0, len(self.labels_.classes)), np.float32)
        found: NDArray[np.float64] = self.regression_.predict_proba(
            self.vectorizer_.transform(texts)
        )
        return found.astype(np.float32)

    def _evidence(self, text: str, label: int) -> Reasons:
        vector = self.vectorizer_.transform([text])
        words = self.vectorizer_.get_feature_names_out()[vector.indices]
        weights = vector.data * class_margin(self.regression_.coef_, label)[vector.indices]
        constant = float(class_margin(self.regression_.intercept_[:, None], label)[0])
        others = "the other class" if len(self.labels_.classes) == 2 else "the others on average"
        return [Evidence(*pair) for pair in zip(words, weights.tolist(), strict=True)], (
            "A word's weight is its coefficient times its TF-IDF, which is all the model uses: the "
            f"weights and a constant of {constant:+.4f} add up to the log-odds of the predicted "
            f"class against {others}."
        )
