"""chill(): keep a CPU busy for some time, within bounds."""

from __future__ import annotations

from sonde.bpf.helpers import NUMBERS
from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import BpfFunction, FunctionAddress, Imm, MapDescriptor, Reg, SlotAddress
from sonde.codegen.routines.work import step_of_loop, stop_if
from sonde.model.units import SECOND

CHILLED = "chilled"
"""The map of what each CPU has waited, two words: since when that is counted, and how long in ns."""

SINCE, SPENT, SIZE = 0, 8, 16

_INTERVAL_NS = SECOND
MOST_NS = SECOND // 2
"""In each interval, as DTrace bounds it."""

_TURNS = 1 << 23
"""The most that bpf_loop makes (BPF_MAX_LOOPS in include/linux/bpf_verifier.h); each takes 20 ns at least."""

_LOOPS = 4


def chill(name: str) -> BpfFunction:
    """(ns): wait so long; gives 1 without waiting where the CPU would have waited too long in this interval."""
    b = Builder(name, 1)
    wanted = b.function.parameters[0]
    refused, current = b.label(), b.label()
    b.branch("gt", wanted, Imm(MOST_NS), refused)
    key = b.slot(8)
    b.store(key, 0, 8, Imm(0))
    state = b.call(NUMBERS["map_lookup_elem"], MapDescriptor(CHILLED), SlotAddress(key))
    b.branch("eq", state, Imm(0), refused)
    now = b.in_register(b.call(NUMBERS["ktime_get_ns"]))
    since = b.in_register(b.load(state, SINCE, 8))
    b.branch("le", b.alu("sub", now, since), Imm(_INTERVAL_NS), current)
    b.store(state, SINCE, 8, now)
    b.store(state, SPENT, 8, Imm(0))
    b.place(current)
    spent = b.in_register(b.alu("add", b.load(state, SPENT, 8), wanted))
    b.branch("gt", spent, Imm(MOST_NS), refused)
    b.store(state, SPENT, 8, spent)
    end = b.in_register(b.alu("add", now, wanted))
    for _ in range(_LOOPS):
        _wait(b, end)
    b.ret(Imm(0))
    b.place(refused)
    b.ret(Imm(1))
    return b.function


def _wait(b: Builder, end: Reg) -> None:
    """Up to so many turns, until the time is there."""
    slot = b.slot(8)
    b.store(slot, 0, 8, end)
    b.call(NUMBERS["loop"], Imm(_TURNS), FunctionAddress("chill_turn"), SlotAddress(slot), Imm(0))
    b.release(slot)


def chill_turn(name: str) -> BpfFunction:
    """Look whether the time is there."""
    b, _, end = step_of_loop(name)
    stop_if(b, "ge", b.call(NUMBERS["ktime_get_ns"]), end)
    b.ret(Imm(0))
    return b.function
