"""What printa() shows, and what is left at the end, as tables: one for each aggregation."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from sonde.library.arrow_schema import map_schema
from sonde.library.arrow_values import array_of
from sonde.library.events import Aggregation
from sonde.library.statement_values import plain_name
from sonde.model.records import AggregationSpec, ArraySpec
from sonde.model.spec import TracingSpec
from sonde.typed import Any


class AggregationTables:
    """The schemas of a program's aggregations, and of arrays that are kept, by their names."""

    def __init__(self, spec: TracingSpec) -> None:
        every: list[AggregationSpec | ArraySpec] = [*spec.aggregations, *spec.arrays]
        self.schemas: dict[str, Any] = {plain_name(each): map_schema(each, spec.types) for each in every}

    def tables(self, shown: Aggregation, time: int) -> dict[str, Any]:
        """A pyarrow.Table for each aggregation that is shown, by its name; `time` is of the wall clock, ns."""
        found = {}
        for place, name in enumerate(shown.names):
            rows = {key: each[place] for key, each in shown.rows.items() if each[place] is not None}
            found[name] = rows_table(self.schemas[name], rows, time)
        return found


def rows_table(schema: Any, rows: Mapping[tuple[Any, ...], Any], time: int) -> Any:
    """The pyarrow.Table of an aggregation's keys and values."""
    types = [field.type for field in schema]
    keys = [*zip(*rows, strict=True)] if rows else [()] * (len(types) - 2)
    parts = [[time] * len(rows), *keys, [*rows.values()]]
    arrays = [
        pa.array(part, wanted) if place == 0 else array_of(part, wanted)
        for place, (part, wanted) in enumerate(zip(parts, types, strict=True))
    ]
    return pa.Table.from_arrays(arrays, schema=schema)
