"""Explanations from what the reader graph says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from protorynet.data import Sentences
from protorynet.encoders import Embeddings
from protorynet.explain import Explanation, SentenceExplanation
from protorynet.inference.onnx_exported import Exported
from protorynet.inference.onnx_reader import OnnxReader, Reading

__all__ = ["explain_reading"]

_MOST_RUNS = 256  # variants of one document that are read


def explain_reading(
    exported: Exported,
    reader: OnnxReader,
    documents: Sequence[str],
    sentences: Sentences,
    embeddings: Embeddings,
) -> list[Explanation]:
    """Explain the prediction for each document.

    Parameters
    ----------
    exported, reader
        The model.
    documents
        The original texts.
    sentences, embeddings
        Their sentences, at least one each, and the encoder's vectors of these.
    """
    reading = reader.read(embeddings.vectors, embeddings.rows, sentences.lengths)
    effects = _effects(exported, reader, reading, embeddings)
    steps = _steps(exported, documents, sentences, reading, effects)
    names, rows = exported.labels.names, reading.probabilities.tolist()
    return [
        Explanation(
            document=text,
            label=exported.labels.name_of(reading.probabilities[place]),
            probabilities=dict(zip(names, rows[place], strict=True)),
            sentences=tuple(islice(steps, length)),
            reader_is_behind=exported.reader_is_behind,
        )
        for place, (text, length) in enumerate(
            zip(documents, reading.lengths.tolist(), strict=True)
        )
    ]


def _steps(
    exported: Exported,
    documents: Sequence[str],
    sentences: Sentences,
    reading: Reading,
    effects: NDArray[np.float32],
) -> Iterator[SentenceExplanation]:
    """Explain all sentences of all documents, one after the other."""
    names, items = exported.labels.names, exported.prototypes.items
    for document, start, end, column, similarity, other, other_similarity, running, effect in zip(
        sentences.documents.tolist(),
        sentences.starts.tolist(),
        sentences.ends.tolist(),
        reading.columns.tolist(),
        reading.similarities.tolist(),
        reading.runner_up.tolist(),
        reading.runner_up_similarities.tolist(),
        reading.running.tolist(),
        effects.tolist(),
        strict=True,
    ):
        active, second, alone = items[column], items[other], column == other
        yield SentenceExplanation(
            text=documents[document][start:end],
            start=start,
            end=end,
            prototype=active.id,
            prototype_sentence=active.sentence,
            similarity=similarity,
            runner_up=None if alone else second.id,
            runner_up_similarity=None if alone else other_similarity,
            scores=dict(active.scores),
            running=dict(zip(names, running, strict=True)),
            effect=effect,
            runner_up_sentence=None if alone else second.sentence,
        )


def _effects(
    exported: Exported, reader: OnnxReader, reading: Reading, embeddings: Embeddings
) -> NDArray[np.float32]:
    """Return, per sentence, the fall of the leading class's probability without that sentence.

    A document's only sentence is compared with the share of that class in the training data. In
    a very long document several sentences are left out together and share the fall equally.
    """
    frequencies = np.array(exported.class_frequencies, np.float32)
    leading = reading.probabilities.argmax(axis=1)
    whole = reading.probabilities.max(axis=1)
    effects = np.empty(len(reading.columns), np.float32)
    start = 0
    for document, length in enumerate(reading.lengths.tolist()):
        rows, place = embeddings.rows[start : start + length], leading[document]
        if length == 1:
            effects[start] = whole[document] - frequencies[place]
        else:
            size = -(-length // _MOST_RUNS)
            without = _read_without(reader, embeddings.vectors, rows, size)[:, place]
            sizes = np.minimum(size, length - np.arange(0, length, size))
            fall = (whole[document] - without) / sizes
            effects[start : start + length] = np.repeat(fall, sizes)
        start += length
    return effects


def _read_without(
    reader: OnnxReader, vectors: NDArray[np.float32], rows: NDArray[np.int64], size: int
) -> NDArray[np.float32]:
    """Return the probabilities of one document without each run of `size` sentences."""
    runs = [np.delete(rows, slice(at, at + size)) for at in range(0, len(rows), size)]
    lengths = np.array([len(run) for run in runs], np.int64)
    return reader.read(vectors, np.concatenate(runs), lengths).probabilities
