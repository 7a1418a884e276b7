"""Finding entries: they are passed over by their abbreviations, and only those that are looked for are looked at.

Decoding is pyelftools' work; it takes about ten microseconds for each attribute, so that it cannot look for anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sonde.symbols.dwarf import abbreviations as at
from sonde.symbols.dwarf import forms
from sonde.symbols.dwarf.abbreviations import Abbreviation
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.units import DebugUnit
from sonde.symbols.elf.costs import Costs
from sonde.symbols.elf.file_bytes import Part
from sonde.typed import NamedTuple, TypeAlias

TAG_MEMBER, TAG_INLINED, TAG_SUBPROGRAM, TAG_VARIABLE, TAG_NAMESPACE, TAG_PARTIAL_UNIT = (
    0x0D, 0x1D, 0x2E, 0x34, 0x39, 0x3C,
)  # fmt: skip
TAGS_OF_TYPES = (0x02, 0x04, 0x13, 0x17)
"""Those of classes, enumerations, structures and unions."""
_NONE: frozenset[int] = frozenset()
_DEEPEST = 512
_PIECE = 1 << 16
"""Bytes of entries that are passed before it is asked what that has taken."""

SCANNED_SIZE = 450
"""Bytes of memory that an entry takes that was looked for, about."""

Attributes = Mapping[int, tuple[int, int]]
"""Where the value of an attribute is, and its form."""
Around: TypeAlias = "tuple[()] | tuple[int, Around]"


class PassedEntry(NamedTuple):
    """An entry that was passed: its tag (0 for the end of a list of children), depth below the unit's first entry,
    and the attributes of abbreviations.WANTED that it has."""

    offset: int
    end: int
    depth: int
    abbreviation: Abbreviation | None
    attributes: Attributes


def pass_over(
    info: Part,
    unit: DebugUnit,
    table: Mapping[int, Abbreviation],
    start: int = 0,
    closed: frozenset[int] | None = _NONE,
) -> Iterator[PassedEntry]:
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
                yield PassedEntry(offset, position, depth, None, {})
                if depth <= 0:
                    return
                continue
            kind = table.get(code)
            if kind is None:
                raise DebugInfoError(f"the entry at {offset:#x} of .debug_info has no abbreviation")
            attributes, position = _attributes(info, unit, kind, position)
            yield PassedEntry(offset, position, depth, kind, attributes)
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


def reference(info: Part, unit: DebugUnit, attributes: Attributes, attribute: int) -> int:
    """The offset in .debug_info an attribute refers to, 0 if it is missing; ~offset if it is one of dwz's file."""
    if attribute not in attributes:
        return 0
    where, form = attributes[attribute]
    if form in forms.UNIT_REFERENCES:
        return unit.offset + forms.number(form, info, where, unit.sizes)
    if form == forms.REF_ADDR:
        return forms.number(form, info, where, unit.sizes)
    return ~forms.number(form, info, where, unit.sizes) if form in forms.SHARED_REFERENCES else 0


class Scanned(NamedTuple):
    """An entry that was looked for; `around` are the offsets of those it is in, the innermost first, each with those
    around it."""

    offset: int
    tag: int
    attributes: Attributes
    around: Around


def scan(
    info: Part,
    unit: DebugUnit,
    table: Mapping[int, Abbreviation],
    tags: frozenset[int],
    closed: frozenset[int],
    costs: Costs,
) -> list[Scanned]:
    """The entries of a unit with one of the tags, except for those inside of entries with `closed` tags.

    Everything else is passed as fast as Python can. Raises DebugInfoError.
    """
    leaves, parents = _sizes(table, tags | closed)
    found: list[Scanned] = []
    around: Around = ()
    position, depth, end = unit.entries, 0, unit.end
    # The unit's own bytes, of which nearly each is looked at.
    base = unit.offset
    data = info[base:end]
    look = position + _PIECE
    try:
        while position < end:
            offset = position
            if position >= look:
                look = position + _PIECE
                _require(costs, found)
            code = data[position - base]
            if code < 0x80:
                position += 1
            else:
                code, position = forms.uleb128(info, position)
            if code in leaves:
                position += leaves[code]
                continue
            if code in parents:
                position += parents[code]
                around = offset, around
                depth += 1
            elif not code:
                depth -= 1
                if depth <= 0:
                    break
                around = around[1]  # type: ignore[misc]
            else:
                kind = table.get(code)
                if kind is None:
                    raise DebugInfoError(f"the entry at {offset:#x} of .debug_info has no abbreviation")
                if kind.tag in tags or kind.tag in closed:
                    attributes, position = _attributes(info, unit, kind, position)
                    if kind.tag in tags:
                        found.append(Scanned(offset, kind.tag, attributes, around))
                    sibling = reference(info, unit, attributes, at.AT_SIBLING) if kind.tag in closed else 0
                    if kind.has_children and position < sibling <= end:
                        position = sibling
                        continue
                else:
                    position = _passed(data, unit, kind, position - base) + base
                if kind.has_children:
                    around = offset, around
                    depth += 1
            if depth > _DEEPEST:
                raise DebugInfoError("the entries of .debug_info are nested without end")
    except (IndexError, ValueError):
        depth = 1
    if position > end or depth > 0:
        raise DebugInfoError(f"the unit at {unit.offset:#x} of .debug_info is cut off")
    return found


def _require(costs: Costs, found: list[Scanned]) -> None:
    """Raises CostError where there are too many, or it takes too long."""
    costs.check()
    costs.take(SCANNED_SIZE * len(found))
    costs.give_back(SCANNED_SIZE * len(found))


def _sizes(table: Mapping[int, Abbreviation], wanted: frozenset[int]) -> tuple[dict[int, int], dict[int, int]]:
    """How many bytes the entries of a code have where all have as many: those without children, and those with."""
    plain = [(code, kind) for code, kind in table.items() if not kind.gaps and kind.tag not in wanted]
    leaves = {code: kind.tail for code, kind in plain if not kind.has_children}
    return leaves, {code: kind.tail for code, kind in plain if kind.has_children}


def _passed(info: Part, unit: DebugUnit, kind: Abbreviation, position: int) -> int:
    """The offset behind an entry whose attributes begin there."""
    for size, form in kind.gaps:
        position += size
        if form in forms.LEB128:
            while info[position] >= 0x80:
                position += 1
            position += 1
        else:
            position = forms.skip(form, info, position, unit.sizes)
    return position + kind.tail


def _attributes(info: Part, unit: DebugUnit, kind: Abbreviation, position: int) -> tuple[Attributes, int]:
    """The wanted attributes of an entry, and the offset behind it."""
    attributes: dict[int, tuple[int, int]] = {}
    for passed, attribute, form, size in kind.steps:
        position += passed
        if attribute:
            attributes[attribute] = position, form
        position = position + size if size >= 0 else forms.skip(form, info, position, unit.sizes)
    return attributes, position + kind.rest


def attributes_at(info: Part, unit: DebugUnit, table: Mapping[int, Abbreviation], offset: int) -> Attributes:
    """The wanted attributes of one entry. Raises DebugInfoError."""
    try:
        code, position = forms.uleb128(info, offset)
        if code in table:
            return _attributes(info, unit, table[code], position)[0]
    except (IndexError, ValueError):
        pass
    raise DebugInfoError(f"the entry at {offset:#x} of .debug_info makes no sense")
