"""What print() records, as Python's values: structures as dictionaries, arrays as lists, characters as str."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.library.own_values import Own, own_keyword
from sonde.model.records import TypeSpec
from sonde.report.number import REALS, real_value
from sonde.typed import Any, NamedTuple

_DEEPEST = 32


class Object(NamedTuple):
    """`value`: a number, a complex one of C's `_Complex`, str, list, or dictionary of members; None for what was not
    recorded any more. `type` is its C type's name, `address` the place it was read from, None for a value that has
    none."""

    value: Any
    type: str
    address: int | None


class StructureKey(tuple[tuple[str, Any], ...]):
    """A structure as a key of a map: its members' names and values."""

    __slots__ = ()

    def asdict(self) -> dict[str, Any]:
        """The members by their names."""
        return dict(self)


def object_value(types: Sequence[TypeSpec], number: int, data: bytes, own: Own | None = None) -> Any:
    """The object of type `number` whose first bytes are `data`. `own` makes the values of a language's own
    structures."""
    return _Reader(types, own).value(number, data, 0, 0, 0)


class _Reader:
    """Reads objects of some types."""

    def __init__(self, types: Sequence[TypeSpec], own: Own | None) -> None:
        self._types = types
        self._own = own

    def value(self, number: int, data: bytes, offset: int, bits: int, depth: int) -> Any:
        spec = self._types[number]
        if depth > _DEEPEST or (offset + (bits or 8 * min(spec.size, 1)) + 7) // 8 > len(data):
            return None
        here = data[offset // 8 : offset // 8 + spec.size]
        if spec.kind == "struct":
            keyword = own_keyword(spec) if self._own is not None else ""
            return self._own(keyword, here) if self._own and keyword else self._members(spec, data, offset, depth)
        if spec.kind == "string":
            return here.partition(b"\0")[0].decode(errors="surrogateescape")
        if spec.kind == "array":
            return self._elements(spec, here, depth)
        if len(here) < spec.size and not bits:
            return None
        if spec.kind in REALS:
            return real_value(here, spec.kind)
        value = _bits(data, offset, bits, spec.signed) if bits else int.from_bytes(here, "little", signed=spec.signed)
        if spec.kind == "enum":
            return next((name for name, each in spec.values if each == value), value)
        return value

    def _members(self, spec: TypeSpec, data: bytes, offset: int, depth: int) -> dict[str, Any]:
        """Those of members without a name are the structure's own."""
        found: dict[str, Any] = {}
        for each in spec.members:
            value = self.value(each.type, data, offset + each.offset, each.bits, depth + 1)
            if each.name:
                found[each.name] = value
            elif isinstance(value, dict):
                found.update(value)
        return found

    def _elements(self, spec: TypeSpec, here: bytes, depth: int) -> Any:
        element = self._types[spec.element]
        if element.kind == "char":
            return here.partition(b"\0")[0].decode(errors="surrogateescape")
        size = element.size or 1
        return [
            self.value(spec.element, here[place : place + size], 0, 0, depth + 1)
            for place in range(0, min(len(here), spec.size), size)
        ]


def _bits(data: bytes, offset: int, bits: int, signed: bool) -> int:
    raw = int.from_bytes(data[offset // 8 : (offset + bits + 7) // 8], "little") >> offset % 8
    value = raw & ((1 << bits) - 1)
    return value - (1 << bits) if signed and value >> (bits - 1) else value
