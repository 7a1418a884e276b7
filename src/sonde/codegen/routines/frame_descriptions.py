"""The rule for a frame by its object's frame descriptions as they are in the file, while rows are still being made of
them (`symbols/dwarf/unwind_rows.py`): the pair of addresses in .eh_frame_hdr, the description that it leads to, and
that one's instructions up to the frame's address (LSB 10.6; DWARF 5, section 6.4.2).

`symbols/dwarf/plain_descriptions.py` has seen that all descriptions begin alike. What is seldom is not known here; such
a frame is followed by its frame pointer, and counts as one without a table.
"""

from __future__ import annotations

from sonde.arch import registers, unwinding
from sonde.bpf.helpers import NUMBERS
from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import BpfFunction, Imm, Operand, Reg
from sonde.codegen.routines.unwinding import (
    ADDRESS,
    BIAS,
    BLOCKS,
    DESCRIPTIONS,
    FIRST_PAIR,
    LOOK,
    NODE,
    OUTERMOST,
    PAIRS,
    RULE,
    SIGNALS,
    entry,
    note_missing,
    search,
)
from sonde.codegen.routines.work import get, put, repeat, step_of_loop, stop_if
from sonde.model.named_maps import UNWIND_ROWS

(
    _AT, _STOP, _WITHIN, _LOCATION, _KIND, _OFFSET, _MORE, _POINTER, _POINTER_BY, _BASE, _BASE_BY, _IS_LAST, _IS_KEPT,
    _IS_WHOLE, _KEPT,
) = range(NODE + 16, NODE + 16 + 15 * 8, 8)  # fmt: skip
"""Behind the rule: the place of the next instruction, and the last one's end; how far in the
function the frame's address is, and the row; the row's rule in words, and whether there is no caller; whether a row is
kept, and whether the row is the frame's; and the row that is kept."""

_ROW = (_KIND, _OFFSET, _MORE, _POINTER, _POINTER_BY, _BASE, _BASE_BY, _IS_LAST)
_FROM_STACK, _FROM_FRAME, _FROM_BASE, _FROM_REGISTER, _SIGNAL, _END = 1, 2, 3, 4, 7, 9
_BY_FRAME_ADDRESS = 1
_KIND_AT, _MORE_AT, _BY_AT = 14, 12, 15

_PAIR_STEPS = 18
_INSTRUCTIONS = 4096
_NOT_READ = -1
_BEGINNING = 0x7A01
"""The version of what descriptions have in common, and the first letter of how it is augmented, z."""


def rule(name: str) -> BpfFunction:
    """(work): put the rule for this frame into the state, by rows or else by descriptions; 0 if there is none."""
    b = Builder(name)
    work, none, plain, signal, outermost = b.function.parameters[0], b.label(), b.label(), b.label(), b.label()
    with b.when("ne", get(b, work, BLOCKS), Imm(0)):
        b.ret(b.call_local("unwind_rule", work))
    b.branch("eq", get(b, work, PAIRS), Imm(0), none)
    key = b.in_register(b.alu("add", b.alu("sub", get(b, work, LOOK), get(b, work, BIAS)), get(b, work, ADDRESS)))
    number = b.call_local("unwind_pair", get(b, work, FIRST_PAIR), get(b, work, PAIRS), key)
    found = entry(b, UNWIND_ROWS, number, 8, none)
    within = b.in_register(b.alu("sub", key, _first(b, found)))
    place = b.in_register(b.alu("add", get(b, work, DESCRIPTIONS), b.load(found, 4, 4, True)))
    # What is before the first function is far behind any by unsigned numbers.
    b.branch("ge", within, _word(b, place, 12), none)
    common = b.in_register(b.alu("sub", b.alu("add", place, Imm(4)), _word(b, place, 4)))
    b.branch("ne", b.alu("and", _word(b, common, 8), Imm(0xFFFF)), Imm(_BEGINNING), none)
    b.branch("eq", common, get(b, work, SIGNALS), signal)
    b.branch("eq", common, get(b, work, OUTERMOST), outermost)
    put(b, work, _WITHIN, within)
    put(b, work, _STOP, b.alu("add", b.alu("add", place, Imm(4)), _word(b, place, 0)))
    # Behind the addresses: how many bytes of other things, which are few, and the instructions.
    more = b.alu("and", _word(b, place, 16), Imm(0xFF))
    put(b, work, _AT, b.alu("add", b.alu("add", place, Imm(17)), more))
    _begin(b, work)
    repeat(b, "unwind_instruction", Imm(_INSTRUCTIONS), work)
    b.branch("ne", get(b, work, _IS_WHOLE), Imm(0), plain)
    note_missing(b, work)
    b.jump(none)
    b.place(signal)
    _ret_kind(b, work, Imm(_SIGNAL))
    b.place(outermost)
    _ret_kind(b, work, Imm(_END))
    b.place(plain)
    with b.when("ne", get(b, work, _IS_LAST), Imm(0)):
        _ret_kind(b, work, Imm(_END))
    for place_at, word in ((0, _OFFSET), (4, _POINTER), (8, _BASE)):
        b.store(work, RULE + place_at, 4, get(b, work, word))
    b.store(work, RULE + _MORE_AT, 2, get(b, work, _MORE))
    by = b.alu("or", get(b, work, _POINTER_BY), b.alu("lsh", get(b, work, _BASE_BY), Imm(4)))
    b.store(work, RULE + _BY_AT, 1, by)
    _ret_kind(b, work, get(b, work, _KIND))
    b.place(none)
    b.ret(Imm(0))
    return b.function


