"""Several tables with the same columns as one."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from protorynet.data.quoting import listed, one_line
from protorynet.data.record_batches import BatchedTable
from protorynet.errors import TableError

__all__ = ["common_schema", "conformed"]


def common_schema(tables: Sequence[BatchedTable]) -> pa.Schema:
    """Return columns that hold the rows of all tables, in the order of the first one's."""
    first = tables[0]
    common = _widened(first.schema)
    for table in tables[1:]:
        if set(table.schema.names) != set(common.names):
            raise TableError(
                f"{table.name} has the columns {listed(table.schema.names)}, but {first.name} has "
                f"{listed(common.names)}; the tables of one run should have the same columns. "
                "Predict them one by one."
            )
        ordered = _widened(pa.schema([table.schema.field(name) for name in common.names]))
        try:
            common = pa.unify_schemas([common, ordered], promote_options="permissive")
        except pa.ArrowException:
            differing = next(f for f in common if f.type != ordered.field(f.name).type)
            raise TableError(
                f"column {differing.name!r} holds {table.schema.field(differing.name).type} in "
                f"{table.name}, but {differing.type} before. Predict the tables one by one."
            ) from None
    return common


def conformed(batch: pa.RecordBatch, schema: pa.Schema, name: str) -> pa.RecordBatch:
    """Return a batch of a table with the columns of a schema, in its order and of its types."""
    if batch.schema.equals(schema, check_metadata=True):
        return batch
    columns = [_cast(batch.column(field.name), field, name) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cast(column: pa.Array, field: pa.Field, name: str) -> pa.Array:
    if column.type == field.type:
        return column
    try:
        return column.cast(field.type)
    except pa.ArrowException as error:
        raise TableError(
            f"column {field.name!r} of {name} holds {column.type} that {field.type}, which another "
            f"table needs, cannot hold ({one_line(error)}). Predict the tables one by one."
        ) from None


def _widened(schema: pa.Schema) -> pa.Schema:
    """Give categories the room that those of all tables and row groups together may need."""
    for place, field in enumerate(schema):
        if pa.types.is_dictionary(field.type):
            kind = pa.dictionary(pa.int32(), field.type.value_type, field.type.ordered)
            schema = schema.set(place, field.with_type(kind))
    return schema
