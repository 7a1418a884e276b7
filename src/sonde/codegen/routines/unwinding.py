"""Walking a process's stack by tables: where the code of each frame has its caller (`symbols/dwarf/unwind_rows.py`).

A frame's object is found by the mapping that its address is in (`mapped_files.py`, `mapped_processes.py`), and the rule
for it by the block of the file and the row in that. A search halves an interval so often that it fits any; the
verifier, to which the bounds are unknown numbers, sees a straight line. Code that no table describes is walked by frame
pointers.
"""

from __future__ import annotations

from collections.abc import Callable

from sonde.arch import unwinding as tables
from sonde.bpf.helpers import NUMBERS
from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import BpfFunction, Imm, MapDescriptor, Operand, Reg, SlotAddress
from sonde.codegen.routines.work import at, get, put, repeat, step_of_loop, stop_if
from sonde.model.named_maps import UNWIND_BLOCKS, UNWIND_OBJECTS, UNWIND_PAGE, UNWIND_ROWS, UNWIND_RULES
from sonde.model.python_frames import FRAME as FRAME_WORD
from sonde.model.stack_remarks import NO_CODE, STACK_ENDS

(
    PC, STACK, FRAME, LOOK, COUNT, START, END, BIAS, FIRST_ROW, FIRST_BLOCK, BLOCKS, FIRST_RULE, SPACE, MAPPINGS,
    MISSED, RETURNS, CALLER_AT, PROCESS, BASE, REGISTERS, FIRST_PAIR, PAIRS, ADDRESS, DESCRIPTIONS, SIGNALS, OUTERMOST,
    TRAMPOLINE, DEPTH, PYTHON, MODE, FOUND, PYTHON_FRAME, THREAD, IMAGE, INTERPRETER, STATE, USED, CODE, PLACE, NUMBER,
    KEPT_COUNT, KEPT_FRAME, KEPT_PC, FIRST_PC, CALLED, NATIVE, KEEPS, REASON,
) = range(0, 384, 8)  # fmt: skip
"""Words of the walk's state: the three registers in the frame, the address by which its rule is looked up, how many
frames are noted; the mapping that was found last and the tables of its object; where mappings are looked for; the
number of the first frame whose table was missing, counted from 1; the innermost function whose return is probed; how
far above the stack pointer the first frame's return address is, -1 if that is not known; the process; the base
register; where the registers of the innermost frame are, 0 if programs cannot read there; the frame descriptions
of an object that has no rows (`spec.UNWIND_OBJECT`); what the return addresses are of functions whose return is
probed; and how many frames the walk has come to.

The others are those of `python_frames.py`: the number of the interpreter in the object, whether frames of Python are
noted, whether the thread's state has been looked for, the frame of Python's that comes next; the thread pointer, and
the process with the mark of what it executes; the interpreter and the state of a thread that are looked at, and the one
that has been taken; the code object of a frame, the place in it, and its number. Where the interpreter's frame was
met: how many frames had been noted, which of Python's was next, and the address; the first such address; what the
innermost call of the interpreter that has frames keeps on the stack, in 3.11; and the address to be shown after all.
The last two: whether the object keeps frame pointers that lead to other stacks; and why the walk ended there before the
outermost frame (`model/stack_remarks.py`), 0 if it did not."""

NODE, NODE_SIZE = 384, 256
"""Behind them: a node of the tree of mappings, or what `frame_descriptions.py` keeps; and the addresses."""

RULE = NODE
"""In the place of the node, later: the rule for the frame."""

FRAMES = NODE + NODE_SIZE

_ROW_SIZE, _BLOCK_SIZE, _RULE_SIZE = 4, 4, 16
_BLOCK = 16
_ROW_STEPS = 16
_POINTER, _BASE, _MORE, _KIND, _SAVED_BY = 4, 8, 12, 14, 15
"""Where a rule has its parts (`unwind_rows.RULE`)."""

_NONE, _, _FROM_FRAME, _FROM_BASE, _FROM_REGISTER, _AT_FRAME, _AT_STACK, _SIGNAL, _LINKAGE, _END, _UNKNOWN = range(11)
_BY_FRAME_POINTER = 2
_WORD = 8
_STEPS_OF_MIXED = 3
"""For each frame that is noted one of the interpreter, which is not, and one around it."""

SURELY_EXECUTING, _MOST_BEFORE_FRAME = 1, 1
"""In FIRST_PC, that the innermost call of the interpreter has a frame of Python's: it does not call so many functions
in one another before."""

_GIVEN_UP = 2
"""What FOUND says where no frames of Python are to be had (`python_frames.FAILED`)."""


