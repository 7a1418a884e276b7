"""What recorded values are in Arrow: the type of each, and values of the library as pyarrow takes them for it."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from sonde.library.frames import Frame, Stack
from sonde.library.histograms import Histogram
from sonde.library.objects import Object
from sonde.library.own_values import own_keyword, own_word
from sonde.library.scalars import Average, Deviation, Scalar
from sonde.library.values import CapturedPacket
from sonde.model.aggregating import function_of
from sonde.model.records import REAL, AggregationSpec, Field, TypeSpec
from sonde.report.number import REALS
from sonde.typed import Any
from sonde.visible import unicode_text

DataType = Any
"""A pyarrow.DataType."""

STRING = pa.dictionary(pa.int32(), pa.string())
TIME = pa.timestamp("ns", "UTC")
FRAME = pa.struct(
    [pa.field("address", pa.uint64(), nullable=False), ("function", STRING), ("module", STRING),
     ("offset", pa.uint64()), ("file", STRING), ("line", pa.uint32())]
)  # fmt: skip
"""pandas makes floats of integers that may be null within a structure, which have too few digits for an address."""
PACKET = pa.struct([("time", TIME), ("length", pa.uint32()), ("data", pa.binary())])
COMPLEX = pa.struct([("real", pa.float64()), ("imaginary", pa.float64())])
BUCKETS = pa.list_(pa.struct([("low", pa.int64()), ("high", pa.int64()), ("count", pa.int64())]))

_INTEGERS = {
    (1, False): pa.uint8(), (2, False): pa.uint16(), (4, False): pa.uint32(), (8, False): pa.uint64(),
    (1, True): pa.int8(), (2, True): pa.int16(), (4, True): pa.int32(), (8, True): pa.int64(),
}  # fmt: skip
_OWN: dict[str, DataType] = {
    "inet": STRING, "buffer": pa.binary(), "ksym": FRAME, "usym": FRAME, "kstack": pa.list_(FRAME),
    "ustack": pa.list_(FRAME),
}  # fmt: skip
"""Structures that bpftrace's language has of its own."""
_DEEPEST = 32


def integer_type(size: int, signed: bool) -> DataType:
    """That of an integer of `size` bytes; one that has none of these sizes is in the next larger, or text."""
    larger = next((each for each in (1, 2, 4, 8) if each >= size), 0)
    return _INTEGERS[larger, signed] if larger else STRING


def real_type(kind: str, size: int) -> DataType:
    """That of a floating-point number of a kind of `report.number.REALS`: single or double precision, or two parts."""
    if kind == "complex":
        return COMPLEX
    return pa.float32() if size <= 4 else pa.float64()


def field_type(field: Field) -> DataType:
    """That of one recorded value, which is none of print()'s."""
    match field.kind:
        case "int" | "bytes" if field.detail == REAL:
            return real_type("float", field.size)
        case "int":
            return integer_type(field.size, field.signed)
        case "stack" | "ustack":
            return pa.list_(FRAME)
        case "symbol" | "user_symbol":
            return FRAME
        case "bytes" if own_word(field.detail):
            return _OWN[own_word(field.detail).partition("_")[0]]
        case "bytes" | "long_bytes":
            return pa.binary()
        case _:
            return STRING


def object_type(types: Sequence[TypeSpec], number: int, size: int, depth: int = 0) -> DataType:
    """That of what print() shows, by the number of its type (`library.objects`). `size` is how many bytes of it are
    certainly recorded: integers of structures that are among them are never null."""
    spec = types[number]
    if depth > _DEEPEST:
        return STRING
    match spec.kind:
        case "struct":
            return _OWN.get(own_keyword(spec).partition("_")[0]) or _structure(types, spec, size, depth)
        case "array":
            is_text = types[spec.element].kind == "char"
            return STRING if is_text else pa.list_(object_type(types, spec.element, size, depth + 1))
        case kind if kind in REALS:
            return real_type(kind, spec.size)
        case "string" | "enum":
            return STRING
        case _:
            return integer_type(spec.size, spec.signed)


def _structure(types: Sequence[TypeSpec], spec: TypeSpec, size: int, depth: int) -> DataType:
    members: dict[str, Any] = {}
    recorded = min(size, spec.size)
    for each in spec.members:
        found = object_type(types, each.type, max(0, recorded - each.offset // 8), depth + 1)
        if each.name:
            end = each.offset + (each.bits or 8 * types[each.type].size)
            is_number = pa.types.is_integer(found) or pa.types.is_struct(found)
            members[each.name] = pa.field(each.name, found, nullable=not is_number or end > 8 * recorded)
        elif pa.types.is_struct(found):
            members |= {field.name: field for field in found}
    # Parquet has no structures without members.
    return pa.struct(list(members.values())) if members else STRING


def aggregated_type(spec: AggregationSpec) -> DataType:
    """That of an aggregation's values."""
    if function_of(spec).number is None:
        return BUCKETS
    if spec.function in (Average.function, Deviation.function):
        return pa.float64()
    return pa.uint64() if spec.is_unsigned else pa.int64()


def absent(count: int, wanted: DataType) -> Any:
    """An array of that type in which each value is null. Members of structures that are never null are zeros there."""
    if not pa.types.is_struct(wanted):
        return pa.nulls(count, wanted)
    return pa.StructArray.from_arrays(_members_of(count, wanted), fields=[*wanted], mask=pa.array([True] * count))


def _members_of(count: int, wanted: DataType) -> list[Any]:
    return [absent(count, each.type) if each.nullable else _zeros(count, each.type) for each in wanted]


def _zeros(count: int, wanted: DataType) -> Any:
    if not pa.types.is_struct(wanted):
        return pa.nulls(count, wanted).fill_null(0)
    return pa.StructArray.from_arrays(_members_of(count, wanted), fields=[*wanted])


def array_of(values: Sequence[Any], wanted: DataType) -> Any:
    """The pyarrow.Array of that type of the library's values."""
    return pa.array([fitting(each, wanted) for each in values], wanted)


def fitting(value: Any, wanted: DataType) -> Any:
    """One of the library's values as pyarrow takes it for a type."""
    match value:
        case None:
            return None
        case Object():
            return fitting(value.value, wanted)
        case Scalar():
            return value.number
        case Histogram():
            return [each._asdict() for each in value.buckets]
        case complex():
            return {"real": value.real, "imaginary": value.imag}
        case CapturedPacket():
            return value._asdict()
        case Frame():
            return frame_members(value)
        case Stack():
            return [frame_members(each) for each in value]
        case str():
            return unicode_text(value)
        case dict():
            return _members(value, wanted)
        case list() if pa.types.is_list(wanted):
            return [fitting(each, wanted.value_type) for each in value]
        case _:
            return str(value) if wanted == STRING else value


def _members(value: dict[str, Any], wanted: DataType) -> Any:
    if not pa.types.is_struct(wanted):
        return str(value)
    return {field.name: fitting(value.get(field.name), field.type) for field in wanted}


def frame_members(frame: Frame) -> dict[str, Any]:
    """What is known of a frame."""
    found: dict[str, Any] = {"address": frame.address, "offset": frame.offset}
    for name in ("function", "module", "file"):
        found[name] = unicode_text(getattr(frame, name)) or None
    return {**found, "line": frame.line or None}
