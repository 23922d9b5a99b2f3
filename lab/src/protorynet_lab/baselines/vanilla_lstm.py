"""The paper's Vanilla LSTM: word vectors, two layers of LSTM, and a dense layer."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from protorynet.training import Stage
from protorynet_lab.baselines.contract import Evidence, Part
from protorynet_lab.baselines.sequence_encoder import SequenceEncoder
from protorynet_lab.baselines.sequence_rival import SequenceRival
from protorynet_lab.baselines.sequence_training import (
    WordBatch,
    adam_with_rates,
    read_corpus,
    train_reader,
)

__all__ = ["VanillaLSTMClassifier"]

_DENSE = 256
_DROPOUT = 0.5
_SHOWN = 10  # words of an explanation
_HOW = (
    "The weight of a word is the probability that the predicted class loses when every occurrence "
    "of it is taken out and the model reads again: exact for one word at a time, silent about "
    "words that act together."
)


class _Network(nn.Module):
    """Encoder, dropout, a dense layer and the classes."""

    def __init__(self, encoder: SequenceEncoder, n_classes: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Sequential(
            nn.Dropout(_DROPOUT),
            nn.Linear(encoder.size, _DENSE),
            nn.ReLU(),
            nn.Linear(_DENSE, n_classes),
        )

    def forward(self, batch: WordBatch) -> Tensor:
        logits: Tensor = self.head(self.encoder(batch.words, batch.lengths))
        return logits


class VanillaLSTMClassifier(SequenceRival):
    """An LSTM over the words of a document, as the paper compares ProtoryNet with.

    Two layers of 128, dropout of one half before a dense layer of 256, and the classes. The mean
    of the LSTM's states goes into the dense layer. Word vectors learn with the rest.

    Parameters
    ----------
    vectors
        Pre-trained word vectors to start from: a file in GloVe's text format, or a folder with
        ``words.txt`` and ``vectors.npy``. None: word vectors are learnt from nothing.
    max_vocabulary
        Most words to know; all others are one unknown word.
    max_length
        Most words of a document to read: of a longer one, the first quarter of them and the last
        three.
    hidden_size
        Size of each layer of the LSTM.
    epochs, patience
        Most epochs, and most epochs in a row without a lower validation loss.
    batch_size, learning_rate
        Most documents per step (fewer where an epoch would have too few steps), and Adam's
        learning rate, which is halved where the validation loss does not fall.
    device
        ``"auto"``: a GPU where there is one.
    verbose
        Show a progress bar.
    random_state
        Seed. On a CPU the same seed gives the same model.

    Attributes
    ----------
    vocabulary_
        The words it knows.

    Examples
    --------
    >>> texts = ["A great film, truly great.", "A dull film, truly dull."] * 20
    >>> rival = VanillaLSTMClassifier(hidden_size=8, epochs=3, learning_rate=0.02, device="cpu")
    >>> rival.fit(texts, ["good", "bad"] * 20).predict(["A great story."]).tolist()
    ['good']
    """

    def __init__(
        self,
        *,
        vectors: str | os.PathLike[str] | None = None,
        max_vocabulary: int = 30_000,
        max_length: int = 400,
        hidden_size: int = 128,
        epochs: int = 20,
        patience: int = 4,
        batch_size: int = 128,
        learning_rate: float = 1e-3,
        device: str = "auto",
        verbose: bool = False,
        random_state: int = 0,
    ) -> None:
        self.vectors = vectors
        self.max_vocabulary = max_vocabulary
        self.max_length = max_length
        self.hidden_size = hidden_size
        self.epochs = epochs
        self.patience = patience
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.device = device
        self.verbose = verbose
        self.random_state = random_state

    def _learn(self, train: Part, validation: Part) -> float:
        with torch.random.fork_rng():
            run, encoder = self._start(train, validation)
            network = _Network(encoder, len(self.labels_.classes)).to(run.device)
            score = train_reader(
                network,
                adam_with_rates([(list(network.parameters()), self.learning_rate)]),
                run,
                Stage("LSTM", self.epochs, self.patience),
                loss_of=lambda batch: functional.cross_entropy(network(batch), batch.targets),
                logits_of=network,
            )
        self.network_ = network.requires_grad_(False)
        return score.accuracy

    def _probabilities(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._read(self._words(texts))

    def _evidence(self, text: str, place: int) -> tuple[Sequence[Evidence], str]:
        (words,) = self._words([text])
        distinct = sorted(set(words))
        without = [[other for other in words if other != word] for word in distinct]
        whole, *others = self._read([words, *without])[:, place].tolist()
        every = [
            Evidence(word, whole - other) for word, other in zip(distinct, others, strict=True)
        ]
        every.sort(key=lambda item: -abs(item.weight))
        return every[:_SHOWN], _HOW

    def _read(self, documents: Sequence[Sequence[str]]) -> NDArray[np.float32]:
        if not documents:
            return np.zeros((0, len(self.labels_.classes)), np.float32)
        device = next(self.network_.parameters()).device
        logits = read_corpus(self.network_, self._corpus(documents), device)
        probabilities: NDArray[np.float32] = torch.softmax(logits, dim=1).numpy()
        return probabilities
