"""Rivals that read documents word by word, and the paper's Vanilla LSTM among them."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from protorynet.encoders import choose_device
from protorynet.training import Batch, Corpus, Score, Stage, derive_seed
from protorynet_lab.baselines.rival_base import (
    Evidence,
    Part,
    Reasons,
    Rival,
    number,
    plan_epoch,
    score_logits,
    softmax,
    train_network,
    whole,
)
from protorynet_lab.baselines.word_vectors import (
    UNKNOWN,
    Vectors,
    Vocabulary,
    learn_vocabulary,
    read_word_vectors,
    split_words,
)

_LAYERS = 2
_DROPOUT = 0.5  # between the layers of the LSTM, and before the classes
_WORD_DROPOUT = 0.1  # share of the words that are hidden in training
_VECTOR_DROPOUT = 0.3  # share of the entries of word vectors that are
_DENSE = 256
_LEARNED_DIMENSIONS = 100  # of word vectors where none are given
_SPREAD = 0.5  # of learned word vectors at the start, about that of GloVe's
_LONGEST_GRADIENT = 1.0
DOCUMENTS_READ_AT_ONCE, MOST_WORDS_AT_ONCE = 512, 65_536  # of words, padding included
WORDS_SHOWN = 10  # in an explanation


class WordBatch(NamedTuple):
    """Numbers of words, (documents, longest), padded at the end; their lengths; and the classes."""

    words: Tensor
    lengths: Tensor
    targets: Tensor


@dataclass(frozen=True)
class WordRun:
    """What all stages of training one model share; the documents stay on the CPU."""

    train: Corpus
    validation: Corpus
    batch_size: int
    device: torch.device
    seed: int
    progress: bool


class SequenceEncoder(nn.Module):
    """Word vectors, two layers of LSTM, and the mean of the upper layer's states.

    With the mean rather than the last state, the middle of a long document is not forgotten and
    the gradient reaches every word at once.
    """

    def __init__(self, vectors: Tensor, size: int) -> None:
        super().__init__()
        self.size = size
        self.embedding = nn.Embedding(len(vectors), vectors.shape[1], _weight=vectors.clone())
        self.lstm = nn.LSTM(vectors.shape[1], size, _LAYERS, batch_first=True, dropout=_DROPOUT)
        for name, parameter in self.lstm.named_parameters():
            for gate in parameter.data.chunk(4):
                if name.startswith("weight_hh"):
                    nn.init.orthogonal_(gate)
                elif name.startswith("weight_ih"):
                    nn.init.xavier_uniform_(gate)  # wider than torch's own: learning starts sooner
                else:
                    nn.init.zeros_(gate)
            if name.startswith("bias_ih"):
                parameter.data[size : 2 * size] = 1  # at first, little is forgotten

    def forward(self, batch: WordBatch) -> Tensor:
        """Return the vectors of documents, (documents, size)."""
        # Padding cannot reach back, since the LSTM reads forward only; so sequences need not be
        # packed, which on a CPU is four times as slow.
        words, lengths = batch.words, batch.lengths[:, None]
        inside = (torch.arange(words.shape[1], device=words.device) < lengths).unsqueeze(-1)
        if self.training:
            hidden = torch.rand(words.shape, device=words.device) < _WORD_DROPOUT
            words = words.masked_fill(hidden, UNKNOWN)
        vectors = functional.dropout(self.embedding(words), _VECTOR_DROPOUT, self.training)
        states, _ = self.lstm(vectors)
        mean: Tensor = (states * inside).sum(dim=1) / lengths
        return mean


def train_on_words(
    module: nn.Module,
    optimiser: torch.optim.Optimizer,
    run: WordRun,
    stage: Stage,
    *,
    loss_of: Callable[[WordBatch], Tensor],
    logits_of: Callable[[WordBatch], Tensor],
    before_epoch: Callable[[int], None] = lambda epoch: None,
) -> Score:
    """Train on the loss of batches; judge by the cross-entropy of the validation documents."""
    size, passes = plan_epoch(
        len(run.train), run.batch_size, smallest=4, cuts=64, steps=64, passes=16
    )
    # A learning rate that falls where the loss does not: the steps were too long for it.
    rates = torch.optim.lr_scheduler.ReduceLROnPlateau(optimiser, factor=0.5, patience=1)

    def losses(epoch: int, random: np.random.Generator) -> Iterator[Tensor]:
        before_epoch(epoch)
        module.train()
        for _ in range(passes):
            for documents in run.train.batches(size, random, most_sentences=MOST_WORDS_AT_ONCE):
                yield loss_of(_lay_out(run.train.batch(documents), run.device))

    def validate() -> Score:
        logits = read_corpus(logits_of, run.validation, run.device)
        score = score_logits(logits, run.validation.targets.argmax(dim=1))
        rates.step(score.loss)
        return score

    return train_network(
        module,
        optimiser,
        stage,
        seed=run.seed,
        losses=losses,
        validate=validate,
        longest_gradient=_LONGEST_GRADIENT,
        progress=run.progress,
    )


def train_classifier(
    encoder: SequenceEncoder, head: nn.Sequential, run: WordRun, stage: Stage, learning_rate: float
) -> tuple[nn.Module, Score]:
    """Train an encoder and a head that gives the logits; return both as one network."""
    network = nn.Sequential(encoder, head).to(run.device)
    score = train_on_words(
        network,
        torch.optim.Adam(network.parameters(), lr=learning_rate, fused=True),
        run,
        stage,
        loss_of=lambda batch: functional.cross_entropy(network(batch), batch.targets),
        logits_of=network,
    )
    return network, score


@torch.no_grad()
def read_corpus(
    read: Callable[[WordBatch], Tensor], corpus: Corpus, device: torch.device
) -> Tensor:
    """Return what `read` gives for each document, in the documents' order, on the CPU."""
    # Every document counts once and alone, so the order of the batches does not matter.
    batches = corpus.batches(
        DOCUMENTS_READ_AT_ONCE, np.random.default_rng(0), most_sentences=MOST_WORDS_AT_ONCE
    )
    parts = [read(_lay_out(corpus.batch(documents), device)) for documents in batches]
    order = np.argsort(np.concatenate(batches))
    return torch.cat(parts).cpu()[torch.from_numpy(order)]


