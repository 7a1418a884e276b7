"""Python's functions in the place of the interpreter's own frames, while a stack is walked (`unwinding.py`).

Where a frame is that of the function which interprets Python's code, the frames of Python that it executes are noted
instead: from the thread's state on, innermost first, as far as the one with which the interpreter was called. The
thread's state is that of the thread whose thread pointer is its pthread_self(), which is looked for in the list of all
threads. All is read from the process's memory while it stands at the probe, so nothing can change meanwhile but by
other threads, which do not have this thread's frames. Where what is needed is in memory `model/python_frames.py` says.
"""

from __future__ import annotations

from sonde.arch import pages
from sonde.bpf.helpers import NUMBERS
from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import BpfFunction, Imm, MapDescriptor, Operand, Reg, Slot, SlotAddress
from sonde.codegen.routines.unwinding import (
    BIAS,
    CALLED,
    CODE,
    COUNT,
    FIRST_PC,
    FOUND,
    FRAMES,
    IMAGE,
    INTERPRETER,
    KEPT_COUNT,
    KEPT_FRAME,
    KEPT_PC,
    LOOK,
    MODE,
    NATIVE,
    NODE,
    NUMBER,
    PLACE,
    PYTHON,
    PYTHON_FRAME,
    STACK,
    STATE,
    SURELY_EXECUTING,
    THREAD,
    USED,
)
from sonde.codegen.routines.work import at, get, put, repeat, step_of_loop, stop_if
from sonde.model import python_frames as python
from sonde.model.python_frames import (
    PYTHON_CODES,
    PYTHON_KNOWN,
    PYTHON_LINES,
    PYTHON_RUNTIMES,
    PYTHON_STATE,
    PYTHON_THREADS,
)
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

(
    KIND, VERSION, REMARK, _INTERPRETERS, _CURRENT, _FOLLOWING, _THREADS, _NEXT, _THREAD, _FRAME, _THROUGH, _CODE,
    _PREVIOUS, _PLACE, _MARK, _FUNCTION, _FILE, _LINE, _LINES, _START, _MODULE,
) = range(python.LAYOUT, python.LAYOUT + 84, 4)  # fmt: skip
"""Where an element of PYTHON_RUNTIMES has the members of `symbols/python/layouts.RuntimeLayout`."""

_RANGES, _RANGE_COUNT = 8, 4
_NOT_LOOKED, _READY, _FAILED, _ANOTHER = range(4)
"""What FOUND says of the thread's state: the last is that it is another one."""

_READ, _WINDOW, _KEY = NODE, NODE + 128, NODE + 224
"""In the place of a node: a frame, the part of a code object that ends with the table of lines, and the key of
PYTHON_KNOWN."""

_FRAME_SIZE, _FRAME_OBJECT_SIZE, _WINDOW_SIZE = 80, 112, 88
"""The last begins with the first line or before, and has nothing in it that changes while the code is there."""

_INTERPRETERS_OWN = 3
"""From this number on the owner of a frame is the interpreter itself (enum _frameowner)."""

_MOST_THREADS = 4096
_TAGS = -8
"""The bits of an address of an object beside those that references may have set (Py_TAG_BITS, 3.14)."""

_MULTIPLIER = 0x9E3779B1
_LASTI_IN_UNITS = 0x030A
"""The version in which f_lasti counts instructions, not bytes."""

_DICT_KEYS, _KEYS_SIZE, _KEYS_INDEXES, _ENTRY_KEY, _ENTRY_SIZE, _TEXT = 32, 8, 40, 8, 24, 48
"""Of 3.9 and 3.10: where a dict has its keys, these their size and, behind the indexes, the entries; where an entry has
its key, with the value behind it, and its size; and where a str has its characters."""

_FUNCTION_GLOBALS, _KEYS_HEAD, _TEXT_ENTRY_SIZE, _TEXT_WITHOUT_WIDE = 16, 32, 16, 40
"""Since 3.11: where a function has its global variables, the keys of a dict their indexes, the size of an entry where
all keys are texts; and since 3.12 where a str has its characters."""

