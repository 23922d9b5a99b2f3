"""`predict --engine ray`: tables scored by all machines of a cluster.

What travels through Ray is the numbers of rows: a worker reads the rows of a part where they lie,
scores them and writes them where they belong, under a name that says which they are. So a part done
twice, because a worker was lost, is written twice with the same content and counted once.
"""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa

from protorynet import __version__, errors
from protorynet.data import DOCUMENTS, TEXT_BYTES, read_table
from protorynet.inference.addresses import hide_keys, is_address, normalise_address
from protorynet.inference.part_store import Part, PartFolder, PartStore, check_output_folder
from protorynet.inference.predictor import Predictor, Runtime, hash_model, open_predictor
from protorynet.inference.ray_cluster import (
    Attempts,
    error_of,
    n_workers,
    ray_session,
    start_here,
    worker_pool,
)
from protorynet.inference.ray_inputs import (
    Slice,
    TableFile,
    cut_slices,
    find_parquet,
    inspect_files,
    read_slice,
    rows_per_part,
)
from protorynet.inference.running import Written
from protorynet.progress import progress_bar

_ROWS_TO_GUESS_FROM = 1_024  # to guess the column of texts
_LARGEST_MODEL = 2 * 2**30  # bytes of a model that is sent to a cluster


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
    resume: bool = False,
    progress: bool = False,
    tell: Callable[[str], None] = lambda message: None,
) -> Written:
    """Score Parquet files with Ray; the rows and their order are those of one machine.

    - `model`, `encoder`: a model directory on this machine, whose files are sent to the others; and
      its encoder, where it lies elsewhere than in training, on every machine.
    - `inputs`, `text`, `skip_empty`: Parquet files, folders of them and patterns, as paths that all
      machines share or addresses such as ``s3://bucket/reviews``; the column of texts, guessed from
      the first rows if not given; leave out rows whose text holds no sentence.
    - `output`: a folder of parts or, as a path that ends in ``.parquet``, one file; both take their
      name only when complete. At an address, ``_SUCCESS`` beside the parts says that they are.
    - `address`: ``HOST:PORT`` or ``"auto"`` for a cluster that is there; None starts a Ray here.
    - `resume`, `tell`: keep the parts that a stopped run has finished; told what users should know.
    """
    if not model.is_dir():
        raise errors.ModelFormatError(f"there is no model directory {model}; check the path.")
    sources = find_parquet(inputs)
    _check_apart(sources, output)
    as_folder = _check_output(output)
    files = inspect_files(sources)
    text = _text_column(files, text)
    identity = {
        "protorynet": __version__,
        "model": hash_model(model),
        "inputs": [(file.source, file.rows, file.size, file.changed) for file in files],
        "text": text,
        "skip_empty": skip_empty,
        "encoder": encoder,
        "runtime": runtime,
    }
    store = PartStore(output, identity, as_folder=as_folder)
    with store.locked(), ray_session(address) as ray:
        is_here = address is None and len(ray.nodes()) == 1
        shipped = ship_model(ray, model, encoder=encoder, runtime=runtime, is_here=is_here)
        rows = rows_per_part(files, n_workers(ray))
        done = store.begin(resume=resume, rows_per_part=rows, tell=tell)
        slices = cut_slices(files, store.rows_per_part or rows)
        finished = {part.first for part in done}
        left = [part for part in slices if part.first not in finished]
        with store.reporting_how_to_resume(tell):
            total = sum(part.stop - part.start for part in left)
            with progress_bar(f"Scoring {total:,} rows", total, enabled=progress) as advance:
                for part in _score(ray, left, shipped, store.folder, text, skip_empty):
                    done.append(part)
                    advance(part.stop - part.first)
            if len(done) < len(slices):
                raise errors.ProtoryNetError(
                    f"Ray gave no answer for {len(slices) - len(done)} of {len(slices)} parts; "
                    "run the command again with --resume."
                )
            store.deliver(sorted(done, key=lambda part: part.first))
    return Written.of(done)


class PartScorer:
    """A worker: it loads the model once, then scores part after part.

    What goes wrong with a part is an answer too, because an exception would reach the user as
    pages of Ray's own.
    """

    def __init__(
        self, shipped: ShippedModel, folder: PartFolder, text: str, skip_empty: bool, attempts: Any
    ) -> None:
        self._shipped = shipped
        self._folder = folder
        self._how: dict[str, Any] = {"text": text, "skip_empty": skip_empty}
        self._attempts = attempts
        self._predictor: Predictor | None = None

    def __call__(self, orders: pa.Table) -> pa.Table:
        """Score the slice that a table of one row describes; answer with what was written."""
        part = Slice(**orders.to_pylist()[0])
        answer = {"first": part.first, "rows": 0, "unfamiliar": 0, "kind": "", "message": ""}
        try:
            self._begin(part)
            if self._predictor is None:
                self._predictor = self._shipped.open()
            batches = list(self._score_slice(self._predictor, part))
            counts = sum(map(len, batches)), sum(map(self._predictor.count_unfamiliar, batches))
            self._folder.write(_finished_part(part, *counts), batches)
            answer |= dict(zip(("rows", "unfamiliar"), counts, strict=True))
        except errors.ProtoryNetError as error:
            answer["kind"] = type(error).__name__
            answer["message"] = f"{error} (on {socket.gethostname()})"
        return pa.Table.from_pylist([answer])

    def _begin(self, part: Slice) -> None:
        import ray

        if not ray.get(self._attempts.begin.remote(part.first)):
            raise errors.ProtoryNetError(
                f"rows {part.start} to {part.stop} of {hide_keys(part.source)} ended every worker "
                "that scored them, most likely for want of memory; offer fewer CPUs per machine to "
                "Ray."
            )

    def _score_slice(self, predictor: Predictor, part: Slice) -> Iterator[pa.RecordBatch]:
        at = part.start
        rows = read_slice(part)
        # Of the size that one machine reads at once, so that memory is bounded in the same way.
        fitting = int(TEXT_BYTES * len(rows) / max(rows.nbytes, 1))
        for batch in rows.to_batches(max_chunksize=max(1, min(DOCUMENTS, fitting))):
            with _naming_rows(part.source, at):
                yield predictor.score_batch(batch, **self._how)
            at += len(batch)


