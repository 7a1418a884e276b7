"""Clauses of probes that are fired in several ways, compiled once: as a general probe, which small adapters call.

An engine that has general probes (the target's feature) converts the context of whatever fires into theirs when one is
called by a tail call. So there is one program with the clauses, and for each kind of firing one with a few
instructions. Where all probes of some clauses are fired alike, their program is both.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence

from sonde.bpf import probe_context
from sonde.codegen.basis.repeating import reads_process
from sonde.codegen.basis.uses import arguments_used, follows_arguments, locates, typed_arguments
from sonde.codegen.firings import static
from sonde.model.probe import OVERFLOWS, Probe, RawTracepoint, StaticProbe, Syscall, Uprobe
from sonde.model.program import Act, Builtin, Call, Clause, StackTrace
from sonde.model.walk import nodes
from sonde.typed import NamedTuple

_HOLDING = frozenset(
    (
        "copyout",
        "copyoutstr",
        "cwd",
        "delay",
        "fds",
        "inject",
        "raise",
        "root",
        "stop",
        "ucaller",
        "uregs",
        "ustackdepth",
        "vtimestamp",
    )
)
"""Names of D for which a thread has to stand still."""

_OF_CALLS = ("sys_enter", "sys_exit")


class Fired(NamedTuple):
    """A probe, with the firing that is used, and its clauses in the order of the program."""

    probe: Probe
    clauses: tuple[Clause, ...]


class Together(NamedTuple):
    """Probes that are fired in several ways, and their clauses."""

    probes: tuple[Probe, ...]
    clauses: tuple[Clause, ...]


class Looks(NamedTuple):
    """What clauses look at: the numbers of `arguments`, how many that have types, whether they follow them, whether at
    the error of a system call or variables of a process, and whether a thread may have to stand still for that."""

    arguments: frozenset[int]
    typed: int
    follows: bool
    error: bool
    variables: bool
    holds: bool


def looks(clauses: Sequence[Clause]) -> Looks:
    error = any(isinstance(node, Builtin) and node.name == "errno" for clause in clauses for node in nodes(clause))
    used, typed, holds = arguments_used(clauses), typed_arguments(clauses), any(map(_may_hold, clauses))
    return Looks(used, typed, follows_arguments(clauses), error, locates(clauses), holds)


_PLACES = {"entry": "function", "return": "returned", "offset": "instruction"}


def kind_of(probe: Probe) -> str:
    """How the probe is fired, "" where the engine has no adapters: a program that the session runs."""
    firing = probe.firing
    if isinstance(firing, Syscall) and not firing.compat:
        return "return" if firing.is_return else "entry"
    if isinstance(firing, Uprobe) and not firing.is_32_bit:
        return _PLACES[firing.kind]
    if isinstance(firing, StaticProbe):
        return "static"
    if isinstance(firing, RawTracepoint):
        return "tracepoint"
    return "overflow" if isinstance(firing, OVERFLOWS) else ""


_CONVERTED = {
    "function": probe_context.IN_REGISTERS,
    "instruction": probe_context.IN_REGISTERS,
    "returned": 0,
    "static": 0,
    "overflow": 2,
}


def converted(kind: str) -> int:
    """How many arguments a clause sees as the engine converts them (runtime/programs/conversions.py). Others are made
    of what a process had in its registers; objects find some at overflows, clauses nothing (`firings/overflow.py`)."""
    return _CONVERTED.get(kind, probe_context.MAX_ARGUMENTS)


def can_be_general(probe: Probe, seen: Looks) -> bool:
    """Whether its clauses do without the context as it is: typed pointers, the sample, what a system call's tracepoints
    have and its probes have not, variables of a process. Arguments that are in its memory or in any register are
    made in a program for all probes only where their threads stand still anyway."""
    match probe.firing:
        case RawTracepoint(name=name):
            return not seen.follows and not (name in _OF_CALLS and (seen.arguments or seen.error))
        case Uprobe():
            is_near = seen.holds or max(seen.arguments, default=0) < converted("function")
            return bool(kind_of(probe)) and is_near and not seen.typed and not seen.variables
        case StaticProbe(sites=sites):
            return (seen.holds or not seen.arguments) and seen.typed <= len(sites[0].arguments)
    return bool(kind_of(probe)) and not (isinstance(probe.firing, OVERFLOWS) and seen.typed)


def own_program(probe: Probe, caller: int | None) -> tuple[object, ...]:
    """What is alike where probes with the same clauses would share a program of their own; `caller` is where the
    caller's address is (`codegen/expressions/callers.py`)."""
    firing = probe.firing
    arguments = firing.sites[0].arguments if isinstance(firing, StaticProbe) else ()
    return kind_of(probe), getattr(firing, "pid", 0), arguments, caller


