"""From sentences, embeddings and labels to a trained model."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from protorynet.data import Sentences, Splitter
from protorynet.encoders import Embeddings
from protorynet.errors import InputError, ProtoryNetError
from protorynet.labels import LabelCode
from protorynet.model import EncoderRecord, Model, TrainingRecord
from protorynet.network import Adapter, Centring
from protorynet.prototypes import Prototype, Prototypes, distinct_candidates
from protorynet.settings import Settings
from protorynet.training.algorithm import Trained, train_protorynet
from protorynet.training.checkpoint import Checkpoint, clear_checkpoint
from protorynet.training.corpus import Corpus
from protorynet.training.fitted import Fitted, read_back
from protorynet.training.run import Run
from protorynet.training.sources import (
    AdaptedSource,
    FineTunedSource,
    FrozenSource,
    SentenceSource,
    tunable_encoder,
)

if TYPE_CHECKING:
    from protorynet.encoders import TransformerEncoder

__all__ = ["Prepared", "fit_model", "prepare", "validation_documents"]

_BLOCK = 16_384


def fit_model(
    sentences: Sentences,
    embeddings: Embeddings,
    targets: NDArray[np.float32],
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
    """Train a model by Algorithm 1 and record how it came to be.

    Parameters
    ----------
    sentences, embeddings, targets, labels
        The training documents; none of them empty.
    settings, encoder, splitter, seed
        What the model is to be made with.
    unit_length
        Bring embeddings to length one, as befits text; not for vectors given by the user.
    tunable
        The encoder to fine-tune, for ``encoder_training="full"``. It is changed in place.
    device
        Where to train.
    checkpoint, resume
        Folder for the state after each epoch, and whether to take up what lies there.
    progress
        Show progress bars.
    """
    prepared = prepare(
        sentences,
        embeddings,
        targets,
        labels,
        settings=settings,
        seed=seed,
        unit_length=unit_length,
        tunable=tunable,
        device=device,
    )
    texts, source = prepared.texts, prepared.source
    data = _digest(sentences, targets, None if unit_length else embeddings.vectors)
    run = Run(
        train=prepared.train,
        validation=prepared.validation,
        candidates=_candidates(texts, prepared.train),
        source=source,
        settings=settings,
        labels=labels,
        seed=seed,
        checkpoint=_checkpoint(checkpoint, resume, settings, encoder, data, seed),
        progress=progress,
    )
    try:
        trained = train_protorynet(run)
    except torch.OutOfMemoryError:
        batch = "full_batch_size" if run.full else "batch_size"
        raise ProtoryNetError(
            f"the device {device!r} has too little memory; lower the setting {batch} (now "
            f"{getattr(settings, batch)}), or train elsewhere with device='cpu'."
        ) from None
    model = Model(
        centring=prepared.centring,
        adapter=source.adapter if isinstance(source, AdaptedSource) else None,
        network=trained.network.eval().requires_grad_(False),
        prototypes=_prototypes(trained, texts, sentences, embeddings, labels),
        labels=labels,
        encoder=encoder,
        splitter=splitter,
        settings=settings,
        training=TrainingRecord(
            seed=seed,
            n_documents=len(targets),
            n_sentences=len(sentences),
            data_sha256=data,
            validation_accuracy=trained.validation.accuracy,
            curve=trained.curve,
            class_frequencies=tuple(float(share) for share in targets.mean(axis=0)),
            seconds=trained.seconds,
            versions=_versions(),
            free_accuracy=trained.free.accuracy,
        ),
    )
    return read_back(model, source, run.train, run.validation)


@dataclass(frozen=True)
class Prepared:
    """Documents as tensors, ready for any network that reads sentence embeddings.

    Parameters
    ----------
    texts
        The distinct sentences, in the order of their rows.
    centring
        From the encoder's vectors to base embeddings.
    source
        Where embeddings come from; its parameters, if any, are trained.
    train, validation
        The documents to learn from, and those held out to stop and choose.
    """

    texts: list[str]
    centring: Centring
    source: SentenceSource
    train: Corpus
    validation: Corpus


def prepare(
    sentences: Sentences,
    embeddings: Embeddings,
    targets: NDArray[np.float32],
    labels: LabelCode,
    *,
    settings: Settings,
    seed: int,
    unit_length: bool = True,
    tunable: TransformerEncoder | None = None,
    device: str = "cpu",
) -> Prepared:
    """Centre the embeddings, build their source and hold out validation documents.

    Parameters are those of `fit_model`.
    """
    if len(targets) < 4:
        raise InputError(f"{len(targets)} documents are too few to train on; give at least 4.")
    if labels.task == "multiclass" and np.count_nonzero(targets.any(axis=0)) < 2:
        raise InputError("the documents that hold a sentence are all of one class.")
    texts = _distinct_texts(sentences, embeddings)
    centring = _centring(embeddings, unit_length=unit_length).to(device)
    base = _base(embeddings.vectors, centring, device)
    source = _source(base, centring, texts, settings, tunable, seed).to(device)
    corpus = Corpus(
        torch.from_numpy(embeddings.rows).to(device),
        torch.from_numpy(sentences.lengths).to(device),
        torch.from_numpy(targets).to(device),
    )
    held_out = validation_documents(targets, labels, settings.validation_fraction, seed)
    is_held_out = np.zeros(len(targets), dtype=bool)
    is_held_out[held_out] = True
    train = corpus.subset(np.flatnonzero(~is_held_out))
    return Prepared(texts, centring, source, train, corpus.subset(held_out))


def validation_documents(
    targets: NDArray[np.float32], labels: LabelCode, fraction: float, seed: int
) -> NDArray[np.int64]:
    """Choose documents to hold out: of every class its share, and always some to train on.

    A class with a single document keeps it for training.
    """
    random = np.random.default_rng([seed, 1])
    if labels.task == "multilabel":
        return _held_out_of_sets(targets, fraction, random)
    chosen = []
    for column in range(targets.shape[1]):
        documents = random.permutation(np.flatnonzero(targets[:, column] > 0))
        count = min(max(1, round(fraction * len(documents))), len(documents) - 1)
        chosen.append(documents[: max(count, 0)])
    held_out = np.sort(np.concatenate(chosen))
    return held_out if len(held_out) else np.array([0], dtype=np.int64)


def _held_out_of_sets(
    targets: NDArray[np.float32], fraction: float, random: np.random.Generator
) -> NDArray[np.int64]:
    """Hold out documents of several labels each: of no label more than its share, nor its last."""
    wanted = max(1, round(fraction * len(targets)))
    positives = targets.sum(axis=0)
    # A label that no document has stands in no document's way.
    room = np.minimum(np.ceil(fraction * positives), np.maximum(positives - 1, 0))
    held_out: list[int] = []
    for document in random.permutation(len(targets)).tolist():
        if (room >= targets[document]).all():
            held_out.append(document)
            room -= targets[document]
        if len(held_out) == wanted:
            break
    return np.array(sorted(held_out) or [0], dtype=np.int64)


def _distinct_texts(sentences: Sentences, embeddings: Embeddings) -> list[str]:
    """Return the text of each distinct sentence, in the order of the vectors."""
    texts = [""] * len(embeddings.vectors)
    for row, text in zip(embeddings.rows.tolist(), sentences.texts, strict=True):
        texts[row] = text
    return texts


def _centring(embeddings: Embeddings, *, unit_length: bool) -> Centring:
    mean = embeddings.vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    if unit_length:
        return Centring(torch.from_numpy(mean))
    squared = [
        np.square(embeddings.vectors[start : start + _BLOCK] - mean).sum(axis=1, dtype=np.float64)
        for start in range(0, len(embeddings.vectors), _BLOCK)
    ]
    length = float(np.sqrt(np.concatenate(squared).mean()))
    return Centring(torch.from_numpy(mean), max(length, 1e-6))


@torch.no_grad()
def _base(vectors: NDArray[np.float32], centring: Centring, device: str) -> torch.Tensor:
    """Return the centred vectors; block by block, for they may fill half of the memory."""
    base = torch.empty(vectors.shape, device=device)
    for start in range(0, len(vectors), _BLOCK):
        raw = torch.from_numpy(vectors[start : start + _BLOCK]).to(device)
        base[start : start + _BLOCK] = centring(raw)
    return base


def _source(
    base: torch.Tensor,
    centring: Centring,
    texts: Sequence[str],
    settings: Settings,
    tunable: TransformerEncoder | None,
    seed: int,
) -> SentenceSource:
    if settings.encoder_training == "none":
        return FrozenSource(base)
    if settings.encoder_training == "full":
        return FineTunedSource(base, tunable_encoder(tunable), centring, texts)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        adapter = Adapter(base.shape[1], settings.adapter_size, unit_length=centring.unit_length)
    return AdaptedSource(base, adapter)


def _candidates(texts: Sequence[str], train: Corpus) -> torch.Tensor:
    """Return the rows of training sentences that may become prototypes."""
    rows = torch.unique(train.rows).cpu().numpy()
    allowed = rows[distinct_candidates([texts[row] for row in rows])]
    return torch.from_numpy(allowed).to(train.rows.device)


def _checkpoint(
    folder: Path | None,
    resume: bool,
    settings: Settings,
    encoder: EncoderRecord,
    data: str,
    seed: int,
) -> Checkpoint | None:
    if folder is None:
        return None
    facts = [settings.to_dict(), encoder.fingerprint, data, seed, _versions()]
    run = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    checkpoint = Checkpoint(folder, run)
    if not resume:
        clear_checkpoint(folder)
    return checkpoint


def _prototypes(
    trained: Trained,
    texts: Sequence[str],
    sentences: Sentences,
    embeddings: Embeddings,
    labels: LabelCode,
) -> Prototypes:
    """Describe the prototypes; ids count from 1 by falling score of the last class."""
    order = np.argsort(np.argsort(-trained.scores[:, -1], kind="stable"), kind="stable")
    rows, places = np.unique(embeddings.rows, return_index=True)
    first = places[np.searchsorted(rows, trained.rows)]
    items = []
    for column, row in enumerate(trained.rows.tolist()):
        items.append(
            Prototype(
                id=int(order[column]) + 1,
                sentence=texts[row],
                row=int(sentences.documents[first[column]]),
                usage=float(trained.usage[column]),
                scores=dict(zip(labels.names, trained.scores[column].tolist(), strict=True)),
                class_rate=dict(
                    zip(labels.names, trained.class_rate[column].tolist(), strict=True)
                ),
            )
        )
    return Prototypes(tuple(items), labels.names)


def _digest(
    sentences: Sentences, targets: NDArray[np.float32], vectors: NDArray[np.float32] | None
) -> str:
    """Digest the training data; `vectors` where the user gave these in place of texts."""
    digest = hashlib.sha256(targets.tobytes())
    if vectors is not None:
        digest.update(vectors.tobytes())
    digest.update(sentences.documents.tobytes())
    for text in sentences.texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def _versions() -> dict[str, str]:
    packages = ("protorynet", "torch", "transformers", "numpy", "sentencex")
    return {name: importlib.metadata.version(name) for name in packages}