def pair(name: str) -> BpfFunction:
    """(first, count, address): the number of the last pair for code that begins at or below an address."""
    return search(name, UNWIND_ROWS, 8, _PAIR_STEPS, _first)


def _first(b: Builder, found: Reg) -> Operand:
    return b.alu("add", b.load(found, 0, 4, True), b.copy(Imm(1 << 31)))


def _begin(b: Builder, work: Reg) -> None:
    """The row at a function's first instruction."""
    for word in (*_ROW, _LOCATION, _IS_KEPT, _IS_WHOLE):
        put(b, work, word, Imm({_KIND: _FROM_STACK, _OFFSET: unwinding.AT_ENTRY}.get(word, 0)))


def _ret_kind(b: Builder, work: Reg, kind: Operand) -> None:
    b.store(work, RULE + _KIND_AT, 1, kind)
    b.ret(Imm(1))


def _word(b: Builder, place: Reg, offset: int) -> Reg:
    return b.call_local("unwind_four", b.in_register(b.alu("add", place, Imm(offset))))


def four(name: str) -> BpfFunction:
    """(place): four bytes of descriptions, which begin at places that four divides; 0 where there are none."""
    b = Builder(name)
    absent = b.label()
    where = b.alu("rsh", b.function.parameters[0], Imm(2))
    b.ret(b.load(entry(b, UNWIND_ROWS, where, 4, absent), 0, 4))
    b.place(absent)
    b.ret(Imm(0))
    return b.function


def byte(name: str) -> BpfFunction:
    """(work): the next byte of the instructions; 0 where there is none."""
    b = Builder(name)
    b.ret(_byte(b, b.function.parameters[0]))
    return b.function


def _byte(b: Builder, work: Reg) -> Reg:
    """The same without a call, of which eBPF allows no more than eight within each other."""
    absent, at, value = b.label(), get(b, work, _AT), b.copy(Imm(0))
    put(b, work, _AT, b.alu("add", at, Imm(1)))
    b.move(value, b.load(entry(b, UNWIND_ROWS, at, 1, absent), 0, 1))
    b.place(absent)
    return value


def number(name: str) -> BpfFunction:
    """(work): the next number of the instructions, of at most three bytes; _NOT_READ of more."""
    b = Builder(name)
    work, value = b.function.parameters[0], b.copy(Imm(0))
    for index in range(3):
        part = _byte(b, work)
        bits = b.alu("lsh", b.alu("and", part, Imm(0x7F)), Imm(7 * index))
        b.move(value, b.alu("or", value, bits))
        with b.when("lt", part, Imm(0x80)):
            b.ret(value)
    b.ret(Imm(_NOT_READ))
    return b.function


def instruction(name: str) -> BpfFunction:
    """One instruction of a description; the loop ends at the frame's row, or at what is not known here."""
    b, _, work = step_of_loop(name)
    over = b.label()
    b.branch("ge", get(b, work, _AT), get(b, work, _STOP), over)
    opcode = b.call_local("unwind_byte", work)
    high = b.in_register(b.alu("and", opcode, Imm(0xC0)))
    low = b.in_register(b.alu("and", opcode, Imm(0x3F)))
    with b.when("eq", high, Imm(0x40)):
        _advance(b, work, low)
    with b.when("eq", high, Imm(0x80)):
        _saved(b, work, low, _next(b, work))
    with b.when("eq", high, Imm(0xC0)):
        _restored(b, work, low)
    # DW_CFA_advance_loc1, 2 and 4.
    with b.when("le", b.in_register(b.alu("sub", opcode, Imm(2))), Imm(2)):
        _advance_by_bytes(b, work, opcode)
    _frame_address(b, work, opcode)
    _others(b, work, opcode)
    b.ret(Imm(1))
    b.place(over)
    put(b, work, _IS_WHOLE, Imm(1))
    b.ret(Imm(1))
    return b.function


def _next(b: Builder, work: Reg) -> Reg:
    value = b.call_local("unwind_number", work)
    stop_if(b, "eq", value, Imm(_NOT_READ))
    return value


def _advance(b: Builder, work: Reg, distance: Operand) -> None:
    location = b.in_register(b.alu("add", get(b, work, _LOCATION), distance))
    put(b, work, _LOCATION, location)
    with b.when("gt", location, get(b, work, _WITHIN)):
        put(b, work, _IS_WHOLE, Imm(1))
        b.ret(Imm(1))
    b.ret(Imm(0))


