"""What a model says of some texts, and what can be asked for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from protorynet.encoders import EmbeddingCache
from protorynet.inference.onnx_scores import Scores
from protorynet.labels import LabelCode
from protorynet.preparation import prepare_documents

if TYPE_CHECKING:
    from protorynet.classifier import ProtoryNetClassifier

__all__ = ["ClassifierScorer", "Scorer", "Scores"]


class Scorer(Protocol):
    """Anything that scores texts: a loaded classifier, or an exported model in ONNX Runtime."""

    @property
    def labels(self) -> LabelCode:
        """The classes."""
        ...

    @property
    def prototype_ids(self) -> Sequence[str]:
        """The ids of the prototypes, in the order of the columns of trajectories."""
        ...

    def score(self, texts: Sequence[str]) -> Scores:
        """Return the scores of texts; one without a sentence is no error."""
        ...


class ClassifierScorer:
    """A fitted or loaded classifier as a `Scorer`.

    Parameters
    ----------
    classifier
        It is not changed.

    Examples
    --------
    >>> from protorynet import ProtoryNetClassifier
    >>> texts = ["I loved it. Great film!", "Awful. I hated every minute."] * 10
    >>> classifier = ProtoryNetClassifier().fit(texts, ["good", "bad"] * 10)
    >>> scores = ClassifierScorer(classifier).score(["What a film. Great!", "<br />"])
    >>> scores.lengths.tolist(), scores.filled.tolist()
    ([2], [True, False])
    """

    def __init__(self, classifier: ProtoryNetClassifier) -> None:
        self._model = classifier.model_
        self._encoder = classifier.encoder_
        self._cache = EmbeddingCache() if classifier.cache else None
        self.labels = self._model.labels
        self.prototype_ids = [str(prototype.id) for prototype in self._model.prototypes]

    def score(self, texts: Sequence[str]) -> Scores:
        """Return the scores of texts; one without a sentence is no error."""
        sentences, embeddings = prepare_documents(
            texts,
            self._encoder,
            splitter=self._model.splitter,
            on_empty="skip",
            cache=self._cache,
        )
        filled = sentences.filled
        if not filled.any():
            return Scores.empty(len(texts), len(self.labels.classes))
        trajectory = self._model.trace(embeddings, sentences.lengths[filled])
        probabilities = self._model.read(trajectory).probabilities
        return Scores(probabilities, trajectory.columns, trajectory.lengths, filled)
