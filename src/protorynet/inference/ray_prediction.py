"""`predict --engine ray`: tables scored by all machines of a cluster.

What travels through Ray is the numbers of rows: a worker reads the rows of a part where they lie,
scores them and writes them where they belong, under a name that says which they are. So a part done
twice, because a worker was lost, is written twice with the same content and counted once.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from itertools import accumulate
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from protorynet import __version__, errors
from protorynet.data import DOCUMENTS, TEXT_BYTES, find_files, one_line, read_table
from protorynet.files import hash_folder, list_files, write_files
from protorynet.inference.part_store import (
    Part,
    PartFolder,
    PartStore,
    check_output_folder,
    hide_keys,
    is_address,
    normalise_address,
    open_filesystem,
)
from protorynet.inference.predictor import Predictor, Runtime, open_predictor
from protorynet.inference.ray_cluster import n_workers, ray_session, work_off
from protorynet.inference.running import Written
from protorynet.progress import progress_bar

_ROWS_TO_GUESS_FROM = 1_024  # to guess the column of texts
_LARGEST_MODEL = 2 * 2**30  # bytes of a model that is sent to a cluster
_ROWS_PER_PART = 8_192
_BYTES_PER_PART = 64 * 2**20
_FEWEST_ROWS_PER_PART = 256
# Several for each worker, so that all end at about the same time.
_PARTS_PER_WORKER = 4
# A file's description is a few kilobytes, but far away it takes a while to come.
_INSPECTED_AT_ONCE = 16


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
    - `resume`, `tell`: keep the parts that a stopped run has finished; calls with news.
    """
    if not model.is_dir():
        raise errors.ModelFormatError(f"there is no model directory {model}; check the path.")
    sources = find_parquet(inputs)
    _check_apart(sources, output)
    as_folder = _check_output(output)
    files = inspect_files(sources)
    first = next(file for file in files if file.rows)
    some = read_slice(Slice(0, first.source, 0, min(first.rows, _ROWS_TO_GUESS_FROM)))
    text = read_table(some, text=text, labelled=False, skip_empty=True).text_column
    identity = {
        "protorynet": __version__,
        "model": hash_folder(model),
        "inputs": [(file.source, file.rows, file.size, file.changed) for file in files],
        "text": text,
        "skip_empty": skip_empty,
        "encoder": encoder,
        "runtime": runtime,
    }
    store = PartStore(output, identity, as_folder=as_folder)
    with store.locked(), ray_session(address) as ray:
        is_here = address is None and len(ray.nodes()) == 1
        shipped = model.absolute() if is_here else ship_model(ray, model)
        if encoder is not None and Path(encoder).is_dir():
            encoder = str(Path(encoder).absolute())
        rows = rows_per_part(files, n_workers(ray))
        done = store.begin(resume=resume, rows_per_part=rows, tell=tell)
        slices = cut_slices(files, store.rows_per_part or rows)
        finished = {part.first for part in done}
        left = [part for part in slices if part.first not in finished]
        with store.reporting_how_to_resume(tell):
            total = sum(part.stop - part.start for part in left)
            with progress_bar(f"Scoring {total:,} rows", total, enabled=progress) as advance:
                job = Scoring(shipped, encoder, runtime, store.folder, text, skip_empty)
                orders = [pa.Table.from_pylist([asdict(part)]) for part in left]
                for answer in work_off(ray, job, orders) if orders else ():
                    done.append(Part(**answer.to_pylist()[0]))
                    advance(done[-1].stop - done[-1].first)
            if len(done) < len(slices):
                raise errors.ProtoryNetError(
                    f"Ray gave no answer for {len(slices) - len(done)} of {len(slices)} parts; "
                    "run the command again with --resume."
                )
            store.deliver(sorted(done, key=lambda part: part.first))
    return Written.of(done)