def _advance_by_bytes(b: Builder, work: Reg, opcode: Reg) -> None:
    distance = b.copy(b.call_local("unwind_byte", work))
    for wanted, places in ((3, (8,)), (4, (16, 24))):
        with b.when("ge", opcode, Imm(wanted)):
            for place in places:
                b.move(distance, b.alu("or", distance, b.alu("lsh", b.call_local("unwind_byte", work), Imm(place))))
    _advance(b, work, distance)


def _saved(b: Builder, work: Reg, register: Operand, value: Reg) -> None:
    """A register is kept so many words below the frame address; a return address elsewhere is none."""
    for wanted, word, by in ((unwinding.FRAME_POINTER, _POINTER, _POINTER_BY), (unwinding.BASE, _BASE, _BASE_BY)):
        with b.when("eq", register, Imm(wanted)):
            put(b, work, word, b.alu("sub", b.copy(Imm(0)), b.alu("lsh", value, Imm(3))))
            put(b, work, by, Imm(_BY_FRAME_ADDRESS))
            b.ret(Imm(0))
    with b.when("eq", register, Imm(unwinding.RETURN)), b.when("ne", value, Imm(1)):
        put(b, work, _IS_LAST, Imm(1))
    b.ret(Imm(0))


def _restored(b: Builder, work: Reg, register: Operand) -> None:
    for wanted, word, by in ((unwinding.FRAME_POINTER, _POINTER, _POINTER_BY), (unwinding.BASE, _BASE, _BASE_BY)):
        with b.when("eq", register, Imm(wanted)):
            put(b, work, word, Imm(0))
            put(b, work, by, Imm(0))
            b.ret(Imm(0))
    b.ret(Imm(0))


def _frame_address(b: Builder, work: Reg, opcode: Reg) -> None:
    """DW_CFA_def_cfa_offset, _register and _cfa."""
    with b.when("eq", opcode, Imm(0x0E)):
        put(b, work, _OFFSET, _next(b, work))
        b.ret(Imm(0))
    with b.when("eq", opcode, Imm(0x0C)):
        register = _next(b, work)
        put(b, work, _OFFSET, _next(b, work))
        _count_from(b, work, register)
    with b.when("eq", opcode, Imm(0x0D)):
        _count_from(b, work, _next(b, work))


def _count_from(b: Builder, work: Reg, register: Reg) -> None:
    for wanted, kind, more in (
        (unwinding.STACK_POINTER, _FROM_STACK, 0),
        (unwinding.FRAME_POINTER, _FROM_FRAME, 0),
        (unwinding.BASE, _FROM_BASE, 0),
        (unwinding.REALIGNED, _FROM_REGISTER, registers.BY_DWARF_NUMBER[unwinding.REALIGNED]),
    ):
        with b.when("eq", register, Imm(wanted)):
            put(b, work, _KIND, Imm(kind))
            put(b, work, _MORE, Imm(more))
            b.ret(Imm(0))
    b.ret(Imm(1))


def _others(b: Builder, work: Reg, opcode: Reg) -> None:
    """Nothing, a row that is kept or taken again, registers by longer numbers, and what is of no concern."""
    with b.when("eq", opcode, Imm(0)):
        b.ret(Imm(0))
    with b.when("eq", opcode, Imm(0x0A)):
        stop_if(b, "ne", get(b, work, _IS_KEPT), Imm(0))
        _copy_row(b, work, _KIND, _KEPT, 1)
    with b.when("eq", opcode, Imm(0x0B)):
        stop_if(b, "eq", get(b, work, _IS_KEPT), Imm(0))
        _copy_row(b, work, _KEPT, _KIND, 0)
    with b.when("eq", opcode, Imm(0x05)):
        register = _next(b, work)
        _saved(b, work, register, _next(b, work))
    with b.when("eq", opcode, Imm(0x07)):
        with b.when("eq", _next(b, work), Imm(unwinding.RETURN)):
            put(b, work, _IS_LAST, Imm(1))
        b.ret(Imm(0))
    with b.when("eq", opcode, Imm(0x2E)):
        _next(b, work)
        b.ret(Imm(0))
    with b.when("eq", opcode, Imm(0x10)):
        register = _next(b, work)
        stop_if(b, "eq", register, Imm(unwinding.FRAME_POINTER))
        stop_if(b, "eq", register, Imm(unwinding.BASE))
        size = _next(b, work)
        put(b, work, _AT, b.alu("add", get(b, work, _AT), size))
        b.ret(Imm(0))


def _copy_row(b: Builder, work: Reg, source: int, target: int, kept: int) -> None:
    to, row = (b.in_register(b.alu("add", work, Imm(each))) for each in (target, source))
    b.call(NUMBERS["probe_read_kernel"], to, Imm(8 * len(_ROW)), row)
    put(b, work, _IS_KEPT, Imm(kept))
    b.ret(Imm(0))
