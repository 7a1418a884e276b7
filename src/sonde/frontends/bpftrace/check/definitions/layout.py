"""Where the members of structures and unions lie, as GNU C has it on the System V ABI."""

from __future__ import annotations

from collections.abc import Iterable

from sonde.model.types import Member, Type, align_of, size_of
from sonde.typed import NamedTuple


class LayoutAttributes(NamedTuple):
    """`aligned` is 0 where nothing asks for an alignment."""

    packed: bool = False
    aligned: int = 0

    def joined(self, other: LayoutAttributes) -> LayoutAttributes:
        return LayoutAttributes(self.packed or other.packed, max(self.aligned, other.aligned))


class UnplacedField(NamedTuple):
    """A member before it has a place; `bits` is None unless it is a bit-field. `least` is the alignment of its type, as
    a typedef may have it."""

    name: str
    type: Type
    bits: int | None
    attributes: LayoutAttributes
    least: int


class Layout(NamedTuple):
    size: int
    alignment: int
    members: tuple[Member, ...]


def laid_out(keyword: str, fields: Iterable[UnplacedField], attributes: LayoutAttributes) -> Layout:
    """Sizes in bytes, offsets of members in bits."""
    members: list[Member] = []
    used = end = 0
    alignment = max(1, attributes.aligned)
    for field in fields:
        is_packed = attributes.packed or field.attributes.packed
        if keyword == "union":
            used = 0
        if field.bits is None:
            unit = max(1 if is_packed else field.least, field.attributes.aligned)
            place = _round_up(used, 8 * unit)
            bits = 8 * size_of(field.type)
        else:
            place, unit = _bit_field(field, field.bits, used, is_packed)
            bits = field.bits
        if field.name or field.bits is None:
            members.append(Member(field.name, field.type, place, field.bits or 0))
            alignment = max(alignment, unit)
        used = place + bits
        end = max(end, used)
    size = _round_up(_round_up(end, 8) // 8, alignment)
    return Layout(size, alignment, tuple(members))


def _bit_field(field: UnplacedField, bits: int, used: int, is_packed: bool) -> tuple[int, int]:
    """Where it begins: behind what there is, unless it would then lie across a boundary of its type. And the alignment
    that it asks for."""
    size, unit = 8 * size_of(field.type), align_of(field.type)
    if not bits:
        return _round_up(used, 8 * unit), 1
    if field.attributes.aligned:
        used = _round_up(used, 8 * field.attributes.aligned)
    if not is_packed and used // (8 * unit) * 8 * unit + size < used + bits:
        used = _round_up(used, 8 * unit)
    return used, max(1 if is_packed else unit, field.attributes.aligned)


def _round_up(value: int, unit: int) -> int:
    return (value + unit - 1) // unit * unit
