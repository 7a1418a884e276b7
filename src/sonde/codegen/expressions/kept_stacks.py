"""The stack of a process as registers and bytes, at the end of the record of a firing: who reads that walks it."""

from __future__ import annotations

from sonde.bpf import programs
from sonde.codegen.basis import firing_records
from sonde.codegen.basis.clause_state import FaultExit
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.places import Memory
from sonde.codegen.expressions.probed_returns import probed_returns
from sonde.codegen.expressions.structures import read_member
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.model import firing_record as layout


def keep_stack(g: Generation) -> None:
    """Where a clause has asked for the stack. To be called before the record is sent."""
    area, size = g.firing_record, g.shared.settings.record_stack
    if area is None or not size or g.context.kind in programs.FOR_PACKETS:
        return
    flags, absent = g.b.load(area.base, area.offset + layout.FLAGS_AT, 4), g.b.label()
    g.b.branch("eq", g.b.alu("and", flags, Imm(layout.STACK_ASKED)), Imm(0), absent)
    _note_returns(g, area)
    saved = g.call("task_pt_regs", g.current_task(), pure="registers")
    g.routine(f"firing_stack_{size}", g.address(area), saved)
    g.b.place(absent)


def _note_returns(g: Generation, area: Memory) -> None:
    """What probes of functions' returns have replaced on the stack, before it: the trampoline's address, at 0, and the
    true ones where they stood."""
    # What is read on the way is nothing that a clause has read, and what cannot be read is no fault of one.
    g.firing_record, end = None, g.b.label()
    fault, g.fault = g.fault, FaultExit(end, g.b.register(), g.b.register(), g.b.register())
    probed = None if g.shared.target.portable else probed_returns(g)
    if probed is not None:
        found, offsets = g.b.copy(probed.innermost), probed.offsets
        g.b.branch("eq", found, Imm(0), end)
        _note_word(g, area, Imm(0), probed.trampoline)
        for _ in range(layout.MOST_RETURNS):
            place, true = read_member(g, found, offsets.stack, 8), read_member(g, found, offsets.address, 8)
            _note_word(g, area, place, true)
            g.b.move(found, read_member(g, found, offsets.next, 8))
            g.b.branch("eq", found, Imm(0), end)
    g.b.place(end)
    g.firing_record, g.fault = area, fault


def _note_word(g: Generation, area: Memory, place: Operand, word: Operand) -> None:
    g.firing_record = area
    firing_records.value(g, layout.STACK, place, word)
    g.firing_record = None
