"""Which probes one BPF program can serve: those fired alike, with the same clauses."""

from __future__ import annotations

from collections.abc import Sequence, Set

from sonde.codegen.context.general import GeneralContext
from sonde.codegen.context.internal import InternalContext
from sonde.codegen.context.syscall import SyscallContext
from sonde.codegen.context.timer import TimerContext
from sonde.codegen.context.tracepoint import Fields, RawTracepointContext, TracepointContext
from sonde.codegen.context.uprobe import UprobeContext
from sonde.codegen.generation import Context
from sonde.codegen.uses import uses_arguments
from sonde.lang.program import Clause
from sonde.probe import General, Internal, Probe, RawTracepoint, Syscall, Timer, Tracepoint, Uprobe
from sonde.typed import NamedTuple


class Group(NamedTuple):
    """The probes and clauses of one program, and its name."""

    name: str
    context: Context
    clauses: tuple[Clause, ...]


def group(clauses: Sequence[Clause], fields: Fields, features: Set[str]) -> list[Group]:
    """One group for each program; ERROR's clauses are left out, faults call them. `features` are the target's.

    Programs are attached in this order, and those of one tracepoint run in it: hidden clauses first, then by the
    probes' identifiers, so that which of two derived probes fires first does not depend on who wrote their clauses.
    """
    by_probe: dict[Probe, list[Clause]] = {}
    for clause in clauses:
        for probe in clause.probes:
            found = by_probe.setdefault(probe, [])
            if not found or found[-1] is not clause:
                found.append(clause)
    shapes: dict[tuple[object, ...], list[Probe]] = {}
    members: dict[tuple[object, ...], set[int]] = {}
    for probe, own in sorted(by_probe.items(), key=_order):
        if probe.firing != Internal("ERROR"):
            fired = _fired(probe, own)
            shape = _shape(fired, own)
            shapes.setdefault(shape, []).append(fired)
            members.setdefault(shape, set()).update(map(id, own))
    groups = []
    for number, (shape, probes) in enumerate(shapes.items()):
        own_clauses = tuple(c for c in clauses if id(c) in members[shape])
        groups.append(Group(_name(probes, number), _context(shape, probes, fields, features), own_clauses))
    return groups


def _order(item: tuple[Probe, Sequence[Clause]]) -> tuple[bool, int]:
    probe, clauses = item
    return not clauses[0].is_hidden, probe.id


def _fired(probe: Probe, clauses: Sequence[Clause]) -> Probe:
    """The probe with the firing to use: a trace event whose record nobody looks at is its raw tracepoint, which is
    detached at once, where perf takes a grace period for each."""
    firing = probe.firing
    if isinstance(firing, Tracepoint) and firing.is_tracepoint and not uses_arguments(clauses):
        return probe._replace(firing=RawTracepoint(firing.name))
    return probe


def _shape(probe: Probe, clauses: Sequence[Clause]) -> tuple[object, ...]:
    """Probes with equal shapes share a program."""
    firing = probe.firing
    which = tuple(clause.id for clause in clauses)
    if isinstance(firing, Internal):
        return ("internal", firing.name)
    if isinstance(firing, Syscall):
        return ("syscall", firing.is_return)
    if isinstance(firing, Timer):
        return ("timer", which)
    if isinstance(firing, General):
        return ("general", which)
    if isinstance(firing, Uprobe):
        return ("uprobe", firing.pid, firing.kind, which)
    typed = uses_arguments(clauses)
    kind = "raw" if isinstance(firing, RawTracepoint) else "event"
    return (kind, probe.provider, typed, probe.id if typed else 0, which)


def _name(probes: Sequence[Probe], number: int) -> str:
    first = probes[0]
    if isinstance(first.firing, Internal):
        return first.firing.name
    text = f"{first.provider}_{first.name}" if len(probes) > 1 else f"{first.function or first.provider}_{first.name}"
    return "".join(c if c.isalnum() else "_" for c in f"p{number}_{text}")[:15]


def _context(shape: tuple[object, ...], probes: Sequence[Probe], fields: Fields, features: Set[str]) -> Context:
    firing = probes[0].firing
    if isinstance(firing, Internal):
        return InternalContext(probes[0])
    if isinstance(firing, Syscall):
        return SyscallContext(tuple(probes))
    if isinstance(firing, Timer):
        return TimerContext(tuple(probes))
    if isinstance(firing, General):
        return GeneralContext(tuple(probes))
    if isinstance(firing, Uprobe):
        return UprobeContext(tuple(probes), "uprobe_multi" in features)
    if isinstance(firing, RawTracepoint):
        return RawTracepointContext(tuple(probes), by_btf=bool(shape[2]))
    assert isinstance(firing, Tracepoint)
    return TracepointContext(tuple(probes), fields)
