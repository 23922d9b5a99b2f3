"""Editing a trained model by hand: the prototypes, then the reader, which learns again.

The encoder, the adapter and the edited prototypes stay as they are, so every sentence is embedded
once and the reader learns in seconds.
"""

import copy
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from protorynet.data import Splitter, split_documents
from protorynet.encoders import Encoder, WindowedEncoder
from protorynet.errors import InputError
from protorynet.model import Model
from protorynet.network import ProtoryNetwork
from protorynet.prototypes import EditEntry, Edits, Prototypes, Retraining, marking_words
from protorynet.reading import Reading
from protorynet.threads import one_thread
from protorynet.training.algorithm import match_corpus, score_prototypes, train_reader, validate
from protorynet.training.batches import Corpus
from protorynet.training.epochs import Run, Stage
from protorynet.training.fitting import Fitted, Labelled, digest_data, hold_out, read_back
from protorynet.training.reader_training import fit_reader
from protorynet.training.sources import FrozenSource

_FEWEST_DOCUMENTS = 4


class EditableMixin:
    """What makes a classifier's prototypes editable."""

    model_: Model
    verbose: bool
    encoder_: Encoder | None
    _fitted: Callable[[], Model]
    labelled: Callable[[Any, Any], Labelled]
    _summarised: Callable[[Fitted], Model]

    def edit(
        self,
        X: Any = None,  # noqa: N803
        y: Any = None,
        *,
        drop: Iterable[int] = (),
        merge: Iterable[Iterable[int]] = (),
        replace: Mapping[int, str] | Iterable[tuple[int, str]] = (),
        rename: Mapping[int, str] | Iterable[tuple[int, str]] = (),
        move: Mapping[int, int] | Iterable[tuple[int, int]] = (),
        split: Iterable[Iterable[int]] = (),
        drop_members: Iterable[int] = (),
        add: Mapping[int, str] | Iterable[tuple[int, str]] = (),
    ) -> EditEntry:
        """Edit prototypes by hand; with documents, also train the reader again on them.

        Parameters
        ----------
        X, y
            Labelled documents, best those of the training. Some are held out, to stop and to
            measure accuracy before and after. Without them the reader stays as it is, usage and
            class rates are those from before the edit, and the model has no automata until the
            reader is trained again, unless only names change.
        drop
            Ids of prototypes to remove; what was matched to them goes to the nearest that remain.
        merge
            Groups of ids: the members of the others join the first.
        replace
            Ids of prototypes of one member, with the sentences that are to take its place.
        rename
            Ids with names to show; an empty one takes the name away.
        move
            Ids of members, each with that of the prototype it is to belong to.
        split
            Groups of ids of members: each becomes a prototype of its own, with a new id.
        drop_members
            Ids of members to remove.
        add
            Ids of prototypes with sentences of your own that are to be members; as pairs, if one
            is to have several.

        Returns
        -------
        The entry in the log: what changed, and the accuracies if the reader was trained again.

        Examples
        --------
        ``clf.edit(texts, labels, drop=[7], rename={3: "slow service"})``
        """
        before = self._fitted()
        edits = Edits.of(drop, merge, replace, rename, move, split, drop_members, add)
        if not edits and X is None:
            raise InputError("there is nothing to do: name an edit, or documents to retrain on.")
        # Edited first, so that a wrong id is told before documents are encoded.
        edited = edit_model(before, edits, self.encoder_)
        if X is not None:
            documents = self.labelled(X, y)
            retrained = retrain_reader(before, edited, documents, progress=self.verbose)
            edited = self._summarised(retrained)
        self.model_ = edited
        return edited.edits.entries[-1]

    def undo_edit(self) -> EditEntry:
        """Undo the last edit that stands, exactly; the last ten can be undone.

        Returns
        -------
        The entry of the edit that is undone.
        """
        standing = self._fitted().edits.standing
        self.model_ = self.model_.undone()
        return self.model_.edits.entries[standing[-1].number - 1]


def edit_model(model: Model, edits: Edits, encoder: Encoder | None) -> Model:
    """Return the model with its prototypes edited and its reader as it was; the log records it.

    The encoder is None where users give vectors in place of texts.
    """
    sentences = [
        _read_sentence(text, number, model.splitter, encoder) for number, text in edits.sentences
    ]
    vectors = np.zeros((0, 0), np.float32)
    if sentences and encoder is not None:
        vectors = model.add_words(encoder.encode(sentences), sentences)
    return model.edited(edits.with_sentences(sentences), vectors)


def _read_sentence(text: str, number: int, splitter: Splitter, encoder: Encoder | None) -> str:
    """Return a typed sentence as the encoder reads it; it must be one, and fit."""
    if encoder is None:
        raise InputError(
            f"prototype {number} can have no sentence of yours: the model was trained on vectors, "
            "not on texts."
        )
    found = split_documents([text], splitter=splitter, on_empty="skip").texts
    if len(found) != 1:
        parts = " and ".join(f"“{part}”" for part in found[:3]) or "none"
        raise InputError(
            f"the text for prototype {number} should be one sentence, but {len(found)} are read: "
            f"{parts}."
        )
    if isinstance(encoder, WindowedEncoder):
        tokens = int(encoder.count_tokens(list(found))[0])
        if tokens > encoder.window:
            raise InputError(
                f"the sentence for prototype {number} is too long: it has {tokens} tokens, but "
                f"the encoder reads {encoder.window}."
            )
    return found[0]