def _lay_out(batch: Batch, device: torch.device) -> WordBatch:
    # On the CPU, where the lengths are known, so that nothing waits for a GPU.
    inside = torch.arange(batch.longest) < batch.lengths[:, None]
    words = torch.zeros(inside.shape, dtype=torch.int64).masked_scatter_(inside, batch.index)
    targets = batch.targets.argmax(dim=1)
    return WordBatch(*(part.to(device) for part in (words, batch.lengths, targets)))


@dataclass(kw_only=True, eq=False, repr=False)
class SequenceRival(Rival):
    """A rival built on word vectors and an LSTM."""

    vectors: str | os.PathLike[str] | None = None
    max_vocabulary: int = whole(30_000, 1, 10_000_000)
    max_length: int = whole(400, 1, 100_000)
    hidden_size: int = whole(128, 1, 65_536)
    epochs: int = whole(20, 1, 100_000)
    patience: int = whole(4, 1, 100_000)
    batch_size: int = whole(128, 1, 1_000_000)
    learning_rate: float = number(1e-3, "between 1e-08 and 10", lambda rate: 1e-8 <= rate <= 10)
    device: str = "auto"
    verbose: bool = False

    def _start(self, train: Part, validation: Part) -> tuple[WordRun, SequenceEncoder]:
        """Learn the vocabulary; return the documents as words, and an untrained encoder."""
        device = choose_device(self.device)
        documents = self._words(train.texts)
        found: Vectors = {}
        if self.vectors is not None:
            found = read_word_vectors(self.vectors, {word for each in documents for word in each})
        self.vocabulary_ = learn_vocabulary(documents, self.max_vocabulary, known=found)
        run = WordRun(
            train=self._corpus(documents, train.targets),
            validation=self._corpus(self._words(validation.texts), validation.targets),
            batch_size=self.batch_size,
            device=device,
            seed=int(self.random_state),
            progress=bool(self.verbose),
        )
        torch.manual_seed(derive_seed(run.seed, "initialise"))
        encoder = SequenceEncoder(_initial_vectors(self.vocabulary_, found), self.hidden_size)
        return run, encoder.to(device)

    def _words(self, texts: Sequence[str]) -> list[list[str]]:
        return [split_words(text, self.max_length) for text in texts]

    def _corpus(self, documents: Sequence[Sequence[str]], targets: Any = None) -> Corpus:
        classes = np.eye(len(self.labels_.classes), dtype=np.float32)
        of_each = np.zeros(len(documents), np.int64) if targets is None else targets
        return self.vocabulary_.encode(documents, classes[of_each])

    def _probabilities(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._read_words(self._words(texts))

    def _read_words(self, documents: Sequence[Sequence[str]]) -> NDArray[np.float32]:
        if not documents:
            return np.zeros((0, len(self.labels_.classes)), np.float32)
        device = next(self.network_.parameters()).device
        return softmax(read_corpus(self.network_, self._corpus(documents), device))


def _initial_vectors(vocabulary: Vocabulary, found: Vectors) -> Tensor:
    """Return vectors of every word: those found as they are, the others drawn as wide."""
    if not found:
        return torch.randn(len(vocabulary), _LEARNED_DIMENSIONS) * _SPREAD
    given = np.stack(list(found.values()))
    vectors = torch.randn(len(vocabulary), given.shape[1]) * float(given.std())
    for at, word in enumerate(vocabulary.words, start=UNKNOWN + 1):
        if word in found:
            vectors[at] = torch.from_numpy(found[word])
    return vectors


@dataclass(kw_only=True, eq=False, repr=False)
class VanillaLSTMClassifier(SequenceRival):
    """An LSTM over the words of a document, as the paper compares ProtoryNet with.

    Two layers of 128, dropout of one half before a dense layer of 256, and the classes. The mean
    of the LSTM's states goes into the dense layer. Word vectors learn with the rest.

    Parameters
    ----------
    vectors
        Pre-trained word vectors to start from: a file in GloVe's text format, or a folder with
        ``words.txt`` and ``vectors.npy``. None: word vectors are learned from nothing.
    max_vocabulary, max_length
        Most words to know, all others being one unknown word; and most words to read of a document:
        of a longer one, the first quarter of them and the last three.
    hidden_size
        Size of each layer of the LSTM.
    epochs, patience
        Most epochs, and most epochs on end without a lower validation loss.
    batch_size, learning_rate
        Most documents per step (fewer where an epoch would have too few steps), and Adam's
        learning rate, which is halved where the validation loss does not fall.
    device, verbose, random_state
        As for `ProtoryNetClassifier`. On a CPU the same seed gives the same model.
    """

    def _learn(self, train: Part, validation: Part) -> float:
        with torch.random.fork_rng():
            run, encoder = self._start(train, validation)
            head = nn.Sequential(
                nn.Dropout(_DROPOUT),
                nn.Linear(encoder.size, _DENSE),
                nn.ReLU(),
                nn.Linear(_DENSE, len(self.labels_.classes)),
            )
            stage = Stage("LSTM", self.epochs, self.patience)
            network, score = train_classifier(encoder, head, run, stage, self.learning_rate)
        self.network_ = network.requires_grad_(False)
        return score.accuracy

    def _evidence(self, text: str, label: int) -> Reasons:
        (words,) = self._words([text])
        distinct = sorted(set(words))
        without = [[other for other in words if other != word] for word in distinct]
        whole, *others = self._read_words([words, *without])[:, label].tolist()
        every = [
            Evidence(word, whole - other) for word, other in zip(distinct, others, strict=True)
        ]
        every.sort(key=lambda item: -abs(item.weight))
        return every[:WORDS_SHOWN], (
            "The weight of a word is the probability that the predicted class loses when every "
            "occurrence of it is taken out and the model reads again: exact for one word at a "
            "time, silent about words that act together."
        )
