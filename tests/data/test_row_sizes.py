"""How large rows are, whatever kind of column they stand in."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from protorynet.data.table_batches import row_bytes

PAIRS = pa.map_(pa.string(), pa.string())


@pytest.mark.parametrize(
    ("column", "sizes"),
    [
        (pa.array([b"0" * 100, None], pa.binary(100)), [100, 100]),
        (pa.array([[1.0] * 50] * 2, pa.list_(pa.float64(), 50)), [400, 400]),
        (pa.array([[("a", "bcd")], None], PAIRS), [4, 0]),
        (pa.array([["abc", "d"], []], pa.list_view(pa.string())), [4, 0]),
        (pa.array(["abc", None], pa.string_view()), [3, 0]),
        (pa.array([1, None]), [8, 8]),
        (pa.array([None, None], pa.dictionary(pa.int8(), pa.string())), [0, 0]),
        (pa.array([b"0" * 16] * 2, pa.uuid()), [16, 16]),
        (pa.nulls(2), [0, 0]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_the_size_of_a_row_is_that_of_its_value(column: pa.Array, sizes: list[int]) -> None:
    assert row_bytes(column).tolist() == sizes


@given(st.lists(st.lists(st.binary(max_size=9)), min_size=1), st.data())
def test_the_size_of_a_row_does_not_depend_on_those_before_it(
    rows: list[list[bytes]], data: st.DataObject
) -> None:
    kinds = [pa.list_(pa.binary()), pa.large_list(pa.binary()), pa.list_view(pa.binary())]
    column = pa.array(rows, data.draw(st.sampled_from(kinds)))
    skip = data.draw(st.integers(0, len(rows)))
    assert row_bytes(column.slice(skip)).tolist() == row_bytes(column).tolist()[skip:]


def test_a_slice_of_lists_of_one_length_has_its_own_sizes() -> None:
    column = pa.array([["a", "b"], ["cc", "dd"], ["e", "fff"]], pa.list_(pa.string(), 2))
    assert row_bytes(column.slice(1)).tolist() == [4, 4]
