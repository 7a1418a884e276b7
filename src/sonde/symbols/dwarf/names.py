"""Functions and variables by their names: as the source calls them, with what they are in, or as linkers do.

No index is needed: a name is text in .debug_info, or an offset into the strings, so that a search for its bytes, at the
speed of memory, tells which units are to be looked through. An entry that completes another, or is a copy of it, has
that one's offset among its bytes in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from sonde.symbols.dwarf import abbreviations as at
from sonde.symbols.dwarf import forms
from sonde.symbols.dwarf.attributes import name_of
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
from sonde.symbols.dwarf.source import EntrySource
from sonde.symbols.dwarf.spelling import MANY, NameSpelling, units_with
from sonde.symbols.dwarf.units import DebugUnit
from sonde.symbols.source_names import functions, rust_names

_LINKAGE_NAMES = (at.AT_LINKAGE_NAME, at.AT_MIPS_LINKAGE_NAME)
_CALL_SITES = {0x48: at.AT_CALL_ORIGIN, 0x4109: at.AT_ABSTRACT_ORIGIN}
"""DW_TAG_call_site and GNU's of DWARF 4, and where they have the function that is called."""
_ANONYMOUS = "(anonymous namespace)"
_NONE: frozenset[int] = frozenset()
_OPEN, _CLOSE = "<({[", ">)}]"
_DEEPEST = 64

Look = Callable[[DebugUnit], list[Scanned]]


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


def functions_named(source: EntrySource, name: str) -> set[int]:
    """The entries of functions that have the name, and those that complete them or are their code.

    The name may be that of a template without its arguments, and may leave out namespaces on the left. One with
    parameters is that of one of the overloads.
    """
    if "(" in name.replace(_ANONYMOUS, "") and not name.endswith("operator()"):
        return _overloads(source, name)
    found = _declared(source, name, source.functions)
    if not found:
        # Methods of classes that are in functions: lambdas are such.
        found = _declared(source, name, lambda unit: _everywhere(source, unit, TAG_SUBPROGRAM))
    return found


def _overloads(source: EntrySource, name: str) -> set[int]:
    """Those of a name with parameters, which are in the names that linkers have."""
    called: dict[str, set[int]] = {}
    for offset in functions_named(source, "::".join(functions.components(name))):
        called.setdefault(_linkage_name(source, offset), set()).add(offset)
    return {offset for each in functions.named(called, name) for offset in called[each]}


def _linkage_name(source: EntrySource, offset: int) -> str:
    """What linkers call a function by its entry, or by that which it completes or is a copy of; "" if it is not
    known."""
    for _ in range(_DEEPEST):
        if offset < 0:
            break
        unit = source.unit_at(offset)
        attributes = attributes_at(source.info, unit, source.table(unit), offset)
        found = source.string(unit, attributes, *_LINKAGE_NAMES)
        if found:
            return found.decode(errors="replace")
        origin = reference(source.info, unit, attributes, at.AT_ABSTRACT_ORIGIN)
        offset = origin or reference(source.info, unit, attributes, at.AT_SPECIFICATION) or -1
    return ""


def variables_named(source: EntrySource, name: str) -> set[int]:
    """The entries of global and static variables that have the name, and those that complete them."""
    return _declared(source, name, source.variables)


def variables_at(source: EntrySource, name: str, addresses: Collection[int]) -> set[int]:
    """The entries of global and static variables that have the name, in the units that name any of the addresses."""
    spelling = NameSpelling(source, name.encode(), False)
    found: set[int] = set()
    for unit in dict.fromkeys(unit for address in addresses for unit in source.units_naming(address)):
        is_it = spelling.test(unit)
        variables = source.variables(unit)
        named = {
            each.offset
            for each in variables
            if at.AT_NAME in each.attributes
            and is_it(*each.attributes[at.AT_NAME])
            and not _is_in_function(source, unit, each.around)
        }
        found |= named | {each.offset for each in variables if _origin(source, unit, each) in named}
    return found


def copies(source: EntrySource, origins: set[int]) -> list[int]:
    """The inlined copies of functions, by the entries of these, which are in the units of their callers."""
    found: list[int] = []
    for unit in _referring_units(source, origins):
        found += [
            each.offset
            for each in _everywhere(source, unit, TAG_INLINED)
            if reference(source.info, unit, each.attributes, at.AT_ABSTRACT_ORIGIN) in origins
        ]
    return found


def call_sites(source: EntrySource, origins: set[int]) -> list[int]:
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


def _everywhere(source: EntrySource, unit: DebugUnit, tag: int) -> list[Scanned]:
    return scan(source.info, unit, source.table(unit), frozenset((tag,)), _NONE, source.costs)


