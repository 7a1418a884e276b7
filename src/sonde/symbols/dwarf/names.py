"""Functions and variables by their names: as the source calls them, with what they are in, or as linkers do.

No index is needed: a name is text in .debug_info, or an offset into the strings, so that a search for its bytes, at the
speed of memory, tells which units are to be looked through. An entry that completes another, or is a copy of it, has
that one's offset among its bytes in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from sonde.symbols.dwarf import abbreviations as at
from sonde.symbols.dwarf import forms
from sonde.symbols.dwarf.scan import (
    TAG_INLINED,
    TAG_NAMESPACE,
    TAG_SUBPROGRAM,
    Around,
    Attributes,
    Scanned,
    attributes_at,
    reference,
    scan,
)
from sonde.symbols.dwarf.source import Source
from sonde.symbols.dwarf.units import Unit

_LINKAGE_NAMES = (at.AT_LINKAGE_NAME, at.AT_MIPS_LINKAGE_NAME)
_CALL_SITES = {0x48: at.AT_CALL_ORIGIN, 0x4109: at.AT_ABSTRACT_ORIGIN}
"""DW_TAG_call_site and GNU's of DWARF 4, and where they have the function that is called."""
_ANONYMOUS = "(anonymous namespace)"
_NONE: frozenset[int] = frozenset()
_OPEN, _CLOSE = "<({[", ">)}]"
_MANY = 64
"""Places among the strings from which on every unit is looked through: each costs a search through all entries."""
_DEEPEST = 64

_INDEX_SIZES = {forms.STRX1: 1, forms.STRX2: 2, forms.STRX3: 3, forms.STRX4: 4}

Look = Callable[[Unit], list[Scanned]]


def components(name: str) -> list[str]:
    """The parts of a qualified name: what is between `::` outside of brackets."""
    found, depth, start, position = [], 0, 0, 0
    while position < len(name):
        each = name[position]
        if name.startswith(("operator<", "operator>", "operator(", "operator["), position):
            break
        depth += (each in _OPEN) - (each in _CLOSE)
        if not depth and name.startswith("::", position) and not name.startswith(_ANONYMOUS, position):
            found.append(name[start:position])
            position = start = position + 2
        else:
            position += 1
    return [each for each in (*found, name[start:]) if each]


def functions_named(source: Source, name: str) -> set[int]:
    """The entries of functions that have the name, and those that complete them or are their code.

    The name may be that of a template without its arguments, and may leave out namespaces on the left.
    """
    found = _declared(source, name, source.functions)
    if not found:
        # Methods of classes that are in functions: lambdas are such.
        found = _declared(source, name, lambda unit: _everywhere(source, unit, TAG_SUBPROGRAM))
    return found


def variables_named(source: Source, name: str) -> set[int]:
    """The entries of global and static variables that have the name, and those that complete them."""
    return _declared(source, name, source.variables)


def copies(source: Source, origins: set[int]) -> list[int]:
    """The inlined copies of functions, by the entries of these, which are in the units of their callers."""
    found: list[int] = []
    for unit in _referring_units(source, origins):
        found += [
            each.offset
            for each in _everywhere(source, unit, TAG_INLINED)
            if reference(source.info, unit, each.attributes, at.AT_ABSTRACT_ORIGIN) in origins
        ]
    return found


def call_sites(source: Source, origins: set[int]) -> list[int]:
    """The entries of the calls of functions, by the entries of these, that compilers have told of."""
    found: list[int] = []
    for unit in _referring_units(source, origins):
        for tag, attribute in _CALL_SITES.items():
            found += [
                each.offset
                for each in _everywhere(source, unit, tag)
                if reference(source.info, unit, each.attributes, attribute) in origins
            ]
    return found


def _everywhere(source: Source, unit: Unit, tag: int) -> list[Scanned]:
    return scan(source.info, unit, source.table(unit), frozenset((tag,)), _NONE, source.costs)