def _finished_part(part: Slice, n_rows: int, n_unfamiliar: int) -> Part:
    size = part.stop - part.start
    return Part(part.first, part.first + size, n_rows, size - n_rows, n_unfamiliar)


def _score(ray: ModuleType, slices: Sequence[Slice], *how: Any) -> Iterator[Part]:
    """Yield the parts as they are finished."""
    if not slices:
        return
    by_row = {part.first: part for part in slices}
    orders = ray.data.from_items([asdict(part) for part in slices], override_num_blocks=len(slices))
    how = (*how, start_here(ray, Attempts))
    answers = orders.map_batches(
        PartScorer, fn_constructor_args=how, **worker_pool(ray, len(slices))
    )
    try:
        for answer in answers.iter_rows():
            if answer["kind"]:
                raise error_of(answer["kind"], answer["message"])
            part = by_row[answer["first"]]
            yield _finished_part(part, answer["rows"], answer["unfamiliar"])
    except ray.exceptions.RayError as error:
        reason = " ".join(str(error).split())[-300:]
        raise errors.ProtoryNetError(f"Ray gave up: {reason}") from None


@contextmanager
def _naming_rows(source: str, start: int) -> Iterator[None]:
    try:
        yield
    except errors.EmptyDocumentError as error:
        rows = [start + row for row in error.rows]
        raise errors.InputError(f"{hide_keys(source)}: {errors.EmptyDocumentError(rows)}") from None


def _check_apart(sources: Sequence[str], output: Path | str) -> None:
    """Refuse to write where the input lies, however the two are written."""
    target = normalise_address(str(output))
    inside = [source for source in sources if normalise_address(source).is_relative_to(target)]
    if inside:
        raise errors.InputError(
            hide_keys(f"{output} holds the input {inside[0]}; choose another name for the output.")
        )


def _check_output(output: Path | str) -> bool:
    """Say whether the output is a folder of parts, and refuse what cannot be replaced."""
    if is_address(str(output)):
        return True
    path = Path(output)
    if path.suffix.lower() == ".parquet":
        if path.is_dir():
            raise errors.InputError(
                f"{path} is a folder; give the name of a file, or of another folder."
            )
        return False
    check_output_folder(path)
    return True


def _text_column(files: Sequence[TableFile], text: str | None) -> str:
    first = next(file for file in files if file.rows)
    some = read_slice(Slice(0, first.source, 0, min(first.rows, _ROWS_TO_GUESS_FROM)))
    return read_table(some, text=text, labelled=False, skip_empty=True).text_column


@dataclass(frozen=True)
class ShippedModel:
    """A model as a worker finds it."""

    content: Any  # its folder, on the machine of the command; or a reference to its files
    encoder: str | None
    runtime: Runtime

    def open(self) -> Predictor:
        """Load the model in this process; nothing of it is left on disk."""
        if isinstance(self.content, Path):
            return self._open(self.content)
        import ray

        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            for name, content in ray.get(self.content).items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            return self._open(Path(folder))

    def _open(self, folder: Path) -> Predictor:
        # Documents to be scored are new, so looking them up would only cost.
        return open_predictor(folder, encoder=self.encoder, runtime=self.runtime, cache=False)


def ship_model(
    ray: ModuleType, model: Path, *, encoder: str | None, runtime: Runtime, is_here: bool
) -> ShippedModel:
    """Return a model that workers can load; unless all are here, its files are sent to them."""
    if encoder is not None and Path(encoder).is_dir():
        encoder = str(Path(encoder).absolute())
    if is_here:
        return ShippedModel(model.absolute(), encoder, runtime)
    root = model.resolve()
    # A link could name any file of this machine.
    files = sorted(
        path for path in model.rglob("*") if path.is_file() and path.resolve().is_relative_to(root)
    )
    if (size := sum(path.stat().st_size for path in files)) > _LARGEST_MODEL:
        raise errors.InputError(
            f"{model} holds {size / 2**30:.1f} GB, more than the {_LARGEST_MODEL / 2**30:.0f} GB "
            "that are sent to a cluster; remove what does not belong to the model."
        )
    content = {path.relative_to(model).as_posix(): path.read_bytes() for path in files}
    return ShippedModel(ray.put(content), encoder, runtime)