_SMALLER_TEXTS = 0x030C
_BYTES_SIZE, _BYTES, _CODE_HAS_NUMBER = 16, 32, 0x030C
"""Where a bytes object has its size and its content, for which there is room for two words; and the version since which
there is a number in the window that no other code has (co_version)."""

_ENTRIES = 4
"""Of a dict so many are looked at."""

_WORD = 8
_NAME = int.from_bytes(b"__name__", "little")


def _runtime(b: Builder, work: Reg, absent: int) -> Reg:
    """What is known of the interpreter."""
    slot = b.slot(8)
    b.store(slot, 0, 8, get(b, work, PYTHON))
    found = b.call(NUMBERS["map_lookup_elem"], MapDescriptor(PYTHON_RUNTIMES), SlotAddress(slot))
    b.release(slot)
    b.branch("eq", found, Imm(0), absent)
    return found


def _ending(name: str, parameters: int = 1) -> tuple[Builder, Reg, int]:
    """A routine of (work, ...), and a label at which it returns 0; `_done` places that."""
    b = Builder(name, parameters)
    return b, b.function.parameters[0], b.label()


def _done(b: Builder, absent: int) -> BpfFunction:
    b.place(absent)
    b.ret(Imm(0))
    return b.function


def _member(b: Builder, found: Reg, base: Operand, member: int) -> Reg:
    """The word of the process's memory at a member of the structure at `base`; 0 if there is none."""
    return b.call_local("python_word", b.in_register(b.alu("add", base, b.load(found, member, 4))))


def _field(b: Builder, work: Reg, found: Reg, member: int) -> Reg:
    """A word of the frame that has been read."""
    place = b.alu("and", b.load(found, member, 4), Imm(0x78))
    return b.in_register(b.load(b.in_register(b.alu("add", work, place)), _READ, 8))


def word(name: str) -> BpfFunction:
    """(address): the word of the process's memory there; 0 if there is none."""
    b = Builder(name)
    b.ret(_word_at(b, b.function.parameters[0]))
    return b.function


def _word_at(b: Builder, address: Operand) -> Reg:
    """The same without a call, of which eBPF allows no more than eight within each other."""
    slot = b.slot(8)
    b.store(slot, 0, 8, Imm(0))
    b.call(NUMBERS["probe_read_user"], SlotAddress(slot), Imm(8), address)
    value = b.in_register(b.load(slot, 0, 8))
    b.release(slot)
    return value


def _member_at(b: Builder, found: Reg, base: Operand, member: int) -> Reg:
    """`_member` without a call."""
    return _word_at(b, b.alu("add", base, b.load(found, member, 4)))


def enter(name: str) -> BpfFunction:
    """(work): whether the frame is one of the function that interprets Python's code."""
    b, work, absent = _ending(name)
    found = _runtime(b, work, absent)
    offset = b.in_register(b.alu("sub", get(b, work, LOOK), get(b, work, BIAS)))
    for place in range(_RANGES, _RANGES + 16 * _RANGE_COUNT, 16):
        start = b.in_register(b.load(found, place, 8))
        size = b.in_register(b.alu("sub", b.load(found, place + 8, 8), start))
        with b.when("lt", b.in_register(b.alu("sub", offset, start)), size):
            b.ret(Imm(1))
    return _done(b, absent)