def attached(probe: Probe) -> list[Probe]:
    """The probe as it is attached to."""
    if not isinstance(probe.firing, StaticProbe):
        return [probe]

    return static.at_sites(probe, probe.firing)


def divided(
    fired: Sequence[Fired], conditions: Container[int], caller: Callable[[Probe, Sequence[Clause]], int | None]
) -> tuple[list[Together], dict[int, tuple[Clause, ...]]]:
    """The probes that a general probe is for, and, for each other one by its identifier, the clauses of its program.

    Those are all that share probes, from one to the next, so that each stands in one program. But what one clause has
    a thread held for is no burden of other probes: where only some of them do, a program has the clauses that all its
    probes have. The adapters of those whose identifiers are in `conditions` look at one.
    """
    own = {each.probe.id: each.clauses for each in fired}
    seen: dict[tuple[int, ...], Looks] = {}
    able = []
    for one in fired:
        ids = tuple(clause.id for clause in one.clauses)
        if ids not in seen:
            seen[ids] = looks(one.clauses)
        if can_be_general(one.probe, seen[ids]):
            able.append(one)
    for each in _connected(able):
        clauses = _in_order(clause for probe, its in each for clause in its)
        if len(set(map(_may_hold, clauses))) == 1:
            own |= {probe.id: clauses for probe, _ in each}
    sets: dict[tuple[int, ...], list[Fired]] = {}
    for one in able:
        sets.setdefault(tuple(clause.id for clause in own[one.probe.id]), []).append(one)
    several = [
        each for each in sets.values()
        if any(one.probe.id in conditions for one in each)
        or len({own_program(one.probe, caller(one.probe, own[one.probe.id])) for one in each}) > 1
    ]  # fmt: skip
    return [Together(tuple(one.probe for one in each), own[each[0].probe.id]) for each in several], own


def _connected(fired: Sequence[Fired]) -> list[list[Fired]]:
    """In sets that have no clause in common."""
    above: dict[int, int] = {}

    def top(number: int) -> int:
        while above.setdefault(number, number) != number:
            number = above[number]
        return number

    for _, clauses in fired:
        for clause in clauses:
            above[top(clause.id)] = top(clauses[0].id)
    found: dict[int, list[Fired]] = {}
    for each in fired:
        found.setdefault(top(each.clauses[0].id), []).append(each)
    return list(found.values())


def _in_order(clauses: Iterable[Clause]) -> tuple[Clause, ...]:
    """Each once, as the program has them: hidden ones, which are numbered downwards from -1, before the others."""
    found = {clause.id: clause for clause in clauses}
    return tuple(found[number] for number in sorted(found, key=lambda number: (number > 0, abs(number))))


def _may_hold(clause: Clause) -> bool:
    """Whether the clause may want the thread to stand still."""
    if reads_process(clause):
        return True
    names = (node.name for node in nodes(clause) if isinstance(node, (Act, Builtin, Call)))
    return any(name in _HOLDING for name in names) or any(isinstance(node, StackTrace) for node in nodes(clause))
