"""print(): an object with the types and names of all that is in it.

    0xffff8881000a0000 = *
                                                (struct point) {
                                                 .x = (int)1,
                                                }

What is zero is left out, and the characters of an array end at its first NUL. Where the option printsize cuts an
object off there are three dots, and likewise in place of what is nested too deep.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonde.model.records import MemberSpec, TypeSpec
from sonde.report.escape import escaped
from sonde.report.number import REALS, real_text
from sonde.visible import visible

_INDENT = 44
"""Columns before an object: those that stand before a record's data."""

_DEEPEST = 10
_MOST_PLACES = 1 << 16
"""Members and elements looked at of one object, unions' and unset ones included: more than any has of those that can be
recorded."""


def object_text(types: Sequence[TypeSpec], number: int, data: bytes, address: int | None, limit: int) -> bytes:
    """The object of type `number` whose first bytes are `data`; no more than `limit` of them are shown.

    One without an address begins where the output stands.
    """
    writer = _Writer(types, data[:limit])
    writer.visit(MemberSpec("", number, 0), 0, 0)
    text = b"\n".join(writer.finish()) + b"\n"
    return text.lstrip() if address is None else b"0x%x = *\n%b" % (address, text)


class _Writer:
    """Visits an object in the order of its memory, writing one line for each scalar and two around all that is nested.

    Structures are closed only when something follows that is not in them, so that the dots stand with the member that
    they are for.
    """

    def __init__(self, types: Sequence[TypeSpec], data: bytes) -> None:
        self._types = types
        self._data = data
        self._lines: list[bytes] = []
        self._open: list[tuple[int, bytes]] = []
        self._is_cut = False
        self._places = 0
        self._names: dict[int, dict[int, str]] = {}

    def finish(self) -> list[bytes]:
        """All lines."""
        self._close(0)
        return self._lines

    def visit(self, member: MemberSpec, offset: int, depth: int, even_zero: bool = False) -> None:
        """An object at `offset` bits; one within another is not shown if it is zero."""
        spec = self._types[member.type]
        self._places += 1
        if self._is_cut or not (spec.size or spec.kind == "string"):
            return
        if self._places > _MOST_PLACES or (offset + (member.bits or 8 * _needed(spec)) + 7) // 8 > len(self._data):
            self._cut(depth)
            return
        if depth and not even_zero and not self._is_set(spec, offset, member.bits):
            return
        self._close(depth)
        label = visible(f".{member.name} = ({spec.name})" if member.name else f"({spec.name})")
        if spec.kind in ("struct", "array"):
            self._nested(spec, offset, depth, label)
        else:
            end = "," if depth else ""
            self._line(depth, label.encode() + self._scalar(spec, offset, member.bits) + end.encode())

    def _nested(self, spec: TypeSpec, offset: int, depth: int, label: str) -> None:
        begin, end = ("{", "}") if spec.kind == "struct" else ("[", "]")
        self._line(depth, f"{label} {begin}".encode())
        self._open.append((depth, f"{end}{',' if depth else ''}".encode()))
        if depth == _DEEPEST:
            self._line(depth + 1, b"...")
        elif spec.kind == "struct":
            for member in spec.members:
                self.visit(member, offset + member.offset, depth + 1)
        else:
            self._elements(spec, offset, depth)

    def _elements(self, spec: TypeSpec, offset: int, depth: int) -> None:
        """An array's elements up to the last that is not zero, of characters up to the first that is."""
        element = self._types[spec.element]
        here = self._bytes(offset, spec.size)
        shown = here.partition(b"\0")[0] if element.kind == "char" else here.rstrip(b"\0")
        for place in range(0, len(shown), element.size or 1):
            at = offset + 8 * place
            self.visit(MemberSpec("", spec.element, 0), at, depth + 1, even_zero=True)
        if self._is_cut:
            return
        # What characters lack may as well lie behind their NUL.
        if len(here) < spec.size and element.kind != "char":
            self._cut(depth + 1)
        else:
            self._close(depth)

    def _scalar(self, spec: TypeSpec, offset: int, bits: int) -> bytes:
        if spec.kind == "string":
            return b'"%b"' % escaped(self._bytes(offset, spec.size).partition(b"\0")[0])
        if spec.kind in REALS:
            return real_text(self._bytes(offset, spec.size), spec.kind)
        value = self._number(spec, offset, bits)
        match spec.kind:
            case "char":
                return b"'%b'" % _character(value)
            case "pointer":
                return b"0x%x" % value
            case "enum":
                return visible(self._enumerators(spec).get(value, f"{value}")).encode()
            case "integer":
                return b"%d" % value
            case _:
                return b""

    def _enumerators(self, spec: TypeSpec) -> dict[int, str]:
        """The first name of each number."""
        if id(spec) not in self._names:
            self._names[id(spec)] = {number: name for name, number in reversed(spec.values)}
        return self._names[id(spec)]

    def _number(self, spec: TypeSpec, offset: int, bits: int) -> int:
        if not bits:
            return int.from_bytes(self._bytes(offset, spec.size), "little", signed=spec.signed)
        first = offset // 8
        raw = int.from_bytes(self._data[first : (offset + bits + 7) // 8], "little") >> offset % 8
        value = raw & ((1 << bits) - 1)
        return value - (1 << bits) if spec.signed and value >> (bits - 1) else value

    def _bytes(self, offset: int, size: int) -> bytes:
        return self._data[offset // 8 : offset // 8 + size]

    def _is_set(self, spec: TypeSpec, offset: int, bits: int) -> bool:
        if bits:
            return self._number(spec, offset, bits) != 0
        here = self._bytes(offset, spec.size)
        return here.count(0) < len(here)

    def _cut(self, depth: int) -> None:
        self._line(depth, b"...")
        self._is_cut = True

    def _close(self, depth: int) -> None:
        """End what is open at this depth and below."""
        while self._open and self._open[-1][0] >= depth:
            self._line(*self._open.pop())

    def _line(self, depth: int, text: bytes) -> None:
        self._lines.append(b" " * (_INDENT + depth) + text)


def _needed(spec: TypeSpec) -> int:
    """How much of an object must be there for it to be shown: all of a scalar, the beginning of anything else."""
    if spec.kind == "string":
        return 0
    return spec.size if spec.kind in ("integer", "char", "enum", "pointer", *REALS) else 1


def _character(value: int) -> bytes:
    """A character between its quotation marks."""
    if value == ord('"'):
        return b'"'
    return b"\\'" if value == ord("'") else escaped(bytes([value & 255]))
