"""`predict --engine ray`: tables scored by all machines of a cluster.

What travels through Ray is the parts' numbers: a worker reads the rows of a part where they lie,
scores them and writes them where they belong, under a name that says their place. So a part done
twice, because a worker was lost, is written twice with the same content and counted once.
"""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa

import protorynet
from protorynet import errors
from protorynet.data import DOCUMENTS, TEXT_BYTES, read_table
from protorynet.inference.opening import Runtime, hash_model
from protorynet.inference.predictor import Predictor
from protorynet.inference.ray_cluster import ray_session
from protorynet.inference.ray_output import PartFolder, discard, finish, open_folder, write_part
from protorynet.inference.ray_parts import (
    Part,
    TableFile,
    cut_parts,
    inspect_files,
    read_part,
    rows_per_part,
)
from protorynet.inference.ray_places import find_parquet, located, shown
from protorynet.inference.ray_shipping import ShippedModel, ship_model
from protorynet.inference.ray_workers import Attempts, error_of, n_workers, start_here, worker_pool
from protorynet.progress import progress_bar

__all__ = ["predict_with_ray"]

_LOOKED_AT = 1_024


def predict_with_ray(
    model: Path,
    inputs: Sequence[Path | str],
    output: Path | str,
    *,
    text: str | None = None,
    skip_empty: bool = False,
    encoder: str | None = None,
    runtime: Runtime = "torch",
    address: str | None = None,
    progress: bool = False,
) -> int:
    """Score Parquet files with Ray; the rows and their order are those of one machine.

    A run that was broken off and is started again goes on after the parts it had finished.

    Parameters
    ----------
    model
        A model directory on this machine; its files are sent to the others.
    inputs
        Parquet files, folders of them and patterns, as paths that all machines share or addresses
        such as ``s3://bucket/reviews``.
    output
        A folder of parts or, as a path that ends in ``.parquet``, one file; both take their name
        only when complete. At an address, ``_SUCCESS`` beside the parts says that they are.
    text
        The column of texts; guessed from the first rows if not given.
    skip_empty
        Leave out rows whose text holds no sentence.
    encoder
        The encoder, where it lies elsewhere than in training, on every machine.
    runtime
        ``"torch"`` or ``"onnx"``.
    address
        ``HOST:PORT`` or ``"auto"`` for a cluster that is there; None starts a Ray on this machine.
    progress
        Whether to show progress on standard error.

    Returns
    -------
    int
        The rows written.
    """
    if not model.is_dir():
        raise errors.ModelFormatError(f"there is no model directory {model}; check the path.")
    places = find_parquet(inputs)
    _check_apart(places, output)
    files = inspect_files(places)
    text = _text_column(files, text)
    identity = _identity(model, files, text, skip_empty, encoder, runtime)
    with ray_session(address) as ray:
        is_here = address is None and len(ray.nodes()) == 1
        shipped = ship_model(ray, model, encoder=encoder, runtime=runtime, is_here=is_here)
        rows = rows_per_part(files, n_workers(ray))
        folder = open_folder(output, identity=identity, rows=rows)
        parts = cut_parts(files, folder.rows)
        done = folder.finished(len(parts))
        try:
            left = [part for part in parts if part.number not in done]
            answers = _score(ray, left, shipped, folder, text, skip_empty)
            done |= _gathered(answers, left, progress=progress)
        except BaseException:
            discard(folder, parts=len(parts))
            raise
    if lost := [part for part in parts if part.number not in done]:
        raise errors.ProtoryNetError(
            f"Ray gave no answer for {len(lost)} of {len(parts)} parts; start the command again, "
            "and it goes on with these."
        )
    finish(folder, output, len(parts))
    return sum(done.values())


