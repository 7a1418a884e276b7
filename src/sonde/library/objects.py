"""What print() records, as Python's values: structures as dictionaries, arrays as lists, characters as str."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from sonde.model.spec import TypeSpec
from sonde.report.number import REALS
from sonde.typed import Any, NamedTuple

_DEEPEST = 32


class Object(NamedTuple):
    """`value`: a number, str, list, or dictionary of members; None for what was not recorded any more. `type` is its C
    type's name, `address` the place it was read from, None for a value that has none."""

    value: Any
    type: str
    address: int | None


def object_value(types: Sequence[TypeSpec], number: int, data: bytes) -> Any:
    """The object of type `number` whose first bytes are `data`."""
    return _value(types, number, data, 0, 0, 0)


def _value(types: Sequence[TypeSpec], number: int, data: bytes, offset: int, bits: int, depth: int) -> Any:
    spec = types[number]
    if depth > _DEEPEST or (offset + (bits or 8 * min(spec.size, 1)) + 7) // 8 > len(data):
        return None
    if spec.kind == "struct":
        return _members(types, spec, data, offset, depth)
    here = data[offset // 8 : offset // 8 + spec.size]
    if spec.kind == "string":
        return here.partition(b"\0")[0].decode(errors="surrogateescape")
    if spec.kind == "array":
        return _elements(types, spec, here, depth)
    if len(here) < spec.size:
        return None
    if spec.kind in REALS:
        return _real(here)
    value = _bits(data, offset, bits, spec.signed) if bits else int.from_bytes(here, "little", signed=spec.signed)
    if spec.kind == "enum":
        return next((name for name, each in spec.values if each == value), value)
    return value


def _members(types: Sequence[TypeSpec], spec: TypeSpec, data: bytes, offset: int, depth: int) -> dict[str, Any]:
    """Those of members without a name are the structure's own."""
    found: dict[str, Any] = {}
    for each in spec.members:
        value = _value(types, each.type, data, offset + each.offset, each.bits, depth + 1)
        if each.name:
            found[each.name] = value
        elif isinstance(value, dict):
            found.update(value)
    return found


def _elements(types: Sequence[TypeSpec], spec: TypeSpec, here: bytes, depth: int) -> Any:
    element = types[spec.element]
    if element.kind == "char":
        return here.partition(b"\0")[0].decode(errors="surrogateescape")
    size = element.size or 1
    return [
        _value(types, spec.element, here[place : place + size], 0, 0, depth + 1)
        for place in range(0, min(len(here), spec.size), size)
    ]


def _real(here: bytes) -> float | bytes:
    """A float or double; others as their bytes."""
    form = {4: "<f", 8: "<d"}.get(len(here))
    return struct.unpack(form, here)[0] if form else here


def _bits(data: bytes, offset: int, bits: int, signed: bool) -> int:
    raw = int.from_bytes(data[offset // 8 : (offset + bits + 7) // 8], "little") >> offset % 8
    value = raw & ((1 << bits) - 1)
    return value - (1 << bits) if signed and value >> (bits - 1) else value