def _declared(source: EntrySource, name: str, look: Look) -> set[int]:
    parts = components(name)
    if not parts:
        return set()
    found: set[int] = set()
    base, bracket, _ = parts[-1].partition("<")
    is_operator = base.startswith("operator")
    spellings = [
        NameSpelling(source, name.encode(), False),
        NameSpelling(source, (parts[-1] if is_operator else base).encode(), True),
    ]
    # An index has no variables that are in no memory.
    is_indexed = look == source.functions
    is_of_variables = look == source.variables
    units = spellings[1].units(is_indexed)
    for scope in parts[:-1] if units and not source.has_type_units else ():
        # What a name is in stands in the same unit, but for classes that have units of their own.
        if scope != _ANONYMOUS:
            units &= NameSpelling(source, scope.partition("<")[0].encode(), True).units(False)
    units |= spellings[0].units(is_indexed)
    for unit in map(source.unit_at, sorted(units)):
        is_whole, is_base = spellings[0].test(unit), spellings[1].test(unit)
        for each in look(unit):
            attributes = each.attributes
            is_linked = any(kind in attributes and is_whole(*attributes[kind]) for kind in _LINKAGE_NAMES)
            is_called = is_linked or (
                at.AT_NAME in attributes
                and is_base(*attributes[at.AT_NAME])
                and (is_operator or not bracket or _is_alike(_name(source, unit, each.attributes), parts[-1]))
                and (
                    _is_in(source, unit, each.around, parts[:-1]) or _is_implementation(source, unit, attributes, parts)
                )
            )
            if is_called and not (is_of_variables and _is_in_function(source, unit, each.around)):
                found.add(each.offset)
    if source.shared is not None:
        shared = source.shared
        others = functions_named(shared, name) if look == source.functions else variables_named(shared, name)
        found |= _referring(source, {~offset for offset in others}, look)
    return _referring(source, found, look)


def _is_implementation(source: EntrySource, unit: DebugUnit, attributes: Attributes, parts: list[str]) -> bool:
    """Whether a function of Rust implements something for what the scopes name: debug information has it in a namespace
    `{impl#1}`, its symbol has the type."""
    symbol = (source.string(unit, attributes, *_LINKAGE_NAMES) or b"").decode(errors="replace")
    if len(parts) < 2 or not symbol.startswith(("_R", "_ZN")) or (symbol[1] == "Z" and "$LT$" not in symbol):
        return False
    # What few names need.

    return any(
        each[-len(parts) :] == parts
        for each in functions.of_implementation(functions.components(rust_names.demangle(symbol) or symbol))
    )


def scope_names(source: EntrySource, unit: DebugUnit, around: Around) -> tuple[str, ...] | None:
    """The names of the entries around, the innermost first; None where one has none that other units know."""
    found = []
    while around:
        offset, around = around
        name = _scope_name(source, unit, offset, attributes_at(source.info, unit, source.table(unit), offset))
        if name == _ANONYMOUS or (name is None and offset != unit.entries):
            return None
        found += [name] if name is not None else []
    return tuple(found)


def _is_in_function(source: EntrySource, unit: DebugUnit, around: Around) -> bool:
    """Whether an entry is a function's own; the last function of a unit is gone through, as nothing is behind it."""
    while around:
        offset, around = around
        if source.tag_at(unit, offset) == TAG_SUBPROGRAM:
            return True
    return False


def _is_in(source: EntrySource, unit: DebugUnit, around: Around, scopes: list[str]) -> bool:
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


def _scope_name(source: EntrySource, unit: DebugUnit, offset: int, attributes: Attributes) -> str | None:
    """The name of what something is in; None for what has none and counts for nothing."""
    if offset == unit.entries:
        return None
    where, form = attributes.get(at.AT_SIGNATURE, (0, 0))
    if at.AT_NAME not in attributes and form == forms.REF_SIG8:
        return name_of(source.type_entry(forms.number(form, source.info, where, unit.sizes)))
    if at.AT_NAME not in attributes:
        return _ANONYMOUS if source.tag_at(unit, offset) == TAG_NAMESPACE else None
    return _name(source, unit, attributes)


def _name(source: EntrySource, unit: DebugUnit, attributes: Attributes) -> str:
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


def _referring(source: EntrySource, origins: set[int], look: Look) -> set[int]:
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


def _origin(source: EntrySource, unit: DebugUnit, each: Scanned) -> int:
    """The entry that one completes or is a copy of; 0 if there is none."""
    found = reference(source.info, unit, each.attributes, at.AT_ABSTRACT_ORIGIN)
    return found or reference(source.info, unit, each.attributes, at.AT_SPECIFICATION)


def _referring_units(source: EntrySource, origins: set[int]) -> list[DebugUnit]:
    """Units that may refer to entries: their own, and those with the offset among their bytes."""
    found = {source.unit_at(each).offset for each in origins if each >= 0}
    if len(origins) > MANY:
        return list(source.units)
    for origin in origins:
        offset = origin if origin >= 0 else ~origin
        found |= units_with(source, offset.to_bytes(4, "little"))
    return [source.unit_at(offset) for offset in sorted(found)]