def walk(name: str, frames: int, step: str, is_mixed: bool) -> BpfFunction:
    """(work): fill in at most `frames` addresses from the registers on, by the routine `step` for each. With `is_mixed`
    there are steps besides, to frames that are not noted."""
    b = Builder(name)
    work = b.function.parameters[0]
    repeat(b, step, Imm(frames * _STEPS_OF_MIXED if is_mixed else frames), work)
    if is_mixed:
        # Where the walk has ended at a frame of the interpreter's nobody knows where that ends: it stands for itself.
        with b.when("ne", get(b, work, MODE), Imm(0)):
            put(b, work, NATIVE, get(b, work, KEPT_PC))
            b.call_local(f"python_show_{frames}", work)
    count, reason, whole = get(b, work, COUNT), get(b, work, REASON), b.label()
    b.branch("eq", reason, Imm(0), whole)
    b.branch("ge", count, Imm(frames), whole)
    b.store(at(b, work, FRAMES, b.alu("lsh", count, Imm(3))), 0, 8, b.alu("or", reason, b.copy(Imm(-FRAME_WORD))))
    put(b, work, COUNT, b.alu("add", count, Imm(1)))
    b.place(whole)
    b.ret(Imm(0))
    return b.function


def step(name: str, frames: int, find: str, look_up: str, returned: str | None, is_mixed: bool) -> BpfFunction:
    """Note the frame, and go to its caller's. The routine `find` puts the mapping of the address into the state, and
    returns 0 unless it is no code; `look_up` puts its rule there, and `returned` says where a function
    returns to whose return is probed. With `is_mixed` frames of Python's are noted in the place of its interpreter's.
    """
    b, _, work = step_of_loop(name)
    stop_if(b, "ge", get(b, work, COUNT), Imm(frames))
    if is_mixed:
        _note_python(b, work, frames)
    pc, noted = get(b, work, PC), b.label()
    stop_if(b, "eq", pc, Imm(0))
    _find(b, work, find)
    if is_mixed:
        _enter_python(b, work, frames, noted)
    count = get(b, work, COUNT)
    stop_if(b, "ge", count, Imm(frames))
    b.store(at(b, work, FRAMES, b.alu("lsh", count, Imm(3))), 0, 8, pc)
    put(b, work, COUNT, b.alu("add", count, Imm(1)))
    b.place(noted)
    put(b, work, DEPTH, b.alu("add", get(b, work, DEPTH), Imm(1)))
    is_known, known, signal, done = b.call_local(look_up, work), b.label(), b.label(), b.label()
    b.branch("ne", is_known, Imm(0), known)
    _follow_frame_pointer(b, work, returned)
    b.ret(Imm(0))
    b.place(known)
    rule = b.in_register(b.alu("add", work, Imm(RULE)))
    kind = b.load(rule, _KIND, 1)
    with b.when("ge", kind, Imm(_END)):
        with b.when("eq", kind, Imm(_END)):
            # Nothing was lost by what was not known.
            put(b, work, MISSED, Imm(0))
        b.ret(Imm(1))
    stack, frame = get(b, work, STACK), b.call_local("unwind_frame", work, rule)
    stop_if(b, "eq", frame, Imm(0))
    b.branch("eq", kind, Imm(_SIGNAL), signal)
    caller = _return_address(b, work, b.in_register(b.alu("sub", frame, Imm(_WORD))), returned)
    stop_if(b, "ne", b.call_local("unwind_registers", work, rule, frame), Imm(0))
    put(b, work, LOOK, b.alu("sub", caller, Imm(1)))
    put(b, work, PC, caller)
    b.jump(done)
    b.place(signal)
    interrupted = _word(b, b.alu("add", stack, Imm(tables.CONTEXT_COUNTER)))
    put(b, work, FRAME, _word(b, b.alu("add", stack, Imm(tables.CONTEXT_FRAME_POINTER))))
    put(b, work, BASE, _word(b, b.alu("add", stack, Imm(tables.CONTEXT_BASE))))
    put(b, work, LOOK, interrupted)
    put(b, work, PC, interrupted)
    b.place(done)
    put(b, work, STACK, frame)
    b.ret(Imm(0))
    return b.function


def _note_python(b: Builder, work: Reg, frames: int) -> None:
    """Where the interpreter's frame has been met: note one of Python's."""
    with b.when("ne", get(b, work, MODE), Imm(0)):
        with b.when("ne", b.call_local("python_frame", work), Imm(0)):
            with b.when("eq", b.call_local("python_known", work), Imm(0)):
                b.call_local(f"python_note_{frames}", work)
            b.call_local(f"python_show_{frames}", work)
        b.ret(Imm(0))


