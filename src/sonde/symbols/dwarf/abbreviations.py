"""Abbreviation tables as plans for passing over entries (DWARF 5, section 7.5.3)."""

from __future__ import annotations

from sonde.symbols.dwarf import forms
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.forms import Sizes, fixed_size, sleb128, uleb128
from sonde.typed import NamedTuple

AT_SIBLING, AT_NAME, AT_LOW_PC, AT_ABSTRACT_ORIGIN, AT_DECLARATION, AT_SPECIFICATION, AT_RANGES, AT_LINKAGE_NAME = (
    0x01, 0x03, 0x11, 0x31, 0x3C, 0x47, 0x55, 0x6E,
)  # fmt: skip
AT_MIPS_LINKAGE_NAME = 0x2007
_AT_LOCATION = 0x02
_LISTS = frozenset((forms.DATA4, forms.DATA8, forms.SEC_OFFSET, forms.LOCLISTX))
WANTED = frozenset((
    AT_SIBLING, AT_NAME, AT_LOW_PC, AT_ABSTRACT_ORIGIN, AT_DECLARATION, AT_SPECIFICATION, AT_RANGES, AT_LINKAGE_NAME,
    AT_MIPS_LINKAGE_NAME,
))  # fmt: skip


class Step(NamedTuple):
    """One thing to pass: `skip` bytes, then the value of an attribute if `form` is not 0.

    `attribute` is 0 where nobody asks for the value."""

    skip: int
    attribute: int
    form: int


class Abbreviation(NamedTuple):
    """`steps` pass a whole entry; what is left at the end is `rest` bytes. `has_list` tells that it has a location that
    is a list."""

    tag: int
    has_children: bool
    steps: tuple[Step, ...]
    rest: int
    has_list: bool


def read_abbreviations(data: bytes, at: int, sizes: Sizes) -> dict[int, Abbreviation]:
    """The table at an offset of .debug_abbrev, by code. Raises DebugInfoError."""
    table: dict[int, Abbreviation] = {}
    try:
        code, at = uleb128(data, at)
        while code:
            tag, at = uleb128(data, at)
            has_children = data[at] != 0
            steps, rest, has_list, at = _steps(data, at + 1, sizes)
            table[code] = Abbreviation(tag, has_children, steps, rest, has_list)
            code, at = uleb128(data, at)
    except IndexError:
        raise DebugInfoError("section .debug_abbrev is cut off") from None
    return table


def _steps(data: bytes, at: int, sizes: Sizes) -> tuple[tuple[Step, ...], int, bool, int]:
    steps: list[Step] = []
    passed, has_list = 0, False
    while True:
        attribute, at = uleb128(data, at)
        form, at = uleb128(data, at)
        if form == forms.IMPLICIT_CONST:
            at = sleb128(data, at)[1]
            continue
        if not attribute and not form:
            return tuple(steps), passed, has_list, at
        has_list |= attribute == _AT_LOCATION and form in _LISTS
        size = fixed_size(form, sizes)
        if attribute in WANTED:
            steps.append(Step(passed, attribute, form))
            passed = 0
        elif size is not None:
            passed += size
        else:
            steps.append(Step(passed, 0, form))
            passed = 0
