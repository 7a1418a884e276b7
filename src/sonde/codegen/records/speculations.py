"""Speculations: records that are shown, or not, when it is known whether they are wanted.

A speculation's state (`spec.SPECULATIONS`) goes its way by compare-and-exchange, so one is taken, committed or
discarded by one CPU alone. A record is counted before the state is looked at once more, and commit() changes the state
before it reads the count: of a record and a commit() that meet, the record sees that it is late, or the commit() knows
of it. So the consumer, which is told the count, knows when it has all records, whatever ring they come through.
"""

from __future__ import annotations

from sonde.bpf import maps as kinds
from sonde.codegen.basis.generation import Generation
from sonde.codegen.intermediate.ir import Imm, MapDescriptor, Operand, Reg, SlotAddress
from sonde.codegen.routines import speculations
from sonde.model import program as tree
from sonde.model.named_maps import SPECULATING, SPECULATION_COUNTS, SPECULATIONS
from sonde.model.spec import MapSpec

COUNT, _SIZE = 0, 8
"""The words of a speculation's counts."""


def new(g: Generation, _e: tree.Call) -> Operand:
    """speculation(): the number of a free one, 0 if there is none."""
    if g.shared.settings.records:
        return Imm(1)
    _maps(g)
    taken = g.routine(f"speculation_{g.shared.settings.nspec}")
    result = g.b.copy(Imm(0))
    busy, rest, none, end = g.b.label(), g.b.label(), g.b.label(), g.b.label()
    g.b.branch("eq", taken, Imm(speculations.BUSY), busy, rest)
    g.b.place(busy)
    g.count("busy_speculations")
    g.b.jump(end)
    g.b.place(rest)
    g.b.branch("eq", taken, Imm(0), none)
    g.b.move(result, taken)
    g.b.jump(end)
    g.b.place(none)
    g.count("unavailable_speculations")
    g.b.place(end)
    return result


def speculate(g: Generation, s: tree.Act) -> None:
    """speculate(id): the rest of the clause writes into that speculation; it does not run if there is none such."""
    assert g.speculation is not None
    number = g.value(s.arguments[0])
    if g.shared.settings.records:
        return
    g.b.branch("gt", number, Imm(g.shared.settings.nspec), g.finish)
    state = look_up(g, SPECULATIONS, number, g.finish)
    g.b.branch("ne", g.b.load(state, 0, 8), Imm(SPECULATING), g.finish)
    g.b.move(g.speculation, number)


def enter(g: Generation, size: Operand, lost: int) -> None:
    """Before a record of that many bytes: count it if it belongs to a speculation; go to `lost` if that has no room
    left. The clause ends if the speculation is not active any more, or can have no such record at all."""
    if g.speculation is None or g.shared.settings.records:
        return
    late, full, large, end = g.b.label(), g.b.label(), g.b.label(), g.b.label()
    g.b.branch("eq", g.speculation, Imm(0), end)
    g.b.branch("gt", size, Imm(g.shared.settings.specsize), large)
    state = look_up(g, SPECULATIONS, g.speculation, g.finish)
    counts = look_up(g, SPECULATION_COUNTS, g.speculation, g.finish)
    g.b.fetch_add(counts, COUNT, Imm(1))
    g.b.branch("ne", g.b.load(state, 0, 8), Imm(SPECULATING), late)
    room = g.b.alu("sub", Imm(g.shared.settings.specsize), size)
    before = g.b.fetch_add(counts, _SIZE, size)
    g.b.branch("sgt", before, room, full, end)
    g.b.place(full)
    g.b.atomic_add(counts, _SIZE, g.b.negate(size))
    g.b.atomic_add(counts, COUNT, Imm(-1))
    g.count("speculations")
    g.b.jump(lost)
    g.b.place(late)
    g.b.atomic_add(counts, COUNT, Imm(-1))
    g.b.jump(g.finish)
    g.b.place(large)
    g.count("speculations")
    g.b.jump(g.finish)
    g.b.place(end)


def give_up(g: Generation, size: Operand) -> None:
    """A record that was counted will not come."""
    if g.speculation is None:
        return
    end = g.b.label()
    g.b.branch("eq", g.speculation, Imm(0), end)
    counts = look_up(g, SPECULATION_COUNTS, g.speculation, end)
    g.b.atomic_add(counts, _SIZE, g.b.negate(size))
    g.b.atomic_add(counts, COUNT, Imm(-1))
    g.b.place(end)


def look_up(g: Generation, name: str, number: Operand, missing: int) -> Reg:
    """The speculation's element of one of the maps."""
    _maps(g)
    key = g.b.slot(8)
    g.b.store(key, 0, 8, number)
    found = g.call("map_lookup_elem", MapDescriptor(name), SlotAddress(key))
    g.b.release(key)
    g.b.branch("eq", found, Imm(0), missing)
    return found


def _maps(g: Generation) -> None:
    entries = g.shared.settings.nspec + 1
    g.shared.maps.add(MapSpec(SPECULATIONS, kinds.ARRAY, 4, 8, entries))
    g.shared.maps.add(MapSpec(SPECULATION_COUNTS, kinds.ARRAY, 4, 16, entries))
