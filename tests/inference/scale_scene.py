"""Tables of reviews, and what one process makes of them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from protorynet.inference import open_predictor

_THINGS = ["room", "bed", "breakfast", "pool", "staff", "view", "lobby", "shower"]
_WORDS = ["lovely", "dirty", "clean", "awful", "wonderful", "broken", "perfect"]


def write_reviews(path: Path, numbers: Iterable[int], *, row_group: int = 1_000) -> Path:
    """Write reviews of one to six sentences, no two alike; every 97th is empty."""
    numbers = list(numbers)
    table = pa.table({"number": numbers, "review": [_review(number) for number in numbers]})
    pq.write_table(table, path, row_group_size=row_group)
    return path


def scored_here(model: Path, files: Sequence[Path]) -> list[dict[str, object]]:
    """Return the rows of files with their predictions, all scored at once in this process."""
    predictor = open_predictor(model, device="cpu", cache=False)
    table = pa.concat_tables([pq.read_table(path) for path in files]).combine_chunks()
    batch = table.to_batches()[0]
    return rows_of(predictor.score_batch(batch, text="review", skip_empty=True))


def rows_of(table: pa.Table | pa.RecordBatch) -> list[dict[str, object]]:
    """Return the rows of a table, in order."""
    rows: list[dict[str, object]] = table.to_pylist()
    return rows


def rows_in(folder: Path) -> list[dict[str, object]]:
    """Return the rows of a folder of parts, one part after another."""
    return [
        row for path in sorted(folder.glob("*.parquet")) for row in rows_of(pq.read_table(path))
    ]


def _review(number: int) -> str:
    if number % 97 == 0:
        return ""
    return " ".join(
        f"The {_THINGS[(number + step) % 8]} number {number} was "
        f"{_WORDS[(number * (step + 3)) % 7]}."
        for step in range(1 + number % 6)
    )
