"""Definitions of the types that a unit only declares: `struct lua_State *` where the structure is another file's own.

A class of C++ or Rust is known by its name with all it is in, a structure of C by its tag, which several files may use
for structures of their own. No index is needed: a name's bytes are searched for in .debug_info at the speed of memory,
and what stands before them tells whether a definition may be there; a unit is looked through only if it may.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from sonde.symbols.dwarf import abbreviations as at
from sonde.symbols.dwarf.attributes import number, referred, source_of, text
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.information import DebugInformation
from sonde.symbols.dwarf.names import scope_names
from sonde.symbols.dwarf.scan import Scanned, reference
from sonde.symbols.dwarf.source import EntrySource
from sonde.symbols.dwarf.spelling import NameSpelling
from sonde.symbols.dwarf.units import DebugUnit
from sonde.typed import Any

Elsewhere = Callable[[], Iterable[DebugInformation]]

_CLASSES = frozenset((0x02, 0x13))
"""What one file calls a class may be declared as a structure in another."""
_LANGUAGES_OF_C = frozenset((None, 0x01, 0x02, 0x0C, 0x1D, 0x2C))
"""DW_LANG_C89, C, C99, C11, C17, and what dwz has moved: several structures may have one name in a program."""
_WORTH = 1.0
"""Seconds of reading that a question may take."""


class Definitions:
    """Those of one object, and `elsewhere`: the other objects that the process has, in the order of its mappings."""

    def __init__(self, information: DebugInformation, elsewhere: Elsewhere = tuple) -> None:
        self._information = information
        self._elsewhere = elsewhere

    def of(self, entry: Any) -> Any:
        """The entry that defines what one declares; None if there is none. Raises DebugInfoError, also where files
        have different structures of that name."""
        if "DW_AT_signature" in entry.attributes:
            return referred(entry, "DW_AT_signature")
        wanted = _Wanted.of(entry)
        if wanted is None:
            return None
        found = _in_object(self._information, wanted, entry)
        if found is None:
            others = (_in_object(each, wanted, None) for each in self._elsewhere() if each is not self._information)
            found = next((each for each in others if each is not None), None)
        return found


class _Wanted:
    """What a definition must be: its tags, its name, the names of what it is in, whether its language is C."""

    def __init__(self, tags: frozenset[int], name: str, scopes: tuple[str, ...], is_c: bool) -> None:
        self.tags, self.name, self.scopes, self.is_c = tags, name, scopes, is_c

    @classmethod
    def of(cls, entry: Any) -> _Wanted | None:
        """None for what is known by no name outside of its unit or its function."""
        source = source_of(entry)
        unit = source.unit_at(entry.offset)
        declared = next((each for each in source.types(unit) if each.offset == entry.offset), None)
        name = text(entry, "DW_AT_name")
        scopes = scope_names(source, unit, declared.around) if declared is not None and name else None
        if declared is None or scopes is None:
            return None
        tags = _CLASSES if declared.tag in _CLASSES else frozenset((declared.tag,))
        language = number(source.first_entry(unit), "DW_AT_language")
        return cls(tags, name, scopes, language in _LANGUAGES_OF_C)


def _in_object(information: DebugInformation, wanted: _Wanted, near: Any) -> Any:
    """The definition in one object: that of the unit of `near` first."""
    information.costs.allow(_WORTH)
    with information.costs:
        found = None
        for source, unit, places in _possible(information, wanted, near):
            if found is not None and places and all(_is_alike(source, place, found) for place in places):
                continue
            for each in _defined(source, unit, wanted):
                if found is None:
                    found = each
                    if not wanted.is_c:
                        return found
                elif _layout(each) != _layout(found):
                    raise DebugInfoError(f"files of {information.path} have different structures {wanted.name}")
        return found


def _possible(
    information: DebugInformation, wanted: _Wanted, near: Any
) -> Iterator[tuple[EntrySource, DebugUnit, list[int]]]:
    """The units that may have a definition, and where; nothing where that is not known."""
    home = (source_of(near), source_of(near).unit_at(near.offset)) if near is not None else None
    found = [each for source in information.sources() for each in _in_source(source, wanted)]
    return iter(sorted(found, key=lambda each: (each[0], each[1]) != home))


def _in_source(source: EntrySource, wanted: _Wanted) -> Iterator[tuple[EntrySource, DebugUnit, list[int]]]:
    spelling = NameSpelling(source, wanted.name.encode(), False)
    for unit in map(source.unit_at, sorted(spelling.units(False))):
        source.costs.check()
        places = spelling.entries(unit, wanted.tags)
        if places is None or places:
            yield source, unit, places or []


def _defined(source: EntrySource, unit: DebugUnit, wanted: _Wanted) -> Iterator[Any]:
    for each in source.types(unit):
        if each.tag in wanted.tags and at.AT_DECLARATION not in each.attributes and _is(source, unit, each, wanted):
            yield source.entry(each.offset)


def _is(source: EntrySource, unit: DebugUnit, each: Scanned, wanted: _Wanted) -> bool:
    if source.string(unit, each.attributes, at.AT_NAME) != wanted.name.encode():
        return False
    # What completes a declaration in a namespace may stand outside of it.
    declared = reference(source.info, unit, each.attributes, at.AT_SPECIFICATION)
    within = next((other for other in source.types(unit) if other.offset == declared), each)
    return scope_names(source, unit, within.around) == wanted.scopes


def _is_alike(source: EntrySource, place: int, found: Any) -> bool:
    """Whether what may be an entry says it is of the same lines and the same size as one that is known: most files
    take a structure from one header."""
    try:
        entry = source.entry(place)
        return all(
            text(entry, each) == text(found, each) and number(entry, each) == number(found, each)
            for each in ("DW_AT_name", "DW_AT_byte_size", "DW_AT_decl_line", "DW_AT_decl_column")
        )
    except DebugInfoError:
        return False


def _layout(entry: Any) -> tuple[object, ...]:
    members = (
        (text(each, "DW_AT_name"), number(each, "DW_AT_data_member_location"), number(each, "DW_AT_data_bit_offset"))
        for each in source_of(entry).children(entry)
        if each.tag == "DW_TAG_member"
    )
    return number(entry, "DW_AT_byte_size"), tuple(members)