def thread(name: str) -> BpfFunction:
    """(work): have the innermost of the thread's frames of Python in the state; 1 if there is one. Called again it
    looks once for another state of the thread, which has one in each interpreter that it has entered."""
    b, work, absent = _ending(name)
    found, again, listed, outdated = _runtime(b, work, absent), b.label(), b.label(), b.label()
    with b.when("eq", b.load(found, KIND, 4), Imm(python.IS_UNKNOWN)):
        version = b.alu("lsh", b.load(found, VERSION, 4), Imm(python.REASON_BITS))
        put(b, work, PLACE, b.alu("or", b.load(found, REMARK, 4), version))
        b.ret(Imm(0))
    put(b, work, PLACE, Imm(python.RUNNING))
    b.branch("eq", get(b, work, THREAD), Imm(0), absent)
    put(b, work, PLACE, Imm(python.NO_THREAD))
    b.branch("ne", get(b, work, FOUND), Imm(_NOT_LOOKED), again)
    put(b, work, FOUND, Imm(_READY))
    runtime = b.in_register(b.alu("add", get(b, work, BIAS), b.load(found, 0, 8)))
    put(b, work, INTERPRETER, _member(b, found, runtime, _INTERPRETERS))
    key = b.slot(16)
    b.store(key, 0, 8, get(b, work, IMAGE))
    b.store(key, 8, 8, get(b, work, THREAD))
    # In another interpreter the thread may have another state since: the newest ones are looked at first.
    b.branch("ne", _member(b, found, get(b, work, INTERPRETER), _FOLLOWING), Imm(0), outdated)
    known = b.call(NUMBERS["map_lookup_elem"], MapDescriptor(PYTHON_THREADS), SlotAddress(key))
    with b.when("ne", known, Imm(0)):
        before = b.in_register(b.load(known, 0, 8))
        # The state of a thread that has ended may look like that of the one which got its thread pointer.
        following = b.in_register(_member(b, found, before, _NEXT))
        with b.when("ne", following, Imm(0)):
            b.branch("ne", b.call_local("python_word", following), before, outdated)
        _try(b, work, before)
    b.place(outdated)
    with b.when("ne", b.load(found, _CURRENT, 4), Imm(0)):
        _try(b, work, _member(b, found, runtime, _CURRENT))
    b.jump(listed)
    b.place(again)
    b.branch("eq", get(b, work, FOUND), Imm(_ANOTHER), absent)
    put(b, work, FOUND, Imm(_ANOTHER))
    put(b, work, STATE, Imm(0))
    runtime = b.in_register(b.alu("add", get(b, work, BIAS), b.load(found, 0, 8)))
    put(b, work, INTERPRETER, _member(b, found, runtime, _INTERPRETERS))
    b.store(key, 0, 8, get(b, work, IMAGE))
    b.store(key, 8, 8, get(b, work, THREAD))
    b.place(listed)
    with b.when("ne", get(b, work, INTERPRETER), Imm(0)):
        put(b, work, STATE, _member(b, found, get(b, work, INTERPRETER), _THREADS))
    repeat(b, "python_search", Imm(_MOST_THREADS), work)
    b.branch("eq", get(b, work, PYTHON_FRAME), Imm(0), absent)
    state = b.slot(8)
    b.store(state, 0, 8, get(b, work, STATE))
    b.call(NUMBERS["map_update_elem"], MapDescriptor(PYTHON_THREADS), SlotAddress(key), SlotAddress(state), Imm(0))
    b.ret(Imm(1))
    return _done(b, absent)


def _try(b: Builder, work: Reg, state: Reg) -> None:
    """Take this state of a thread if it is that of this one, and has frames; the routine ends then."""
    put(b, work, STATE, state)
    with b.when("ne", b.call_local("python_try", work), Imm(0)):
        b.ret(Imm(1))


def try_state(name: str) -> BpfFunction:
    """(work): whether STATE is that of this thread, and has frames: then the innermost is in the state."""
    b, work, absent = _ending(name)
    _take_state(b, work, _runtime(b, work, absent), absent)
    return _done(b, absent)


def _take_state(b: Builder, work: Reg, found: Reg, absent: int) -> None:
    """The routine ends with 1 if STATE is that of this thread and has frames; else on to `absent`."""
    state = get(b, work, STATE)
    b.branch("eq", state, Imm(0), absent)
    b.branch("eq", state, get(b, work, USED), absent)
    b.branch("ne", _member_at(b, found, state, _THREAD), get(b, work, THREAD), absent)
    frame = b.copy(_member_at(b, found, state, _FRAME))
    with b.when("ne", b.load(found, _THROUGH, 4), Imm(0)):
        b.branch("eq", frame, Imm(0), absent)
        put(b, work, CALLED, frame)
        b.move(frame, _member_at(b, found, b.alu("sub", frame, Imm(1)), _THROUGH))
    b.branch("eq", frame, Imm(0), absent)
    put(b, work, PYTHON_FRAME, frame)
    put(b, work, USED, state)
    b.ret(Imm(1))


