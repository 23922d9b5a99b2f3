"""Whether sentences are like their prototypes: by an independent judge, and before training."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from protorynet.data import Sentences
from protorynet.encoders import Embeddings, Encoder, load_encoder, split_variant
from protorynet.errors import EncoderError
from protorynet.model import PRECOMPUTED, EncoderRecord, Model
from protorynet.reading import Reading

Encode = Callable[[list[str]], NDArray[np.float32]]
"""Gives the vectors of sentences, as the model's own encoder does."""
Judge = Callable[[list[str], list[str]], NDArray[np.float32]]
"""Gives the likeness of every sentence of a first list to every one of a second."""

_NOT_AT_HAND = (
    " Not known: the encoder as it was before training is not on this machine; give it with "
    "encoder=… (--encoder)."
)
# A fine-tuned model's sentences must be encoded once more for this, so not all of them are.
_COMPARED_SENTENCES = 4_000
_JUDGED_SENTENCES = 1_000
_TRIPLES = 4_000
_TWIN_COSINE = 0.9


def encoder_judge(encode: Encode) -> Judge:
    """Return a judge that compares by the cosine of an encoder's centred vectors."""

    def judge(sentences: list[str], prototypes: list[str]) -> NDArray[np.float32]:
        vectors, others = encode(sentences), encode(prototypes)
        centre = vectors.mean(axis=0)
        return np.asarray(_unit_vectors(vectors - centre) @ _unit_vectors(others - centre).T)

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

    By default it is the embedded encoder, or word pieces for a model made with that. Vectors that
    the user gives cannot be judged.
    """
    if record.name == PRECOMPUTED:
        return None, ""
    # Its faster forms are no more independent of it than it is itself.
    if judge is not None or split_variant(record.name)[0] != "minilm":
        judging = load_encoder(judge or "minilm", device=device)
        if judging.fingerprint != record.fingerprint:
            return encoder_judge(judging.encode), judging.name
        if judge is not None:
            name = f"{judging.name}, which is the model's own encoder"
            return encoder_judge(judging.encode), name
    return tfidf_judge, "word pieces: it sees spelling, not meaning"


def pretrained_encode(
    record: EncoderRecord, encoder: str | Path | Encoder, *, device: str = "auto"
) -> Encode | None:
    """Return how a fine-tuned encoder encoded before training; nothing is fetched for it.

    None where `encoder` (its name, its folder or itself) cannot be loaded or is another one, and
    where training did not change the encoder, so that the model's own is the one asked for.
    """
    if not record.tuned:
        return None
    try:
        found = load_encoder(encoder, device=device, fetch=False)
    except EncoderError:
        return None
    return found.encode if found.fingerprint == record.fingerprint else None


def _draw_sample(random: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Draw the sentences, of so many, that a judge is asked about."""
    return np.sort(random.choice(count, min(_JUDGED_SENTENCES, count), replace=False))


@dataclass(frozen=True)
class PretrainedSpace:
    """A sample of sentences beside the members' sentences, as the encoder was before training."""

    sampled: NDArray[np.int64]  # positions, rising
    cosines: NDArray[np.float32]  # of each of these with each member
    members: NDArray[np.float32]  # centred on the mean of the training sentences, of length one


def compare_before_training(
    model: Model,
    sentences: Sentences,
    embeddings: Embeddings,
    members: NDArray[np.float32],
    *,
    pretrained: Encode | None,
) -> PretrainedSpace | None:
    """Compare sentences, those judged among them, with the prototypes as they were before training.

    None for a fine-tuned encoder whose former self is not given.
    """
    count = min(_COMPARED_SENTENCES, len(sentences))
    drawn = np.random.default_rng([0, 1]).choice(len(sentences), count, replace=False)
    sampled = np.union1d(_draw_sample(np.random.default_rng(0), len(sentences)), drawn)
    if not model.encoder.tuned:
        width = len(model.centring.mean)
        vectors, members = embeddings.vectors[embeddings.index[sampled], :width], members[:, :width]
    elif pretrained is not None:
        vectors = pretrained([sentences.texts[sentence] for sentence in sampled])
        members = pretrained([member.sentence for member in model.prototypes.members])
    else:
        return None
    mean = model.centring.mean.cpu().numpy()
    centred = _unit_vectors(members - mean)
    return PretrainedSpace(sampled, _unit_vectors(vectors - mean) @ centred.T, centred)


