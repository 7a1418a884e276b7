"""The texts of messages about faults and losses."""

from __future__ import annotations

import re

from sonde.consume.events import Drop, Fault, Record
from sonde.model.probe import Probe
from sonde.model.records import FAULTS
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.report.fault_places import FaultPlace

_BAD_ADDRESS, _NO_SCRATCH, _BAD_INDEX, _LONG_LOOP = 1, 5, 11, 13
_WITH_ADDRESS = (_BAD_ADDRESS, 2, 9, 10)
_NO_ADDRESS = (1 << 64) - 1

_DROPS = {
    "records": ("PRINCIPAL", "drop", ""),
    "aggregations": ("AGGREGATION", "aggregation drop", ""),
    "variables": ("DYNAMIC", "dynamic variable drop", ""),
    "speculations": ("SPEC", "speculative drop", ""),
    "busy_speculations": ("SPECBUSY", "failed speculation", " (available buffer(s) still busy)"),
    "unavailable_speculations": ("SPECUNAVAIL", "failed speculation", " (no speculative buffer available)"),
    "errors": ("DBLERROR", "error", " in ERROR probe enabling"),
    "nested": ("NESTED", "nested firing drop", ""),
    "samples": ("SAMPLES", "sample drop", ""),
    "ticks": ("TICKS", "tick drop", " (samples came faster than they could be taken)"),
    "switches": ("SWITCHES", "switch drop", " (threads changed faster than could be told)"),
    "breakpoints": ("BREAKPOINTS", "breakpoint drop", " (the reasons are told at the end)"),
    "turns": ("TURNS", "turn drop", " (a firing took longer than the programs of a spec file may)"),
    "captures": ("CAPTURES", "shortened capture", " (a record takes at most 64 KiB)"),
    "mappings": ("MAPPINGS", "mapping drop", " (addresses of processes that have ended may have no names)"),
    "commands": ("COMMANDS", "dropped command", " (tracing had ended, and they waited yet)"),
    "tables": ("TABLES", "dropped table", " (tracing had ended, and they were to show again what was shown)"),
    "waiting": ("WAITING", "unfinished firing", " (memory not resident; its system call had not returned)"),
    "cut": ("CUT", "shortened stack", " (walked before the tables of an object of theirs were there)"),
    "python": ("PYTHON", "function drop", " (more new functions of Python at once than there is room for)"),
    "unwinding": ("UNWINDING", "unwinding drop", " (no room for tables: stacks are cut where one is missing)"),
}
"""For each counter the tag without DTRACEDROP_, the thing lost (singular) and what follows it."""


_OF_CLAUSE, _OF_PLACE = "error in dt_clause_", "error at "


def _where(clause: int, probe: Probe, place: FaultPlace | None) -> str:
    # DTrace counts clauses from 0.
    begin = f"{_OF_CLAUSE}{clause - 1}" if place is None else f"{_OF_PLACE}{place}"
    return f"{begin} for probe ID {probe.id} ({probe})"


def fault_text(fault: Fault, place: FaultPlace | None = None) -> str:
    """`error in dt_clause_0 for probe ID 1 (dtrace:::BEGIN): invalid address (0x40) at BPF pc 93`; with a place `error
    at calls.py:5 in entered for probe ID 1 (dtrace:::BEGIN): invalid address (0x40)`."""
    text = FAULTS.get(fault.code, "unknown fault")
    if fault.code in _WITH_ADDRESS and not (fault.code == _BAD_ADDRESS and fault.value == _NO_ADDRESS):
        text += f" (0x{fault.value:x})"
    elif fault.code in (_BAD_INDEX, _LONG_LOOP):
        text += f" ({fault.value - (fault.value >> 63 << 64)})"
    if fault.pc >= 0 and place is None:
        text += f" at BPF pc {fault.pc}"
    if fault.code == _LONG_LOOP:
        text += " (-xmaxloop=N allows more)"
    return f"{_where(fault.clause, fault.probe, place)}: {text}"


_PROCESS_MEMORY = range(1 << 16, 1 << 56)
"""Where the memory of a process can be (vm.mmap_min_addr; TASK_SIZE_MAX with five levels of page tables)."""


def absence_text(fault: Fault) -> str:
    """Why memory of a process was out of reach, or scratch memory used up, and what to do; "" where the fault is about
    something else."""
    if fault.code == _NO_SCRATCH:
        return "alloca() and copyin() share scratchsize bytes in each firing: -xscratchsize=N gives more"
    if fault.code != _BAD_ADDRESS or fault.value not in _PROCESS_MEMORY:
        return ""
    if fault.probe.provider == "syscall" and fault.probe.name == "entry":
        remedy = "the call had not read it when it returned, or writes to it: read it at the call's return"
    elif fault.probe.provider == "syscall":
        remedy = "the call has not used it: read it where the process has, at a later call"
    else:
        remedy = "no program may wait for it at this probe: keep the address, and read it where the process has used it"
    return f"the process has no such memory, or it is not resident; {remedy}"


def refusal_text(record: Record, reason: str, place: FaultPlace | None = None) -> str:
    """An action that could not be carried out, in the form of a fault."""
    clause = dict(record.layout.others).get(record.probe.id, record.layout.clause)
    return f"{_where(clause, record.probe, place)}: {reason}"


def tells_of_mishap(text: str, may_lose: bool) -> bool:
    """Whether a clause was aborted, a recording lacks what was asked for, or something was lost that may not be."""
    if text.startswith((_OF_CLAUSE, _OF_PLACE, "the recording does not hold ")):
        return True
    things = "|".join(sorted({thing for _, thing, _ in _DROPS.values()}))
    return not may_lose and re.match(rf"\[DTRACEDROP_|\d+ (?:{things})s?\b", text) is not None


def drop_text(drop: Drop, with_tag: bool) -> str:
    """`3 aggregation drops on CPU 1`, behind its tag in brackets if option droptags wants it."""
    tag, thing, rest = _DROPS[drop.counter]
    text = f"{drop.lost} {thing}{'' if drop.lost == 1 else 's'}{rest}"
    if drop.cpu is not None:
        text += f" on CPU {drop.cpu}"
    return f"[DTRACEDROP_{tag}] {text}" if with_tag else text