def search(name: str) -> BpfFunction:
    """One state of a thread, or one interpreter, in the list of all; the loop ends where it is this thread's."""
    b, _, work = step_of_loop(name)
    absent, next_interpreter, next_state = b.label(), b.label(), b.label()
    found = _runtime(b, work, absent)
    b.branch("eq", get(b, work, STATE), Imm(0), next_interpreter)
    _take_state(b, work, found, next_state)
    b.place(next_state)
    put(b, work, STATE, _member_at(b, found, get(b, work, STATE), _NEXT))
    b.ret(Imm(0))
    b.place(next_interpreter)
    interpreter = get(b, work, INTERPRETER)
    b.branch("eq", interpreter, Imm(0), absent)
    following = _member_at(b, found, interpreter, _FOLLOWING)
    put(b, work, INTERPRETER, following)
    b.branch("eq", following, Imm(0), absent)
    put(b, work, STATE, _member_at(b, found, following, _THREADS))
    b.ret(Imm(0))
    b.place(absent)
    b.ret(Imm(1))
    return b.function


def frame(name: str) -> BpfFunction:
    """(work): read a frame of Python's and go to its caller's; 1 if it is one to show, whose code object and place are
    then in the state, or if there is a remark."""
    b, work, absent = _ending(name)
    found, unreadable, owned, of_object = _runtime(b, work, absent), b.label(), b.label(), b.label()
    known, early = b.label(), b.label()
    target, address = b.in_register(b.alu("add", work, Imm(_READ))), get(b, work, PYTHON_FRAME)
    kind = b.in_register(b.load(found, KIND, 4))
    read = b.call(NUMBERS["probe_read_user"], target, Imm(_FRAME_SIZE), address)
    b.branch("slt", read, Imm(0), unreadable)
    with b.when("eq", kind, Imm(python.IS_FRAME_OBJECT)):
        read = b.call(NUMBERS["probe_read_user"], target, Imm(_FRAME_OBJECT_SIZE), address)
        b.branch("slt", read, Imm(0), unreadable)
    previous = _field(b, work, found, _PREVIOUS)
    put(b, work, PYTHON_FRAME, previous)
    with b.when("eq", previous, Imm(0)):
        put(b, work, MODE, Imm(0))
    code = b.in_register(b.alu("and", _field(b, work, found, _CODE), Imm(_TAGS)))
    put(b, work, CODE, code)
    b.branch("eq", kind, Imm(python.IS_FRAME_OBJECT), of_object)
    shift = b.alu("lsh", b.alu("and", b.load(found, _MARK, 4), Imm(7)), Imm(3))
    mark = b.in_register(b.alu("and", b.alu("rsh", _field(b, work, found, _MARK), shift), Imm(0xFF)))
    place = b.copy(b.alu("sub", _field(b, work, found, _PLACE), b.alu("add", code, b.load(found, _START, 4))))
    b.branch("eq", kind, Imm(python.IS_OWNED), owned)
    called = get(b, work, CALLED)
    with b.when("eq", address, get(b, work, KEPT_FRAME)):
        b.branch("ge", called, get(b, work, STACK), early)
    with b.when("ne", mark, Imm(0)):
        put(b, work, MODE, Imm(0))
        # What the call before keeps is behind where that has its frame.
        put(b, work, CALLED, _member(b, found, b.alu("add", called, Imm(_WORD - 1)), _THROUGH))
    b.jump(known)
    b.place(owned)
    b.branch("lt", mark, Imm(_INTERPRETERS_OWN), known)
    b.branch("ge", address, get(b, work, STACK), early)
    put(b, work, MODE, Imm(0))
    b.ret(Imm(0))
    b.place(early)
    # The frames are those of a call further out: the interpreter has just been called here, or is about to return.
    put(b, work, COUNT, get(b, work, KEPT_COUNT))
    put(b, work, PYTHON_FRAME, get(b, work, KEPT_FRAME))
    put(b, work, NATIVE, get(b, work, KEPT_PC))
    put(b, work, CODE, Imm(0))
    put(b, work, MODE, Imm(0))
    b.ret(Imm(1))
    b.place(of_object)
    # Each call of the interpreter has one.
    put(b, work, MODE, Imm(0))
    b.move(place, b.alu("and", _field(b, work, found, _PLACE), Imm(0xFFFFFFFF)))
    with b.when("eq", b.load(found, VERSION, 4), Imm(_LASTI_IN_UNITS)):
        b.move(place, b.alu("lsh", place, Imm(1)))
    b.place(known)
    with b.when("ge", place, Imm(python.UNKNOWN_PLACE)):
        b.move(place, Imm(python.UNKNOWN_PLACE))
    put(b, work, PLACE, place)
    b.ret(Imm(1))
    b.place(unreadable)
    _refuse(b, work, Imm(python.UNREADABLE))
    return _done(b, absent)


