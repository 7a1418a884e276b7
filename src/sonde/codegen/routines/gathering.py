"""Following the pointers in an array of a process: of an argument vector, or of struct iovec."""

from __future__ import annotations

from sonde.bpf.helpers import NUMBERS
from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import BpfFunction, Imm, Reg
from sonde.codegen.routines.work import WORDS, get, put, repeat, step_of_loop
from sonde.model.readings import BUFFERS, NOT_READ, POINTERS, SLOT_HEAD, SLOTS, Reading

ADDRESS, WANTED, FOUND, POINTER, LENGTH, ABSENT = range(0, 48, 8)
"""In the work: the array, how many elements are looked at at most, the result, the element that is looked at, and an
address at which nothing could be read."""

SLOTS_AT = WORDS

_MOST = 1 << 14
"""Elements that are looked at in any case."""


def gather(name: str, step: str) -> BpfFunction:
    """(work): how many elements there are before the first NULL, or as many as were wanted; NOT_READ if not even the
    first could be read."""
    b = Builder(name, 1)
    (work,) = b.function.parameters
    put(b, work, FOUND, Imm(0))
    times = b.copy(get(b, work, WANTED))
    with b.when("gt", times, Imm(_MOST)):
        b.move(times, Imm(_MOST))
    repeat(b, step, times, work)
    b.ret(get(b, work, FOUND))
    return b.function


def element(name: str, reading: Reading) -> BpfFunction:
    """(index, address of the work): look at one element."""
    b, index, work = step_of_loop(name)
    size = 16 if reading.kind == BUFFERS else 8
    address = b.alu("add", get(b, work, ADDRESS), b.alu("mul", index, Imm(size)))
    target = b.alu("add", work, Imm(POINTER))
    got = b.call(NUMBERS["probe_read_user"], b.in_register(target), Imm(size), address)
    with b.when("slt", got, Imm(0)):
        with b.when("eq", index, Imm(0)):
            put(b, work, FOUND, Imm(NOT_READ))
        put(b, work, ABSENT, address)
        b.ret(Imm(1))
    if reading.kind != BUFFERS:
        with b.when("eq", get(b, work, POINTER), Imm(0)):
            b.ret(Imm(1))
    put(b, work, FOUND, b.alu("add", index, Imm(1)))
    if reading.kind in SLOTS:
        with b.when("ge", index, Imm(reading.most)):
            b.ret(Imm(1))
        _fill(b, reading, index, work)
    b.ret(Imm(0))
    return b.function


def _fill(b: Builder, reading: Reading, index: Reg, work: Reg) -> None:
    stride = SLOT_HEAD + reading.slot
    slot = b.in_register(b.alu("add", b.alu("add", work, b.alu("mul", index, Imm(stride))), Imm(SLOTS_AT)))
    pointer = get(b, work, POINTER)
    memory = b.in_register(b.alu("add", slot, Imm(SLOT_HEAD)))
    b.store(slot, 0, 8, pointer)
    if reading.kind == POINTERS:
        _note(b, work, slot, b.call(NUMBERS["probe_read_user_str"], memory, Imm(reading.size + 2), pointer))
        return
    length = b.copy(get(b, work, LENGTH))
    b.store(slot, 8, 8, length)
    with b.when("gt", length, Imm(reading.size)):
        b.move(length, Imm(reading.size))
    _note(b, work, slot, b.call(NUMBERS["probe_read_user"], memory, length, pointer))


def _note(b: Builder, work: Reg, slot: Reg, got: Reg) -> None:
    """How the slot's memory was read."""
    b.store(slot, 16, 8, got)
    with b.when("slt", got, Imm(0)):
        put(b, work, ABSENT, get(b, work, POINTER))
