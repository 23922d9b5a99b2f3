"""How much of a table is held at once while it is read."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

__all__ = ["BLOCK_BYTES", "after"]

# A row of a CSV file must fit into a block.
BLOCK_BYTES = 8 * 2**20


def after(skip: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows after the first `skip`."""
    for batch in batches:
        if skip < batch.num_rows:
            yield batch.slice(skip) if skip else batch
        skip = max(0, skip - batch.num_rows)
