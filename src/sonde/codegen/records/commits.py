"""commit() and discard(): a speculation is closed, by a record of its own that tells the consumer."""

from __future__ import annotations

from collections.abc import Callable

from sonde.codegen.basis import outputs
from sonde.codegen.basis.faults import ILLEGAL_OPERATION, fault_if
from sonde.codegen.basis.generation import Generation
from sonde.codegen.intermediate.ir import Atomic, Base, Imm, Reg
from sonde.codegen.records import writing
from sonde.codegen.records.plan import WRITTEN, Recorded
from sonde.codegen.records.speculations import COUNT, look_up
from sonde.model import program as tree
from sonde.model.named_maps import CLOSED, COMMITTED, DISCARDED, SPECULATING, SPECULATION_COUNTS, SPECULATIONS
from sonde.model.records import HEADER_SIZE

_UNTOLD = {"commit": COMMITTED, "discard": DISCARDED}
"""The states of which no record tells."""


def close(g: Generation, s: tree.Act, recorded: Recorded) -> None:
    """commit(id), discard(id): nothing if there is no such speculation. Without room for the record that says so the
    state alone does, and the consumer finds it there."""
    number = g.value(s.arguments[0])
    if g.shared.settings.records:
        # Who replays the firing has the speculations.
        return
    fault_if(g, "gt", number, Imm(g.shared.settings.nspec), ILLEGAL_OPERATION, Imm(0))
    full, lost, end = g.b.label(), g.b.label(), g.b.label()
    state = look_up(g, SPECULATIONS, number, end)
    g.b.branch("ne", g.b.load(state, 0, 8), Imm(SPECULATING), end)
    counts = look_up(g, SPECULATION_COUNTS, number, end)
    layout = recorded.layout

    def fill(base: Base, offset: int) -> None:
        writing.header(g, base, offset, layout.number, Imm(0))
        g.b.store(base, offset + HEADER_SIZE, 8, number)
        g.b.store(base, offset + WRITTEN.offset, 8, g.b.load(counts, COUNT, 8))

    if outputs.is_built(g):
        _close_and_tell(g, s.name, state, fill, end)
        g.b.place(end)
        return
    base = outputs.reserve(g, layout.size, full)
    g.b.branch("ne", _change(g, state, SPECULATING, CLOSED), Imm(SPECULATING), lost)
    fill(base, 0)
    outputs.submit(g, base)
    g.b.jump(end)
    g.b.place(lost)
    outputs.discard(g, base)
    g.b.jump(end)
    g.b.place(full)
    _change(g, state, SPECULATING, _UNTOLD[s.name])
    g.b.jump(end)
    g.b.place(end)


def _close_and_tell(g: Generation, name: str, state: Reg, fill: Callable[[Base, int], None], end: int) -> None:
    """Where no room can be had beforehand the state says first that there will be a record, then that there is none."""
    full = g.b.label()
    g.b.branch("ne", _change(g, state, SPECULATING, CLOSED), Imm(SPECULATING), end)
    writing.submit_small(g, WRITTEN.offset + WRITTEN.size, fill, full)
    g.b.jump(end)
    g.b.place(full)
    _change(g, state, CLOSED, _UNTOLD[name])
    g.b.jump(end)


def _change(g: Generation, state: Reg, old: int, to: int) -> Reg:
    """Change the state if it is still the old one; the state it had."""
    before = g.b.register()
    g.b.emit(Atomic("cmpxchg", state, 0, 8, g.b.copy(Imm(to)), before, g.b.copy(Imm(old))))
    return before
