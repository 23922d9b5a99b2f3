"""Training the reader again after its prototypes were edited.

The encoder, the adapter and the prototypes stay as they are, so every sentence is embedded once
and the reader learns in seconds.
"""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from protorynet.data import Sentences
from protorynet.encoders import Embeddings
from protorynet.errors import InputError
from protorynet.model import Model
from protorynet.network import ProtoryNetwork, match_sentences
from protorynet.prototypes import Prototypes, Retraining
from protorynet.training.algorithm import score_prototypes, train_reader, validate
from protorynet.training.corpus import Corpus
from protorynet.training.fitted import Fitted, read_back
from protorynet.training.fitting import _digest, validation_documents
from protorynet.training.loop import Stage
from protorynet.training.run import Run
from protorynet.training.sources import FrozenSource

__all__ = ["Labelled", "retrain_reader"]

_FEWEST_DOCUMENTS = 4


@dataclass(frozen=True)
class Labelled:
    """Documents with their labels.

    Parameters
    ----------
    sentences, embeddings
        Their sentences, at least one each, and the encoder's vectors of these.
    targets
        One-hot or multi-hot labels, (documents, C).
    """

    sentences: Sentences
    embeddings: Embeddings
    targets: NDArray[np.float32]


def retrain_reader(
    before: Model, edited: Model, documents: Labelled, *, progress: bool = False
) -> Fitted:
    """Train the reader on from its present weights until the held-out documents stop improving.

    Usage, class rates and scores are measured anew, and the last entry of the log tells how it
    went.

    Parameters
    ----------
    before, edited
        The model before and after the edit that is last in the log of the latter.
    documents
        Documents of every class. Those held out to stop and to measure are chosen by the seed
        that the model was trained with: from its training data, the same as then.
    progress
        Show a progress bar.
    """
    _check(documents, edited)
    begin = time.perf_counter()
    run = _run(edited, documents, progress)
    network, accuracy_after = _trained(edited.network, run)
    columns = _columns(network, run)
    prototypes = _measured(edited.prototypes, network, columns, run)
    changed = {c.id for c in edited.edits.entries[-1].changes if c.kind != "rename"}
    record = Retraining(
        accuracy_before=validate(before.network, run).accuracy,
        accuracy_edited=validate(edited.network, run).accuracy,
        accuracy_after=accuracy_after,
        n_documents=len(run.train),
        n_held_out=len(run.validation),
        data_sha256=_digest_of(documents, edited),
        seed=run.seed,
        moved=_moved(
            before.prototypes.ids[_columns(before.network, run)], prototypes.ids[columns], changed
        ),
        seconds=round(time.perf_counter() - begin, 3),
    )
    log = edited.edits.with_retraining(record)
    model = replace(edited, network=network, prototypes=prototypes, edits=log)
    return read_back(model, run.source, run.train, run.validation)


def _check(documents: Labelled, model: Model) -> None:
    targets = documents.targets
    if len(targets) < _FEWEST_DOCUMENTS:
        raise InputError(
            f"{len(targets)} documents are too few to retrain on; give at least "
            f"{_FEWEST_DOCUMENTS}."
        )
    names = zip(model.labels.names, targets.sum(axis=0).tolist(), strict=True)
    if missing := [repr(name) for name, count in names if not count]:
        raise InputError(
            f"no document to retrain on is of class {', '.join(missing[:5])}, which the reader "
            "would unlearn. Give documents of every class."
        )


def _run(model: Model, documents: Labelled, progress: bool) -> Run:
    """Embed every sentence once and hold out documents, as in training."""
    # A copy outside of inference mode, for inference tensors cannot enter training.
    embedded = model.embed(documents.embeddings.vectors).clone()
    device, targets, seed = model.device, documents.targets, model.training.seed
    corpus = Corpus(
        torch.from_numpy(documents.embeddings.rows).to(device),
        torch.from_numpy(documents.sentences.lengths).to(device),
        torch.from_numpy(targets).to(device),
    )
    fraction = model.settings.validation_fraction
    held_out = validation_documents(targets, model.labels, fraction, seed)
    learned = np.setdiff1d(np.arange(len(targets)), held_out)
    return Run(
        train=corpus.subset(learned),
        validation=corpus.subset(held_out),
        candidates=torch.empty(0, dtype=torch.long, device=device),
        source=FrozenSource(embedded),
        settings=model.settings,
        labels=model.labels,
        seed=seed,
        progress=progress,
    )


def _trained(network: ProtoryNetwork, run: Run) -> tuple[ProtoryNetwork, float]:
    """Return a copy whose reader is trained, and its accuracy on the documents held out."""
    settings = run.settings
    trained = copy.deepcopy(network)
    trained.reader.requires_grad_(True)
    with torch.random.fork_rng():
        score = train_reader(
            trained, run, Stage("retrain reader", settings.retrain_epochs, settings.patience)
        )
    return trained.eval().requires_grad_(False), score.accuracy


def _measured(
    prototypes: Prototypes, network: ProtoryNetwork, columns: NDArray[np.int64], run: Run
) -> Prototypes:
    """Return the prototypes with usage, scores and class rates as they are now."""
    measures = zip(prototypes, *score_prototypes(network, columns, run), strict=True)
    items = tuple(
        replace(
            item,
            usage=float(usage),
            scores=dict(zip(prototypes.classes, scores.tolist(), strict=True)),
            class_rate=dict(zip(prototypes.classes, rates.tolist(), strict=True)),
        )
        for item, scores, usage, rates in measures
    )
    return replace(prototypes, items=items)


def _columns(network: ProtoryNetwork, run: Run) -> NDArray[np.int64]:
    """Return the column of the active prototype of every sentence to learn from."""
    distinct, places = torch.unique(run.train.rows, return_inverse=True)
    return match_sentences(
        network, run.source.all_rows(distinct), places, run.train.lengths
    ).columns


def _moved(
    before: NDArray[np.int64], after: NDArray[np.int64], changed: set[int]
) -> dict[str, dict[str, float]]:
    """Return where the sentences of changed prototypes went, as shares by id, the largest first."""
    moved = {}
    for number in sorted(changed.intersection(before.tolist())):
        ids, counts = np.unique(after[before == number], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        shares = (counts / counts.sum()).tolist()
        moved[str(number)] = {str(ids[place]): shares[place] for place in order}
    return moved


def _digest_of(documents: Labelled, model: Model) -> str:
    vectors = None if model.centring.unit_length else documents.embeddings.vectors
    return _digest(documents.sentences, documents.targets, vectors)
