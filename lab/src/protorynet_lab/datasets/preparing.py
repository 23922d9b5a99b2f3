"""A published data set made into one table: text, label and split."""

from __future__ import annotations

import hashlib
import heapq
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protorynet.errors import InputError, TableError
from protorynet.files import write_atomically
from protorynet_lab.datasets.catalogue import KnownDataset, known_dataset
from protorynet_lab.datasets.members import members, reading
from protorynet_lab.datasets.recipes import RECIPES, Recipe
from protorynet_lab.datasets.rows import Class, Row, read_rows

__all__ = ["Prepared", "prepare_dataset"]

_Drawn = tuple[int, Row]  # a document with the number that chance gave it


@dataclass(frozen=True)
class Prepared:
    """A data set prepared as in the paper.

    Parameters
    ----------
    dataset
        What is known of it.
    rows
        The documents, each with its split: the training documents first.
    n_found
        Documents of the wanted classes in the files, before drawing.
    """

    dataset: KnownDataset
    rows: tuple[Row, ...]
    n_found: int

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Number of documents by split and class."""
        counts: dict[str, dict[str, int]] = {}
        for row in self.rows:
            of_split = counts.setdefault(str(row.split), {})
            of_split[str(row.label)] = of_split.get(str(row.label), 0) + 1
        return {split: dict(sorted(of_split.items())) for split, of_split in counts.items()}

    def to_arrow(self) -> Any:
        """Return a pyarrow Table with the columns text, label and split."""
        import pyarrow as pa

        is_text = isinstance(RECIPES[self.dataset.name].classes[0], str)
        columns = {
            "text": pa.array([row.text for row in self.rows], pa.large_string()),
            "label": pa.array([row.label for row in self.rows], pa.string() if is_text else None),
            "split": pa.array([row.split for row in self.rows], pa.string()),
        }
        return pa.table(columns)

    def write(self, path: Path) -> None:
        """Write a Parquet file, whole or not at all."""
        import pyarrow.parquet as pq

        content = io.BytesIO()
        pq.write_table(self.to_arrow(), content, compression="zstd")
        write_atomically(path, content.getvalue())


def prepare_dataset(name: str, source: str | Path, *, seed: int = 0) -> Prepared:
    """Read a published data set, and draw, balance and split it as the paper says.

    A document is drawn by a digest of its text and the seed. So the same documents are drawn
    whether they come from an archive, its folder or the hub, on every machine.

    Parameters
    ----------
    name
        The data set; see `DATASETS`.
    source
        The archive, file or folder in which it is published. Archives are not unpacked to disk.
    seed
        Seed of all that is drawn.

    Raises
    ------
    TableError
        If the source cannot be read, or holds no documents of some class.

    Examples
    --------
    >>> import tempfile
    >>> lines = ["Freshness,Review", *("1,A joy.", "0,A bore.") * 10]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "rotten_tomatoes_reviews.csv")
    ...     written = file.write_text(chr(10).join(lines))
    ...     prepare_dataset("rotten_tomatoes", file).counts
    {'train': {'0': 8, '1': 8}, 'test': {'0': 2, '1': 2}}
    """
    dataset, recipe = known_dataset(name), RECIPES[known_dataset(name).name]
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise InputError(f"seed={seed!r} should be a whole number from 0 to {2**63 - 1}.")
    path = Path(source).expanduser()
    samples = {label: _Sample(recipe.most) for label in recipe.classes}
    with reading(path):
        for row in _rows(path, recipe):
            samples[row.label].add(_chance(row.text, seed), row)
    _check_found(samples, dataset, path)
    fewest = min(len(sample.kept) for sample in samples.values())
    chosen: list[_Drawn] = []
    for sample in samples.values():
        drawn = sample.drawn()
        chosen += _split(drawn[:fewest] if recipe.is_balanced else drawn, recipe.test_share)
    chosen.sort(key=lambda drawn: (drawn[1].split == "test", drawn[0]))
    n_found = sum(sample.n_seen for sample in samples.values())
    return Prepared(dataset, tuple(row for _, row in chosen), n_found)


class _Sample:
    """The documents of one class with the lowest numbers, so that memory stays bounded."""

    def __init__(self, most: int | None) -> None:
        self.most = most
        self.n_seen = 0
        self.kept: list[tuple[int, int, Row]] = []  # a heap, the highest number on top

    def add(self, chance: int, row: Row) -> None:
        self.n_seen += 1
        entry = (-chance, -self.n_seen, row)
        if self.most is None or len(self.kept) < self.most:
            heapq.heappush(self.kept, entry)
        else:
            heapq.heappushpop(self.kept, entry)

    def drawn(self) -> list[_Drawn]:
        """Return the documents in the order of their numbers."""
        return [(-number, row) for number, _, row in sorted(self.kept, reverse=True)]


def _rows(path: Path, recipe: Recipe) -> Iterator[Row]:
    for member in members(path):
        if recipe.files is None or member.is_alone or recipe.files.search(member.name):
            for row in read_rows(
                member, recipe.layouts, recipe.numbered, in_folders=recipe.in_folders
            ):
                if recipe.is_wanted(row.text):
                    yield row


def _chance(text: str, seed: int) -> int:
    digest = hashlib.blake2b(text.encode(), digest_size=8, key=seed.to_bytes(8, "big"))
    return int.from_bytes(digest.digest(), "big")


def _split(drawn: list[_Drawn], test_share: float) -> list[_Drawn]:
    """Give documents without a split one: those with the lowest numbers are for the test."""
    told = [(chance, row) for chance, row in drawn if row.split is not None]
    untold = [(chance, row) for chance, row in drawn if row.split is None]
    n_test = round(test_share * len(untold))
    return told + [
        (chance, row._replace(split="test" if place < n_test else "train"))
        for place, (chance, row) in enumerate(untold)
    ]


def _check_found(samples: dict[Class, _Sample], dataset: KnownDataset, path: Path) -> None:
    missing = [str(label) for label, sample in samples.items() if not sample.kept]
    if not missing:
        return
    listed = "; ".join(dataset.files)
    if len(missing) == len(samples):
        raise TableError(f"{path} holds no documents of {dataset.name!r}; expected {listed}.")
    raise TableError(
        f"{path} holds no documents of class {', '.join(map(repr, missing))}; expected {listed}."
    )