@dataclass(frozen=True)
class Scoring:
    """The job of scoring slices: each is written where it belongs, and answered by its counts."""

    model: Any  # its folder, on the machine of the command; or a reference to its files
    encoder: str | None
    runtime: Runtime
    folder: PartFolder
    text: str
    skip_empty: bool

    def open(self) -> Predictor:
        """Load the model in this process; nothing of it is left on disk."""
        folder = self.model
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as own:
            if not isinstance(folder, Path):
                import ray

                write_files(Path(own), ray.get(folder))
                folder = Path(own)
            # Documents to be scored are new, so looking them up would only cost.
            return open_predictor(folder, encoder=self.encoder, runtime=self.runtime, cache=False)

    def answer(self, predictor: Predictor, order: pa.Table) -> pa.Table:
        """Score the slice that a table of one row describes."""
        part = Slice(**order.to_pylist()[0])
        rows, at, scored = read_slice(part), part.start, []
        # Of the size that one machine reads at once, so that memory is bounded in the same way.
        fitting = int(TEXT_BYTES * len(rows) / max(rows.nbytes, 1))
        for batch in rows.to_batches(max_chunksize=max(1, min(DOCUMENTS, fitting))):
            try:
                how: dict[str, Any] = {"text": self.text, "skip_empty": self.skip_empty}
                scored.append(predictor.score_batch(batch, **how))
            except errors.EmptyDocumentError as error:
                named = errors.EmptyDocumentError([at + row for row in error.rows])
                raise errors.InputError(f"{hide_keys(part.source)}: {named}") from None
            at += len(batch)
        size, n_rows = part.stop - part.start, sum(map(len, scored))
        n_unfamiliar = sum(map(predictor.count_unfamiliar, scored))
        done = Part(part.first, part.first + size, n_rows, size - n_rows, n_unfamiliar)
        self.folder.write(done, scored)
        return pa.Table.from_pylist([asdict(done)])

    def name(self, order: pa.Table) -> str:
        """Say which rows a slice holds."""
        part = Slice(**order.to_pylist()[0])
        return f"rows {part.start} to {part.stop} of {hide_keys(part.source)}"


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


def ship_model(ray: ModuleType, model: Path) -> Any:
    """Send the files of a model to the machines of a cluster, and return a reference to them."""
    root = model.resolve()
    # A link could name any file of this machine.
    names = [name for name in list_files(model) if (model / name).resolve().is_relative_to(root)]
    if (size := sum((model / name).stat().st_size for name in names)) > _LARGEST_MODEL:
        raise errors.InputError(
            f"{model} holds {size / 2**30:.1f} GB, more than the {_LARGEST_MODEL / 2**30:.0f} GB "
            "that are sent to a cluster; remove what does not belong to the model."
        )
    return ray.put({name: (model / name).read_bytes() for name in names})


@dataclass(frozen=True)
class TableFile:
    """A Parquet file of the input, by its path or address."""

    source: str
    rows: int
    size: int  # bytes of the values before compression
    changed: int  # nanoseconds since 1970
    schema: pa.Schema


@dataclass(frozen=True)
class Slice:
    """The rows `start` to `stop` of a file, of which the first is row `first` of all files."""

    first: int
    source: str
    start: int
    stop: int


def inspect_files(sources: Sequence[str]) -> list[TableFile]:
    """Return what the files say of themselves, and refuse those whose columns differ."""
    with ThreadPoolExecutor(_INSPECTED_AT_ONCE) as pool:
        files = list(pool.map(_inspect, sources))
    first = files[0]
    for other in files[1:]:
        if not other.schema.equals(first.schema):
            raise errors.TableError(
                f"{hide_keys(other.source)} has other columns ({_columns(other.schema)}) than "
                f"{hide_keys(first.source)} ({_columns(first.schema)}); score them apart."
            )
    if not any(file.rows for file in files):
        raise errors.TableError(
            f"{hide_keys(first.source)} holds no rows; expected one row per document."
        )
    return files


def rows_per_part(files: Sequence[TableFile], n_workers: int) -> int:
    """Return how many rows make a part: few enough for every worker to have several."""
    rows = sum(file.rows for file in files)
    bytes_per_row = max(1.0, sum(file.size for file in files) / rows)
    fair = math.ceil(rows / (n_workers * _PARTS_PER_WORKER))
    fitting = int(_BYTES_PER_PART / bytes_per_row)
    return max(1, min(_ROWS_PER_PART, fitting, max(_FEWEST_ROWS_PER_PART, fair)))


