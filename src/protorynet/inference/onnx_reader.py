"""The reader graph: from sentence vectors to prototypes and probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.encoders import open_session, run_session
from protorynet.errors import InputError, ModelFormatError

__all__ = ["INPUTS", "OUTPUTS", "OnnxReader", "Reading"]

INPUTS = ("vectors", "rows", "lengths")
OUTPUTS = (
    "probabilities",
    "running",
    "columns",
    "similarities",
    "runner_up",
    "runner_up_similarities",
)
_PADDED_STEPS = 16_384  # sentences, padding included, read at once
_VALUES = 4_194_304  # similarities to prototypes held at once


@dataclass(frozen=True)
class Reading:
    """What the reader graph says of documents.

    Parameters
    ----------
    probabilities
        One row per document, one column per class.
    running
        One row per sentence: the probabilities after reading up to and including it.
    columns, similarities
        Column of each sentence's prototype, and how similar the two are.
    runner_up, runner_up_similarities
        The same for the second-nearest prototype; equal to the first where there is only one.
    lengths
        Number of sentences of each document.
    """

    probabilities: NDArray[np.float32]
    running: NDArray[np.float32]
    columns: NDArray[np.int64]
    similarities: NDArray[np.float32]
    runner_up: NDArray[np.int64]
    runner_up_similarities: NDArray[np.float32]
    lengths: NDArray[np.int64]


class OnnxReader:
    """The reader of an exported model.

    Parameters
    ----------
    graph
        The content of reader.onnx.
    source
        The file, for messages.
    dimension, n_prototypes, n_classes
        What the folder says of it.
    """

    def __init__(
        self, graph: bytes, source: Path, *, dimension: int, n_prototypes: int, n_classes: int
    ) -> None:
        self._session = open_session(graph, source, inputs=INPUTS, outputs=OUTPUTS)
        self._source = source
        self._dimension, self._n_prototypes, self._n_classes = dimension, n_prototypes, n_classes
        self._steps = max(1, min(_PADDED_STEPS, _VALUES // n_prototypes))

    def read(
        self,
        vectors: NDArray[np.float32],
        rows: NDArray[np.int64],
        lengths: NDArray[np.int64],
    ) -> Reading:
        """Match sentences to prototypes and read the trajectories.

        Long and short documents go in separate batches.

        Parameters
        ----------
        vectors
            The encoder's vectors of the distinct sentences, (m, dimension).
        rows
            Row of `vectors` for each sentence of the documents.
        lengths
            Number of sentences of each document, at least one.
        """
        if len(vectors) and vectors.shape[1] != self._dimension:
            raise InputError(
                f"the vectors have {vectors.shape[1]} components, but the model was trained on "
                f"vectors of {self._dimension}."
            )
        n, shape = len(rows), (len(rows), self._n_classes)
        result = Reading(
            np.empty((len(lengths), self._n_classes), np.float32),
            np.empty(shape, np.float32),
            np.empty(n, np.int64),
            np.empty(n, np.float32),
            np.empty(n, np.int64),
            np.empty(n, np.float32),
            lengths,
        )
        for documents, places in _batches(lengths, self._steps):
            self._fill(result, documents, places, vectors, rows)
        return result

    def _fill(
        self,
        result: Reading,
        documents: NDArray[np.int64],
        places: NDArray[np.int64],
        vectors: NDArray[np.float32],
        rows: NDArray[np.int64],
    ) -> None:
        """Read some documents; `places` (documents, longest) says where their sentences stand."""
        inside = places >= 0
        at = places[inside]
        used, local = np.unique(rows[at], return_inverse=True)
        layout = np.zeros(places.shape, np.int64)
        layout[inside] = local
        values: tuple[NDArray[Any], ...] = (vectors[used], layout, result.lengths[documents])
        feed = dict(zip(INPUTS, values, strict=True))
        outputs = run_session(self._session, OUTPUTS, feed, self._source)
        given = dict(zip(OUTPUTS, outputs, strict=True))
        self._check(given, inside)
        result.probabilities[documents] = given.pop("probabilities")
        for name, padded in given.items():
            getattr(result, name)[at] = padded[inside]

    def _check(self, given: dict[str, NDArray[Any]], inside: NDArray[np.bool_]) -> None:
        """Refuse what a graph of another model, or no reader at all, would say."""
        classes = (self._n_classes,)
        shapes = {"probabilities": inside.shape[:1] + classes, "running": inside.shape + classes}
        is_right = all(
            array.shape == shapes.get(name, inside.shape) and array.dtype.kind in "fi"
            for name, array in given.items()
        )
        if is_right:
            both = np.concatenate([given[name][inside] for name in ("columns", "runner_up")])
            is_right = bool(both.min() >= 0 and both.max() < self._n_prototypes)
        if not is_right:
            raise ModelFormatError(
                f"{self._source} has other classes or prototypes than export.json; export the "
                "model again."
            )


def _batches(
    lengths: NDArray[np.int64], steps: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Group documents of like length, and tell where their sentences stand, −1 being padding."""
    order = np.argsort(lengths, kind="stable")
    starts = np.cumsum(lengths) - lengths
    first = 0
    while first < len(order):
        last = first + 1
        while last < len(order) and (last + 1 - first) * lengths[order[last]] <= steps:
            last += 1
        documents = order[first:last]
        step = np.arange(lengths[documents].max())
        inside = step < lengths[documents, None]
        yield documents, np.where(inside, starts[documents, None] + step, -1)
        first = last
