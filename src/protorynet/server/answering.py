"""The questions of several clients answered together: one call of the encoder for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from protorynet.data import Sentences, split_documents
from protorynet.encoders import Embeddings, WindowedEncoder, encode_corpus
from protorynet.explain import explain_documents
from protorynet.server.failures import ApiError

if TYPE_CHECKING:
    from protorynet.model import Model
    from protorynet.server.store import ServedModel

__all__ = ["Answer", "Kind", "Question", "answer_together", "refusal"]

Kind = Literal["predict", "explain"]
_SHOWN = 5


@dataclass(frozen=True)
class Question:
    """What one request asks of a model.

    Parameters
    ----------
    kind
        ``"predict"`` for labels, ``"explain"`` for reasons too.
    texts
        The documents.
    """

    kind: Kind
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """What a model says to one question.

    Parameters
    ----------
    version
        The version of the model that said it.
    results
        One object per text, ready for JSON.
    """

    version: str
    results: list[dict[str, Any]]


def answer_together(
    served: ServedModel, questions: Sequence[Question], *, max_sentences: int
) -> list[Answer | ApiError]:
    """Answer questions, each as if it were alone; one that cannot be answered harms no other.

    Parameters
    ----------
    served
        The model.
    questions
        The questions.
    max_sentences
        The most sentences that one question may hold.
    """
    classifier = served.classifier
    encoder = classifier.encoder_
    assert encoder is not None  # the store refuses models that read vectors
    texts = [text for question in questions for text in question.texts]
    owners = np.repeat(np.arange(len(questions)), [len(q.texts) for q in questions])
    sentences = split_documents(
        texts,
        splitter=classifier.splitter,
        counter=encoder if isinstance(encoder, WindowedEncoder) else None,
        on_empty="skip",
    )
    lengths = sentences.lengths
    refusals = [refusal(lengths[owners == n], max_sentences) for n in range(len(questions))]
    accepted = np.array([refused is None for refused in refusals])[owners]
    chosen = _part(sentences, accepted)
    embeddings = encode_corpus(encoder, chosen.texts)
    read = [text for text, keep in zip(texts, accepted.tolist(), strict=True) if keep]
    kinds = [questions[owner].kind for owner in owners[accepted].tolist()]
    found = _results(classifier.model_, read, kinds, chosen, embeddings)
    results: list[list[dict[str, Any]]] = [[] for _ in questions]
    for owner, result in zip(owners[accepted].tolist(), found, strict=True):
        results[owner].append(result)
    return [
        Answer(served.version, results[number]) if refused is None else refused
        for number, refused in enumerate(refusals)
    ]


def _results(
    model: Model,
    texts: Sequence[str],
    kinds: Sequence[Kind],
    sentences: Sentences,
    embeddings: Embeddings,
) -> list[dict[str, Any]]:
    """Return the result of each text, those of one kind computed together."""
    results: list[dict[str, Any]] = [{} for _ in texts]
    for kind, compute in _COMPUTE.items():
        wanted = np.array([given == kind for given in kinds], np.bool_)
        if not wanted.any():
            continue
        places = np.flatnonzero(wanted).tolist()
        rows = embeddings.rows[wanted[sentences.documents]]
        some = Embeddings(embeddings.vectors, rows)
        computed = compute(model, [texts[p] for p in places], _part(sentences, wanted), some)
        for place, result in zip(places, computed, strict=True):
            results[place] = result
    return results


def _predicted(
    model: Model, texts: Sequence[str], sentences: Sentences, embeddings: Embeddings
) -> list[dict[str, Any]]:
    trajectory = model.match(embeddings, sentences.lengths)
    probabilities = model.read(trajectory).probabilities
    ids = model.prototypes.ids[trajectory.columns]
    paths = np.split(ids, trajectory.offsets[1:-1])
    return [
        {
            "label": model.labels.name_of(row),
            "probabilities": dict(zip(model.labels.names, row.tolist(), strict=True)),
            "trajectory": path.tolist(),
        }
        for row, path in zip(probabilities, paths, strict=True)
    ]


def _explained(
    model: Model, texts: Sequence[str], sentences: Sentences, embeddings: Embeddings
) -> list[dict[str, Any]]:
    return [found.to_dict() for found in explain_documents(model, texts, sentences, embeddings)]


_COMPUTE: dict[Kind, Callable[..., list[dict[str, Any]]]] = {
    "predict": _predicted,
    "explain": _explained,
}


def refusal(lengths: NDArray[np.int64], max_sentences: int) -> ApiError | None:
    """Return why texts with so many sentences each are not read; None if they are."""
    if (empty := np.flatnonzero(lengths == 0)).size:
        shown = ", ".join(map(str, empty[:_SHOWN])) + (", …" if len(empty) > _SHOWN else "")
        return ApiError(
            422,
            "empty_text",
            f"{len(empty)} of the texts hold no sentence: number {shown} (counted from 0). "
            "Leave them out.",
        )
    if (count := int(lengths.sum())) > max_sentences:
        return ApiError(
            413,
            "too_many_sentences",
            f"the texts hold {count:,} sentences; at most {max_sentences:,} are allowed in one "
            "request. Send fewer texts at a time.",
        )
    return None


def _part(sentences: Sentences, kept: NDArray[np.bool_]) -> Sentences:
    """Return the sentences of some of the documents, with these renumbered."""
    chosen = kept[sentences.documents]
    number = np.cumsum(kept) - 1
    return Sentences(
        texts=tuple(t for t, keep in zip(sentences.texts, chosen.tolist(), strict=True) if keep),
        starts=sentences.starts[chosen],
        ends=sentences.ends[chosen],
        documents=number[sentences.documents[chosen]],
        n_documents=int(kept.sum()),
    )