def _refuse(b: Builder, work: Reg, reason: Operand) -> None:
    """The routine ends with a remark, and no more frames of Python are looked for in the stack."""
    for state, value in ((MODE, Imm(0)), (FOUND, Imm(_FAILED)), (NUMBER, Imm(0)), (CODE, Imm(0))):
        put(b, work, state, value)
    put(b, work, PLACE, reason)
    b.ret(Imm(1))


def known(name: str) -> BpfFunction:
    """(work): have the number of the code object in the state; 0 if it has none yet."""
    b, work, absent = _ending(name)
    found, unreadable, code = _runtime(b, work, absent), b.label(), get(b, work, CODE)
    with b.when("eq", code, Imm(0)):
        # A remark.
        b.ret(Imm(1))
    target = b.in_register(b.alu("add", work, Imm(_WINDOW)))
    address = b.alu("sub", b.alu("add", code, b.load(found, _LINES, 4)), Imm(_WINDOW_SIZE - _WORD))
    read = b.call(NUMBERS["probe_read_user"], target, Imm(_WINDOW_SIZE), address)
    b.branch("slt", read, Imm(0), unreadable)
    # Code that is made anew may stand where other code stood, with the same names.
    total, multiplier = b.copy(get(b, work, _WINDOW)), b.copy(Imm(_MULTIPLIER))
    for place in range(_WORD, _WINDOW_SIZE, _WORD):
        b.move(total, b.alu("add", b.alu("mul", total, multiplier), get(b, work, _WINDOW + place)))
    key = b.in_register(b.alu("add", work, Imm(_KEY)))
    with b.when("lt", b.load(found, VERSION, 4), Imm(_CODE_HAS_NUMBER)):
        table = b.alu("add", get(b, work, _WINDOW + _WINDOW_SIZE - _WORD), Imm(_BYTES))
        b.branch("slt", b.call(NUMBERS["probe_read_user"], key, Imm(2 * _WORD), table), Imm(0), unreadable)
        for place in (0, _WORD):
            b.move(total, b.alu("add", b.alu("mul", total, multiplier), get(b, work, _KEY + place)))
    for place, value in ((0, get(b, work, IMAGE)), (8, code), (16, total)):
        put(b, work, _KEY + place, value)
    value = b.call(NUMBERS["map_lookup_elem"], MapDescriptor(PYTHON_KNOWN), key)
    b.branch("eq", value, Imm(0), absent)
    put(b, work, NUMBER, b.load(value, 0, 8))
    b.ret(Imm(1))
    b.place(unreadable)
    _refuse(b, work, Imm(python.UNREADABLE))
    return _done(b, absent)


