"""Where variables are at a function's first instruction.

What compilers say of code that is not optimised holds only behind the instructions that set up the function's frame:
before them parameters are where the calling convention has them, and other variables have no values yet.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonde.arch import classification, rust_convention, unwinding
from sonde.model.location import (
    Binary,
    Chosen,
    Constant,
    EntryParameter,
    EntryRegister,
    Extend,
    InMemory,
    InRegister,
    IsValue,
    Load,
    Piece,
    Register,
    Unary,
    UnreadableError,
    Value,
    VariablePlace,
    signed,
)
from sonde.model.types import Type
from sonde.symbols.dwarf.attributes import inherited, number, referred, text
from sonde.symbols.dwarf.expressions import UnsupportedError
from sonde.symbols.dwarf.lists import EVERYWHERE
from sonde.symbols.dwarf.scopes import DebugVariable, frame_base
from sonde.typed import Any

_CFA = b"\x9c"
"""DW_OP_call_frame_cfa."""
_RUST = 0x1C
"""DW_LANG_Rust."""
_FRAME_BASE, _DEREF = 0x91, 0x06
"""DW_OP_fbreg and DW_OP_deref."""
_AT_ARGUMENTS = frozenset(bytes([0x70 + number, 0]) for number in classification.ARGUMENTS)
"""DW_OP_breg of a register that has an argument, without an offset."""
_PASS_BY_REFERENCE = 4
"""DW_CC_pass_by_reference."""
_OTHER_NAMES = ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type")
_STRUCTURES = ("DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type")


def entry_place(
    pieces: tuple[Piece, ...],
    variable: DebugVariable,
    own: Sequence[DebugVariable],
    returned: Type,
    function: Any,
    is_clone: bool = False,
) -> tuple[Piece, ...]:
    """The pieces of a variable at the first instruction of a function that is not inlined.

    `pieces` are what is said of that address, `own` the function's parameters, `returned` the type of its result;
    `is_clone`: the compiler has made the function of another one, and may call it as it likes. Raises UnsupportedError.
    """
    if not is_everywhere(variable) or not is_of_frame(pieces) or _is_in_argument(pieces):
        return pieces
    if frame_base(function) == _CFA and _is_above_frame(pieces):
        return pieces
    index = next((at for at, each in enumerate(own) if each.entry.offset == variable.entry.offset), None)
    if index is None:
        raise UnsupportedError("the function has not begun with it at its entry: use a line of it, FILE@LINE")
    if is_clone:
        raise UnsupportedError("the compiler has changed how this function is called: use a line of it, FILE@LINE")
    try:
        if _is_rusts(function):
            return rust_convention.rust_parameters([each.type for each in own], returned, index)
        return classification.parameters(
            [classification.TypedParameter(each.type, _is_by_reference(each)) for each in own], returned, index
        )
    except UnreadableError as error:
        raise UnsupportedError(str(error)) from None


def is_everywhere(variable: DebugVariable) -> bool:
    """Whether its place is said once for all of the function, as of code that is not optimised, or of variables whose
    address is taken: that is where the function puts it."""
    return [(each.start, each.end) for each in variable.locations] == [EVERYWHERE]


def _is_rusts(function: Any) -> bool:
    """Whether it is called as Rust's own functions are: those for other languages have names that are not mangled."""
    named = inherited(function, "DW_AT_linkage_name")
    is_rust = number(function.cu.get_top_DIE(), "DW_AT_language") == _RUST
    return is_rust and named is not None and text(named, "DW_AT_linkage_name").startswith(("_ZN", "_R"))


def is_of_frame(pieces: tuple[Piece, ...]) -> bool:
    """Whether registers lead to a variable, rather than only where its object is loaded."""
    return any(_has_registers(each.place) for each in pieces)


def _has_registers(place: VariablePlace) -> bool:
    if isinstance(place, InRegister):
        return True
    value = place.address if isinstance(place, InMemory) else place.value if isinstance(place, IsValue) else None
    waiting: list[Value | None] = [value]
    while waiting:
        match waiting.pop():
            case Register() | EntryRegister() | EntryParameter() | Chosen():
                return True
            case Load(inner, _) | Extend(inner, _, _) | Unary(_, inner):
                waiting.append(inner)
            case Binary(_, left, right):
                waiting += [left, right]
    return False


def _is_in_argument(pieces: tuple[Piece, ...]) -> bool:
    """Whether it stays in the register, or where that leads to, in which it is passed: compilers change how their own
    functions are called, and know it."""
    match pieces[0].place:
        case InRegister(number) | InMemory(Register(number)):
            return len(pieces) == 1 and number in classification.ARGUMENTS
    return False


def _is_above_frame(pieces: tuple[Piece, ...]) -> bool:
    """Whether the caller has put it on the stack, where it stays."""
    if len(pieces) != 1 or not isinstance(pieces[0].place, InMemory):
        return False
    match pieces[0].place.address:
        case Binary("plus", Register(base), Constant(offset)):
            return base == unwinding.STACK_POINTER and signed(offset) >= 8
    return False


def _is_by_reference(variable: DebugVariable) -> bool:
    """Objects of C++ that are not trivial are passed by their address: their type says so, or the place leads through
    that address."""
    owner = inherited(variable.entry, "DW_AT_type")
    kind = referred(owner, "DW_AT_type") if owner is not None else None
    while kind is not None and kind.tag in _OTHER_NAMES:
        kind = referred(kind, "DW_AT_type")
    if kind is None or kind.tag not in _STRUCTURES:
        return False
    if number(kind, "DW_AT_calling_convention") is not None:
        return number(kind, "DW_AT_calling_convention") == _PASS_BY_REFERENCE
    code = variable.locations[0].expression if variable.locations else b""
    return code in _AT_ARGUMENTS or (len(code) > 2 and code[0] == _FRAME_BASE and code[-1] == _DEREF)