def _enter_python(b: Builder, work: Reg, frames: int, noted: int) -> None:
    """Where the frame is the interpreter's and there are frames of Python for it, go on to `noted`: these come next. If
    there are none to be had a remark is noted, once, and the frame itself."""
    other = b.label()
    b.branch("eq", get(b, work, PYTHON), Imm(0), other)
    b.branch("eq", b.call_local("python_enter", work), Imm(0), other)
    before = get(b, work, FOUND)
    b.branch("eq", before, Imm(_GIVEN_UP), other)
    ready = b.label()
    b.branch("ne", get(b, work, PYTHON_FRAME), Imm(0), ready)
    b.branch("ne", b.call_local("python_thread", work), Imm(0), ready)
    put(b, work, FOUND, Imm(_GIVEN_UP))
    # An interpreter that has just been called has no frame yet.
    with b.when("ne", before, Imm(0)):
        b.branch("eq", b.call_local(f"python_shift_{frames}", work), Imm(0), other)
        b.call_local(f"python_show_{frames}", work)
        b.jump(noted)
    put(b, work, NUMBER, Imm(0))
    b.call_local(f"python_show_{frames}", work)
    b.jump(other)
    b.place(ready)
    pc = get(b, work, PC)
    put(b, work, MODE, Imm(1))
    put(b, work, KEPT_COUNT, get(b, work, COUNT))
    put(b, work, KEPT_FRAME, get(b, work, PYTHON_FRAME))
    put(b, work, KEPT_PC, pc)
    with b.when("eq", get(b, work, FIRST_PC), Imm(0)):
        put(b, work, FIRST_PC, pc)
        with b.when("gt", get(b, work, COUNT), Imm(_MOST_BEFORE_FRAME)):
            put(b, work, FIRST_PC, Imm(SURELY_EXECUTING))
    b.jump(noted)
    b.place(other)


def _find(b: Builder, work: Reg, find: str) -> None:
    """The mapping, unless it is that of the frame before. The walk ends where an address is no code's: the frame before
    was not what it seemed. The first one is what the process executes, whatever is known of it."""
    look = get(b, work, LOOK)
    search, found = b.label(), b.label()
    b.branch("lt", look, get(b, work, START), search)
    b.branch("lt", look, get(b, work, END), found)
    b.place(search)
    put(b, work, BLOCKS, Imm(0))
    put(b, work, PAIRS, Imm(0))
    put(b, work, PYTHON, Imm(0))
    kept = get(b, work, KEEPS)
    put(b, work, KEEPS, Imm(0))
    with b.when("ne", b.call_local(find, work), Imm(0)):
        put(b, work, END, Imm(0))
        with b.when("ne", get(b, work, DEPTH), Imm(0)):
            with b.when("ne", kept, Imm(0)):
                put(b, work, REASON, Imm(NO_CODE))
            b.ret(Imm(1))
    b.place(found)


def rule(name: str) -> BpfFunction:
    """(work): put the rule for this frame into the state; 0 if there is none."""
    b = Builder(name)
    work, none = b.function.parameters[0], b.label()
    offset = b.in_register(b.alu("sub", get(b, work, LOOK), get(b, work, BIAS)))
    number = b.in_register(b.alu("rsh", offset, Imm(_BLOCK)))
    b.branch("ge", number, get(b, work, BLOCKS), none)
    number = b.in_register(b.alu("add", number, get(b, work, FIRST_BLOCK)))
    first = b.load(entry(b, UNWIND_BLOCKS, number, _BLOCK_SIZE, none), 0, 4)
    behind = b.load(entry(b, UNWIND_BLOCKS, b.alu("add", number, Imm(1)), _BLOCK_SIZE, none), 0, 4)
    found = b.call_local("unwind_row", b.in_register(b.alu("add", get(b, work, FIRST_ROW), first)),
                         b.in_register(b.alu("sub", behind, first)),
                         b.in_register(b.alu("and", offset, Imm((1 << _BLOCK) - 1))))  # fmt: skip
    row = b.load(entry(b, UNWIND_ROWS, found, _ROW_SIZE, none), 0, 4)
    number = b.in_register(b.alu("add", get(b, work, FIRST_RULE), b.alu("rsh", row, Imm(16))))
    found = entry(b, UNWIND_RULES, number, _RULE_SIZE, none)
    b.branch("eq", b.load(found, _KIND, 1), Imm(_NONE), none)
    for place in (0, 8):
        b.store(work, RULE + place, 8, b.load(found, place, 8))
    b.ret(Imm(1))
    b.place(none)
    b.ret(Imm(0))
    return b.function