def note(name: str, frames: int) -> BpfFunction:
    """(work): give the code object a number, and note what tells which function it is. What the interpreter makes for
    itself, a frame around `__init__` for instance, has no line and its name for a file's."""
    b, work, absent = _ending(name)
    found, code, full = _runtime(b, work, absent), get(b, work, CODE), b.label()
    key = b.in_register(b.alu("add", work, Imm(_KEY)))
    value, number = b.slot(8), b.slot(8)
    line = b.in_register(b.alu("and", _member(b, found, code, _LINE), Imm(0xFFFFFFFF)))
    distance = b.alu("sub", b.load(found, _LINES, 4), b.load(found, _FILE, 4))
    at_file = b.alu("and", b.alu("sub", Imm(_WINDOW_SIZE - _WORD), distance), Imm(0x78))
    names = b.in_register(b.alu("add", work, at_file))
    file, plain_name, whole_name = (b.in_register(b.load(names, _WINDOW + place, 8)) for place in (0, 8, 16))
    with b.when("eq", line, Imm(0)), b.when("eq", file, plain_name):
        b.store(value, 0, 8, Imm(python.SKIPPED))
        put(b, work, NUMBER, Imm(python.SKIPPED))
        b.call(NUMBERS["map_update_elem"], MapDescriptor(PYTHON_KNOWN), key, SlotAddress(value), Imm(0))
        b.ret(Imm(0))
    state = b.map_value(PYTHON_STATE, 0)
    b.store(number, 0, 8, b.alu("add", b.fetch_add(state, 0, Imm(1)), Imm(1)))
    made = b.in_register(b.alu("add", work, Imm(FRAMES + 8 * frames)))
    called, lines = b.copy(whole_name), get(b, work, _WINDOW + _WINDOW_SIZE - _WORD)
    function = b.in_register(b.alu("and", _field(b, work, found, _FUNCTION), Imm(_TAGS)))
    module = b.copy(function)
    in_globals, noted, version = b.label(), b.label(), b.in_register(b.load(found, VERSION, 4))
    b.branch("eq", b.load(found, KIND, 4), Imm(python.IS_FRAME_OBJECT), in_globals)
    b.move(module, b.call_local("python_word", b.in_register(b.alu("add", function, Imm(_FUNCTION_GLOBALS)))))
    b.move(module, b.call_local("python_module", module, version))
    b.branch("ne", module, Imm(0), noted)
    # What a function says itself may be the module of another one, which it was made to look like.
    b.move(module, _member(b, found, function, _MODULE))
    b.jump(noted)
    b.place(in_globals)
    b.move(called, plain_name)
    b.move(module, b.call_local("python_module", module, version))
    b.place(noted)
    for place, what in enumerate((get(b, work, IMAGE), code, file, called, module, lines)):
        b.store(made, 8 * place, 8, what)
    b.store(made, 48, 4, line)
    b.store(made, 52, 4, version)
    _copy_parts(b, made, lines, number)
    for place, size, address in (
        (python.FILE, python.FILE_SIZE, file), (python.NAME, python.NAME_SIZE, called),
        (python.MODULE, python.NAME_SIZE, module), (python.LINES, python.LINES_SIZE, lines),
    ):  # fmt: skip
        b.call_local(f"python_copy_{size}", b.in_register(b.alu("add", made, Imm(place))), address)
    update = NUMBERS["map_update_elem"]
    written = b.call(update, MapDescriptor(PYTHON_CODES), SlotAddress(number), made, Imm(0))
    b.branch("slt", written, Imm(0), full)
    written = b.call(update, MapDescriptor(PYTHON_KNOWN), key, SlotAddress(number), Imm(0))
    b.branch("slt", written, Imm(0), full)
    put(b, work, NUMBER, b.load(number, 0, 8))
    b.ret(Imm(0))
    b.place(full)
    b.atomic_add(b.map_value(PYTHON_STATE, 0), 8, Imm(1))
    put(b, work, NUMBER, Imm(0))
    put(b, work, PLACE, Imm(python.NO_ROOM))
    return _done(b, absent)


