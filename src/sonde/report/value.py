"""A typed value in one line, as C's initializers write it: `{.pid = 12, .comm = "bash", .sizes = {1, 2}}`.

What is zero is shown like all else, since columns of a map are compared with each other; an array ends at its last
element that is not zero, characters at their first NUL.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonde.model.records import MemberSpec, TypeSpec
from sonde.report.escape import escaped
from sonde.report.number import REALS, real_text
from sonde.visible import visible

_DEEPEST = 16
_MOST_ELEMENTS = 64


def value_text(types: Sequence[TypeSpec], number: int, data: bytes) -> bytes:
    """The value of type `number` whose bytes are `data`."""
    return _text(types, MemberSpec("", number, 0), data, 0, 0)


def _text(types: Sequence[TypeSpec], member: MemberSpec, data: bytes, offset: int, depth: int) -> bytes:
    spec = types[member.type]
    here = data[offset // 8 : offset // 8 + spec.size]
    # Bits may end where their object does, before a whole number of their type would.
    if (offset + (member.bits or 8 * spec.size) + 7) // 8 > len(data) or depth > _DEEPEST:
        return b"..."
    match spec.kind:
        case "struct":
            return _struct(types, spec, data, offset, depth)
        case "array":
            return _array(types, spec, here, depth)
        case kind if kind in REALS:
            return real_text(here, spec.kind)
        case "opaque":
            return b"0x" + here[::-1].hex().encode() if here else b"..."
    number = _number(spec, member.bits, data, offset)
    if spec.kind == "enum":
        names = {value: name for name, value in reversed(spec.values)}
        return visible(names.get(number, f"{number}")).encode()
    return b"0x%x" % number if spec.kind == "pointer" else b"%d" % number


def _number(spec: TypeSpec, bits: int, data: bytes, offset: int) -> int:
    width = bits or 8 * spec.size
    raw = int.from_bytes(data[offset // 8 : (offset + width + 7) // 8], "little") >> offset % 8
    value = raw & ((1 << width) - 1)
    return value - (1 << width) if spec.signed and width and value >> (width - 1) else value


def _struct(types: Sequence[TypeSpec], spec: TypeSpec, data: bytes, offset: int, depth: int) -> bytes:
    parts = []
    for member in spec.members:
        text = _text(types, member, data, offset + member.offset, depth + 1)
        parts.append(b".%b = %b" % (visible(member.name).encode(), text) if member.name else text)
    return b"{" + b", ".join(parts) + b"}"


def _array(types: Sequence[TypeSpec], spec: TypeSpec, data: bytes, depth: int) -> bytes:
    element = types[spec.element]
    if element.kind == "char":
        return b'"' + escaped(data.partition(b"\0")[0]) + b'"'
    size = max(element.size, 1)
    used = -(-len(data.rstrip(b"\0")) // size)
    shown = min(used, _MOST_ELEMENTS)
    parts = [_text(types, MemberSpec("", spec.element, 0), data, 8 * size * at, depth + 1) for at in range(shown)]
    if used > shown:
        parts.append(b"...")
    return b"{" + b", ".join(parts) + b"}"