def measure_semantics(space: PretrainedSpace | None, reading: Reading) -> dict[str, float | str]:
    """Measure how alike sentences and their prototypes are, and how alike they could be."""
    if space is None:
        return {"semantic_similarity": _NOT_AT_HAND, "semantic_limit": _NOT_AT_HAND}
    active = reading.members[space.sampled]
    own = space.cosines[np.arange(len(active)), active]
    best = space.cosines[:, np.unique(reading.members)].max(axis=1)
    return {
        "semantic_similarity": float(own.mean(dtype=np.float64)),
        "semantic_limit": float(best.mean(dtype=np.float64)),
    }


def measure_duplicates(model: Model, space: PretrainedSpace | None) -> float | str:
    """Return the share of members that say the same as another one."""
    if space is None:
        return _NOT_AT_HAND
    sentences = [member.sentence for member in model.prototypes.members]
    words = ["".join(filter(str.isalnum, each.casefold())) or each for each in sentences]
    repeats = Counter(words)
    twins = np.array([repeats[bare] > 1 for bare in words])
    for position, own in enumerate(space.members):
        near = space.members @ own >= _TWIN_COSINE
        near[position] = False
        twins[position] |= near.any()
    return float(twins.mean())


def measure_match_quality(
    model: Model,
    sentences: Sentences,
    reading: Reading,
    space: PretrainedSpace | None,
    judge: Judge,
) -> dict[str, float | str]:
    """Ask a judge about the model's matches, and about those of the encoder before training."""
    live = np.unique(reading.members)
    if len(live) < 3:
        needs = " Needs three prototypes in use."
        return {"match_quality": needs, "match_quality_untrained": needs}
    random = np.random.default_rng(0)
    sample = _draw_sample(random, len(sentences))
    likeness = judge(
        [sentences.texts[sentence] for sentence in sample],
        [model.prototypes.members[position].sentence for position in live],
    )
    order = random.random(likeness.shape)
    active = np.searchsorted(live, reading.members[sample])
    before: float | str = _NOT_AT_HAND
    if space is not None:
        cosines = space.cosines[np.searchsorted(space.sampled, sample)]
        before = _share_preferred(likeness, cosines[:, live].argmax(axis=1), order)
    quality = _share_preferred(likeness, active, order)
    return {"match_quality": quality, "match_quality_untrained": before}


def measure_coherence(model: Model, judge: Judge) -> float | str:
    """Return how often a judge finds members of a prototype, drawn by use, nearer than others."""
    prototypes = model.prototypes
    family = prototypes.families
    if len(prototypes) < 2:
        return " Needs two prototypes."
    random = np.random.default_rng([0, 2])
    use = np.array([member.usage for member in prototypes.members]) + 1e-12
    drawn = np.sort(random.choice(len(use), min(_JUDGED_SENTENCES, len(use)), replace=False))
    sentences = [prototypes.members[position].sentence for position in drawn]
    likeness, family, use = judge(sentences, sentences), family[drawn], use[drawn]
    first, other = random.choice(len(use), (2, _TRIPLES), p=use / use.sum())
    # The second is drawn among the others of the first one's family.
    keys = random.random((_TRIPLES, 1))
    inside = (family[first][:, None] == family) & (np.arange(len(use)) != first[:, None])
    shares = np.cumsum(inside * use, axis=1)
    second = (shares < keys * shares[:, -1:]).sum(axis=1)
    fit = inside.any(axis=1) & (family[other] != family[first])
    nearer = likeness[first, np.minimum(second, len(use) - 1)] > likeness[first, other]
    return float(nearer[fit].mean()) if fit.any() else ""


def _share_preferred(
    likeness: NDArray[np.float32], active: NDArray[np.int64], order: NDArray[np.float64]
) -> float:
    """Return how often the active prototype is likest among itself and the first two others."""
    pairs = (np.arange(len(likeness)), active)
    order = order.copy()
    order[pairs] = np.inf
    others = np.argsort(order, axis=1)[:, :2]
    best_other = np.take_along_axis(likeness, others, axis=1).max(axis=1)
    return float((likeness[pairs] > best_other).mean())


def _unit_vectors(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return each vector at length one; one of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True).astype(np.float32)
    return np.asarray(vectors / np.maximum(lengths, np.float32(1e-12)))
