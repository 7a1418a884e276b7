"""Rows of Arrow's tables as Python's values, where pandas is missing, too: without it no value has nanoseconds."""

import pyarrow as pa


def rows_of(table):
    """A dict for each row of a pyarrow.Table or RecordBatch; times are numbers of ns."""
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    place = table.schema.get_field_index("time")
    if place >= 0:
        table = table.set_column(place, "time", table.column(place).cast(pa.int64()))
    return table.to_pylist()
