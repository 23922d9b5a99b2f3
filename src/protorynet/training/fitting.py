"""From sentences, embeddings and labels to a trained model."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from protorynet.data import Sentences, Splitter
from protorynet.encoders import Embeddings
from protorynet.errors import InputError, ProtoryNetError
from protorynet.figures import Figures, measure_figures
from protorynet.labels import LabelCode
from protorynet.model import EncoderRecord, Model, TrainingRecord
from protorynet.network import Adapter, Centring, Evidence, read_matches
from protorynet.prototypes import (
    Member,
    Prototype,
    Prototypes,
    distinct_candidates,
    marking_words,
    typical_first,
)
from protorynet.reading import Reading
from protorynet.settings import Settings
from protorynet.training.algorithm import Clock, Trained, match_corpus, train_protorynet
from protorynet.training.bag_of_words import learn_bag, learn_words
from protorynet.training.batches import Corpus
from protorynet.training.epochs import Checkpoint, Run, clear_checkpoint
from protorynet.training.evidence import draw_folds
from protorynet.training.families import train_families
from protorynet.training.parallel import agree
from protorynet.training.sources import (
    AdaptedSource,
    EvidenceSource,
    FineTunedSource,
    FrozenSource,
    SentenceSource,
    tunable_encoder,
)
from protorynet.training.weights import weigh_documents

if TYPE_CHECKING:
    from protorynet.encoders import TransformerEncoder

_RECORDED_PACKAGES = ("protorynet", "torch", "transformers", "numpy", "sentencex")
_FEWEST_DOCUMENTS = 4
_MOST_HELD_OUT = 1_000  # documents: more say little more, and are missed in training
_FEWEST_CANDIDATES = 12  # sentences of a class that may become prototypes
# Of the sentences of held-out documents, and what leaves room for the rounding of vectors.
_FAR_SHARE, _ROUNDING = 0.015, 1.0001
_QUARTERS = (0.25, 0.75)
_MEMBERS_PER_BLOCK = 1_024  # compared with all at once
_VECTORS_PER_BLOCK = 16_384  # centred at once, for all of them may fill half of the memory
_SAYS_THE_SAME = 16  # power of the cosine, so that all but the same counts little
# An automaton of a few states learns nothing from more.
_MOST_READ_DOCUMENTS, _MOST_READ_SENTENCES = 5_000, 100_000


@dataclass(frozen=True)
class Labelled:
    """Documents of at least one sentence each, with their labels."""

    sentences: Sentences
    embeddings: Embeddings
    targets: NDArray[np.float32]  # one-hot or multi-hot, (documents, C)
    weights: NDArray[np.float64] | None = None  # of the documents; None: all alike


@dataclass(frozen=True)
class Fitted:
    """A trained model, and how it reads some of the documents to learn from and held out."""

    model: Model
    train: Reading
    held_out: Reading


@dataclass(frozen=True)
class Prepared:
    """Documents as tensors, ready for any network that reads sentence embeddings."""

    texts: list[str]  # the distinct sentences, in the order of their index
    centring: Centring  # from the encoder's vectors to base embeddings
    source: SentenceSource
    train: Corpus
    validation: Corpus  # held out to stop and choose


def fit_model(
    documents: Labelled,
    labels: LabelCode,
    *,
    settings: Settings,
    encoder: EncoderRecord,
    splitter: Splitter,
    seed: int,
    unit_length: bool = True,
    tunable: TransformerEncoder | None = None,
    device: str = "cpu",
    checkpoint: Path | None = None,
    resume: bool = False,
    progress: bool = False,
) -> Fitted:
    """Train a model on documents, none of them empty, and record how it came to be.

    Embeddings are brought to length one, unless they are vectors given by the user. The `tunable`
    encoder, for ``encoder_training="full"``, is changed in place. The folder `checkpoint` keeps the
    state after each epoch, from which training may resume.
    """
    clock = Clock()
    prepared = prepare(
        documents,
        labels,
        settings=settings,
        seed=seed,
        unit_length=unit_length,
        tunable=tunable,
        device=device,
    )
    texts = prepared.texts
    vectors = None if unit_length else documents.embeddings.vectors
    data = digest_data(documents.sentences, documents.targets, vectors)
    versions = {name: importlib.metadata.version(name) for name in _RECORDED_PACKAGES}
    weights = None if documents.weights is None else documents.weights.tolist()
    facts = [settings.to_dict(), encoder.fingerprint, data, weights, seed, versions]
    run_name = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    if checkpoint is not None and not resume:
        clear_checkpoint(checkpoint)
    clock.lap("vectors")
    candidates = find_candidates(texts, prepared.train)
    clock.lap("candidates")
    run = Run(
        train=prepared.train,
        validation=prepared.validation,
        candidates=candidates,
        source=prepared.source,
        settings=settings,
        labels=labels,
        seed=seed,
        checkpoint=None if checkpoint is None else Checkpoint(checkpoint, run_name),
        progress=progress,
        unit_length=unit_length,
    )
    bag = learn_bag(texts, run.train, run.validation, labels) if unit_length else None
    fold = draw_folds(run)
    if bag is not None and fold is not None and settings.learns_words:
        run = replace(run, words=learn_words(bag, fold))
    clock.lap("words")
    try:
        trained = train_families(run) if settings.members > 1 else train_protorynet(run)
    except torch.OutOfMemoryError:
        batch = "full_batch_size" if run.full else "batch_size"
        raise ProtoryNetError(
            f"the device {device!r} has too little memory; lower the setting {batch} (now "
            f"{getattr(settings, batch)}), or train elsewhere with device='cpu'."
        ) from None
    after = Clock()
    trained = _in_typical_order(trained, texts, run.train)
    model = Model(
        centring=prepared.centring,
        adapter=_find_adapter(trained.source),
        network=trained.network.eval().requires_grad_(False),
        prototypes=_describe_prototypes(trained, texts, documents, run.train, labels),
        labels=labels,
        encoder=encoder,
        splitter=splitter,
        settings=settings,
        training=TrainingRecord(
            seed=seed,
            n_documents=len(documents.targets),
            n_sentences=len(documents.sentences),
            data_sha256=data,
            validation_accuracy=trained.validation.accuracy,
            curve=trained.curve,
            class_frequencies=tuple(map(float, documents.targets.mean(axis=0))),
            seconds=clock.seconds | trained.seconds,
            versions=versions,
            free_accuracy=trained.free.accuracy,
            bag_of_words_accuracy=None if bag is None else bag.accuracy,
            figures=_measure(trained, run, None if bag is None else bag.accuracy),
        ),
        words=None if run.words is None else run.words.weights.times(trained.word_scale),
        familiar=trained.familiar,
    )
    if model.familiar:
        model = replace(model, reach=_find_reach(model, prepared, documents.embeddings, tunable))
    fitted = read_back(model, trained.source, run.train, run.validation)
    likeness = tuple(map(float, np.quantile(fitted.held_out.similarities, _QUARTERS)))
    after.lap("read back")
    seconds = model.training.seconds | after.seconds
    training = replace(model.training, likeness=likeness, seconds=seconds)
    return replace(fitted, model=replace(model, training=training))


def find_candidates(texts: Sequence[str], train: Corpus) -> torch.Tensor:
    """Return the index of the sentences that may become prototypes; every class has some."""

    def choose(index: torch.Tensor) -> torch.Tensor:
        allowed = distinct_candidates([texts[number] for number in index.tolist()])
        return index[torch.from_numpy(allowed).to(index.device)]

    chosen = choose(torch.unique(train.index))
    has_label = train.targets[train.document_of] > 0
    for of_class in has_label.T:
        own = torch.unique(train.index[of_class])
        if int(torch.isin(own, chosen).sum()) < _FEWEST_CANDIDATES:
            chosen = torch.unique(torch.cat([chosen, choose(own)]))
    return chosen


def _measure(trained: Trained, run: Run, floor: float | None) -> Figures:
    """Measure the delivered network on the documents held out."""
    matches = match_corpus(trained.network, trained.source, run.validation)
    read = read_matches(trained.network.reader, matches, run.labels.task)
    targets = run.validation.targets.cpu().numpy()
    return measure_figures(run.labels, targets, read.probabilities, floor)


def _find_adapter(source: SentenceSource) -> Adapter | Evidence | None:
    """Return what bends embeddings in the space that sentences are matched in."""
    if isinstance(source, EvidenceSource):
        return source.evidence.eval().requires_grad_(False)
    return source.adapter if isinstance(source, AdaptedSource) else None


def _find_reach(
    model: Model, prepared: Prepared, embeddings: Embeddings, tuned: TransformerEncoder | None
) -> float:
    """Return the distance from the mean that nearly all sentences held out stay within.

    An encoder that was trained is asked again, for its vectors are others now.
    """
    distinct, of = np.unique(prepared.validation.index.cpu().numpy(), return_inverse=True)
    if tuned is None:
        vectors = embeddings.vectors[distinct]
    else:
        vectors = tuned.encode([prepared.texts[number] for number in distinct.tolist()])
    reach = np.quantile(model.distances(vectors).numpy()[of], 1 - _FAR_SHARE)
    return float(reach * _ROUNDING)


def prepare(
    documents: Labelled,
    labels: LabelCode,
    *,
    settings: Settings,
    seed: int,
    unit_length: bool = True,
    tunable: TransformerEncoder | None = None,
    device: str = "cpu",
) -> Prepared:
    """Centre embeddings, build their source, hold out documents; parameters as in `fit_model`."""
    targets, embeddings = documents.targets, documents.embeddings
    if len(targets) < _FEWEST_DOCUMENTS:
        raise InputError(
            f"{len(targets)} documents are too few to train on; give at least {_FEWEST_DOCUMENTS}."
        )
    if labels.task == "multiclass" and np.count_nonzero(targets.any(axis=0)) < 2:
        raise InputError("the documents that hold a sentence are all of one class.")
    texts = [""] * len(embeddings.vectors)
    for number, text in zip(embeddings.index.tolist(), documents.sentences.texts, strict=True):
        texts[number] = text
    centring = _find_centring(embeddings.vectors, unit_length=unit_length).to(device)
    base = centre_vectors(embeddings.vectors, centring, device)
    source: SentenceSource
    if settings.encoder_training == "full":
        source = FineTunedSource(base, tunable_encoder(tunable), centring, texts)
    elif settings.encoder_training == "none" or settings.members > 1:
        source = FrozenSource(base)
    else:
        width, size = base.shape[1], settings.adapter_size
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            adapter = Adapter(width, size, unit_length=centring.unit_length)
        source = AdaptedSource(base, adapter)
    source.to(device)
    return Prepared(texts, centring, source, *hold_out(documents, labels, settings, seed, device))


def hold_out(
    given: Labelled, labels: LabelCode, settings: Settings, seed: int, device: str | torch.device
) -> tuple[Corpus, Corpus]:
    """Return the documents to learn from and the validation documents, as tensors."""
    parts = (given.embeddings.index, given.sentences.lengths, given.targets)
    corpus = Corpus(*(torch.from_numpy(part).to(device) for part in parts))
    weights = weigh_documents(given.targets, given.weights, settings.class_weight)
    if weights is not None:
        corpus = replace(corpus, weights=torch.from_numpy(weights).to(device))
    held_out = validation_documents(given.targets, labels, settings.validation_fraction, seed)
    learned = np.setdiff1d(np.arange(len(corpus)), held_out)
    return corpus.subset(learned), corpus.subset(held_out)


def validation_documents(
    targets: NDArray[np.float32], labels: LabelCode, fraction: float, seed: int
) -> NDArray[np.int64]:
    """Choose documents to hold out: of every class its share, and always some to train on.

    A class with a single document keeps it for training. Of documents with several labels each,
    no label gives more than its share, nor its last document.
    """
    random = np.random.default_rng([seed, 1])
    fraction = min(fraction, _MOST_HELD_OUT / len(targets))
    held_out: list[int] = []
    if labels.task == "multilabel":
        wanted = max(1, round(fraction * len(targets)))
        positives = targets.sum(axis=0)
        # A label that no document has stands in no document's way.
        room = np.minimum(np.ceil(fraction * positives), np.maximum(positives - 1, 0))
        for document in random.permutation(len(targets)).tolist():
            if (room >= targets[document]).all():
                held_out.append(document)
                room -= targets[document]
            if len(held_out) == wanted:
                break
    else:
        for of_class in targets.T:
            documents = random.permutation(np.flatnonzero(of_class > 0)).tolist()
            count = min(max(1, round(fraction * len(documents))), len(documents) - 1)
            held_out += documents[: max(count, 0)]
    return np.array(sorted(held_out) or [0], dtype=np.int64)


def read_back(model: Model, source: SentenceSource, train: Corpus, held_out: Corpus) -> Fitted:
    """Let a model just trained match its own documents, or some of many; its training is over."""
    parts = []
    for corpus in (train, held_out):
        chosen = evenly_chosen(corpus.lengths.cpu().numpy())
        some = corpus if len(chosen) == len(corpus) else corpus.subset(chosen)
        parts.append(match_corpus(model.network, source, some))
    return Fitted(model, *parts)


def evenly_chosen(
    lengths: NDArray[np.int64], most_sentences: int = _MOST_READ_SENTENCES
) -> NDArray[np.int64]:
    """Return so many documents of these lengths that reading them is quick, spread over all."""
    count, sentences = len(lengths), int(lengths.sum())
    most = min(_MOST_READ_DOCUMENTS, count * most_sentences // max(sentences, 1))
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, max(most, 1)).astype(np.int64))


def digest_data(
    sentences: Sentences, targets: NDArray[np.float32], vectors: NDArray[np.float32] | None = None
) -> str:
    """Digest the training data; with its vectors where the user gave these in place of texts."""
    digest = hashlib.sha256(targets.tobytes())
    if vectors is not None:
        digest.update(vectors.tobytes())
    digest.update(sentences.documents.tobytes())
    for text in sentences.texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def _find_centring(vectors: NDArray[np.float32], *, unit_length: bool) -> Centring:
    mean = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    if unit_length:
        return Centring(torch.from_numpy(mean))
    squared = [
        np.square(vectors[start : start + _VECTORS_PER_BLOCK] - mean).sum(axis=1, dtype=np.float64)
        for start in range(0, len(vectors), _VECTORS_PER_BLOCK)
    ]
    length = float(np.sqrt(np.concatenate(squared).mean()))
    return Centring(torch.from_numpy(mean), max(length, 1e-6))


@torch.no_grad()
def centre_vectors(vectors: NDArray[np.float32], centring: Centring, device: str) -> torch.Tensor:
    """Return the centred vectors; block by block, for they may fill half of the memory."""
    base = torch.empty(vectors.shape, device=device)
    for start in range(0, len(vectors), _VECTORS_PER_BLOCK):
        block = slice(start, start + _VECTORS_PER_BLOCK)
        base[block] = centring(torch.from_numpy(vectors[block]).to(device))
    return base


@torch.no_grad()
def _in_typical_order(trained: Trained, texts: Sequence[str], train: Corpus) -> Trained:
    """Put the members of each prototype in order, the most typical first: it is the headline.

    Typical is what says nearly the mean of what the sentences matched to the prototype say, by the
    pre-trained embeddings, says it plainly, and stands in texts of the prototype's labels.
    """
    use, rates, matched = trained.member_usage, trained.member_rate, trained.matched
    if use is None or rates is None or matched is None:  # one member each
        return trained
    base, network = trained.source.base, trained.network
    middles = base.new_zeros(network.n_prototypes, base.shape[1])
    groups = torch.from_numpy(matched).to(base.device)
    every = torch.arange(len(groups), device=base.device)
    for block in torch.split(every, _VECTORS_PER_BLOCK):
        middles.index_add_(0, groups[block], base[train.index[block]])
    vectors = base[torch.from_numpy(trained.index).to(base.device)]
    likeness = nn.functional.cosine_similarity(vectors, middles[network.families])
    likeness -= differing_labels(vectors, use, rates, trained.class_rate, network.families)
    members, sentences = (
        [texts[number] for number in index.tolist()] for index in (trained.index, train.index)
    )
    families = network.families.cpu().numpy()
    found = typical_first(members, families, likeness.double().cpu().numpy(), sentences)
    order = agree(torch.from_numpy(found)).numpy()
    network.members.copy_(network.members[torch.from_numpy(order).to(base.device)])
    return replace(
        trained, index=trained.index[order], member_usage=use[order], member_rate=rates[order]
    )


def differing_labels(
    vectors: torch.Tensor,
    usage: NDArray[np.float64],
    rates: NDArray[np.float64],
    of_family: NDArray[np.float64],
    families: torch.Tensor,
) -> torch.Tensor:
    """Return how far the labels of what each member says are from those of its family.

    One member is matched to few texts, so all members that say the same count, of any family.
    """
    use, each, whole = (torch.from_numpy(a).to(vectors) for a in (usage, rates, of_family))
    unit = nn.functional.normalize(vectors)
    rates_of_alike = torch.empty_like(whole[families])
    for start in range(0, len(unit), _MEMBERS_PER_BLOCK):
        block = slice(start, start + _MEMBERS_PER_BLOCK)
        shares = use * (unit[block] @ unit.T).clamp_min(0) ** _SAYS_THE_SAME
        rates_of_alike[block] = shares @ each / shares.sum(dim=1, keepdim=True).clamp_min(1e-12)
    return (rates_of_alike - whole[families]).abs().amax(dim=1)


def _describe_prototypes(
    trained: Trained, texts: Sequence[str], documents: Labelled, train: Corpus, labels: LabelCode
) -> Prototypes:
    """Describe the prototypes; ids count from 1 by falling score of the last class."""
    order = np.argsort(np.argsort(-trained.scores[:, -1], kind="stable"), kind="stable")
    sizes = trained.network.sizes
    starts = np.cumsum(sizes, dtype=np.int64) - np.array(sizes, np.int64)
    members = _describe_members(trained, texts, documents, np.argsort(order), starts)
    words: Sequence[tuple[str, ...]] = [()] * len(sizes)
    if trained.matched is not None:
        sentences = [texts[number] for number in train.index.tolist()]
        words = marking_words(sentences, trained.matched, len(sizes))
    items = []
    for position, (start, size) in enumerate(zip(starts.tolist(), sizes, strict=True)):
        headline = members[start]
        items.append(
            Prototype(
                id=int(order[position]) + 1,
                sentence=headline.sentence,
                row=headline.row,
                usage=float(trained.usage[position]),
                scores=dict(zip(labels.names, trained.scores[position].tolist(), strict=True)),
                class_rate=dict(
                    zip(labels.names, trained.class_rate[position].tolist(), strict=True)
                ),
                words=words[position],
                members=tuple(members[start : start + size]),
            )
        )
    return Prototypes(tuple(items), labels.names)


def _describe_members(
    trained: Trained,
    texts: Sequence[str],
    documents: Labelled,
    ranked: NDArray[np.int64],
    starts: NDArray[np.int64],
) -> list[Member]:
    """Describe the members in the order of the network; ids count through the ranked prototypes."""
    index, first = np.unique(documents.embeddings.index, return_index=True)
    firsts = first[np.searchsorted(index, trained.index)]
    usage, rates = trained.member_usage, trained.member_rate
    if usage is None or rates is None:  # one member each
        usage, rates = trained.usage, trained.class_rate
    ids = np.empty(len(trained.index), np.int64)
    sizes = trained.network.sizes
    counted = np.concatenate([starts[p] + np.arange(sizes[p]) for p in ranked.tolist()])
    ids[counted] = np.arange(1, len(ids) + 1)
    return [
        Member(
            id=int(ids[position]),
            sentence=texts[number],
            row=int(documents.sentences.documents[firsts[position]]),
            usage=round(float(usage[position]), 8),
            class_rate=tuple(np.round(rates[position], 4).tolist()),
        )
        for position, number in enumerate(trained.index.tolist())
    ]
