"""Types of an object's BTF as reports show them."""

from __future__ import annotations

from sonde.bpf import btf
from sonde.bpf.btf import Btf, BtfType
from sonde.model.records import MemberSpec, TypeSpec
from sonde.objects.types import size_of, spelled, stripped

_MOST = 20_000
"""Descriptions that one object can ask for."""


class TypeSpecs:
    """Numbers types; `specs` has each after those it consists of."""

    def __init__(self, types: Btf) -> None:
        self.specs: list[TypeSpec] = []
        self._types = types
        self._numbers: dict[int, int] = {}
        self._begun: set[int] = set()

    def number(self, identifier: int) -> int:
        """The index of a type's description in `specs`."""
        found = self._numbers.get(identifier)
        if found is None:
            described = self._described(identifier)
            found = self._numbers[identifier] = len(self.specs)
            self.specs.append(described)
        return found

    def _described(self, identifier: int) -> TypeSpec:
        real, name = stripped(self._types, identifier), spelled(self._types, identifier)
        size = size_of(self._types, identifier)
        if identifier in self._begun or len(self._begun) > _MOST:
            # Only damaged BTF has a type within itself.
            return TypeSpec("opaque", name, size)
        self._begun.add(identifier)
        match real.kind:
            case btf.INT:
                # Bytes are numbers, whatever their compiler says of `unsigned char`: only `char` is for text.
                is_character = real.size == 1 and real.name == "char"
                return TypeSpec("char" if is_character else "integer", name, size, bool(real.encoding & btf.INT_SIGNED))
            case btf.FLOAT:
                return TypeSpec("float", name, size)
            case btf.ENUM | btf.ENUM64:
                return TypeSpec(
                    "enum", name, size, real.flag, values=tuple((each.name, each.value) for each in real.values)
                )
            case btf.PTR:
                return TypeSpec("pointer", name, size)
            case btf.ARRAY:
                return TypeSpec("array", name, size, element=self.number(real.type))
            case btf.STRUCT | btf.UNION:
                return TypeSpec("struct", name, size, members=self._members(real))
        return TypeSpec("opaque", name, size)

    def _members(self, found: BtfType) -> tuple[MemberSpec, ...]:
        return tuple(MemberSpec(each.name, self.number(each.type), each.offset, each.bits) for each in found.members)
