"""What a register had when a function was entered, from what the caller gave the call: DW_OP_entry_value with the
DW_TAG_call_site_parameter of the call that the return address tells (DWARF 5, sections 2.5.1.7 and 3.4.2).

It takes part of the place of caller and function: what the caller computed the value from must still be there, in a
register that functions keep for their callers or in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sonde.arch import unwinding
from sonde.model.location import (
    MASK,
    Address,
    Binary,
    Chosen,
    Constant,
    EntryParameter,
    EntryRegister,
    Extend,
    InMemory,
    IsValue,
    Load,
    Piece,
    Register,
    Unary,
    Value,
    binary,
)
from sonde.symbols.dwarf.attributes import chain, number, ranges_of, referred, source_of, text
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.expressions import UnsupportedError, evaluate
from sonde.symbols.dwarf.information import DebugInformation
from sonde.symbols.dwarf.names import call_sites, functions_named
from sonde.symbols.dwarf.places import Places
from sonde.symbols.dwarf.source import EntrySource
from sonde.typed import Any

_MOST_CALLS, _MOST_CALLERS, _MOST_JUMPS = 64, 3, 64
_REGISTER = 0x50
AtEntry = EntryRegister | EntryParameter
Instead = Callable[[Value], "Value | None"]
"""What a part of a value is to be replaced by, None for what stays."""
_PARAMETERS = ("DW_TAG_call_site_parameter", "DW_TAG_GNU_call_site_parameter")


class EntryValues:
    """Those of the functions of one object; the calls of each are looked for once."""

    def __init__(self, information: DebugInformation, places: Places) -> None:
        self._information = information
        self._places = places
        self._calls: dict[tuple[int, int], list[Any]] = {}

    def put_in(self, pieces: tuple[Piece, ...], function: Any, address: int) -> tuple[Piece, ...]:
        """The pieces of a variable at an address of a function with the values that its callers tell in the place of
        EntryRegister and EntryParameter. Raises UnsupportedError where none does, or DebugInfoError."""
        return tuple(each._replace(place=self._place(each.place, function, address)) for each in pieces)

    def _place(self, place: Any, function: Any, address: int) -> Any:
        match place:
            case InMemory(value):
                return InMemory(self._value(value, function, address))
            case IsValue(value):
                return IsValue(self._value(value, function, address))
        return place

    def _value(self, value: Value, function: Any, address: int) -> Value:
        return replaced(value, lambda each: self._entered(each, function, address, 1))

    def _entered(self, value: Value, function: Any, address: int, depth: int) -> Value | None:
        """What stands for a value that is one at the entry; None for any other. `depth` counts the callers."""
        if not isinstance(value, (EntryRegister, EntryParameter)):
            return None
        cases = list(self._cases(value, function, address, depth)) if depth <= _MOST_CALLERS else []
        if not cases or len(cases) > _MOST_CALLS:
            raise UnsupportedError(
                "only its value at the function's entry is known there, and no call tells it: save it at the entry"
            )
        return Chosen(Load(binary("plus", self._places.cfa(address), Constant(-8 & MASK)), 8), tuple(cases))

    def _cases(self, wanted: AtEntry, function: Any, address: int, depth: int) -> Iterator[tuple[Value, Value]]:
        """Return addresses, and what the register or the parameter had then."""
        for site in self._sites(function):
            back = number(site, "DW_AT_call_return_pc") or number(site, "DW_AT_low_pc")
            code = _given(site, wanted, function)
            if back is None or not code or "DW_AT_call_tail_call" in site.attributes:
                continue
            caller = self._information.function_at(back - 1)
            if caller is None:
                continue
            try:
                (piece,) = evaluate(code, self._places.surroundings(site, caller, back - 1))
                if isinstance(piece.place, InMemory):
                    kept = self._kept(address, self._entering(caller, back - 1, depth + 1))
                    yield Address(back), replaced(piece.place.address, kept)
            except DebugInfoError:
                continue

    def _entering(self, function: Any, address: int, depth: int) -> Instead:
        return lambda each: self._entered(each, function, address, depth)

    def _kept(self, address: int, entered: Instead) -> Instead:
        """What stands for the registers of a caller at an address of the function that it has called; `entered` for
        those at the caller's own entry."""
        cfa, saved = self._places.cfa(address), self._places.saved(address)

        def kept(each: Value) -> Value | None:
            if isinstance(each, (EntryRegister, EntryParameter)):
                found = entered(each)
                return None if found is None else replaced(found, kept)
            if not isinstance(each, Register):
                return None
            if each.number == unwinding.STACK_POINTER:
                return cfa
            if each.number not in unwinding.KEPT:
                raise UnsupportedError("the caller's register is gone")
            if each.number not in saved:
                return each
            offset = saved[each.number]
            if offset is None:
                raise UnsupportedError("the caller's register is kept in a way that is not known")
            return Load(binary("plus", cfa, Constant(offset & MASK)), 8)

        return kept

    def _sites(self, function: Any) -> list[Any]:
        """The calls of a function, in all files that know it."""
        source = source_of(function)
        key = id(source), function.offset
        if key not in self._calls:
            origins = {source: {each.offset for each in chain(function) if source_of(each) is source}}
            if _is_external(function):
                name = _linked(function)
                for each in self._information.sources():
                    origins[each] = origins.get(each, set()) | functions_named(each, name)
            calls = [each.entry(offset) for each, named in origins.items() for offset in call_sites(each, named)]
            self._calls[key] = [] if self._calls_itself_last(function, origins) else calls
        return self._calls[key]

    def _calls_itself_last(self, function: Any, origins: dict[EntrySource, set[int]]) -> bool:
        """Whether the function may be jumped to from itself, so that the return address does not tell of its entry."""
        waiting: list[Any] = [function]
        seen: set[tuple[EntrySource, int]] = set()
        while waiting:
            for site in _jumps(waiting.pop()):
                target = referred(site, "DW_AT_call_origin") or referred(site, "DW_AT_abstract_origin")
                if target is None or len(seen) > _MOST_JUMPS:
                    # It jumps somewhere that only the process knows, or too far to be followed.
                    return True
                if target.offset in origins.get(source_of(target), ()):
                    return True
                if (source_of(target), target.offset) not in seen:
                    seen.add((source_of(target), target.offset))
                    waiting += self._code_of(target)
        return False

    def _code_of(self, target: Any) -> list[Any]:
        """The functions that an entry in a call may mean: that itself, or what has the code of a declaration."""
        if ranges_of(target):
            return [target]
        found: list[Any] = self._information.functions(_linked(target))
        return found


