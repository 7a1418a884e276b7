"""Numbers and memory that the consumer shows as text (`model/readings.py`): what flagstr() and memstr() record.

A read that fails is no fault: the address is recorded instead, as strace(1) shows it; unless the page is only not in
memory, and the firing can go on when the call has brought it there (`codegen/clauses/deferral.py`).
"""

from __future__ import annotations

from sonde.codegen.basis.faults import DEFER, FINAL, KEPT, fault
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.kernels import require_loops
from sonde.codegen.basis.places import Memory
from sonde.codegen.basis.shapes import reading_of
from sonde.codegen.expressions.access import zero
from sonde.codegen.expressions.resident import read_user
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.codegen.routines.gathering import ABSENT as GATHERED_ABSENT
from sonde.codegen.routines.gathering import ADDRESS as GATHERED_ADDRESS
from sonde.codegen.routines.gathering import SLOTS_AT
from sonde.codegen.routines.gathering import WANTED as GATHERED_WANTED
from sonde.model import program as tree
from sonde.model.readings import (
    ADDRESS,
    BUFFERS,
    COUNT,
    ELEMENTS,
    HEAD,
    LIMIT,
    NOT_READ,
    POINTER_COUNT,
    POINTERS,
    SLOTS,
    STRING,
    Reading,
)

_MOST_POINTERS = 1 << 14
"""So many pointers are counted."""


def noted_into(g: Generation, e: tree.Call, memory: Memory) -> None:
    """What memstr() reads, into its field."""
    reading = reading_of(e)
    address = g.b.in_register(g.value(e.arguments[1]))
    count, limit = g.value(e.arguments[2]), g.value(e.arguments[3])
    _store(g, memory, ADDRESS, address)
    _store(g, memory, COUNT, Imm(NOT_READ))
    _store(g, memory, LIMIT, limit if reading.kind == BUFFERS else Imm(0))
    zero(g, Memory(memory.base, memory.offset + HEAD), reading.room - HEAD)
    end, absent = g.b.label(), g.b.label()
    g.b.branch("eq", address, Imm(0), end)
    if not isinstance(count, Imm):
        count = g.b.unlinked(count)
        g.b.branch("slt", count, Imm(0), end)
    if reading.kind == ELEMENTS:
        _elements(g, memory, reading, address, count, absent)
    elif reading.kind == STRING:
        _string(g, memory, reading, address, absent)
    else:
        _gathered(g, e, memory, reading, address, count, absent)
    g.b.jump(end)
    g.b.place(absent)
    _go_on_later(g, address)
    g.b.place(end)


def _go_on_later(g: Generation, address: Operand) -> None:
    """Break the firing off if a later read at the address may find something; else go on here."""
    if g.deferral is None or g.resumed is not None or g.done is None or g.clause is None:
        return
    possible, kept, on = g.b.label(), g.b.label(), g.b.label()
    g.b.branch("eq", g.done, Imm(FINAL), on, possible)
    g.b.place(possible)
    where = g.b.alu("or", g.b.copy(Imm(g.deferral.numbers[g.clause.id] << 32)), g.done)
    result = g.b.call_local(
        DEFER, g.ctx, g.b.in_register(g.probe_index), g.b.in_register(where), g.b.in_register(address)
    )
    g.b.branch("eq", result, Imm(0), on, kept)
    g.b.place(kept)
    fault(g, KEPT, address)
    g.b.place(on)


def _store(g: Generation, memory: Memory, word: int, value: Operand) -> None:
    g.b.store(memory.base, memory.offset + word, 8, value)


def _read(g: Generation, memory: Memory, count: Operand, keeps_address: bool = False) -> None:
    """It was read."""
    _store(g, memory, COUNT, count)
    if not keeps_address:
        _store(g, memory, ADDRESS, Imm(0))


def _elements(g: Generation, memory: Memory, reading: Reading, address: Operand, count: Operand, absent: int) -> None:
    data = Memory(memory.base, memory.offset + HEAD)
    size: Operand
    if reading.most == 1:
        # Of what there is one of, the number only says whether to look.
        count, size = Imm(1), Imm(reading.size)
    elif isinstance(count, Imm):
        size = Imm(reading.size * min(count.value, reading.most))
    else:
        number = g.b.copy(count)
        with g.b.when("gt", number, Imm(reading.most)):
            g.b.move(number, Imm(reading.most))
        size = g.b.alu("mul", number, Imm(reading.size))
    g.b.branch("slt", read_user(g, "probe_read_user", data, size, address), Imm(0), absent)
    _read(g, memory, count)


def _string(g: Generation, memory: Memory, reading: Reading, address: Operand, absent: int) -> None:
    data = Memory(memory.base, memory.offset + HEAD)
    got = read_user(g, "probe_read_user_str", data, Imm(reading.most + 2), address)
    g.b.branch("slt", got, Imm(0), absent)
    _read(g, memory, Imm(1))


def _gathered(
    g: Generation, e: tree.Call, memory: Memory, reading: Reading, address: Operand, count: Operand, absent: int
) -> None:
    """What pointers point to, by a routine."""
    require_loops(g, "memstr() of pointers", e.position)
    wanted = {POINTERS: Imm(reading.most + 1), POINTER_COUNT: Imm(_MOST_POINTERS)}.get(reading.kind, count)
    room = reading.room - HEAD if reading.kind in SLOTS else 0
    with g.released():
        work = g.framed(SLOTS_AT + room)
        zero(g, Memory(work.base, work.offset), SLOTS_AT + room)
        g.b.store(work.base, work.offset + GATHERED_ADDRESS, 8, address)
        g.b.store(work.base, work.offset + GATHERED_WANTED, 8, wanted)
        name = f"gather_{reading.kind}_{reading.size}_{reading.most}"
        found = g.routine(name, g.address(work))
        missing = g.b.load(work.base, work.offset + GATHERED_ABSENT, 8)
        with g.b.when("ne", missing, Imm(0)):
            _go_on_later(g, missing)
        g.b.branch("slt", found, Imm(0), absent)
        if room:
            source = Memory(work.base, work.offset + SLOTS_AT)
            target = g.argument_of(memory.base, memory.offset + HEAD)
            g.call("probe_read_kernel", target, Imm(room), g.address(source))
        _read(g, memory, count if reading.kind == BUFFERS else found, reading.kind == POINTER_COUNT)
