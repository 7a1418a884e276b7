"""Walking a process's stack by tables: where the code of each frame has its caller (`symbols/unwind_tables.py`).

Two arrays are searched: that of mappings, by address, whose element tells which rows are the object's, and that of
rows, by the distance from where the object's table begins. An element of their maps is a page of entries, so that the
session can write many at a time. A search halves an interval so often that it fits any; the verifier, to which the
bounds are unknown numbers, sees a straight line.
"""

from __future__ import annotations

from sonde.bpf.helpers import NUMBERS
from sonde.codegen.builder import Builder
from sonde.codegen.ir import Function, Imm, MapDescriptor, Operand, Reg, SlotAddress
from sonde.codegen.routines.work import at, get, put, repeat, step_of_loop, stop_if
from sonde.spec import UNWIND_MAPPINGS, UNWIND_PAGE, UNWIND_ROWS

PC, SP, BP, LOOK, COUNT, FIRST, MAPPINGS, MISSED = range(0, 64, 8)
"""Words of the walk's state: the three registers in the frame, the address by which its rule is looked up, how many
frames are known, the process's mappings, and whether one was missing."""

FRAMES = 64
"""Behind them: the addresses."""

MAPPING_SIZE, ROW_SIZE = 32, 16
_MAPPING_STEPS, _ROW_STEPS = 16, 24
_START, _END, _BIAS, _FIRST_ROW, _ROW_COUNT = 0, 8, 16, 24, 28
_FRAME_OFFSET, _SAVED_OFFSET, _FROM, _SAVED_BY = 4, 8, 12, 13

_END_OF_STACK, _FROM_STACK, _FROM_FRAME, _AT_FRAME, _SIGNAL, _LINKAGE = range(6)
_BY_FRAME_ADDRESS, _BY_RBP = 1, 2
_CONTEXT_BP, _CONTEXT_SP, _CONTEXT_PC = 120, 160, 168
"""Where rsp points when a handler has returned: struct ucontext, with the registers of sigcontext
(arch/x86/include/uapi/asm/sigcontext.h) behind its first 40 bytes."""

_PUSHED = 11
"""From this byte of its 16 on an entry of the procedure linkage table has pushed its number."""


def walk(name: str, frames: int) -> Function:
    """(work): fill in at most `frames` addresses from the registers on."""
    b = Builder(name)
    repeat(b, f"unwind_step_{frames}", Imm(frames), b.function.parameters[0])
    b.ret(Imm(0))
    return b.function


def step(name: str, frames: int) -> Function:
    """Note the frame, and go to its caller's."""
    b, _, work = step_of_loop(name)
    count, pc = get(b, work, COUNT), get(b, work, PC)
    stop_if(b, "ge", count, Imm(frames))
    stop_if(b, "eq", pc, Imm(0))
    b.store(at(b, work, FRAMES, b.alu("lsh", count, Imm(3))), 0, 8, pc)
    put(b, work, COUNT, b.alu("add", count, Imm(1)))
    rule = _rule(b, work)
    frame = _frame_address(b, work, rule)
    stack = get(b, work, SP)
    signal, done = b.label(), b.label()
    b.branch("eq", b.load(rule, _FROM, 1), Imm(_SIGNAL), signal)
    caller = _word(b, b.alu("sub", frame, Imm(8)))
    _restore_frame_pointer(b, work, rule, frame)
    put(b, work, LOOK, b.alu("sub", caller, Imm(1)))
    put(b, work, PC, caller)
    b.jump(done)
    b.place(signal)
    interrupted = _word(b, b.alu("add", stack, Imm(_CONTEXT_PC)))
    put(b, work, BP, _word(b, b.alu("add", stack, Imm(_CONTEXT_BP))))
    put(b, work, LOOK, interrupted)
    put(b, work, PC, interrupted)
    b.place(done)
    put(b, work, SP, frame)
    b.ret(Imm(0))
    return b.function


def _rule(b: Builder, work: Reg) -> Reg:
    """The address of the row for this frame. Where no mapping is known, code made at run time for instance, the walk
    follows frame pointers as long as they lead up."""
    look = get(b, work, LOOK)
    unknown, known = b.label(), b.label()
    found = b.call_local("unwind_mapping", get(b, work, FIRST), get(b, work, MAPPINGS), look)
    mapping = _entry(b, UNWIND_MAPPINGS, found, MAPPING_SIZE, unknown)
    b.branch("lt", look, b.load(mapping, _START, 8), unknown)
    b.branch("ge", look, b.load(mapping, _END, 8), unknown)
    distance = b.alu("sub", look, b.load(mapping, _BIAS, 8))
    first, count = b.load(mapping, _FIRST_ROW, 4), b.load(mapping, _ROW_COUNT, 4)
    b.branch("ne", count, Imm(0), known)
    b.place(unknown)
    put(b, work, MISSED, Imm(1))
    _follow_frame_pointer(b, work)
    b.ret(Imm(0))
    b.place(known)
    stop = b.label()
    going = b.label()
    row = _entry(b, UNWIND_ROWS, b.call_local("unwind_row", first, count, distance), ROW_SIZE, stop)
    b.branch("ne", b.load(row, _FROM, 1), Imm(_END_OF_STACK), going)
    b.place(stop)
    b.ret(Imm(1))
    b.place(going)
    return row