def cut_slices(files: Sequence[TableFile], rows: int) -> list[Slice]:
    """Return the slices of all files that make a part each, in order."""
    slices, first = [], 0
    for file in files:
        for start in range(0, file.rows, rows):
            stop = min(start + rows, file.rows)
            slices.append(Slice(first, file.source, start, stop))
            first += stop - start
    return slices


def read_slice(part: Slice) -> pa.Table:
    """Read the rows of a slice, and of its file no more than the row groups they lie in."""
    system, path = open_filesystem(part.source)
    with _parquet_errors(part.source), pq.ParquetFile(system.open_input_file(path)) as file:
        groups = range(file.metadata.num_row_groups)
        sizes = [file.metadata.row_group(group).num_rows for group in groups]
        ends = list(accumulate(sizes))
        starts = [0, *ends]
        touched = [g for g in groups if ends[g] > part.start and starts[g] < part.stop]
        at = starts[touched[0]]
        batches = []
        for batch in file.iter_batches(row_groups=touched):
            first, last = max(part.start - at, 0), min(part.stop - at, len(batch))
            at += len(batch)
            if first < last:
                batches.append(batch.slice(first, last - first))
            if at >= part.stop:
                break
        return pa.Table.from_batches(batches, file.schema_arrow).combine_chunks()


def _inspect(source: str) -> TableFile:
    system, path = open_filesystem(source)
    with _parquet_errors(source), pq.ParquetFile(system.open_input_file(path)) as file:
        described = file.metadata
        groups = (described.row_group(number) for number in range(described.num_row_groups))
        size = sum(group.total_byte_size for group in groups)
        changed = system.get_file_info(path).mtime_ns or 0
        return TableFile(source, described.num_rows, size, changed, file.schema_arrow)


@contextmanager
def _parquet_errors(source: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise errors.TableError(
            hide_keys(f"{source} cannot be read as Parquet: {one_line(error)}")
        ) from None


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in schema)


def find_parquet(inputs: Sequence[str | Path]) -> list[str]:
    """Return the Parquet files of paths, folders and patterns, as one machine would read them."""
    found = []
    for given in map(str, inputs):
        if is_address(given):
            found += _files_at(given)
        else:
            found += [str(path.absolute()) for path in find_files([given])]
    for source in found:
        if not _is_parquet(source.partition("?")[0]):
            raise errors.TableError(
                f"{hide_keys(source)} is not a Parquet file, and Ray's workers read no other "
                "format; convert it first, or leave out --engine ray."
            )
    if repeated := [source for source, times in Counter(found).items() if times > 1]:
        raise errors.TableError(f"{hide_keys(repeated[0])} is given more than once.")
    return found


def _files_at(given: str) -> list[str]:
    # What follows a question mark says how to connect, so it cannot stand for a character.
    address, _, options = given.partition("?")
    options = options and f"?{options}"
    folder, _, pattern = address.rpartition("/") if "*" in address else (address, "", "*")
    system, path = open_filesystem(folder + options)
    try:
        if system.get_file_info(path).is_file:
            return [given]
        infos = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
    except (pa.ArrowException, OSError) as error:
        raise errors.TableError(
            hide_keys(f"{given} cannot be reached: {one_line(error)}")
        ) from None
    names = sorted(info.base_name for info in infos if info.is_file)
    visible = [name for name in names if not name.startswith(("_", "."))]
    matching = [name for name in visible if fnmatchcase(name, pattern) and _is_parquet(name)]
    if not matching:
        raise errors.TableError(
            f"there is no Parquet file at {hide_keys(given)}; check the address."
        )
    return [f"{folder.rstrip('/')}/{quote(name)}{options}" for name in matching]


def _is_parquet(name: str) -> bool:
    return name.lower().endswith(".parquet")