class PartScorer:
    """A worker: it loads the model once, then scores part after part.

    What goes wrong with a part is an answer too, because an exception would reach the user as
    pages of Ray's own.

    Parameters
    ----------
    shipped
        The model.
    folder
        Where parts are written.
    text, skip_empty
        As `Predictor.score_batch` takes them.
    attempts
        The count of attempts that all workers share.
    """

    def __init__(
        self,
        shipped: ShippedModel,
        folder: PartFolder,
        text: str,
        skip_empty: bool,
        attempts: Any,
    ) -> None:
        self._shipped = shipped
        self._folder = folder
        self._text = text
        self._skip_empty = skip_empty
        self._attempts = attempts
        self._predictor: Predictor | None = None

    def __call__(self, orders: pa.Table) -> pa.Table:
        """Score the part that a table of one row describes; answer with its number and rows."""
        part = Part(**orders.to_pylist()[0])
        answer = {"number": part.number, "rows": 0, "kind": "", "message": ""}
        try:
            self._begin(part)
            answer["rows"] = write_part(self._folder, part.number, self._scored(part))
        except errors.ProtoryNetError as error:
            answer["kind"] = type(error).__name__
            answer["message"] = f"{error} (on {socket.gethostname()})"
        return pa.Table.from_pylist([answer])

    def _begin(self, part: Part) -> None:
        import ray

        if not ray.get(self._attempts.begin.remote(part.number)):
            raise errors.ProtoryNetError(
                f"rows {part.start} to {part.stop} of {shown(part.place)} ended every worker that "
                "scored them, most likely for want of memory; offer fewer CPUs per machine to Ray."
            )

    def _scored(self, part: Part) -> Iterator[pa.RecordBatch]:
        if self._predictor is None:
            self._predictor = self._shipped.open()
        at = part.start
        rows = read_part(part)
        # Of the size that one machine reads at once, so that memory is bounded in the same way.
        fitting = int(TEXT_BYTES * len(rows) / max(rows.nbytes, 1))
        for batch in rows.to_batches(max_chunksize=max(1, min(DOCUMENTS, fitting))):
            with _naming_rows(part.place, at):
                yield self._predictor.score_batch(
                    batch, text=self._text, skip_empty=self._skip_empty
                )
            at += len(batch)


def _score(ray: ModuleType, parts: Sequence[Part], *how: Any) -> Iterator[tuple[Part, int]]:
    """Yield the parts as they are finished, with the rows written of each."""
    if not parts:
        return
    by_number = {part.number: part for part in parts}
    orders = ray.data.from_items([asdict(part) for part in parts], override_num_blocks=len(parts))
    how = (*how, start_here(ray, Attempts))
    answers = orders.map_batches(
        PartScorer, fn_constructor_args=how, **worker_pool(ray, len(parts))
    )
    try:
        for answer in answers.iter_rows():
            if answer["kind"]:
                raise error_of(answer["kind"], answer["message"])
            yield by_number[answer["number"]], answer["rows"]
    except ray.exceptions.RayError as error:
        reason = " ".join(str(error).split())[-300:]
        raise errors.ProtoryNetError(f"Ray gave up: {reason}") from None


def _gathered(
    answers: Iterator[tuple[Part, int]], parts: Sequence[Part], *, progress: bool
) -> dict[int, int]:
    total = sum(part.stop - part.start for part in parts)
    rows = {}
    with progress_bar(f"Scoring {total:,} rows", total, enabled=progress) as advance:
        for part, written in answers:
            rows[part.number] = written
            advance(part.stop - part.start)
    return rows


@contextmanager
def _naming_rows(place: str, start: int) -> Iterator[None]:
    try:
        yield
    except errors.EmptyDocumentError as error:
        rows = [start + row for row in error.rows]
        raise errors.InputError(f"{shown(place)}: {errors.EmptyDocumentError(rows)}") from None


def _check_apart(places: Sequence[str], output: Path | str) -> None:
    """Refuse to write where the input lies, however the two are written."""
    target = located(str(output))
    inside = [place for place in places if located(place).is_relative_to(target)]
    if inside:
        raise errors.InputError(
            shown(f"{output} holds the input {inside[0]}; choose another name for the output.")
        )


def _text_column(files: Sequence[TableFile], text: str | None) -> str:
    first = next(file for file in files if file.rows)
    some = read_part(Part(0, first.place, 0, min(first.rows, _LOOKED_AT)))
    return read_table(some, text=text, labelled=False, skip_empty=True).text_column


def _identity(model: Path, files: Sequence[TableFile], *how: str | bool | None) -> str:
    """Return a hash of all that decides what the parts hold."""
    inputs = [(file.place, file.rows, file.size, file.changed) for file in files]
    everything = [protorynet.__version__, hash_model(model), inputs, how]
    return hashlib.sha256(json.dumps(everything).encode()).hexdigest()
