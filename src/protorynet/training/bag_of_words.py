"""Learning what words tell of the label: a bag of words, and weights for single sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from protorynet.labels import LabelCode, Task
from protorynet.network import accuracy_loss, probabilities
from protorynet.threads import map_in_threads
from protorynet.training.batches import Corpus
from protorynet.training.parallel import agree
from protorynet.words import Ngrams, WordWeights

_MOST_NGRAMS, _FEWEST_DOCUMENTS = 100_000, 2  # those of most documents, and of how many at least
_MOST_KEPT, _MOST_WEIGHTS = 30_000, 1_500_000  # n-grams of a model, and numbers of all classes
_STRENGTH = 10.0  # of the data against the penalty of large weights
_STEPS = 100
_COMPARED = 50_000


@dataclass(frozen=True)
class BagOfWords:
    """A logistic regression that reads documents as bags of words and pairs of words (TF-IDF)."""

    texts: Sequence[str]  # the distinct sentences
    train: Corpus
    labels: LabelCode
    ngrams: list[str]
    sentences: Any  # 1 + log n of each n-gram in each distinct sentence
    rarity: NDArray[np.float32]  # of each n-gram: the second factor of TF-IDF
    accuracy: float  # on the documents held out


@dataclass(frozen=True)
class LearnedWords:
    """What the words of sentences tell of the label.

    Parameters
    ----------
    weights
        What the model carries with it.
    delivered
        The logits of the words of each distinct sentence by these weights, (m, C).
    out_of_fold
        The same by weights learned from other documents.
    """

    weights: WordWeights
    delivered: Tensor
    out_of_fold: Tensor


def learn_bag(
    texts: Sequence[str], train: Corpus, validation: Corpus, labels: LabelCode
) -> BagOfWords | None:
    """Learn a bag of words; `texts` are the distinct sentences. None if all words are unique."""
    ngrams, (rows, columns, values) = Ngrams.of(texts)
    entries = (values.astype(np.float32), (rows, columns))
    sentences = sparse.csr_matrix(entries, (len(texts), len(ngrams)))
    documents, held_out = _count_in_documents(sentences, train, validation)
    frequency = documents.getnnz(axis=0)
    order = np.argsort(-frequency, kind="stable")[:_MOST_NGRAMS]
    kept = np.sort(order[frequency[order] >= _FEWEST_DOCUMENTS])
    if not len(kept):
        return None
    rarity = (np.log((1 + len(train)) / (1 + frequency[kept])) + 1).astype(np.float32)
    weights, bias = _fit(_weigh(documents[:, kept], rarity), train, labels.task)
    read = torch.from_numpy(_weigh(held_out[:, kept], rarity) @ weights + bias)
    predicted = probabilities(read, labels.task).numpy()
    return BagOfWords(
        texts,
        train,
        labels,
        ngrams.names(kept.tolist()),
        sentences[:, kept],
        rarity,
        labels.share_equal(predicted, validation.targets.cpu().numpy()),
    )


def learn_words(bag: BagOfWords, fold: NDArray[np.int64]) -> LearnedWords:
    """Return what the words of each sentence tell of the label.

    The weights are learned for what they are used for: the evidence of a document is a sum over
    its sentences. `fold` is the part of the training documents that each is left out with.
    """
    train, task, n_sentences = bag.train, bag.labels.task, len(bag.texts)
    targets, index = train.targets.cpu(), train.index.cpu().numpy()
    of_document = train.document_of.cpu().numpy()
    documents, each = _add_up(bag)
    sums = np.zeros((n_sentences, targets.shape[1]), np.float32)
    parts = [np.flatnonzero(fold != number) for number in range(int(fold.max()) + 2)]  # all at last
    fitted = map_in_threads(lambda part: fit_words(documents[part], train.subset(part)), parts)
    *apart, together = agree(torch.from_numpy(np.stack(fitted))).numpy()
    for number, weights in enumerate(apart):
        left_out = np.bincount(index[fold[of_document] == number], minlength=n_sentences)
        sums += left_out[:, None] * (bag.sentences @ _keep_strongest(weights * each))
    seen = np.bincount(index, minlength=n_sentences)[:, None]
    out_of_fold = torch.from_numpy((sums / np.maximum(seen, 1)).astype(np.float32))
    scale, _ = calibrate(out_of_fold[index], targets[of_document], task)
    weights = scale * _keep_strongest(together * each)
    kept = np.flatnonzero(weights.any(axis=1))
    found = WordWeights.of([bag.ngrams[number] for number in kept.tolist()], weights[kept])
    logits = bag.sentences[:, kept].astype(np.float64) @ (found.steps * found.unit)
    delivered = torch.from_numpy(logits.astype(np.float32))
    out_of_fold = torch.where(torch.from_numpy(seen > 0), scale * out_of_fold, delivered)
    device = train.index.device
    return LearnedWords(found, delivered.to(device), out_of_fold.to(device))


def _add_up(bag: BagOfWords) -> tuple[Any, NDArray[np.float32]]:
    """Return the documents as sums of their sentences, and what an n-gram of one counts in these.

    Every document has length one, as those of the floor have; a sentence counts as much as in a
    document of the usual length.
    """
    train = bag.train
    where = (train.document_of.cpu().numpy(), train.index.cpu().numpy())
    ones = np.ones(len(train.index), np.float32)
    gather = sparse.csr_matrix((ones, where), (len(train), len(bag.texts)))
    sums = gather @ bag.sentences @ sparse.diags(bag.rarity)
    lengths = _lengths(sums)
    usual = np.median(lengths)
    return (sparse.diags(1 / lengths) @ sums).tocsr(), (bag.rarity / usual)[:, None]


def _count_in_documents(sentences: Any, *parts: Corpus) -> list[Any]:
    """Return how often each document holds each n-gram, given 1 + log n of distinct sentences."""
    counts = sentences.copy()
    counts.data = np.exp(counts.data - 1)
    gathered = []
    for part in parts:
        where = (part.document_of.cpu().numpy(), part.index.cpu().numpy())
        ones = np.ones(len(part.index), np.float32)
        gathered.append(sparse.csr_matrix((ones, where), (len(part), counts.shape[0])) @ counts)
    return gathered


def _weigh(documents: Any, rarity: NDArray[np.float32]) -> Any:
    """Return counts as TF-IDF vectors of length one."""
    weighed = documents.copy()
    weighed.data = 1 + np.log(weighed.data)
    weighed = weighed @ sparse.diags(rarity)
    return (sparse.diags(1 / _lengths(weighed)) @ weighed).tocsr()


def _lengths(vectors: Any) -> NDArray[np.float32]:
    lengths: NDArray[np.float32] = np.sqrt(vectors.multiply(vectors).sum(axis=1)).A1
    lengths[lengths == 0] = 1
    return lengths


def _keep_strongest(weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return weights (n, C) with those of all but the strongest n-grams at zero.

    That takes little room, and many weak weights add up to noise in a single sentence.
    """
    strength = np.abs(weights).max(axis=1)
    most = min(_MOST_KEPT, _MOST_WEIGHTS // weights.shape[1])
    weak = np.argsort(-strength, kind="stable")[most:]
    weights[weak] = 0
    return weights


def fit_words(bags: Any, train: Corpus) -> NDArray[np.float32]:
    """Return the weights (n, C) of n-grams: each class against the others.

    Large weights cost less where an n-gram is by itself more frequent in one class (naive Bayes).
    """
    targets = train.targets.cpu().numpy()
    present = (bags > 0).astype(np.float32).T.tocsr()
    inside, outside = (present @ part + 1 for part in (targets, 1 - targets))
    ratio = np.log(inside / inside.sum(axis=0)) - np.log(outside / outside.sum(axis=0))
    ratio /= np.sqrt(np.square(ratio).mean()) or 1
    return _fit(bags, train, "multilabel", ratio.astype(np.float32))[0]


def _fit(
    bags: Any, train: Corpus, task: Task, ease: NDArray[np.float32] | None = None
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the weights (n, C) and the bias of a logistic regression of documents.

    With `ease`, (n, C), a weight may be the larger the larger that is.
    """
    targets = train.targets.cpu()
    # Of two classes one is learned: the weights of the other are its own with the sign changed.
    is_either = targets.shape[1] == 2 and bool((targets.sum(1) == 1).all())
    share = 1.0
    if is_either:
        share = 0.5 if task == "multiclass" else 1.0  # of the difference between the two
        targets, task = targets[:, 1:], "multilabel"
        ease = None if ease is None else ease[:, 1:]
    each = None if train.weights is None else train.weights.cpu()
    turned = bags.T.tocsr()
    weights = torch.zeros(bags.shape[1], targets.shape[1], requires_grad=True)
    bias = torch.zeros(targets.shape[1], requires_grad=True)
    factor = torch.ones(()) if ease is None else torch.from_numpy(ease)
    penalty = share / (_STRENGTH * len(targets))

    @torch.no_grad()
    def loss() -> float:
        # Gradients by hand, since matrices this sparse are not torch's.
        logits = torch.from_numpy(bags @ (factor * weights).numpy()) + bias
        error = (probabilities(logits, task) - targets) / len(targets)
        error = error if each is None else error * each[:, None]
        weights.grad = factor * torch.from_numpy(turned @ error.numpy()) + penalty * weights
        bias.grad = error.sum(0)
        return float(_sum_loss(logits, targets, task, each) + penalty / 2 * weights.square().sum())

    _minimise([weights, bias], loss)
    found = [(share * part).numpy() for part in (factor * weights.detach(), bias.detach())]
    if is_either:
        found = [np.concatenate([-part, part], axis=-1) for part in found]
    return found[0], found[1]


def _minimise(parameters: list[Tensor], loss: Callable[[], Any]) -> None:
    options: dict[str, Any] = {"max_iter": _STEPS, "line_search_fn": "strong_wolfe"}
    torch.optim.LBFGS(parameters, history_size=10, **options).step(loss)  # type: ignore[no-untyped-call]


def _sum_loss(logits: Tensor, targets: Tensor, task: Task, weights: Tensor | None) -> Tensor:
    """Return the mean over documents of the cross entropies, of all labels together."""
    per_label = logits.shape[1] if task == "multilabel" else 1
    return per_label * accuracy_loss(logits, targets, task, "cross_entropy", weights)


@torch.enable_grad()
def calibrate(
    logits: Tensor, targets: Tensor, task: Task, weights: Tensor | None = None
) -> tuple[float, Tensor]:
    """Return by how much to multiply logits (n, C), and what to add, to make them calibrated."""
    step = max(1, len(logits) // _COMPARED)
    logits, targets = logits[::step], targets[::step]
    weights = None if weights is None else weights[::step]
    scale = torch.zeros((), requires_grad=True)
    bias = torch.zeros(targets.shape[1], requires_grad=True)

    def loss() -> Tensor:
        scale.grad = bias.grad = None
        fitted = logits * scale.exp() + bias
        result = accuracy_loss(fitted, targets, task, "cross_entropy", weights)
        result.backward()  # type: ignore[no-untyped-call]
        return result

    _minimise([scale, bias], loss)
    return float(agree(scale.detach().exp())), agree(bias.detach())