def _declared(source: Source, name: str, look: Look) -> set[int]:
    parts = components(name)
    if not parts:
        return set()
    found: set[int] = set()
    base, bracket, _ = parts[-1].partition("<")
    is_operator = base.startswith("operator")
    spellings = [
        _Spelling(source, name.encode(), False),
        _Spelling(source, (parts[-1] if is_operator else base).encode(), True),
    ]
    # An index has no variables that are in no memory.
    is_indexed = look == source.functions
    units = spellings[1].units(is_indexed)
    for scope in parts[:-1] if units else ():
        # What a name is in stands in the same unit.
        if scope != _ANONYMOUS:
            units &= _Spelling(source, scope.partition("<")[0].encode(), True).units(False)
    units |= spellings[0].units(is_indexed)
    for unit in map(source.unit_at, sorted(units)):
        is_whole, is_base = spellings[0].test(unit), spellings[1].test(unit)
        for each in look(unit):
            attributes = each.attributes
            is_linked = any(kind in attributes and is_whole(*attributes[kind]) for kind in _LINKAGE_NAMES)
            if is_linked or (
                at.AT_NAME in attributes
                and is_base(*attributes[at.AT_NAME])
                and (is_operator or not bracket or _is_alike(_name(source, unit, each.attributes), parts[-1]))
                and _is_in(source, unit, each.around, parts[:-1])
            ):
                found.add(each.offset)
    if source.shared is not None:
        shared = source.shared
        others = functions_named(shared, name) if look == source.functions else variables_named(shared, name)
        found |= _referring(source, {~offset for offset in others}, look)
    return _referring(source, found, look)


def _is_in(source: Source, unit: Unit, around: Around, scopes: list[str]) -> bool:
    """Whether the innermost of the entries around have these names, the outermost first.

    Namespaces that are inline, and those without a name, may be left out.
    """
    for wanted in reversed(scopes):
        while around:
            offset, around = around
            attributes = attributes_at(source.info, unit, source.table(unit), offset)
            name = _scope_name(source, unit, offset, attributes)
            if name is not None and (_is_alike(name, wanted) or name.partition("<")[0] == wanted):
                break
            if name is not None and name != _ANONYMOUS and at.AT_EXPORT_SYMBOLS not in attributes:
                return False
        else:
            return False
    return True


def _scope_name(source: Source, unit: Unit, offset: int, attributes: Attributes) -> str | None:
    """The name of what something is in; None for what has none and counts for nothing."""
    if offset == unit.entries:
        return None
    if at.AT_NAME not in attributes:
        return _ANONYMOUS if source.tag_at(unit, offset) == TAG_NAMESPACE else None
    return _name(source, unit, attributes)


def _name(source: Source, unit: Unit, attributes: Attributes) -> str:
    return (source.string(unit, attributes, at.AT_NAME) or b"").decode(errors="replace")


def _is_alike(one: str, other: str) -> bool:
    """Whether two names are the same but for how types are spelled in the arguments of a template."""
    return one == other or ("<" in one and "<" in other and _plain(one) == _plain(other))


def _plain(name: str) -> str:
    """`long unsigned int`, as gcc has it, and `unsigned long`, as clang and people do, are one; spaces are none."""
    words = re.findall(r"\w+|[^\w\s]", name)
    found: list[str] = []
    for word in words:
        if word == "int" and found and found[-1] in ("long", "short", "unsigned"):
            continue
        if word == "unsigned" and found and found[-1] in ("long", "short", "char"):
            found[-1:] = ["unsigned", found[-1]]
        else:
            found.append(word)
    return " ".join(found)


def _referring(source: Source, origins: set[int], look: Look) -> set[int]:
    """`origins` and the entries that complete them: a declaration's function, an abstract one's code."""
    known = {each for each in origins if each >= 0}
    waiting = origins
    for _ in range(_DEEPEST):
        if not waiting:
            break
        found = {
            each.offset
            for unit in _referring_units(source, waiting)
            for each in look(unit)
            if _origin(source, unit, each) in waiting
        }
        waiting = found - known
        known |= found
    return known


def _origin(source: Source, unit: Unit, each: Scanned) -> int:
    """The entry that one completes or is a copy of; 0 if there is none."""
    found = reference(source.info, unit, each.attributes, at.AT_ABSTRACT_ORIGIN)
    return found or reference(source.info, unit, each.attributes, at.AT_SPECIFICATION)


def _referring_units(source: Source, origins: set[int]) -> list[Unit]:
    """Units that may refer to entries: their own, and those with the offset among their bytes."""
    found = {source.unit_at(each).offset for each in origins if each >= 0}
    if len(origins) > _MANY:
        return list(source.units)
    for origin in origins:
        offset = origin if origin >= 0 else ~origin
        found |= _units_with(source, offset.to_bytes(4, "little"))
    return [source.unit_at(offset) for offset in sorted(found)]


