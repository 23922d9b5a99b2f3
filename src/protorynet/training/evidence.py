"""What a sentence tells of the label: networks that learn it from the labels of documents."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from protorynet.network import Evidence, Kinds, accuracy_loss, anchor_loss, probabilities
from protorynet.progress import progress_bar
from protorynet.training.algorithm import score_of
from protorynet.training.bag_of_words import calibrate
from protorynet.training.batches import Batch
from protorynet.training.epochs import Run, Score, adam, derive_seed, learn
from protorynet.training.parallel import agree
from protorynet.training.sources import (
    EvidenceSource,
    FixedSource,
    FrozenSource,
    SentenceSource,
)

# Parts of the documents that are read by a network that did not learn from them: more where
# classes have so few documents that a network misses those left out, unless the encoder learns too.
_FOLDS, _MOST_FOLDS, _FEW_OF_CLASS, _FULL_FOLDS = 3, 10, 1_200, 2
_FEWEST_FOR_FOLDS = 30  # documents
_LONE_SENTENCES = 0.3  # weight of the loss with every sentence alone under its document's label
_LARGER_BATCH = 2  # while an encoder waits for the network to know something
# Kinds of statements: most steps and passes, the share of these in which they only learn what they
# begin as, the weight of that afterwards, and the network.
_KIND_STEPS, _KIND_PASSES, _KIND_WARM_UP, _FIRST_KINDS = 2_000, 60, 0.2, 0.1
_KIND_RATE, _KIND_SIZE, _KIND_DROPOUT = 3e-3, 128, 0.2
_FEWEST_OF_KIND = 4  # sentences that could be members
_COMPARED = 100_000
_SENTENCES_PER_BLOCK = 32_768


class EvidenceSum(nn.Module):
    """What the sentences of a document tell of its label, added up: only training needs it."""

    def __init__(self, evidence: Evidence) -> None:
        super().__init__()
        self.evidence = evidence
        self.scale = nn.Parameter(torch.zeros(()))
        self.bias = nn.Parameter(torch.zeros(evidence.up.out_features))
        self.log_word_scale = nn.Parameter(torch.zeros(()))

    @property
    def word_scale(self) -> Tensor:
        """What the weights of words are multiplied by."""
        return self.log_word_scale.exp()

    def forward(self, logits: Tensor, document: Tensor, lengths: Tensor) -> Tensor:
        """Map the logits of sentences (n, C) to those of their documents."""
        sums = logits.new_zeros(len(lengths), logits.shape[1]).index_add(0, document, logits)
        return sums * self.scale.exp() * lengths[:, None].rsqrt() + self.bias


@dataclass(frozen=True)
class Learned:
    """What is known of every sentence once the evidence is learned.

    Parameters
    ----------
    source
        Embeddings with the delivered evidence beside them.
    logits
        The delivered evidence of the distinct sentences, (m, C).
    out_of_fold
        The evidence of each sentence of the training documents by a network that did not learn
        from its document, (n, C): what an unseen sentence would get.
    word_scale
        What the weights of words are multiplied by in the delivered evidence.
    """

    source: EvidenceSource
    logits: Tensor
    out_of_fold: Tensor
    word_scale: float = 1.0

    def out_of_fold_of_distinct(self, index: Tensor) -> Tensor:
        """Return the mean out-of-fold evidence of the distinct sentences."""
        sums = torch.zeros_like(self.logits).index_add(0, index, self.out_of_fold)
        counts = torch.bincount(index, minlength=len(sums))[:, None]
        return torch.where(counts > 0, sums / counts.clamp_min(1), self.logits)

    def out_of_fold_vectors(self, index: Tensor, sentences: Tensor) -> Tensor:
        """Return the vectors of some training sentences with their out-of-fold evidence."""
        source, evidence = self.source.source, self.source.evidence
        vectors = self.out_of_fold.new_empty(len(sentences), evidence.width)
        # Block by block, for the embeddings of all of them may fill a third of the memory.
        for start in range(0, len(sentences), _SENTENCES_PER_BLOCK):
            block = slice(start, start + _SENTENCES_PER_BLOCK)
            some = sentences[block]
            vectors[block] = evidence.join(source.embed_all(index[some]), self.out_of_fold[some])
        return vectors

    @torch.no_grad()
    def judge_documents(self, run: Run) -> Tensor:
        """Return out-of-fold probabilities of the training documents, by their sentences alone.

        Where the sentences of a document are at odds with its label, that is seen here.
        """
        corpus, task = run.train, run.labels.task
        sums = corpus.targets.new_zeros(corpus.targets.shape).index_add(
            0, corpus.document_of, self.out_of_fold
        )
        scaled = sums * corpus.lengths[:, None].rsqrt()
        weights = None if corpus.weights is None else corpus.weights.cpu()
        scale, bias = calibrate(scaled.cpu(), corpus.targets.cpu(), task, weights)
        return probabilities(scale * scaled + bias.to(scaled), task)


def learn_evidence(run: Run) -> Learned:
    """Learn what a sentence tells of the label, from the labels of documents.

    Several networks learn, each without a part of the documents, so that every document is read by
    one that did not learn from it (out of fold). Where the encoder stays as it is, their mean
    is delivered; an encoder that learns itself is trained once more on all documents.
    """
    index = run.train.index
    fold = draw_folds(run)
    if fold is None:
        source = _settled(run, _train_head(run, "evidence").evidence)
        logits = _all_logits(source)
        return Learned(source, logits, logits[index])  # there are no words either
    of_sentence = torch.from_numpy(fold).to(index.device)[run.train.document_of]
    out_of_fold = run.source.base.new_empty(len(index), run.train.targets.shape[1])
    parts = []
    for number in range(int(fold.max()) + 1):
        train = run.train.subset(np.flatnonzero(fold != number))
        # An encoder that learns is copied, so that none has seen the others' documents.
        part = replace(run, train=train, source=run.source.twin())
        head = _train_head(part, f"evidence {number + 1}")
        left_out = of_sentence == number
        distinct, inverse = torch.unique(index[left_out], return_inverse=True)
        out_of_fold[left_out] = _source(head, part).all_logits(distinct)[inverse]
        parts.append(head)
    if run.full:
        parts = [_train_head(run, "evidence")]
    word_scale = float(agree(torch.stack([part.word_scale.detach() for part in parts]).mean()))
    source = _settled(run, Evidence.mean([part.evidence for part in parts]), word_scale)
    return Learned(source, _all_logits(source), out_of_fold, word_scale)


def draw_folds(run: Run) -> NDArray[np.int64] | None:
    """Return the part of each training document; None where there are too few for parts."""
    if len(run.train) < _FEWEST_FOR_FOLDS:
        return None
    random = np.random.default_rng(derive_seed(run.seed, "folds"))
    of_class = len(run.train) / run.train.targets.shape[1]
    folds = min(_MOST_FOLDS, max(_FOLDS, math.ceil(_FEW_OF_CLASS / of_class)))
    return random.permutation(len(run.train)) % (_FULL_FOLDS if run.full else folds)


def _source(head: EvidenceSum, run: Run) -> EvidenceSource:
    """Return embeddings with the evidence of a network beside them, words out of fold."""
    words = run.out_of_fold_words
    scaled = None if words is None else head.word_scale.detach() * words
    return EvidenceSource(run.source, head.evidence, scaled)


def _settled(run: Run, evidence: Evidence, word_scale: float = 1.0) -> EvidenceSource:
    """Return what the delivered model computes, where an encoder learned but for rounding.

    Such an encoder reads every sentence once, on a GPU still in half precision.
    """
    base, embeddings = run.source.base, run.source
    if run.full:
        every = torch.arange(len(base), device=base.device)
        embeddings = FixedSource(base, run.source.embed_all(every))
    run.source.settle()
    words = None if run.words is None else word_scale * run.words.delivered
    return EvidenceSource(embeddings, evidence, words)


def _train_head(run: Run, name: str) -> EvidenceSum:
    """Train an evidence network, and then the encoder with it where it may learn.

    An encoder that learns together with a network that knows nothing yet is bent at random first,
    and of many classes the few epochs of full training teach such a network little.
    """
    width, n_classes = run.source.base.shape[1], run.train.targets.shape[1]
    torch.manual_seed(derive_seed(run.seed, name))
    evidence = Evidence(width, run.settings.adapter_size, n_classes, run.labels.task)
    head = EvidenceSum(evidence).to(run.source.base.device)
    if run.full:
        begun = replace(run.settings, batch_size=_LARGER_BATCH * run.settings.batch_size)
        alone = replace(run, source=FrozenSource(run.source.base), settings=begun)
        _fit_head(head, alone, f"{name} alone")
    _fit_head(head, run, name)
    return head


def _fit_head(head: EvidenceSum, run: Run, name: str) -> None:
    module = nn.ModuleDict({"network": head, "source": run.source})

    def loss(batch: Batch) -> Tensor:
        return evidence_loss(head, run.source, batch, run)

    stage = replace(run.stage("train"), name=name)
    learn(module, adam(module, run), run, stage, loss, lambda: _validate_head(head, run))


def evidence_loss(head: EvidenceSum, source: SentenceSource, batch: Batch, run: Run) -> Tensor:
    """Return the loss of documents by the sum of their sentences, and of sentences alone."""
    settings, task = run.settings, run.labels.task
    embedded = source(batch.index)
    words = run.out_of_fold_words
    words = None if words is None else head.word_scale * words[batch.index]
    logits = head.evidence.logits(embedded, words)
    documents = head(logits, batch.document, batch.lengths)
    loss = accuracy_loss(documents, batch.targets, task, settings.accuracy_loss, batch.weights)
    truth, weights = batch.targets[batch.document], batch.weights_of(batch.document)
    lone = accuracy_loss(logits, truth, task, settings.accuracy_loss, weights)
    loss = loss + _LONE_SENTENCES * lone
    if run.full and settings.full_anchor:
        loss = loss + settings.full_anchor * anchor_loss(embedded, source.base[batch.index])
    return loss


@torch.no_grad()
def _validate_head(head: EvidenceSum, run: Run) -> Score:
    corpus = run.validation
    distinct, index = torch.unique(corpus.index, return_inverse=True)
    logits = _source(head, run).all_logits(distinct)[index]
    summed = probabilities(head(logits, corpus.document_of, corpus.lengths), run.labels.task)
    return score_of(summed.cpu().numpy(), run)


@torch.no_grad()
def _all_logits(source: EvidenceSource) -> Tensor:
    every = torch.arange(len(source.base), device=source.base.device)
    return source.all_logits(every)


def learn_kinds(learned: Learned, targets: Tensor, per_class: int, run: Run) -> None:
    """Let the evidence tell kinds of statements apart, in place of many classes.

    Probabilities of many classes say what a sentence rules out, which clusters of them lose. So
    kinds are learned: every sentence counts as its likeliest kind alone, and what the kinds of a
    document add up to is to tell its label, `targets`.
    """
    kind = _first_kinds(learned, per_class, run)
    count = int(kind.max()) + 1
    if count < 2:
        return
    evidence, device = learned.out_of_fold, learned.out_of_fold.device
    torch.manual_seed(derive_seed(run.seed, "kinds"))
    kinds = Kinds(evidence.shape[1], _KIND_SIZE, count).to(device)
    sums = evidence.new_zeros(count, evidence.shape[1]).index_add(0, kind, evidence.log_softmax(1))
    means = sums / torch.bincount(kind)[:, None]
    weights = nn.Parameter(means - means.mean(1, keepdim=True))
    head = EvidenceSum(learned.source.evidence).to(device)
    learning = [*kinds.parameters(), weights, head.scale, head.bias]
    optimiser = torch.optim.Adam(learning, lr=_KIND_RATE, fused=True)
    corpus = replace(run.train, index=torch.arange(len(evidence), device=device), targets=targets)
    random = np.random.default_rng(derive_seed(run.seed, "kinds"))
    size = min(128, max(8, len(corpus) // 16), len(corpus))
    truth = run.train.targets
    steps = min(_KIND_STEPS, _KIND_PASSES * len(corpus) // size)
    first = _FIRST_KINDS * math.sqrt(len(corpus) / len(evidence))  # less where documents are long
    with progress_bar("Kinds", steps, enabled=run.progress) as advance:
        for step in range(steps):
            documents = random.choice(len(corpus), size, replace=False)
            batch = corpus.batch(documents)
            optimiser.param_groups[0]["lr"] = _KIND_RATE * max(0.02, 1 - step / steps)
            logits = kinds(evidence[batch.index], _KIND_DROPOUT)
            loss = functional.cross_entropy(logits, kind[batch.index])
            if step >= _KIND_WARM_UP * steps:
                loss = first * loss + _loss_by_kinds(logits, weights, head, batch, truth[documents])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            advance(1)
    learned.source.evidence.kinds = _drop_unused(kinds, learned.logits[run.candidates])


def _first_kinds(learned: Learned, per_class: int, run: Run) -> Tensor:
    """Return the kind that each training sentence begins with: one class, about one strength.

    One that hardly any sentence is of that could be a member joins the next of its class.
    """
    evidence = learned.out_of_fold
    shares = torch.arange(1, per_class, device=evidence.device) / per_class
    strength, label = evidence[:: max(1, len(evidence) // _COMPARED)].softmax(1).max(1)
    own = ((label == number) | ~(label == number).any() for number in range(evidence.shape[1]))
    cuts = torch.stack([torch.quantile(strength[some], shares) for some in own])

    def classify(logits: Tensor) -> Tensor:
        strength, label = logits.softmax(1).max(1)
        return label * per_class + (strength[:, None] > cuts[label]).sum(1)

    every = torch.arange(evidence.shape[1] * per_class, device=evidence.device)
    candidates = torch.bincount(classify(learned.logits[run.candidates]), minlength=len(every))
    elsewhere = every[:, None] // per_class != every // per_class
    rare = candidates < _FEWEST_OF_KIND
    apart = (every[:, None] - every).abs() + len(every) * (elsewhere + 2 * rare)
    kind: Tensor = torch.unique(apart.argmin(1)[classify(evidence)], return_inverse=True)[1]
    return kind


def _loss_by_kinds(
    logits: Tensor, weights: Tensor, head: EvidenceSum, batch: Batch, truth: Tensor
) -> Tensor:
    """Return the loss of documents and of lone sentences, all of these by their likeliest kind."""
    soft = logits.softmax(1)
    hard = functional.one_hot(logits.argmax(1), logits.shape[1]) + soft - soft.detach()
    sentences = hard @ weights
    documents = head(sentences, batch.document, batch.lengths)
    whole = accuracy_loss(documents, batch.targets, "multiclass", "cross_entropy", batch.weights)
    labels, counts = truth[batch.document], batch.weights_of(batch.document)
    alone = accuracy_loss(sentences, labels, "multiclass", "cross_entropy", counts)
    return whole + _LONE_SENTENCES * alone


@torch.no_grad()
def _drop_unused(kinds: Kinds, candidates: Tensor) -> Kinds:
    """Return the same without the kinds that no sentence is of that could be a member."""
    used = agree(torch.bincount(kinds(candidates).argmax(1), minlength=kinds.up.out_features) > 0)
    kept = Kinds(kinds.down.in_features, kinds.down.out_features, int(used.sum()))
    state = {name: agree(tensor) for name, tensor in kinds.state_dict().items()}
    kept.load_state_dict({k: v[used] if k.startswith("up.") else v for k, v in state.items()})
    return kept.to(candidates.device).requires_grad_(False)