def _follow_frame_pointer(b: Builder, work: Reg, returned: str | None) -> None:
    """To the caller of code that no table describes, that was made at run time for instance; at a function's beginning,
    where the frame pointer is the caller's, by the stack pointer."""
    stack, pointer, inside, up = get(b, work, STACK), b.copy(get(b, work, FRAME)), b.label(), b.label()
    distance = get(b, work, CALLER_AT)
    b.branch("ne", get(b, work, DEPTH), Imm(1), inside)
    b.branch("slt", distance, Imm(0), inside)
    place = b.copy(b.alu("add", stack, distance))
    b.jump(up)
    b.place(inside)
    keeps, follows = get(b, work, KEEPS), b.label()
    b.branch("ne", keeps, Imm(0), follows)
    stop_if(b, "lt", pointer, stack)
    b.place(follows)
    stop_if(b, "eq", pointer, Imm(0))
    with b.when("ne", keeps, Imm(0)):
        put(b, work, REASON, Imm(STACK_ENDS))
    b.move(place, b.alu("add", pointer, Imm(_WORD)))
    put(b, work, FRAME, _word(b, pointer))
    b.place(up)
    caller = _return_address(b, work, place, returned)
    put(b, work, REASON, Imm(0))
    put(b, work, STACK, b.alu("add", place, Imm(_WORD)))
    put(b, work, LOOK, b.alu("sub", caller, Imm(1)))
    put(b, work, PC, caller)


def _return_address(b: Builder, work: Reg, place: Reg, returned: str | None) -> Reg:
    """What stands there, or, if that leads to a probe of the function's return, what stood there."""
    caller = b.copy(_word(b, place))
    if returned is not None:
        # Behind a longjmp functions are noted yet that it has left, where others have their return addresses since.
        with b.when("eq", caller, get(b, work, TRAMPOLINE)):
            true = b.call_local(returned, work, place)
            with b.when("ne", true, Imm(0)):
                b.move(caller, true)
    return caller


def frame(name: str) -> BpfFunction:
    """(work, rule): the frame address, 0 if it cannot be found."""
    b = Builder(name, 2)
    work, rule = b.function.parameters
    offset, kind = b.load(rule, 0, 4, True), b.load(rule, _KIND, 1)
    found = b.copy(b.alu("add", get(b, work, STACK), offset))
    with b.when("eq", kind, Imm(_FROM_FRAME)):
        b.ret(b.alu("add", get(b, work, FRAME), offset))
    with b.when("eq", kind, Imm(_FROM_BASE)):
        b.ret(b.alu("add", get(b, work, BASE), offset))
    with b.when("eq", kind, Imm(_FROM_REGISTER)):
        b.ret(b.alu("add", _innermost(b, work, rule), offset))
    with b.when("eq", kind, Imm(_AT_FRAME)):
        b.move(found, _word(b, b.alu("add", get(b, work, FRAME), offset), 0))
        b.ret(b.alu("add", found, b.load(rule, _MORE, 2, True)))
    with b.when("eq", kind, Imm(_AT_STACK)):
        b.ret(b.alu("add", _word(b, found, 0), b.load(rule, _MORE, 2, True)))
    with b.when("eq", kind, Imm(_SIGNAL)):
        b.ret(_word(b, b.alu("add", get(b, work, STACK), Imm(tables.CONTEXT_STACK_POINTER)), 0))
    with b.when("eq", kind, Imm(_LINKAGE)):
        within = b.alu("and", get(b, work, LOOK), Imm(tables.LINKAGE_ENTRY - 1))
        with b.when("ge", within, b.load(rule, _MORE, 2)):
            b.move(found, b.alu("add", found, Imm(_WORD)))
    b.ret(found)
    return b.function


def _innermost(b: Builder, work: Reg, rule: Reg) -> Operand:
    """A register of which only the innermost frame tells."""
    place, slot = get(b, work, REGISTERS), b.slot(8)
    _end_if(b, "ne", get(b, work, DEPTH), Imm(1), 0)
    _end_if(b, "eq", place, Imm(0), 0)
    address = b.alu("add", place, b.load(rule, _MORE, 2))
    _end_if(b, "slt", b.call(NUMBERS["probe_read_kernel"], SlotAddress(slot), Imm(8), address), Imm(0), 0)
    value = b.load(slot, 0, 8)
    b.release(slot)
    return value


