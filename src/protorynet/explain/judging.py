"""Independent judges of whether a sentence and its prototype are alike."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from protorynet.data import Sentences
from protorynet.encoders import Encoder, load_encoder, split_variant
from protorynet.explain.evaluation import Measure
from protorynet.explain.pretrained import NOT_AT_HAND, Encode, PretrainedSpace, unit_vectors
from protorynet.model import PRECOMPUTED, EncoderRecord, Model
from protorynet.reading import Reading

__all__ = [
    "Judge",
    "choose_judge",
    "encoder_judge",
    "judged_sentences",
    "match_qualities",
    "tfidf_judge",
]

Judge = Callable[[list[str], list[str]], NDArray[np.float32]]
"""Gives the likeness of every sentence of a first list to every one of a second."""

_JUDGED_SENTENCES = 1000
_WORD_PIECES = "word pieces: it sees spelling, not meaning"


def encoder_judge(encode: Encode) -> Judge:
    """Return a judge that compares by the cosine of an encoder's centred vectors."""

    def judge(sentences: list[str], prototypes: list[str]) -> NDArray[np.float32]:
        vectors, others = encode(sentences), encode(prototypes)
        centre = vectors.mean(axis=0)
        likeness: NDArray[np.float32] = (
            unit_vectors(vectors - centre) @ unit_vectors(others - centre).T
        )
        return likeness

    return judge


def tfidf_judge(sentences: list[str], prototypes: list[str]) -> NDArray[np.float32]:
    """Judge likeness by shared pieces of words (TF-IDF of 3 to 5 characters, cosine)."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    vectors = vectorizer.fit_transform([*sentences, *prototypes])
    likeness = vectors[: len(sentences)] @ vectors[len(sentences) :].T
    return np.asarray(likeness.todense(), dtype=np.float32)


def choose_judge(
    record: EncoderRecord, judge: str | Encoder | None, *, device: str
) -> tuple[Judge | None, str]:
    """Return a judge that is not the model's own encoder, and what to call it.

    Parameters
    ----------
    record
        The model's encoder. Vectors that the user gives cannot be judged.
    judge
        The encoder to ask; by default the embedded one, or word pieces for a model made with it.
    device
        Where that encoder computes.
    """
    if record.name == PRECOMPUTED:
        return None, ""
    # Its faster forms are no more independent of it than it is itself.
    if judge is None and split_variant(record.name)[0] == "minilm":
        return tfidf_judge, _WORD_PIECES
    judging = load_encoder(judge or "minilm", device=device)
    is_own = judging.fingerprint == record.fingerprint
    if is_own and judge is None:
        return tfidf_judge, _WORD_PIECES
    told = f"{judging.name}, which is the model's own encoder" if is_own else judging.name
    return encoder_judge(judging.encode), told


def judged_sentences(random: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Draw the sentences, of so many, that a judge is asked about."""
    return np.sort(random.choice(count, min(_JUDGED_SENTENCES, count), replace=False))


def match_qualities(
    model: Model,
    sentences: Sentences,
    trajectory: Reading,
    space: PretrainedSpace | None,
    judge: Judge,
    *,
    judge_name: str,
    seed: int,
) -> list[Measure]:
    """Ask a judge about the model's matches, and about those of the encoder before training."""
    by = f" ({judge_name})" if judge_name else ""
    trained = (
        f"How often an independent judge{by} finds the sentence more like its prototype than like "
        "two random others. One third would be chance."
    )
    untrained = (
        "The same judge about the matches that the encoder would make before any training: a "
        "yardstick, since judge and encoder never agree on everything. Match quality far below "
        "it: training has pulled the matches away from what the sentences say."
    )
    live = np.unique(trajectory.columns)
    if len(live) < 3:
        needs = " Needs three prototypes in use."
        return [
            Measure("match_quality", None, trained + needs),
            Measure("match_quality_untrained", None, untrained + needs),
        ]
    random = np.random.default_rng(seed)
    sample = judged_sentences(random, len(sentences))
    likeness = judge(
        [sentences.texts[place] for place in sample],
        [model.prototypes[int(column)].sentence for column in live],
    )
    order = random.random(likeness.shape)
    active = np.searchsorted(live, trajectory.columns[sample])
    quality = Measure("match_quality", _preferred(likeness, active, order), trained)
    if space is None:
        return [quality, Measure("match_quality_untrained", None, untrained + NOT_AT_HAND)]
    before = _preferred(likeness, space.nearest(sample, live), order)
    return [quality, Measure("match_quality_untrained", before, untrained)]


def _preferred(
    likeness: NDArray[np.float32], active: NDArray[np.int64], order: NDArray[np.float64]
) -> float:
    """Return how often the active prototype is likest among itself and the first two others."""
    rows = np.arange(len(likeness))
    order = order.copy()
    order[rows, active] = np.inf
    others = np.argsort(order, axis=1)[:, :2]
    best_other = np.take_along_axis(likeness, others, axis=1).max(axis=1)
    return float((likeness[rows, active] > best_other).mean())
