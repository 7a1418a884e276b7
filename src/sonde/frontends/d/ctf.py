"""Types in the Compact C Type Format, version 3 (binutils, include/ctf.h), for -xctypes and -xdtypes.

A file is a header, then types one behind the other, numbered from 1, then the strings that name them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from sonde.model.types import (
    BASE_TYPES,
    BUILTIN_TYPEDEFS,
    CHAR,
    INT,
    Array,
    Enum,
    Float,
    Function,
    Int,
    Member,
    Pointer,
    Qualified,
    String,
    Struct,
    Type,
    Typedef,
    size_of,
)

_MAGIC, _VERSION = 0xDFF2, 4
_HEADER_WORDS = 12
(
    _INTEGER, _FLOAT, _POINTER, _ARRAY, _FUNCTION, _STRUCT, _UNION, _ENUM, _FORWARD, _TYPEDEF, _VOLATILE, _CONST,
    _RESTRICT, _SLICE,
) = range(1, 15)  # fmt: skip
_QUALIFIERS = {"volatile": _VOLATILE, "const": _CONST, "restrict": _RESTRICT}
_SIGNED, _CHARACTER, _BOOLEAN = 1, 2, 4
_FLOATS = {4: 1, 8: 2, 16: 6}
"""CTF_FP_SINGLE, CTF_FP_DOUBLE, CTF_FP_LDOUBLE."""


class CtfWriter:
    """Collects types; structures that are only pointed to become forward declarations."""

    def __init__(self, strsize: int) -> None:
        self._strsize = strsize
        self._strings = bytearray(b"\0")
        self._names: dict[str, int] = {}
        self._types: list[bytes] = []
        self._numbers: dict[Type, int] = {}
        self._forwards: dict[tuple[str, str], int] = {}

    def file(self) -> bytes:
        """The whole file."""
        types = b"".join(self._types)
        words = [0] * (_HEADER_WORDS - 2) + [len(types), len(self._strings)]
        return struct.pack("<HBB12I", _MAGIC, _VERSION, 0, *words) + types + bytes(self._strings)

    def add(self, kind: Type, is_pointed_to: bool = False) -> int:
        """The type's number."""
        if is_pointed_to and isinstance(kind, Struct) and kind.name and kind not in self._numbers:
            name = kind.keyword, kind.name
            if name not in self._forwards:
                self._forwards[name] = self._append(self._forward(kind))
            return self._forwards[name]
        known = self._numbers.get(kind)
        return known if known is not None else self._new(kind)

    def _new(self, kind: Type) -> int:
        match kind:
            case Struct():
                return self._structure(kind)
            case Pointer(to):
                return self._place(kind, self._stub(_POINTER, "", self.add(to, is_pointed_to=True)))
            case Typedef(name, to):
                return self._place(kind, self._stub(_TYPEDEF, name, self.add(to)))
            case Qualified(qualifier, to):
                return self._place(kind, self._stub(_QUALIFIERS[qualifier], "", self.add(to)))
            case Array(of, length):
                return self._array(kind, of, length or 0)
            case String():
                return self._array(kind, CHAR, self._strsize)
            case Function():
                return self._function(kind)
            case _:
                return self._place(kind, self._basic(kind))

    def _basic(self, kind: Type) -> bytes:
        if isinstance(kind, Int):
            encoding = _SIGNED * kind.signed | _CHARACTER * kind.name.endswith("char")
            encoding |= _BOOLEAN * (kind.name in ("_Bool", "bool"))
            return self._stub(_INTEGER, kind.name, kind.size) + struct.pack("<I", encoding << 24 | 8 * kind.size)
        if isinstance(kind, Float):
            encoding = _FLOATS.get(kind.size, 2)
            return self._stub(_FLOAT, kind.name, kind.size) + struct.pack("<I", encoding << 24 | 8 * kind.size)
        if isinstance(kind, Enum):
            values = [struct.pack("<Ii", self._name(name), _signed(value)) for name, value in kind.values]
            return self._stub(_ENUM, kind.name, kind.size, len(values)) + b"".join(values)
        # void and D's own results: integers of no bits, as C compilers write void.
        return self._stub(_INTEGER, getattr(kind, "name", ""), 0) + struct.pack("<I", _SIGNED << 24)

    def _forward(self, kind: Struct) -> bytes:
        return self._stub(_FORWARD, kind.name, _UNION if kind.keyword == "union" else _STRUCT)

    def _structure(self, kind: Struct) -> int:
        if not kind.complete:
            return self._place(kind, self._forward(kind))
        number = self._place(kind, b"")
        members = [struct.pack("<III", self._name(each.name), each.offset, self._member(each)) for each in kind.members]
        head = self._stub(_UNION if kind.keyword == "union" else _STRUCT, kind.name, kind.size, len(members))
        self._types[number - 1] = head + b"".join(members)
        return number

    def _member(self, member: Member) -> int:
        number = self.add(member.type)
        if not member.bits:
            return number
        part = struct.pack("<IHH", number, 0, member.bits)
        return self._append(self._stub(_SLICE, "", size_of(member.type)) + part)

    def _array(self, kind: Type, of: Type, length: int) -> int:
        content = struct.pack("<III", self.add(of), self.add(INT), length)
        return self._place(kind, self._stub(_ARRAY, "", 0) + content)

    def _function(self, kind: Function) -> int:
        arguments = [self.add(each) for each in kind.parameters] + [0] * kind.variadic
        padded = arguments + [0] * (len(arguments) % 2)
        head = self._stub(_FUNCTION, "", self.add(kind.returns), len(arguments))
        return self._place(kind, head + struct.pack(f"<{len(padded)}I", *padded))

    def _place(self, kind: Type, content: bytes) -> int:
        number = self._numbers[kind] = self._append(content)
        return number

    def _append(self, content: bytes) -> int:
        self._types.append(content)
        return len(self._types)

    def _stub(self, kind: int, name: str, size_or_type: int, count: int = 0) -> bytes:
        """What every type begins with; all of them can be found by name."""
        return struct.pack("<III", self._name(name), kind << 26 | 1 << 25 | count, size_or_type)

    def _name(self, name: str) -> int:
        if not name:
            return 0
        place = self._names.get(name)
        if place is None:
            place = self._names[name] = len(self._strings)
            self._strings += name.encode() + b"\0"
        return place


def _signed(value: int) -> int:
    """An enumerator as the 32 bits that the format has for it."""
    return (value & 0xFFFFFFFF) - (1 << 32) * (value >> 31 & 1)


def ctf(declared: Iterable[Type], strsize: int) -> bytes:
    """A file with C's own types and those that are declared; a string has `strsize` characters."""
    writer = CtfWriter(strsize)
    for kind in (*BASE_TYPES, *BUILTIN_TYPEDEFS.values(), *declared):
        writer.add(kind)
    return writer.file()
