"""What sentences and prototypes have in common before any training: likeness of meaning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from protorynet.data import Sentences
from protorynet.encoders import Embeddings, Encoder, load_encoder
from protorynet.errors import EncoderError
from protorynet.explain.evaluation import Measure
from protorynet.model import EncoderRecord, Model
from protorynet.reading import Reading

__all__ = [
    "NOT_AT_HAND",
    "Encode",
    "PretrainedSpace",
    "duplicate_prototypes",
    "pretrained_encode",
    "pretrained_space",
    "semantic_measures",
    "unit_vectors",
]

Encode = Callable[[list[str]], NDArray[np.float32]]
"""Gives the vectors of sentences, as the model's own encoder does."""

NOT_AT_HAND = (
    " Not known: the encoder as it was before training is not on this machine; give it with "
    "encoder=… (--encoder)."
)

# A fine-tuned model's sentences must be encoded once more for this, so not all of them are.
_COMPARED_SENTENCES = 4_000
_TWIN_COSINE = 0.9


@dataclass(frozen=True)
class PretrainedSpace:
    """A sample of sentences beside the prototypes' sentences, as the encoder was before training.

    Parameters
    ----------
    places
        Which sentences were sampled, in rising order.
    cosines
        One row per sampled sentence, one column per prototype; vectors are centred on the mean of
        the training sentences.
    prototypes
        The prototypes' sentences as centred vectors of length one, (K, d).
    """

    places: NDArray[np.int64]
    cosines: NDArray[np.float32]
    prototypes: NDArray[np.float32]

    def nearest(self, places: NDArray[np.int64], live: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return, for some of the sampled sentences, which of the live prototypes is nearest."""
        rows = self.cosines[np.searchsorted(self.places, places)]
        nearest: NDArray[np.int64] = rows[:, live].argmax(axis=1)
        return nearest


def pretrained_encode(
    record: EncoderRecord, encoder: str | Path | Encoder, *, device: str = "auto"
) -> Encode | None:
    """Return a fine-tuned encoder as it was before training; nothing is fetched for it.

    Parameters
    ----------
    record
        Which encoder the model was made with.
    encoder
        Where it may be found: its name, its folder or itself.
    device
        Where it is to compute.

    Returns
    -------
    How it encodes; None where it cannot be loaded or is another one, and where training did not
    change the encoder, so that the model's own is the one asked for.
    """
    if not record.tuned:
        return None
    try:
        found = load_encoder(encoder, device=device, fetch=False)
    except EncoderError:
        return None
    return found.encode if found.fingerprint == record.fingerprint else None


def pretrained_space(
    model: Model,
    sentences: Sentences,
    embeddings: Embeddings,
    prototypes: NDArray[np.float32],
    *,
    judged: NDArray[np.int64],
    pretrained: Encode | None,
    seed: int,
) -> PretrainedSpace | None:
    """Compare sentences and prototypes by the encoder as it was before training.

    Parameters
    ----------
    model
        The model.
    sentences, embeddings
        The sentences and the vectors that the model's encoder gives them.
    prototypes
        The vectors that it gives the prototypes' sentences, (K, d).
    judged
        Sentences that must be in the sample.
    pretrained
        A fine-tuned encoder as it was before; not needed for models with another.
    seed
        Seed of the sampling.

    Returns
    -------
    The comparison; None for a fine-tuned encoder whose former self is not given.
    """
    count = min(_COMPARED_SENTENCES, len(sentences))
    drawn = np.random.default_rng([seed, 1]).choice(len(sentences), count, replace=False)
    places = np.union1d(judged, drawn)
    if not model.encoder.tuned:
        vectors = embeddings.vectors[embeddings.rows[places]]
    elif pretrained is not None:
        vectors = pretrained([sentences.texts[place] for place in places])
        prototypes = pretrained([item.sentence for item in model.prototypes])
    else:
        return None
    mean = model.centring.mean.cpu().numpy()
    centred = unit_vectors(prototypes - mean)
    return PretrainedSpace(places, unit_vectors(vectors - mean) @ centred.T, centred)


def semantic_measures(space: PretrainedSpace | None, trajectory: Reading) -> list[Measure]:
    """Measure how alike sentences and their prototypes are, and how alike they could be."""
    similarity = (
        "Mean cosine of a sentence and its prototype's sentence, by the encoder as it was before "
        "training. Far below the semantic limit: sentences are matched by their class more than "
        "by what they say."
    )
    limit = (
        "The same if every sentence had the likest of the prototypes in use. Low: many sentences "
        "have no prototype that is like them."
    )
    if space is None:
        return [
            Measure("semantic_similarity", None, similarity + NOT_AT_HAND),
            Measure("semantic_limit", None, limit + NOT_AT_HAND),
        ]
    active = trajectory.columns[space.places]
    own = space.cosines[np.arange(len(active)), active]
    best = space.cosines[:, np.unique(trajectory.columns)].max(axis=1)
    return [
        Measure("semantic_similarity", float(own.mean(dtype=np.float64)), similarity),
        Measure("semantic_limit", float(best.mean(dtype=np.float64)), limit),
    ]


def duplicate_prototypes(model: Model, space: PretrainedSpace | None) -> Measure:
    """Measure how many prototypes say the same as another one."""
    meaning = (
        "Share of the prototypes that have a twin: the same words, or a cosine of 0.9 or more "
        "before training. High: there are fewer different prototypes than are shown."
    )
    if space is None:
        return Measure("duplicate_prototypes", None, meaning + NOT_AT_HAND)
    words = [_words(item.sentence) for item in model.prototypes]
    repeats = Counter(words)
    twins = np.array([repeats[bare] > 1 for bare in words])
    for column, own in enumerate(space.prototypes):
        near = space.prototypes @ own >= _TWIN_COSINE
        near[column] = False
        twins[column] |= near.any()
    return Measure("duplicate_prototypes", float(twins.mean()), meaning)


def unit_vectors(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return each row at length one; a row of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True).astype(np.float32)
    unit: NDArray[np.float32] = vectors / np.maximum(lengths, np.float32(1e-12))
    return unit


def _words(sentence: str) -> str:
    """Return a sentence without case, spacing and punctuation."""
    bare = "".join(character for character in sentence.casefold() if character.isalnum())
    return bare or sentence
