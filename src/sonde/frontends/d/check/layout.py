"""Where the members of structures and unions that a D program declares lie.

As the System V ABI has it (section 3.1.2 of the supplements), except that bit-fields of a program are DTrace's, which
are libctf's: each begins at a byte of its own, aligned as the smallest integer it fits in, and asks for no padding at
the end. Those that come from the preprocessor are C's, since C's headers describe what C programs have in memory.
"""

from __future__ import annotations

from sonde.model.types import Member, String, Type, align_of, resolve, size_of
from sonde.typed import NamedTuple


class UnplacedMember(NamedTuple):
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


def _place_in_c(used_bits: int, bits: int, unit: int, packed: bool) -> int:
    """Where a bit-field begins: behind what there is, unless it would then lie across a boundary of its type."""
    is_across = used_bits // unit != (used_bits + bits - 1) // unit
    return _round_up(used_bits, unit) if is_across and not packed else used_bits


def lay_out(
    keyword: str, fields: tuple[UnplacedMember, ...], strsize: int, packed: bool = False, as_in_c: bool = False
) -> tuple[int, tuple[Member, ...]]:
    """The size in bytes and the members with their offsets in bits; a D string takes `strsize` bytes. `as_in_c` says
    whose bit-fields they are."""
    members: list[Member] = []
    end = used_bits = 0
    alignment = 1
    for field in fields:
        if field.bits == 0:
            used_bits = _round_up(used_bits, 8 * size_of(field.type))
            end = max(end, used_bits // 8) if as_in_c and keyword != "union" else end
            continue
        if field.bits is not None and as_in_c:
            place = 0 if keyword == "union" else _place_in_c(used_bits, field.bits, 8 * size_of(field.type), packed)
            if field.name:
                members.append(Member(field.name, field.type, place, field.bits))
                alignment = max(alignment, 1 if packed else align_of(field.type))
            used_bits = place + field.bits
            end = max(end, _round_up(used_bits, 8) // 8)
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
