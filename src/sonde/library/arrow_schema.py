"""The columns of a program's records: one schema for all of its statements, as a table has one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from sonde.library.arrow_pandas import PANDAS, pandas_metadata
from sonde.library.arrow_values import (
    PACKET,
    STRING,
    TIME,
    DataType,
    aggregated_type,
    field_type,
    object_type,
)
from sonde.library.record_reader import fields_of
from sonde.library.statement_values import RecordedStatement, distinct, plain_name, recorded_statements
from sonde.library.values import Values
from sonde.model.records import (
    Action,
    AggregationSpec,
    ArraySpec,
    CaptureAction,
    Field,
    PacketAction,
    PrintAction,
    TracememAction,
    TypeSpec,
)
from sonde.model.spec import TracingSpec
from sonde.typed import Any, NamedTuple

OF_SONDE = b"sonde."
"""What keys of a schema's metadata begin with."""

EVENT = pa.dictionary(pa.int8(), pa.string())

FIXED: tuple[tuple[str, DataType], ...] = (
    ("event", EVENT), ("time", TIME), ("cpu", pa.uint32()), ("probe", STRING), ("statement", pa.uint32()),
    ("number", pa.int64()), ("text", STRING),
)  # fmt: skip
"""The columns of every table: what a row is, when it was (of the wall clock), where; which statement has recorded it,
and its words; of what is no record how many were lost or the status of exit(), and the message."""


class Statement(NamedTuple):
    """A statement that records, by its place in its layout, its values' types, and the places of their columns in the
    schema; its number and words as `RecordedStatement` has them."""

    place: int
    action: Action
    number: int
    types: tuple[DataType, ...]
    columns: tuple[int, ...]
    text: str | None


class TableColumns(NamedTuple):
    """The schema, and the statements of each layout by its number."""

    schema: Any
    statements: dict[int, tuple[Statement, ...]]


def table_columns(spec: TracingSpec, values: Values, offset: int) -> TableColumns:
    """The columns of a program. A column is shared by values of one name and type; another type of that name has its
    number behind it, `size#2`. `offset` is what was added to times, ns."""
    fields = list(FIXED)
    statements: dict[int, tuple[Statement, ...]] = {}
    for layout in spec.records:
        found = [_statement(each, spec, fields) for each in recorded_statements(layout, values)]
        statements[layout.number] = tuple(found)
    return TableColumns(_schema(fields, "realtime_offset", str(offset)), statements)


def _statement(statement: RecordedStatement, spec: TracingSpec, fields: list[tuple[str, DataType]]) -> Statement:
    place, action, number, names, text = statement
    types = tuple(_types(action, spec)) if fields_of(action) else ()
    columns = [_column(name, wanted, fields) for name, wanted in zip(distinct(names), types, strict=True)]
    return Statement(place, action, number, types, tuple(columns), text)


def _types(action: Action, spec: TracingSpec) -> Iterator[DataType]:
    match action:
        case CaptureAction() | PacketAction():
            yield PACKET
        case TracememAction():
            yield pa.binary()
        case PrintAction():
            yield object_type(spec.types, action.type, _recorded(action.object))
        case _:
            yield from map(field_type, fields_of(action))


def _recorded(field: Field) -> int:
    """How many bytes of an object each record has."""
    return field.size if field.kind == "bytes" else 0


def _column(name: str, wanted: DataType, fields: list[tuple[str, DataType]]) -> int:
    """The column of that name and type, which is made if there is none."""
    number, tried = 1, name
    known = {each: place for place, (each, _) in enumerate(fields)}
    while tried in known:
        place = known[tried]
        if place >= len(FIXED) and fields[place][1] == wanted:
            return place
        number += 1
        tried = f"{name}#{number}"
    fields.append((tried, wanted))
    return len(fields) - 1


def map_schema(spec: AggregationSpec | ArraySpec, types: Sequence[TypeSpec]) -> Any:
    """The schema of the table of an aggregation, or of an array that is kept: when it was shown, its key, and the
    value, called as its function, or `value`. `types` are those of the program."""
    names = spec.key_names or [""] * len(spec.keys)
    parts = [name or f"key{place}" for place, name in enumerate(names)]
    numbers = spec.key_types or [-1] * len(spec.keys)
    keys = [_typed(types, number, field) for number, field in zip(numbers, spec.keys, strict=True)]
    if isinstance(spec, ArraySpec):
        function, value = "value", _typed(types, spec.type, spec.value)
    else:
        function, value = spec.function, aggregated_type(spec)
    fields = zip(distinct(["time", *parts, function]), [TIME, *keys, value], strict=True)
    return _schema([*fields], "aggregation", plain_name(spec))


def _schema(fields: Sequence[tuple[str, DataType]], key: str, value: str) -> Any:
    """A schema with its metadata: sonde's own, and those by which pandas keeps integers as such."""
    schema = pa.schema(fields)
    return schema.with_metadata({OF_SONDE + key.encode(): value, PANDAS: pandas_metadata(schema)})


def _typed(types: Sequence[TypeSpec], number: int, field: Field) -> DataType:
    """That of a field whose type has a number, unless that is negative: raw bytes are an object then."""
    return object_type(types, number, field.size) if field.kind == "bytes" and number >= 0 else field_type(field)