def _linked(function: Any) -> str:
    """The name that a linker knows, as far as debug information tells it."""
    entries = chain(function)
    name = next((found for each in entries if (found := text(each, "DW_AT_linkage_name"))), "")
    return name or next((found for each in entries if (found := text(each, "DW_AT_name"))), "")


def _is_external(function: Any) -> bool:
    return any("DW_AT_external" in each.attributes for each in chain(function))


def replaced(value: Value, instead: Instead) -> Value:
    """A value with what `instead` gives for its parts (None: the part itself)."""
    found: Value | None = instead(value)
    if found is not None:
        return found
    match value:
        case Load(inner, size):
            return Load(replaced(inner, instead), size)
        case Extend(inner, size, is_signed):
            return Extend(replaced(inner, instead), size, is_signed)
        case Unary(operation, inner):
            return Unary(operation, replaced(inner, instead))
        case Chosen(key, cases):
            return Chosen(replaced(key, instead), tuple((case, replaced(each, instead)) for case, each in cases))
        case Binary(operation, left, right):
            return binary(operation, replaced(left, instead), replaced(right, instead))
    return value


def _given(site: Any, wanted: AtEntry, function: Any) -> bytes:
    """The expression for what a call of a function has put into a register, or has for a parameter."""
    for each in source_of(site).children(site):
        if each.tag in _PARAMETERS:
            code = each.attributes.get("DW_AT_call_value") or each.attributes.get("DW_AT_GNU_call_site_value")
            if _is_block(code) and _is_meant(each, wanted, function):
                return bytes(code.value)
    return b""


def _is_meant(given: Any, wanted: AtEntry, function: Any) -> bool:
    if isinstance(wanted, EntryRegister):
        where = given.attributes.get("DW_AT_location")
        return _is_block(where) and bytes(where.value) == bytes([_REGISTER + wanted.number])
    parameter = referred(given, "DW_AT_call_parameter") or referred(given, "DW_AT_abstract_origin")
    source = source_of(function)
    if parameter is None or source_of(parameter) is not source:
        return False
    # With link-time optimisation one of them may be the copy of the other.
    meant = source.entry(source.unit_at(function.offset).offset + wanted.entry)
    return not {each.offset for each in chain(parameter)}.isdisjoint(each.offset for each in chain(meant))


def _is_block(attribute: Any) -> bool:
    """Whether it is an expression: bytes() of a number would be as many zeros."""
    return attribute is not None and isinstance(attribute.value, (list, bytes))


def _jumps(function: Any) -> Iterator[Any]:
    """The calls in a function that are its last act and leave no return address of their own."""
    waiting = [function]
    while waiting:
        for each in source_of(function).children(waiting.pop()):
            if each.tag in ("DW_TAG_lexical_block", "DW_TAG_inlined_subroutine"):
                waiting.append(each)
            elif each.tag in ("DW_TAG_call_site", "DW_TAG_GNU_call_site") and (
                "DW_AT_call_tail_call" in each.attributes or "DW_AT_GNU_tail_call" in each.attributes
            ):
                yield each
