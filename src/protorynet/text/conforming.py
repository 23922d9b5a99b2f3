"""Several tables with the same columns as one."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from protorynet.errors import TableError
from protorynet.text.quoting import listed
from protorynet.text.record_batches import BatchedTable

__all__ = ["common_schema", "conformed"]


def common_schema(tables: Sequence[BatchedTable]) -> pa.Schema:
    """Return columns that hold the rows of all tables, in the order of the first one's."""
    first = tables[0]
    common = first.schema
    for table in tables[1:]:
        if set(table.schema.names) != set(common.names):
            raise TableError(
                f"{table.name} has the columns {listed(table.schema.names)}, but {first.name} has "
                f"{listed(common.names)}; the tables of one run should have the same columns. "
                "Predict them one by one."
            )
        try:
            ordered = pa.schema([table.schema.field(name) for name in common.names])
            common = pa.unify_schemas([common, ordered], promote_options="permissive")
        except pa.ArrowException:
            differing = next(f for f in common if f.type != table.schema.field(f.name).type)
            raise TableError(
                f"column {differing.name!r} holds {table.schema.field(differing.name).type} in "
                f"{table.name}, but {differing.type} before. Predict the tables one by one."
            ) from None
    return common


def conformed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch with the columns of a schema, in its order and of its types."""
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for field in schema
        for column in [batch.column(field.name)]
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
