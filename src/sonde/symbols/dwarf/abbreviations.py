"""Abbreviation tables as plans for passing over entries (DWARF 5, section 7.5.3)."""

from __future__ import annotations

from sonde.symbols.dwarf import forms
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.forms import Sizes, fixed_size, sleb128, uleb128
from sonde.symbols.elf.file_bytes import Part
from sonde.typed import NamedTuple

(
    AT_SIBLING, AT_LOCATION, AT_NAME, AT_STATEMENTS, AT_LOW_PC, AT_HIGH_PC, AT_DIRECTORY, AT_CONST_VALUE, AT_PRODUCER,
    AT_ABSTRACT_ORIGIN, AT_DECLARATION, AT_SPECIFICATION, AT_RANGES, AT_LINKAGE_NAME, AT_STRING_BASE, AT_ADDRESS_BASE,
    AT_RANGES_BASE, AT_DWO_NAME, AT_CALL_ORIGIN, AT_EXPORT_SYMBOLS, AT_LOCATIONS_BASE, AT_SIGNATURE,
) = (
    0x01, 0x02, 0x03, 0x10, 0x11, 0x12, 0x1B, 0x1C, 0x25, 0x31, 0x3C, 0x47, 0x55, 0x6E, 0x72, 0x73, 0x74, 0x76, 0x7F,
    0x89, 0x8C, 0x69,
)  # fmt: skip
AT_MIPS_LINKAGE_NAME = 0x2007
AT_GNU_DWO_NAME, AT_GNU_DWO_ID, AT_GNU_RANGES_BASE, AT_GNU_ADDRESS_BASE = 0x2130, 0x2131, 0x2132, 0x2133
_LISTS = frozenset((forms.DATA4, forms.DATA8, forms.SEC_OFFSET, forms.LOCLISTX))
WANTED = frozenset((
    AT_SIBLING, AT_LOCATION, AT_NAME, AT_STATEMENTS, AT_LOW_PC, AT_HIGH_PC, AT_DIRECTORY, AT_CONST_VALUE, AT_PRODUCER,
    AT_ABSTRACT_ORIGIN, AT_DECLARATION, AT_SPECIFICATION, AT_RANGES, AT_LINKAGE_NAME, AT_STRING_BASE, AT_ADDRESS_BASE,
    AT_RANGES_BASE, AT_DWO_NAME, AT_CALL_ORIGIN, AT_EXPORT_SYMBOLS, AT_LOCATIONS_BASE, AT_SIGNATURE,
    AT_MIPS_LINKAGE_NAME,
    AT_GNU_DWO_NAME, AT_GNU_DWO_ID, AT_GNU_RANGES_BASE, AT_GNU_ADDRESS_BASE,
))  # fmt: skip


class PassingStep(NamedTuple):
    """One thing to pass: `skip` bytes, then the value of an attribute, of `size` bytes (-1 if they differ).

    `attribute` is 0 where nobody asks for the value."""

    skip: int
    attribute: int
    form: int
    size: int


class Abbreviation(NamedTuple):
    """What the entries of one code are like.

    `steps` pass a whole entry, stopping at each wanted attribute; what is left at the end is `rest` bytes. `gaps` pass
    it too, by bytes and then a value of no fixed size, with `tail` bytes behind the last: nothing at all but `tail` if
    all entries are of one size. `has_list` tells that it has a location that is a list, `at` is where the declaration
    is in .debug_abbrev, behind the code."""

    tag: int
    has_children: bool
    steps: tuple[PassingStep, ...]
    rest: int
    gaps: tuple[tuple[int, int], ...]
    tail: int
    has_list: bool
    at: int


def read_abbreviations(data: Part, at: int, sizes: Sizes) -> dict[int, Abbreviation]:
    """The table at an offset of .debug_abbrev, by code. Raises DebugInfoError."""
    table: dict[int, Abbreviation] = {}
    try:
        code, at = uleb128(data, at)
        while code:
            table[code], at = _read(data, at, sizes)
            code, at = uleb128(data, at)
    except IndexError:
        raise DebugInfoError("section .debug_abbrev is cut off") from None
    return table


def one_abbreviation(data: Part, at: int, sizes: Sizes, wanted: int) -> dict[int, Abbreviation]:
    """As much of the table as it takes to find one code: that of a unit's first entry is often the first."""
    try:
        code, at = uleb128(data, at)
        while code:
            found, at = _read(data, at, sizes)
            if code == wanted:
                return {code: found}
            code, at = uleb128(data, at)
    except IndexError:
        raise DebugInfoError("section .debug_abbrev is cut off") from None
    return {}


def _read(data: Part, start: int, sizes: Sizes) -> tuple[Abbreviation, int]:
    """One declaration, and the offset behind it."""
    tag, at = uleb128(data, start)
    has_children, at = data[at] != 0, at + 1
    steps: list[PassingStep] = []
    gaps: list[tuple[int, int]] = []
    rest, tail, has_list = 0, 0, False
    while True:
        attribute, at = uleb128(data, at)
        form, at = uleb128(data, at)
        if form == forms.IMPLICIT_CONST:
            at = sleb128(data, at)[1]
        if not attribute and not form:
            return Abbreviation(tag, has_children, tuple(steps), rest, tuple(gaps), tail, has_list, start), at
        has_list |= attribute == AT_LOCATION and form in _LISTS
        size = fixed_size(form, sizes)
        if attribute in WANTED or size is None:
            steps.append(PassingStep(rest, attribute if attribute in WANTED else 0, form, -1 if size is None else size))
            rest = 0
        else:
            rest += size
        if size is None:
            gaps.append((tail, form))
            tail = 0
        else:
            tail += size
