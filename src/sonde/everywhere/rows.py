"""Rows of the table by which programs know sites that are found while they run (`spec.SitesSpec`)."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from sonde.arch import registers
from sonde.model.location import Binary, Constant, Extend, Load, Register, Value, lowest, signed
from sonde.model.named_maps import ABSENT, IN_MEMORY, IS_VALUE, NO_REGISTER, SITE_ARGUMENT, UNKNOWN
from sonde.model.probe import StaticArgument
from sonde.typed import NamedTuple

_PLACE = struct.Struct("<6B2H6xq")
_NAMES = struct.Struct("<5I")
assert _PLACE.size == SITE_ARGUMENT


class SiteRow(NamedTuple):
    """A probe's identifier, the numbers of its four names, the words of its mask, and where its arguments are."""

    identifier: int
    names: tuple[int, int, int, int]
    mask: tuple[int, ...]
    arguments: tuple[StaticArgument, ...]


class _Sum(NamedTuple):
    """A number, and registers with what they are multiplied by."""

    number: int
    terms: tuple[tuple[int, int], ...]


class _UnknownError(Exception):
    """A place that a row cannot say."""


def packed(row: SiteRow, arguments: int) -> bytes:
    """As the table has it, with the places of so many arguments."""
    head = _NAMES.pack(row.identifier, *row.names) + b"".join(word.to_bytes(4, "little") for word in row.mask)
    places = [place(each) for each in row.arguments[:arguments]]
    places += [_PLACE.pack(ABSENT, 0, 0, 0, 0, 0, NO_REGISTER, NO_REGISTER, 0)] * (arguments - len(places))
    return head + bytes(-len(head) % 8) + b"".join(places)


def place(argument: StaticArgument) -> bytes:
    """Where an argument is, if it is a value or in memory and two registers and a number tell which or where."""
    try:
        if argument.value is None:
            raise _UnknownError
        return _place(argument, lowest(argument.value, argument.size))
    except _UnknownError:
        return _PLACE.pack(UNKNOWN, 0, 0, 0, 0, 0, NO_REGISTER, NO_REGISTER, 0)


def _place(argument: StaticArgument, value: Value) -> bytes:
    size, is_signed, below, how = argument.size, argument.is_signed, 0, IS_VALUE
    if isinstance(value, Extend):
        size, is_signed, value = min(size, value.size), value.signed, value.value
    if isinstance(value, Binary) and value.operation == "shr" and isinstance(value.right, Constant):
        below, value = value.right.value, value.left
    if isinstance(value, Load):
        how, size, value = IN_MEMORY, min(size, value.size), value.address
    found = _sum(value)
    first, second, scale = _registers(found.terms)
    return _PLACE.pack(
        how, size - 1, 64 - 8 * size, is_signed, scale, below, first, second, signed(found.number)
    )  # fmt: skip


def _sum(value: Value) -> _Sum:
    match value:
        case Constant(number):
            return _Sum(number, ())
        case Register(number):
            return _Sum(0, ((number, 1),))
        case Binary("plus", left, right):
            one, other = _sum(left), _sum(right)
            return _Sum(one.number + other.number, one.terms + other.terms)
        case Binary("mul", Register(number), Constant(factor)) if factor in (1, 2, 4, 8):
            return _Sum(0, ((number, factor),))
    raise _UnknownError


def _registers(terms: Sequence[tuple[int, int]]) -> tuple[int, int, int]:
    """Offsets of the first and the second register, and how far the second is shifted."""
    ordered = sorted(terms, key=lambda term: term[1])
    if len(ordered) > 2 or any(number >= len(registers.BY_DWARF_NUMBER) for number, _ in ordered):
        raise _UnknownError
    if len(ordered) == 2 and ordered[0][1] != 1:
        raise _UnknownError
    if len(ordered) == 1 and ordered[0][1] != 1:
        ordered = [(-1, 1), *ordered]
    offsets = [registers.BY_DWARF_NUMBER[number] if number >= 0 else NO_REGISTER for number, _ in ordered]
    first, second = (*offsets, NO_REGISTER, NO_REGISTER)[:2]
    return first, second, ordered[1][1].bit_length() - 1 if len(ordered) > 1 else 0
