"""The types that print() shows, described for the report without the checker's own objects."""

from __future__ import annotations

from sonde.model.records import MemberSpec, TypeSpec
from sonde.model.types import (
    QUADS,
    Array,
    Enum,
    Float,
    Int,
    Member,
    Pointer,
    String,
    Struct,
    Type,
    name_of,
    resolve,
    size_of,
)


class TypeTable:
    """Numbers types; `specs` has each after those it consists of."""

    def __init__(self, strsize: int, specs: list[TypeSpec] | None = None) -> None:
        """`strsize` are the bytes of a string; behind `specs` are put those of others."""
        self.specs: list[TypeSpec] = [] if specs is None else specs
        self._strsize = strsize
        self._numbers: dict[Type, int] = {}

    def number(self, kind: Type) -> int:
        """The index of the type's description in `specs`."""
        found = self._numbers.get(kind)
        if found is None:
            described = self._describe(kind)
            found = self._numbers[kind] = len(self.specs)
            self.specs.append(described)
        return found

    def _describe(self, kind: Type) -> TypeSpec:
        base, name, size = resolve(kind), _name(kind), size_of(kind)
        match base:
            case Int():
                return TypeSpec("char" if base.name == "char" else "integer", name, size, base.signed)
            case Float():
                return TypeSpec(_real(base), name, size)
            case Enum():
                return TypeSpec("enum", name, size, base.signed, values=base.values)
            case Pointer():
                return TypeSpec("pointer", name, size)
            case String():
                return TypeSpec("string", name, self._strsize)
            case Array():
                return TypeSpec("array", name, size, element=self.number(base.of))
            case Struct():
                return TypeSpec("struct", name, size, members=tuple(self._member(each) for each in base.members))
            case _:
                return TypeSpec("opaque", name, size)

    def _member(self, member: Member) -> MemberSpec:
        return MemberSpec(member.name, self.number(member.type), member.offset, member.bits)


def _real(kind: Float) -> str:
    """Which format a floating-point number has: those of 16 bytes are two."""
    if "_Complex" in kind.name:
        return "complex"
    return "quad" if kind.name in QUADS else "bfloat" if kind.name == "__bf16" else "float"


def _name(kind: Type) -> str:
    """The type as C spells it, a blank before an array's bounds."""
    name = name_of(kind).replace(" (anon)", "")
    if not isinstance(kind, Array):
        return name
    start = name.index("[")
    return f"{name[:start]} {name[start:]}" if name[start - 1] not in "(* " else name
