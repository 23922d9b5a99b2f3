"""Predicting streams of documents, chunk by chunk, into a file or a stream of bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import BinaryIO

import pyarrow as pa

from protorynet.data import DOCUMENTS, Chunk, Sentences, TableStream
from protorynet.encoders import Embeddings
from protorynet.errors import HEADINGS, EmptyDocumentError, InputError, TableError, name_rows
from protorynet.inference.part_store import Part, PartStore
from protorynet.inference.predictor import Predictor
from protorynet.inference.table_writers import check_columns, writer_for
from protorynet.progress import Advance
from protorynet.threads import read_ahead

_CHUNKS_ON_A_GPU = 8  # read at once, for whose sake other processes are started that split them


@dataclass(frozen=True)
class Written:
    """Rows with a prediction, left out as they hold no sentence, and mostly unfamiliar."""

    n_rows: int
    n_left_out: int
    n_unfamiliar: int

    @classmethod
    def of(cls, parts: Sequence[Part]) -> Written:
        """Return how much some parts hold together."""
        return cls(*(sum(getattr(p, field.name) for p in parts) for field in fields(cls)))


def predict_to_file(
    stream: TableStream,
    predictor: Predictor,
    store: PartStore,
    advance: Advance,
    *,
    documents: int = DOCUMENTS,
) -> Written:
    """Predict what is not yet in the store, after `PartStore.begin`; make the output of all parts.

    `advance` is called with the number of rows done; a part has so many documents at most, on a
    GPU several times as many.
    """
    done: list[Part] = []
    first = 0
    for part in store.folder.finished():
        if part.first == first:  # from the first row on, up to the first part that is missing
            done.append(part)
            first = part.stop
    advance(first)
    at_once = documents * _CHUNKS_ON_A_GPU if predictor.is_on_gpu else documents
    chunks = stream.chunks(first=first, documents=at_once)
    # Standard input may keep a thread waiting, which then could not be stopped.
    coming = chunks if stream.n_rows is None else read_ahead(chunks)
    for chunk, prepared in _prepare_ahead(predictor, coming, stream):
        labelled = _score_chunk(predictor, chunk, stream, prepared=prepared)
        done.append(_part(predictor, chunk, labelled))
        store.folder.write(done[-1], [labelled])
        advance(chunk.stop - chunk.first)
    written = _count_written(done)
    store.deliver(done)
    return written


def predict_to_stream(
    stream: TableStream,
    predictor: Predictor,
    file: BinaryIO,
    ending: str,
    advance: Advance,
    *,
    is_brief: bool = False,
) -> Written:
    """Predict a stream of documents, and write every chunk as soon as it is done.

    If `is_brief`, the number of each row is written in place of its columns.
    """
    done: list[Part] = []
    if not is_brief:
        check_columns(predictor.output_schema(stream.schema, text=stream.text_column), ending)
    with writer_for(file, ending) as writer:
        for chunk in stream.chunks():
            labelled = _score_chunk(predictor, chunk, stream, is_brief=is_brief)
            if labelled.num_rows:
                writer.write(labelled)
                file.flush()
            done.append(_part(predictor, chunk, labelled))
            advance(chunk.stop - chunk.first)
        return _count_written(done)


def _part(predictor: Predictor, chunk: Chunk, labelled: pa.RecordBatch) -> Part:
    n_rows = labelled.num_rows
    counts = (n_rows, chunk.batch.num_rows - n_rows, predictor.count_unfamiliar(labelled))
    return Part(chunk.first, chunk.stop, *counts)


def _count_written(done: list[Part]) -> Written:
    written = Written.of(done)
    if not written.n_rows:
        raise InputError("there are no documents with a sentence to predict.")
    return written


def _prepare_ahead(
    predictor: Predictor, chunks: Iterator[Chunk], stream: TableStream
) -> Iterator[tuple[Chunk, tuple[Sentences, Embeddings] | None]]:
    """Yield chunks; on a GPU the next one is encoded while this one is read and written."""
    if not predictor.is_on_gpu or stream.n_rows is None:
        return ((chunk, None) for chunk in chunks)
    name = stream.text_column
    return read_ahead((chunk, predictor.prepare_batch(chunk.batch, text=name)) for chunk in chunks)


def _score_chunk(
    predictor: Predictor,
    chunk: Chunk,
    stream: TableStream,
    *,
    is_brief: bool = False,
    prepared: tuple[Sentences, Embeddings] | None = None,
) -> pa.RecordBatch:
    batch, text = chunk.batch, stream.text_column
    if is_brief:
        batch, text = pa.record_batch({"row": chunk.rows, "text": batch.column(text)}), "text"
    try:
        labelled = predictor.score_batch(
            batch, text=text, skip_empty=stream.skip_empty, prepared=prepared
        )
        return labelled.drop_columns(["text"]) if is_brief else labelled
    except EmptyDocumentError as error:
        raise _name_empty_rows(stream.locate(chunk.rows[error.rows].tolist()), stream) from None


def _name_empty_rows(found: list[tuple[str, int]], stream: TableStream) -> InputError:
    """Return the error about documents without a sentence, which names their rows as in files."""
    if stream.n_tables == 1:
        return EmptyDocumentError([row for _, row in found], in_table=True)
    shown = ", ".join(f"{name_rows([row])} of {name}" for name, row in found[:5])
    return TableError(
        f"{len(found)} document(s) hold no sentence: {shown}{', …' if len(found) > 5 else ''} "
        f"{HEADINGS}. Remove them, or skip them with --skip-empty."
    )
