"""A trained model: everything needed to predict and to explain, and nothing else."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from protorynet.automaton import Automaton
from protorynet.data import Splitter
from protorynet.encoders import Embeddings, Encoder, is_form_of
from protorynet.errors import EncoderError, InputError
from protorynet.figures import Figures
from protorynet.labels import LabelCode
from protorynet.network import (
    Adapter,
    Centring,
    Evidence,
    ProtoryNetwork,
    embed_vectors,
    find_unfamiliar,
    match_sentences,
    read_matches,
)
from protorynet.prototypes import EditLog, Edits, Prototypes, PruningPoint, apply_edits
from protorynet.reading import Reading
from protorynet.settings import Settings
from protorynet.threads import one_thread
from protorynet.words import WordWeights

PRECOMPUTED = "precomputed"
"""The name that stands for an encoder where users give vectors in place of texts."""

_VECTORS_PER_BLOCK = 16_384  # mapped at once


@dataclass(frozen=True)
class EncoderRecord:
    """An encoder's name, its digest, and whether its weights were trained and travel along."""

    name: str
    fingerprint: str
    tuned: bool = False

    @classmethod
    def of(cls, encoder: Encoder | None, *, tuned: bool = False) -> EncoderRecord:
        """Describe an encoder; None stands for vectors that the user gives."""
        if encoder is None:
            return cls(PRECOMPUTED, PRECOMPUTED)
        return cls(encoder.name, encoder.fingerprint, tuned)

    def check(self, encoder: Encoder | None) -> None:
        """Refuse another encoder than the model's, but not one in another precision.

        A tuned one is its own.
        """
        given = self.of(encoder).fingerprint
        if self.tuned or given == self.fingerprint:
            return
        if encoder is None or not is_form_of(encoder, self.fingerprint):
            raise EncoderError(
                f"the model was made with another encoder: {self.name!r} had the fingerprint "
                f"{self.fingerprint[:12]}…, this one has {given[:12]}…. Give the right one with "
                "encoder=… (--encoder)."
            )
        warnings.warn(
            f"the model was made with {self.name!r} and is read with {encoder.name!r}: a few "
            "labels in a thousand may differ (docs/performance.md).",
            RuntimeWarning,
            stacklevel=2,
        )