def _units_with(source: Source, pattern: bytes) -> set[int]:
    """Where the units start that have these bytes somewhere: a search at the speed of memory."""
    found = set()
    where = source.info.find(pattern)
    while where >= 0:
        source.costs.check()
        unit = source.unit_at(where)
        found.add(unit.offset)
        where = source.info.find(pattern, unit.end)
    return found


class _Spelling:
    """A name, or with `is_template` also that name and what begins with `<`, and where it is among the strings."""

    def __init__(self, source: Source, name: bytes, is_template: bool) -> None:
        self._source, self._name, self._is_template = source, name, is_template
        self._own = self._places(source, ".debug_str")
        self._lines = self._places(source, ".debug_line_str")
        self._shared = self._places(source.shared, ".debug_str") if source.shared else set()

    def _places(self, source: Source, section: str) -> set[int]:
        strings, found = source.sections.get(section, b""), set()
        for pattern in self._patterns():
            where = strings.find(pattern)
            while where >= 0:
                found.add(where)
                source.costs.check()
                where = strings.find(pattern, where + 1)
        return found

    def _patterns(self) -> Iterator[bytes]:
        yield self._name + b"\0"
        if self._is_template:
            yield self._name + b"<"

    def units(self, is_indexed: bool) -> set[int]:
        """Where the units start in which the name may occur; if `is_indexed` of those in an index as that tells."""
        index = self._source.name_index if is_indexed else None
        if index is not None and len(self._own) <= _MANY:
            return index.units_with(self._own) | (self._holding() - index.units)
        return self._holding()

    def _holding(self) -> set[int]:
        """By the bytes of units."""
        places = self._own | self._lines | self._shared
        if len(places) > _MANY:
            return {unit.offset for unit in self._source.units}
        found: set[int] = set()
        for pattern in self._patterns():
            found |= _units_with(self._source, pattern)
        for place in places:
            found |= _units_with(self._source, place.to_bytes(4, "little"))
        return found | self._by_indexes(found)

    def _by_indexes(self, known: set[int]) -> set[int]:
        """The units whose tables of strings have the name; and those which have such a table somewhere else."""
        return {unit.offset for unit in self._source.units if unit.offset not in known and self._has_indexes(unit)}

    def _has_indexes(self, unit: Unit) -> bool:
        indexes = self._indexes(unit)
        if indexes is not None:
            return bool(indexes)
        if unit.sizes.version == 5 and self._source.bases is None:
            return unit.offset in self._source.string_tables
        table = self._source.table(unit).values()
        return any(step.form in forms.STRING_INDEXES for each in table for step in each.steps)

    def test(self, unit: Unit) -> Callable[[int, int], bool]:
        """What tells whether an attribute, by where it is and by its form, is the name. There are many of them."""
        info, width = self._source.info, unit.sizes.offset
        packed = frozenset(place.to_bytes(8, "little")[:width] for place in self._own)
        indexes = self._indexes(unit)

        def is_it(where: int, form: int) -> bool:
            if form == forms.STRP:
                return info[where : where + width] in packed
            if indexes is not None and (size := _INDEX_SIZES.get(form)):
                return int.from_bytes(info[where : where + size], "little") in indexes
            return self._is(unit, where, form)

        return is_it

    def _indexes(self, unit: Unit) -> frozenset[int] | None:
        """The numbers of the name in the unit's own table of strings, None if they are not known."""
        table = self._source.string_tables.get(unit.offset)
        if table is None or len(self._own) > _MANY:
            return None
        found, (start, end), width = set(), table, unit.sizes.offset
        offsets = self._source.sections.get(".debug_str_offsets", b"")
        for place in self._own:
            pattern = place.to_bytes(8, "little")[:width]
            where = offsets.find(pattern, start, end)
            while where >= 0:
                if not (where - start) % width:
                    found.add((where - start) // width)
                where = offsets.find(pattern, where + 1, end)
        return frozenset(found)

    def _is(self, unit: Unit, where: int, form: int) -> bool:
        if form == forms.STRING:
            return any(self._source.info.startswith(pattern, where) for pattern in self._patterns())
        value = self._value(unit, where, form)
        if form in forms.STRING_INDEXES:
            return self._source.string_at_index(unit, value) in self._own
        return value in (self._lines if form == forms.LINE_STRP else self._shared)

    def _value(self, unit: Unit, where: int, form: int) -> int:
        return forms.number(form, self._source.info, where, unit.sizes)