def saved_registers(name: str) -> BpfFunction:
    """(work, rule, frame): put the frame pointer and the base register as the caller has them into the state; 1 if they
    cannot be read."""
    b = Builder(name, 3)
    work, rule, frame = b.function.parameters
    by, before = b.load(rule, _SAVED_BY, 1), get(b, work, FRAME)
    for word, place_at, how in (
        (FRAME, _POINTER, b.alu("and", by, Imm(15))),
        (BASE, _BASE, b.alu("rsh", by, Imm(4))),
    ):
        with b.when("ne", how, Imm(0)):
            offset = b.load(rule, place_at, 4, True)
            place = b.copy(b.alu("add", frame, offset))
            with b.when("eq", how, Imm(_BY_FRAME_POINTER)):
                b.move(place, b.alu("add", before, offset))
            put(b, work, word, _word(b, place))
    b.ret(Imm(0))
    return b.function


def _word(b: Builder, address: Operand, failed: int = 1) -> Reg:
    """What is in the process's memory there; the routine ends with `failed` where nothing can be read."""
    slot = b.slot(8)
    read = b.call(NUMBERS["probe_read_user"], SlotAddress(slot), Imm(8), address)
    _end_if(b, "slt", read, Imm(0), failed)
    value = b.in_register(b.load(slot, 0, 8))
    b.release(slot)
    return value


def _end_if(b: Builder, op: str, left: Operand, right: Operand, result: int) -> None:
    with b.when(op, left, right):
        b.ret(Imm(result))


def row(name: str) -> BpfFunction:
    """(first, count, offset): the number of the last row that is for an offset in the block at or below that."""
    return search(name, UNWIND_ROWS, _ROW_SIZE, _ROW_STEPS, lambda b, entry: b.load(entry, 0, 2))


def note_missing(b: Builder, work: Reg) -> None:
    with b.when("eq", get(b, work, MISSED), Imm(0)):
        put(b, work, MISSED, b.alu("add", get(b, work, DEPTH), Imm(1)))


def object_of(b: Builder, work: Reg, number: Operand) -> None:
    """Put the tables of an object into the state."""
    slot, unknown = b.slot(8), b.label()
    b.store(slot, 0, 8, number)
    found = b.call(NUMBERS["map_lookup_elem"], MapDescriptor(UNWIND_OBJECTS), SlotAddress(slot))
    b.release(slot)
    b.branch("eq", found, Imm(0), unknown)
    for place, word in enumerate((FIRST_ROW, FIRST_BLOCK, BLOCKS, FIRST_RULE, FIRST_PAIR, PAIRS)):
        put(b, work, word, b.load(found, 4 * place, 4))
    for place, word in enumerate((ADDRESS, DESCRIPTIONS, SIGNALS, OUTERMOST)):
        put(b, work, word, b.load(found, 24 + 8 * place, 8))
    put(b, work, PYTHON, b.load(found, 56, 4))
    put(b, work, KEEPS, b.load(found, 60, 4))
    b.place(unknown)


def search(name: str, table: str, size: int, steps: int, key_of: Callable[[Builder, Reg], Operand]) -> BpfFunction:
    """(first, count, key): the number of the last of so many entries whose key is at or below that; what is before the
    first is said to be in the first. Keys have less than 63 bits."""
    b = Builder(name, 3)
    first, count, key = b.function.parameters
    low, length, left = b.copy(first), b.copy(count), b.copy(Imm(steps))
    again, absent = b.label(), b.label()
    b.place(again)
    half = b.in_register(b.alu("rsh", length, Imm(1)))
    found = entry(b, table, b.alu("add", low, half), size, absent)
    # All bits if the entry begins above the key.
    above = b.alu("arsh", b.alu("sub", key, key_of(b, found)), Imm(63))
    b.move(low, b.alu("add", low, b.alu("and", half, b.alu("xor", above, Imm(-1)))))
    b.move(length, b.alu("sub", length, half))
    b.move(left, b.alu("sub", left, Imm(1)))
    b.branch("ne", left, Imm(0), again)
    b.place(absent)
    b.ret(low)
    return b.function


def entry(b: Builder, table: str, number: Operand, size: int, absent: int) -> Reg:
    """The address of an entry in an array of pages, to block `absent` if there is none."""
    per_page = UNWIND_PAGE // size
    slot = b.slot(8)
    b.store(slot, 0, 8, b.alu("rsh", number, Imm(per_page.bit_length() - 1)))
    page = b.call(NUMBERS["map_lookup_elem"], MapDescriptor(table), SlotAddress(slot))
    b.release(slot)
    b.branch("eq", page, Imm(0), absent)
    offset = b.alu("lsh", b.alu("and", number, Imm(per_page - 1)), Imm(size.bit_length() - 1))
    return b.in_register(b.alu("add", page, offset))