def _copy_parts(b: Builder, made: Reg, lines: Operand, number: Slot) -> None:
    """Note what a table of lines has behind its first part, while the place of that is free: code that is used once,
    as a module's, may be gone before the session can read it."""
    target, slot = b.in_register(b.alu("add", made, Imm(python.LINES))), b.slot(8)
    address = b.copy(lines)
    size = _word_at(b, b.alu("add", address, Imm(_BYTES_SIZE)))
    for part in range(1, python.LINES_PARTS):
        with b.when("gt", size, Imm(part * python.LINES_SIZE - _BYTES)):
            b.call_local(
                f"python_copy_{python.LINES_SIZE}", target,
                b.in_register(b.alu("add", address, Imm(part * python.LINES_SIZE))),
            )  # fmt: skip
            key = b.alu("mul", b.load(number, 0, 8), Imm(python.LINES_PARTS))
            b.store(slot, 0, 8, b.alu("add", key, Imm(part)))
            b.call(NUMBERS["map_update_elem"], MapDescriptor(PYTHON_LINES), SlotAddress(slot), target, Imm(0))
    b.release(slot)


def module(name: str) -> BpfFunction:
    """(globals, version): the value of `__name__` in a dict, 0 if it is none of its first entries: in modules it is the
    very first. Since 3.11 entries have no hash where all keys are texts."""
    b = Builder(name, 2)
    variables, version = b.function.parameters
    keys = _word_at(b, b.alu("add", variables, Imm(_DICT_KEYS)))
    head = _word_at(b, b.alu("add", keys, Imm(_KEYS_SIZE)))
    place, size, text = b.copy(keys), b.copy(Imm(_ENTRY_SIZE)), b.copy(Imm(_TEXT))
    old, ready = b.label(), b.label()
    b.branch("le", version, Imm(_LASTI_IN_UNITS), old)
    indexes = b.alu("lsh", b.copy(Imm(1)), b.alu("and", b.alu("rsh", head, Imm(8)), Imm(31)))
    b.move(place, b.alu("add", b.alu("add", place, indexes), Imm(_KEYS_HEAD)))
    is_general = b.alu("and", b.alu("sub", b.alu("and", b.alu("rsh", head, Imm(16)), Imm(0xFF)), Imm(1)), Imm(8))
    b.move(place, b.alu("add", place, is_general))
    b.move(size, b.alu("add", is_general, Imm(_TEXT_ENTRY_SIZE)))
    with b.when("ge", version, Imm(_SMALLER_TEXTS)):
        b.move(text, Imm(_TEXT_WITHOUT_WIDE))
    b.jump(ready)
    b.place(old)
    # An index has one byte, or two of more than 255 and four of more than 65,535.
    for most, shift in ((0xFF, 0), (0xFFFF, 1)):
        with b.when("gt", head, Imm(most)):
            b.move(place, b.alu("add", place, b.alu("lsh", head, Imm(shift))))
    b.move(place, b.alu("add", b.alu("add", place, head), Imm(_KEYS_INDEXES + _ENTRY_KEY)))
    b.place(ready)
    b.ret(_entry(b, place, size, text))
    return b.function


def _entry(b: Builder, place: Reg, size: Reg, text: Reg) -> Reg:
    """The value behind the first of some keys of a dict that is `__name__`, 0 if none of them is; `place` is that of
    the first key, `size` an entry's, `text` where a str has its characters."""
    found, left, again = b.copy(Imm(0)), b.copy(Imm(_ENTRIES)), b.label()
    b.place(again)
    key = _word_at(b, place)
    is_other = b.alu("xor", _word_at(b, b.alu("add", key, text)), b.copy(Imm(_NAME)))
    # All bits where they are the same: without a branch the verifier goes one way.
    same = b.alu("xor", b.alu("arsh", b.alu("or", is_other, b.negate(is_other)), Imm(63)), Imm(-1))
    value = _word_at(b, b.alu("add", place, Imm(8)))
    b.move(found, b.alu("or", found, b.alu("and", value, same)))
    b.move(place, b.alu("add", place, size))
    b.move(left, b.alu("sub", left, Imm(1)))
    b.branch("ne", left, Imm(0), again)
    return found