@dataclass(frozen=True)
class TrainingRecord:
    """How a model came to be, for the model card and for repeating it.

    Accuracies and the pruning curve are measured on the documents held out, `free_accuracy` before
    the prototypes were projected and pruned, `bag_of_words_accuracy` with a logistic regression of
    the same documents' words, and so are the `figures` of the delivered model; `seconds` is the
    time taken by each step. Of their sentences, a quarter are less like their match than the first
    of `likeness`, a quarter more than the second.
    """

    seed: int
    n_documents: int
    n_sentences: int
    data_sha256: str
    validation_accuracy: float
    curve: tuple[PruningPoint, ...]
    class_frequencies: tuple[float, ...]
    seconds: dict[str, float]
    versions: dict[str, str]
    free_accuracy: float | None = None
    bag_of_words_accuracy: float | None = None
    likeness: tuple[float, ...] = ()
    figures: Figures | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Model:
    """A trained ProtoryNet without its encoder.

    Centring, adapter and network lead from the encoder's vectors to probabilities; prototypes and
    automata stand in the order of the network's inputs and outputs. There are no automata where an
    edit made them stale, and in models from before they were kept. A sentence is familiar from
    the similarity `familiar` to a member on, within the distance `reach` of the encoder's vector
    from the mean; nearly all of held-out documents are. Another language or subject lies farther
    out, though scaled to unit length it may be near some member. 0 where they are not known.
    Where the model knows `words`, what they tell of the label stands beside the encoder's vectors.
    """

    centring: Centring
    adapter: Adapter | Evidence | None
    network: ProtoryNetwork
    prototypes: Prototypes
    labels: LabelCode
    encoder: EncoderRecord
    splitter: Splitter
    settings: Settings
    training: TrainingRecord
    edits: EditLog = field(default_factory=EditLog)
    automata: tuple[Automaton, ...] = ()
    familiar: float = 0.0
    reach: float = 0.0
    words: WordWeights | None = None

    @property
    def width(self) -> int:
        """Components of the vectors it reads: those of the encoder, and one per class of words."""
        n_logits = 0 if self.words is None else self.words.n_classes
        return len(self.centring.mean) + n_logits

    def add_words(self, vectors: NDArray[np.float32], texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the encoder's vectors of texts (n, d) with what words tell, (n, `width`)."""
        return vectors if self.words is None else self.words.beside(vectors, texts)

    @property
    def device(self) -> torch.device:
        """Where the network's weights lie."""
        return self.network.members.device

    @torch.inference_mode()
    def embed(self, vectors: NDArray[np.float32]) -> torch.Tensor:
        """Map vectors (n, `width`) into the space of the prototypes."""
        if len(vectors) and vectors.shape[1] != self.width:
            raise InputError(
                f"the vectors have {vectors.shape[1]} components, but the model was trained on "
                f"vectors of {self.width}."
            )
        if not len(vectors):
            return self.network.members[:0]
        embedded = torch.empty((len(vectors), self.network.members.shape[1]), device=self.device)
        # Block by block, for what lies between the two may not be as large as they are.
        for start in range(0, len(vectors), _VECTORS_PER_BLOCK):
            block = slice(start, start + _VECTORS_PER_BLOCK)
            given = torch.from_numpy(vectors[block]).to(self.device)
            embedded[block] = embed_vectors(given, self.centring, self.adapter)
        return embedded

    @one_thread()
    def match(self, embeddings: Embeddings, lengths: NDArray[np.int64]) -> Reading:
        """Match every sentence to its prototype, and say whether it is unfamiliar."""
        embedded = self.embed(embeddings.vectors)
        index = torch.from_numpy(embeddings.index)
        found = match_sentences(self.network, embedded, index, torch.from_numpy(lengths))
        near, far = torch.from_numpy(found.similarities), self.distances(embeddings.vectors)[index]
        strange = find_unfamiliar(near, far, self.familiar, self.reach)
        return replace(found, unfamiliar=strange.numpy())

    def distances(self, vectors: NDArray[np.float32]) -> torch.Tensor:
        """Return how far the encoder's vectors (n, d or more) lie from the mean, (n,)."""
        vectors = vectors[:, : len(self.centring.mean)]
        blocks = range(0, len(vectors), _VECTORS_PER_BLOCK)
        parts = (torch.from_numpy(vectors[at : at + _VECTORS_PER_BLOCK]) for at in blocks)
        measured = [self.centring.distance(part.to(self.device)).cpu() for part in parts]
        return torch.cat(measured) if measured else torch.zeros(0)

    def read(self, matches: Reading) -> Reading:
        """Let the reader read matched sentences: the same with its probabilities."""
        return read_matches(self.network.reader, matches, self.labels.task)

    @property
    def class_frequencies(self) -> tuple[float, ...]:
        """Share of each class in the training documents."""
        return self.training.class_frequencies

    @property
    def reader_is_behind(self) -> bool:
        """Whether prototypes were edited after the reader was last trained."""
        return self.edits.reader_is_behind

    def edited(self, edits: Edits, vectors: NDArray[np.float32]) -> Model:
        """Return the model with its prototypes edited, and the edit, perhaps of nothing, logged.

        `vectors` are those of `edits.sentences`, (r, `width`). Where more than names change, the
        automata no longer describe the model, and go.
        """
        network, prototypes, changes = apply_edits(
            self.network,
            self.prototypes,
            edits,
            self.embed(vectors),
            self.labels.task,
            taken=self.edits.highest_ids,
        )
        log = self.edits.with_edit(changes, self.network, self.prototypes, self.automata)
        automata = () if log.entries[-1].touches_matching else self.automata
        return replace(self, network=network, prototypes=prototypes, edits=log, automata=automata)

    def undone(self) -> Model:
        """Return the model as it was before the last edit, down to the last bit."""
        log, state = self.edits.undo()
        return replace(
            self,
            network=copy.deepcopy(state.network).to(self.device),
            prototypes=state.prototypes,
            edits=log,
            automata=state.automata,
        )