def _follow_frame_pointer(b: Builder, work: Reg) -> None:
    pointer = get(b, work, BP)
    stop_if(b, "lt", pointer, get(b, work, SP))
    caller = _word(b, b.alu("add", pointer, Imm(8)))
    put(b, work, BP, _word(b, pointer))
    put(b, work, SP, b.alu("add", pointer, Imm(16)))
    put(b, work, LOOK, b.alu("sub", caller, Imm(1)))
    put(b, work, PC, caller)


def _frame_address(b: Builder, work: Reg, row: Reg) -> Reg:
    offset, kind = b.load(row, _FRAME_OFFSET, 4, True), b.load(row, _FROM, 1)
    frame = b.copy(b.alu("add", get(b, work, SP), offset))
    with b.when("eq", kind, Imm(_FROM_FRAME)):
        b.move(frame, b.alu("add", get(b, work, BP), offset))
    with b.when("eq", kind, Imm(_AT_FRAME)):
        b.move(frame, _word(b, b.alu("add", get(b, work, BP), offset)))
    with b.when("eq", kind, Imm(_SIGNAL)):
        b.move(frame, _word(b, b.alu("add", get(b, work, SP), Imm(_CONTEXT_SP))))
    with b.when("eq", kind, Imm(_LINKAGE)), b.when("ge", b.alu("and", get(b, work, LOOK), Imm(15)), Imm(_PUSHED)):
        b.move(frame, b.alu("add", frame, Imm(8)))
    return frame


def _restore_frame_pointer(b: Builder, work: Reg, row: Reg, frame: Reg) -> None:
    how, offset = b.load(row, _SAVED_BY, 1), b.load(row, _SAVED_OFFSET, 4, True)
    with b.when("ne", how, Imm(0)):
        place = b.copy(b.alu("add", frame, offset))
        with b.when("eq", how, Imm(_BY_RBP)):
            b.move(place, b.alu("add", get(b, work, BP), offset))
        put(b, work, BP, _word(b, place))


def _word(b: Builder, address: Operand) -> Reg:
    """What is in the process's memory there; the walk ends where nothing can be read."""
    slot = b.slot(8)
    stop_if(b, "slt", b.call(NUMBERS["probe_read_user"], SlotAddress(slot), Imm(8), address), Imm(0))
    value = b.in_register(b.load(slot, 0, 8))
    b.release(slot)
    return value


def mapping(name: str) -> Function:
    """(first, count, address): the number of the last mapping from `first` on that begins at or below an address."""
    return _search(name, UNWIND_MAPPINGS, MAPPING_SIZE, 8, _MAPPING_STEPS)


def row(name: str) -> Function:
    """(first, count, distance): the number of the last row that is for an address at or below that."""
    return _search(name, UNWIND_ROWS, ROW_SIZE, 4, _ROW_STEPS)


def _search(name: str, table: str, size: int, width: int, steps: int) -> Function:
    """Keys stand at the beginning of entries; what is before the first is said to be in the first."""
    b = Builder(name, 3)
    first, count, key = b.function.parameters
    low, length = b.copy(first), b.copy(count)
    absent = b.label()
    for _ in range(steps):
        half = b.in_register(b.alu("rsh", length, Imm(1)))
        middle = b.in_register(b.alu("add", low, half))
        entry = _entry(b, table, middle, size, absent)
        # All bits if the entry begins above the key. Both are less than 1 << 63.
        above = b.alu("arsh", b.alu("sub", key, b.load(entry, 0, width)), Imm(63))
        b.move(low, b.alu("add", low, b.alu("and", half, b.alu("xor", above, Imm(-1)))))
        b.move(length, b.alu("sub", length, half))
    b.place(absent)
    b.ret(low)
    return b.function


def _entry(b: Builder, table: str, number: Operand, size: int, absent: int) -> Reg:
    """The address of an entry, to block `absent` if there is none."""
    per_page = UNWIND_PAGE // size
    slot = b.slot(8)
    b.store(slot, 0, 8, b.alu("rsh", number, Imm(per_page.bit_length() - 1)))
    page = b.call(NUMBERS["map_lookup_elem"], MapDescriptor(table), SlotAddress(slot))
    b.release(slot)
    b.branch("eq", page, Imm(0), absent)
    offset = b.alu("lsh", b.alu("and", number, Imm(per_page - 1)), Imm(size.bit_length() - 1))
    return b.in_register(b.alu("add", page, offset))