@one_thread()
def retrain_reader(
    before: Model, edited: Model, documents: Labelled, *, progress: bool = False
) -> Fitted:
    """Train the reader from its present weights; the log records it with its last edit.

    Usage, class rates and scores are measured again. The documents, of every class, that are held
    out to stop and to measure are chosen by the seed that the model was trained with: from its
    training data, the same as then.
    """
    _check(documents, edited)
    begin = time.perf_counter()
    run = _make_run(edited, documents, progress)
    vectors = None if edited.centring.unit_length else documents.embeddings.vectors
    data = digest_data(documents.sentences, documents.targets, vectors)
    network, accuracy_after = _train_copy(before, edited.network, run, data)
    matches = match_corpus(network, run.source, run.train)
    prototypes = _measure(edited.prototypes, network, matches, documents, run)
    former = match_corpus(before.network, run.source, run.train).prototypes
    before_ids = before.prototypes.ids[former]
    changed = {c.id for c in edited.edits.entries[-1].changes if c.kind != "rename"}
    record = Retraining(
        accuracy_before=validate(before.network, run).accuracy,
        accuracy_edited=validate(edited.network, run).accuracy,
        accuracy_after=accuracy_after,
        n_documents=len(run.train),
        n_held_out=len(run.validation),
        data_sha256=data,
        seed=run.seed,
        moved=_share_moved(before_ids, prototypes.ids[matches.prototypes], changed),
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


def _make_run(model: Model, documents: Labelled, progress: bool) -> Run:
    """Embed every sentence once and hold out documents, as in training."""
    seed = model.training.seed
    train, validation = hold_out(documents, model.labels, model.settings, seed, model.device)
    # A copy outside of inference mode, for inference tensors cannot enter training.
    embedded = model.embed(documents.embeddings.vectors).clone()
    return Run(
        train=train,
        validation=validation,
        candidates=train.index[:0],
        source=FrozenSource(embedded),
        settings=model.settings,
        labels=model.labels,
        seed=seed,
        progress=progress,
    )


def _train_copy(
    before: Model, network: ProtoryNetwork, run: Run, data: str
) -> tuple[ProtoryNetwork, float]:
    """Return a copy whose reader is trained, and its accuracy on the documents held out.

    The documents that a model learned from are matched better than others will be, and their
    labels would teach the reader to trust every match. So it learns from them what the reader
    before said; from documents that are new it learns their labels. The reader as it was stays
    where it reads the documents held out better.
    """
    trained = copy.deepcopy(network)
    trained.reader.requires_grad_(True)
    with torch.random.fork_rng():
        if max(network.sizes) > 1:
            matches = match_corpus(network, run.source, run.train)
            targets = run.train.targets
            if data == before.training.data_sha256:
                answers = before.read(match_corpus(before.network, run.source, run.train))
                targets = torch.from_numpy(answers.probabilities).to(targets)
            fit_reader(trained.reader, matches, targets, run)
            score, former = validate(trained, run), validate(network, run)
            if former.loss < score.loss:
                trained, score = copy.deepcopy(network), former
        else:
            stage = Stage("retrain reader", run.settings.retrain_epochs, run.settings.patience)
            score = train_reader(trained, run, stage)
    return trained.eval().requires_grad_(False), score.accuracy


def _measure(
    prototypes: Prototypes, network: ProtoryNetwork, matches: Reading, given: Labelled, run: Run
) -> Prototypes:
    """Return the prototypes with usage, scores, class rates and words as they are now.

    Members stay in their order, so that no headline changes.
    """
    targets = run.train.targets.cpu().numpy().astype(np.float64)
    counts, shares = replace(matches, prototypes=matches.members).class_rates(
        targets, len(prototypes.members)
    )
    measured = zip(prototypes.members, counts / counts.sum(), np.round(shares, 4), strict=True)
    members = iter(
        replace(member, usage=float(use), class_rate=tuple(rates.tolist()))
        for member, use, rates in measured
    )
    words = [item.words for item in prototypes]
    if max(network.sizes) > 1:
        words = marking_words(_texts_of(run.train, given), matches.prototypes, len(words))
    measures = score_prototypes(network, matches, run)
    items = tuple(
        replace(
            item,
            usage=float(use),
            scores=dict(zip(prototypes.classes, scores.tolist(), strict=True)),
            class_rate=dict(zip(prototypes.classes, rates.tolist(), strict=True)),
            words=marks,
            members=tuple(islice(members, len(item.members))),
        )
        for item, scores, use, rates, marks in zip(prototypes, *measures, words, strict=True)
    )
    return replace(prototypes, items=items)


def _texts_of(corpus: Corpus, given: Labelled) -> list[str]:
    """Return the sentences of some of the documents given."""
    texts = dict(zip(given.embeddings.index.tolist(), given.sentences.texts, strict=True))
    return [texts[number] for number in corpus.index.tolist()]


def _share_moved(
    before: NDArray[np.int64], after: NDArray[np.int64], changed: set[int]
) -> dict[str, dict[str, float]]:
    """Return where the sentences of changed prototypes went, as shares by id, the largest first."""
    moved = {}
    for number in sorted(changed.intersection(before.tolist())):
        ids, counts = np.unique(after[before == number], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        shares = (counts / counts.sum()).tolist()
        moved[str(number)] = {str(ids[position]): shares[position] for position in order}
    return moved