def copy(name: str, size: int) -> BpfFunction:
    """(target, address): so many bytes of the process's memory, or those to the end of the page; else zeros."""
    b = Builder(name, 2)
    target, address = b.function.parameters
    read = b.call(NUMBERS["probe_read_user"], target, Imm(size), address)
    with b.when("slt", read, Imm(0)):
        rest = b.in_register(b.alu("sub", Imm(pages.PAGE), b.alu("and", address, Imm(pages.PAGE - 1))))
        with b.when("lt", rest, Imm(size)):
            b.call(NUMBERS["probe_read_user"], target, rest, address)
    b.ret(Imm(0))
    return b.function


def show(name: str, frames: int) -> BpfFunction:
    """(work): put the function, or the remark, behind the frames of the stack."""
    b, work, absent = _ending(name)
    count, number = get(b, work, COUNT), get(b, work, NUMBER)
    b.branch("ge", count, Imm(frames), absent)
    native, plain, place = get(b, work, NATIVE), b.label(), b.alu("lsh", count, Imm(3))
    b.branch("ne", native, Imm(0), plain)
    b.branch("eq", number, b.copy(Imm(python.SKIPPED)), absent)
    mark = b.alu("or", b.alu("lsh", number, Imm(python.PLACE_BITS)), b.copy(Imm(-python.FRAME)))
    b.store(at(b, work, FRAMES, place), 0, 8, b.alu("or", mark, get(b, work, PLACE)))
    put(b, work, COUNT, b.alu("add", count, Imm(1)))
    b.ret(Imm(0))
    b.place(plain)
    b.store(at(b, work, FRAMES, place), 0, 8, native)
    put(b, work, COUNT, b.alu("add", count, Imm(1)))
    put(b, work, NATIVE, Imm(0))
    return _done(b, absent)


def shift(name: str, frames: int) -> BpfFunction:
    """(work): of frame objects there is none left for a frame of the interpreter's: each belongs one further out. Have
    the first one show the interpreter itself, and the last one be shown next; 0 if that cannot be, as in a greenlet,
    whose stack goes on in that of its parent, and its frames do not."""
    b, work, absent = _ending(name)
    found = _runtime(b, work, absent)
    b.branch("ne", b.load(found, KIND, 4), Imm(python.IS_FRAME_OBJECT), absent)
    b.branch("eq", get(b, work, FIRST_PC), Imm(SURELY_EXECUTING), absent)
    put(b, work, NATIVE, get(b, work, FIRST_PC))
    repeat(b, f"python_exchange_{frames}", Imm(frames), work)
    b.ret(Imm(1))
    return _done(b, absent)


def exchange(name: str, frames: int) -> BpfFunction:
    """(index, ...): put the kept word in the place of a frame of Python's, which is kept then."""
    b, index, work = step_of_loop(name)
    stop_if(b, "ge", index, get(b, work, COUNT))
    stop_if(b, "ge", index, Imm(frames))
    place = at(b, work, FRAMES, b.alu("lsh", index, Imm(3)))
    before = b.in_register(b.load(place, 0, 8))
    with b.when("slt", before, Imm(0)):
        b.store(place, 0, 8, get(b, work, NATIVE))
        put(b, work, NATIVE, before)
    b.ret(Imm(0))
    return b.function


ROUTINES: dict[str, Callable[[str], BpfFunction]] = {
    "python_enter": enter, "python_frame": frame, "python_known": known, "python_module": module,
    "python_search": search, "python_thread": thread, "python_try": try_state,
    "python_word": word,
}  # fmt: skip


def routine(name: str) -> BpfFunction:
    """The routine of that name, which may end in a number."""
    if name in ROUTINES:
        return ROUTINES[name](name)
    # What is the same but for the room that a stack has.
    _, what, number = name.split("_")
    made = {"copy": copy, "exchange": exchange, "note": note, "shift": shift, "show": show}
    return made[what](name, int(number))
