"""An index of functions: entries are passed over by their abbreviations, and only what finds one is looked at.

Decoding is pyelftools' work; it takes about ten microseconds for each attribute, so that it cannot look for anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sonde.symbols.dwarf import abbreviations as at
from sonde.symbols.dwarf import forms
from sonde.symbols.dwarf.abbreviations import Abbreviation
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.units import Unit
from sonde.typed import NamedTuple

TAG_SUBPROGRAM, TAG_INLINED = 0x2E, 0x1D
_FUNCTIONS = frozenset((TAG_SUBPROGRAM, TAG_INLINED))
_BODIES = frozenset((TAG_SUBPROGRAM,))
_NONE: frozenset[int] = frozenset()
_DEEPEST = 512

Attributes = Mapping[int, tuple[int, int]]
"""Where the value of an attribute is, and its form."""


class Passed(NamedTuple):
    """An entry that was passed: its tag (0 for the end of a list of children), depth below the unit's first entry,
    and the attributes of abbreviations.WANTED that it has."""

    offset: int
    end: int
    depth: int
    abbreviation: Abbreviation | None
    attributes: Attributes


def pass_over(
    info: bytes, unit: Unit, table: Mapping[int, Abbreviation], start: int = 0, closed: frozenset[int] | None = _NONE
) -> Iterator[Passed]:
    """The entries of a unit from one on, and the ends of lists. Raises DebugInfoError where they make no sense.

    What is inside of entries with `closed` tags, or of all but the first (None), is left out where they say where it
    ends.
    """
    position, depth = start or unit.entries, 0
    try:
        while position < unit.end:
            offset = position
            code, position = forms.uleb128(info, position)
            if not code:
                depth -= 1
                yield Passed(offset, position, depth, None, {})
                if depth <= 0:
                    return
                continue
            kind = table.get(code)
            if kind is None:
                raise DebugInfoError(f"the entry at {offset:#x} of .debug_info has no abbreviation")
            attributes: dict[int, tuple[int, int]] = {}
            for passed, attribute, form in kind.steps:
                position += passed
                if attribute:
                    attributes[attribute] = position, form
                position = forms.skip(form, info, position, unit.sizes)
            position += kind.rest
            yield Passed(offset, position, depth, kind, attributes)
            if kind.has_children:
                is_closed = depth > 0 if closed is None else kind.tag in closed
                sibling = reference(info, unit, attributes, at.AT_SIBLING) if is_closed else 0
                if position < sibling <= unit.end:
                    position = sibling
                else:
                    depth += 1
                    if depth > _DEEPEST:
                        raise DebugInfoError("the entries of .debug_info are nested without end")
            elif depth == 0:
                return
    except (IndexError, ValueError):
        depth = 1
    if position > unit.end or depth > 0:
        raise DebugInfoError(f"the unit at {unit.offset:#x} of .debug_info is cut off")


def reference(info: bytes, unit: Unit, attributes: Attributes, attribute: int) -> int:
    """The offset in .debug_info an attribute refers to, 0 if it is missing; ~offset if it is one of dwz's file."""
    if attribute not in attributes:
        return 0
    where, form = attributes[attribute]
    if form in forms.UNIT_REFERENCES:
        return unit.offset + forms.number(form, info, where, unit.sizes)
    if form == forms.REF_ADDR:
        return forms.number(form, info, where, unit.sizes)
    return ~forms.number(form, info, where, unit.sizes) if form in forms.SHARED_REFERENCES else 0


class FunctionEntry(NamedTuple):
    """A function of the index, or an inlined copy of one; `origin` is the entry it completes or is a copy of."""

    offset: int
    tag: int
    has_code: bool
    is_declaration: bool
    names: tuple[tuple[int, int], ...]
    origin: int


def scan_functions(info: bytes, unit: Unit, table: Mapping[int, Abbreviation], bodies: bool) -> list[FunctionEntry]:
    """The functions of a unit; with `bodies` also those inside of functions, inlined copies among them."""
    found = []
    for entry in pass_over(info, unit, table, 0, _NONE if bodies else _BODIES):
        if entry.abbreviation is None or entry.abbreviation.tag not in _FUNCTIONS:
            continue
        attributes = entry.attributes
        names = tuple(
            attributes[each] for each in (at.AT_NAME, at.AT_LINKAGE_NAME, at.AT_MIPS_LINKAGE_NAME) if each in attributes
        )
        origin = reference(info, unit, attributes, at.AT_ABSTRACT_ORIGIN)
        found.append(
            FunctionEntry(
                entry.offset,
                entry.abbreviation.tag,
                at.AT_LOW_PC in attributes or at.AT_RANGES in attributes,
                at.AT_DECLARATION in attributes,
                names,
                origin or reference(info, unit, attributes, at.AT_SPECIFICATION),
            )
        )
    return found
