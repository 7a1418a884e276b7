"""What can be named at an address of a function: parameters and variables, in lexical blocks and inlined copies."""

from __future__ import annotations

from collections.abc import Iterator

from sonde.model.types import Type
from sonde.symbols.dwarf.attributes import chain, inherited, locations_of, name_of, ranges_of, referred, source_of
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.lists import EVERYWHERE, Location
from sonde.symbols.dwarf.types import Types
from sonde.typed import Any, NamedTuple

_INLINED, _BLOCK = "DW_TAG_inlined_subroutine", "DW_TAG_lexical_block"
_VARIABLES = ("DW_TAG_formal_parameter", "DW_TAG_variable")
_BLOCKS = ("DW_FORM_exprloc", "DW_FORM_block", "DW_FORM_block1", "DW_FORM_block2", "DW_FORM_block4")
_DEEPEST = 128


class DebugVariable(NamedTuple):
    """A parameter or a variable; `ranges` are the addresses where the source can name it.

    `constant` is the value of one that is the same everywhere; without it and without `locations` the variable is
    optimised out."""

    name: str
    type: Type
    is_parameter: bool
    ranges: tuple[tuple[int, int], ...]
    locations: tuple[Location, ...]
    constant: int | bytes | None
    entry: Any


class CodeScope(NamedTuple):
    """A function, an inlined copy of one, or a lexical block, around an address; `name` is "" for blocks."""

    name: str
    is_inlined: bool
    ranges: tuple[tuple[int, int], ...]
    variables: tuple[DebugVariable, ...]
    entry: Any


def scopes_at(function: Any, address: int, types: Types) -> tuple[CodeScope, ...]:
    """The scopes around a link-time address in a function, the function first. Raises DebugInfoError."""
    found = [_scope(function, types, False)]
    while len(found) < _DEEPEST:
        inner = next((each for each in _inner(found[-1].entry) if _covers(ranges_of(each), address)), None)
        if inner is None:
            return tuple(found)
        found.append(_scope(inner, types, inner.tag == _INLINED, found[-1].ranges))
    raise DebugInfoError(f"the scopes in the debug information of {source_of(function).path} are nested without end")


def nameable(scopes: tuple[CodeScope, ...], begin: int | None = None) -> tuple[DebugVariable, ...]:
    """The variables that a name finds there, those of the innermost scope first, one of each name.

    Those of a function that an inlined copy is in are not among them, since the source of the copy does not know them,
    unless the copy begins at the address `begin`: the line may be the caller's that goes on with the call. Of
    parameters of one name, which packs are, it is the last, as for gdb (block_lookup_symbol, gdb/block.c).
    """
    found: dict[str, DebugVariable] = {}
    for scope in reversed(scopes):
        here: dict[str, DebugVariable] = {}
        for each in scope.variables:
            if each.name and (each.name not in here or here[each.name].is_parameter):
                here[each.name] = each
        for name, each in here.items():
            found.setdefault(name, each)
        if scope.name and not (scope.is_inlined and any(start == begin for start, _ in scope.ranges)):
            break
    return tuple(found.values())


def all_scopes(function: Any, types: Types) -> Iterator[CodeScope]:
    """Every scope of a function, for lists; what is in an inlined copy counts as inlined."""
    waiting: list[tuple[Any, bool, tuple[tuple[int, int], ...], int]] = [(function, False, (EVERYWHERE,), 0)]
    while waiting:
        entry, is_inlined, around, depth = waiting.pop()
        scope = _scope(entry, types, is_inlined, around)
        yield scope
        if depth < _DEEPEST:
            inner = [(each, is_inlined or each.tag == _INLINED, scope.ranges, depth + 1) for each in _inner(entry)]
            waiting += reversed(inner)


def frame_base(function: Any) -> bytes:
    """The expression of the frame's base, b"" if there is none. Raises DebugInfoError."""
    attribute = function.attributes.get("DW_AT_frame_base")
    if attribute is None:
        return b""
    if attribute.form not in _BLOCKS:
        # A list, as GCC before 4.4 wrote it.
        raise DebugInfoError("a frame base that changes within a function is not supported")
    return bytes(attribute.value)


def _scope(
    entry: Any, types: Types, is_inlined: bool, around: tuple[tuple[int, int], ...] = (EVERYWHERE,)
) -> CodeScope:
    ranges = ranges_of(entry) or around
    children = [each for each in source_of(entry).children(entry) if each.tag in _VARIABLES]
    children += _abstract(entry, children)
    variables = tuple(_variable(each, types, ranges) for each in children)
    name = "" if entry.tag == _BLOCK else name_of(entry)
    return CodeScope(name, is_inlined, ranges, variables, entry)


def _abstract(entry: Any, children: list[Any]) -> list[Any]:
    """The variables that a copy of a function or a block has of what it is a copy of: static ones are nowhere else."""
    origin = referred(entry, "DW_AT_abstract_origin")
    if origin is None:
        return []
    known = {(id(source_of(each)), each.offset) for child in children for each in chain(child)}
    others = (each for each in source_of(origin).children(origin) if each.tag == "DW_TAG_variable")
    return [each for each in others if (id(source_of(each)), each.offset) not in known]


def _inner(entry: Any) -> Iterator[Any]:
    return (each for each in source_of(entry).children(entry) if each.tag in (_INLINED, _BLOCK))


def _covers(ranges: tuple[tuple[int, int], ...], address: int) -> bool:
    """A block without addresses is around all that its parent is around: it is looked into by no address."""
    return any(start <= address < end for start, end in ranges)


def _variable(entry: Any, types: Types, ranges: tuple[tuple[int, int], ...]) -> DebugVariable:
    typed = inherited(entry, "DW_AT_type")
    kind = types.of(typed if typed is not None else entry)
    owner = inherited(entry, "DW_AT_const_value")
    constant = owner.attributes["DW_AT_const_value"].value if owner is not None else None
    if isinstance(constant, list):
        constant = bytes(constant)
    # A static variable of an inlined function is where the abstract one says.
    locations = next((found for each in chain(entry) if (found := locations_of(each))), ())
    if not locations and "DW_AT_declaration" in entry.attributes:
        locations = _declared(entry)
    return DebugVariable(
        name_of(entry), kind, entry.tag == "DW_TAG_formal_parameter", ranges, locations, constant, entry
    )


def global_variable(entry: Any, types: Types) -> DebugVariable:
    """A variable that is in no function. Raises DebugInfoError."""
    return _variable(entry, types, (EVERYWHERE,))


def _declared(entry: Any) -> tuple[Location, ...]:
    """Those of a global variable that is declared in a function, if its unit has it."""
    source, name = source_of(entry), name_of(entry)
    for each in source.children(source.first_entry(source.unit_at(entry.offset))):
        if each.tag == "DW_TAG_variable" and "DW_AT_location" in each.attributes and name_of(each) == name:
            return locations_of(each)
    return ()
