"""commit() and discard(): a speculation is closed, by a record of its own that tells the consumer."""

from __future__ import annotations

from sonde.codegen import records
from sonde.codegen.faults import ILLEGAL_OPERATION, fault_if
from sonde.codegen.generation import Generation
from sonde.codegen.ir import Atomic, Imm, Reg
from sonde.codegen.plan import WRITTEN, Recorded
from sonde.codegen.speculations import COUNT, look_up
from sonde.lang import program as tree
from sonde.spec import CLOSED, COMMITTED, DISCARDED, HEADER_SIZE, SPECULATING, SPECULATION_COUNTS, SPECULATIONS


def close(g: Generation, s: tree.Act, recorded: Recorded) -> None:
    """commit(id), discard(id): nothing if there is no such speculation. Without room for the record that says so the
    state alone does, and the consumer finds it there."""
    number = g.value(s.arguments[0])
    fault_if(g, "gt", number, Imm(g.shared.settings.nspec), ILLEGAL_OPERATION, Imm(0))
    full, lost, end = g.b.label(), g.b.label(), g.b.label()
    state = look_up(g, SPECULATIONS, number, end)
    g.b.branch("ne", g.b.load(state, 0, 8), Imm(SPECULATING), end)
    counts = look_up(g, SPECULATION_COUNTS, number, end)
    layout = recorded.layout
    base = g.call("ringbuf_reserve", records.ring_argument(g, full), Imm(layout.size), Imm(0))
    g.b.branch("eq", base, Imm(0), full)
    g.b.branch("ne", _change(g, state, CLOSED), Imm(SPECULATING), lost)
    records.header(g, base, layout.number, Imm(0))
    g.b.store(base, HEADER_SIZE, 8, number)
    g.b.store(base, WRITTEN.offset, 8, g.b.load(counts, COUNT, 8))
    g.call("ringbuf_submit", base, Imm(0))
    g.b.jump(end)
    g.b.place(lost)
    g.call("ringbuf_discard", base, Imm(0))
    g.b.jump(end)
    g.b.place(full)
    _change(g, state, COMMITTED if s.name == "commit" else DISCARDED)
    g.b.jump(end)
    g.b.place(end)


def _change(g: Generation, state: Reg, to: int) -> Reg:
    """Close the speculation if nobody has; the state it had."""
    before = g.b.register()
    g.b.emit(Atomic("cmpxchg", state, 0, 8, g.b.copy(Imm(to)), before, g.b.copy(Imm(SPECULATING))))
    return before
