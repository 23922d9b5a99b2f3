"""How large the rows of a column are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from protorynet.data.columns import is_text

__all__ = ["row_bytes"]

_PLAIN_BYTES = 8


def row_bytes(column: pa.Array) -> NDArray[np.int64]:
    """Return about how many bytes each value takes, whatever stands beside it.

    Examples
    --------
    >>> row_bytes(pa.array([[b"four", b"to"], None, []])).tolist()
    [6, 0, 0]
    >>> row_bytes(pa.array(["long", "to", None, "long"]).dictionary_encode()).tolist()
    [4, 2, 0, 4]
    """
    kind = column.type
    if isinstance(column, pa.ExtensionArray):
        return row_bytes(column.storage)
    if pa.types.is_dictionary(kind):
        # Not decoded: a few long categories may stand for many rows.
        sizes = np.append(row_bytes(column.dictionary), 0)
        places = column.indices.cast(pa.int64())
        return _chosen(sizes, pc.fill_null(places, len(sizes) - 1).to_numpy(zero_copy_only=False))
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return row_bytes(column.cast(pa.large_binary()))
    if is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return _numbers(pc.binary_length(column))
    if pa.types.is_struct(kind):
        parts = [row_bytes(part) for part in column.flatten()]
        return np.sum(parts, axis=0, dtype=np.int64) if parts else np.zeros(len(column), np.int64)
    if pa.types.is_fixed_size_list(kind):
        width = kind.list_size
        values = column.values.slice(column.offset * width, len(column) * width)
        edges = np.arange(len(column) + 1, dtype=np.int64) * width
        return _sums(values, edges[:-1], edges[1:])
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        starts = _numbers(column.offsets)
        return _sums(column.values, starts, starts + _numbers(column.sizes))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        edges = _numbers(column.offsets)
        return _sums(column.values, edges[:-1], edges[1:])
    return np.full(len(column), _width(column), np.int64)


def _width(column: pa.Array) -> int:
    try:
        return max(_PLAIN_BYTES, int(column.type.bit_width) // 8)
    except ValueError:  # not of one width
        return int(column.nbytes) // max(1, len(column))


def _sums(
    values: pa.Array, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the bytes of each list of values."""
    before = np.append(0, np.cumsum(row_bytes(values), dtype=np.int64))
    return _chosen(before, ends) - _chosen(before, starts)


def _chosen(sizes: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
    chosen: NDArray[np.int64] = sizes[places]
    return chosen


def _numbers(column: pa.Array) -> NDArray[np.int64]:
    values: NDArray[np.int64] = pc.fill_null(column, 0).to_numpy(zero_copy_only=False)
    return values.astype(np.int64)
