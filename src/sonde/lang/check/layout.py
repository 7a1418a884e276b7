"""Where the members of structures and unions that a D program declares lie.

The System V ABI (x86-64, section 3.1.2), except that bit-fields are DTrace's: each begins at a byte of its own, aligned
as the smallest integer it fits in, and asks for no padding at the end.
"""

from __future__ import annotations

from sonde.lang.types import Member, String, Type, align_of, resolve, size_of
from sonde.typed import NamedTuple


class Field(NamedTuple):
    """A member before it has a place; `bits` is None unless it is a bit-field."""

    name: str
    type: Type
    bits: int | None = None


def _round_up(value: int, unit: int) -> int:
    return (value + unit - 1) // unit * unit


def _bitfield_bytes(bits: int) -> int:
    """Bytes of the smallest integer that holds so many bits."""
    size = 1
    while 8 * size < bits:
        size *= 2
    return size


def object_size(kind: Type, strsize: int) -> int:
    """Bytes an object takes, a D string included."""
    return strsize if isinstance(resolve(kind), String) else size_of(kind)


def lay_out(
    keyword: str, fields: tuple[Field, ...], strsize: int, packed: bool = False
) -> tuple[int, tuple[Member, ...]]:
    """The size in bytes and the members with their offsets in bits; a D string takes `strsize` bytes."""
    members: list[Member] = []
    end = used_bits = 0
    alignment = 1
    for field in fields:
        if field.bits == 0:
            used_bits = _round_up(used_bits, 8 * size_of(field.type))
            continue
        if field.bits is None:
            size, bits = object_size(field.type, strsize), 0
            unit = 1 if packed else align_of(field.type)
            alignment = max(alignment, unit)
        else:
            size = unit = _bitfield_bytes(field.bits)
            bits = field.bits
        offset = 0 if keyword == "union" else _round_up(_round_up(used_bits, 8) // 8, unit)
        if field.name or not bits:
            members.append(Member(field.name, field.type, 8 * offset, bits))
        used_bits = 8 * offset + (bits or 8 * size)
        end = max(end, offset + size)
    return _round_up(end, alignment), tuple(members)
