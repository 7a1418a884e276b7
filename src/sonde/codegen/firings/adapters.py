"""Clauses of probes that are fired in several ways, compiled once: as a general probe, which small adapters call.

An engine that has general probes (the target's feature) converts the context of whatever fires into theirs when one is
called by a tail call. So there is one program with the clauses, and for each kind of firing one with a few
instructions. Where all probes of some clauses are fired alike, their program is both.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from sonde.codegen.basis.repeating import reads_process
from sonde.codegen.basis.uses import follows_arguments, typed_arguments, uses_arguments
from sonde.model.probe import OVERFLOWS, Probe, RawTracepoint, Syscall
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


def kind_of(probe: Probe) -> str:
    """How the probe is fired, "" where the engine has no adapters: a program that the session runs."""
    firing = probe.firing
    if isinstance(firing, Syscall) and not firing.compat:
        return "return" if firing.is_return else "entry"
    if isinstance(firing, RawTracepoint):
        return "tracepoint"
    return "overflow" if isinstance(firing, OVERFLOWS) else ""


def can_be_general(probe: Probe, clauses: Sequence[Clause]) -> bool:
    """Whether its clauses do without the context as it is: typed pointers, the sample, what a system call's tracepoints
    have and its probes have not."""
    firing = probe.firing
    if isinstance(firing, RawTracepoint):
        return not follows_arguments(clauses) and not (firing.name in _OF_CALLS and _asks_for_calls(clauses))
    return bool(kind_of(probe)) and not (isinstance(firing, OVERFLOWS) and typed_arguments(clauses))


def _asks_for_calls(clauses: Sequence[Clause]) -> bool:
    """Whether the clauses look at what the conversion fills in of a system call: its arguments and its error, where the
    tracepoint itself has the address of registers, a number, and no error."""
    return uses_arguments(clauses) or any(
        isinstance(node, Builtin) and node.name == "errno" for clause in clauses for node in nodes(clause)
    )


def divided(fired: Sequence[Fired], conditions: Container[int]) -> tuple[list[Together], dict[int, tuple[Clause, ...]]]:
    """The probes that a general probe is for, and, for each other one by its identifier, the clauses of its program.

    Those are all that share probes, from one to the next, so that each stands in one program. But what one clause has
    a thread held for is no burden of other probes: where only some of them do, a program has the clauses that all its
    probes have. The adapters of those whose identifiers are in `conditions` look at one.
    """
    own = {each.probe.id: each.clauses for each in fired}
    able = [each for each in fired if can_be_general(*each)]
    for each in _connected(able):
        clauses = _in_order(clause for probe, its in each for clause in its)
        if len(set(map(_may_hold, clauses))) == 1:
            own |= {probe.id: clauses for probe, _ in each}
    sets: dict[tuple[int, ...], list[Fired]] = {}
    for one in able:
        sets.setdefault(tuple(clause.id for clause in own[one.probe.id]), []).append(one)
    several = [each for each in sets.values() if _need_adapters([one.probe for one in each], conditions)]
    return [Together(tuple(one.probe for one in each), own[each[0].probe.id]) for each in several], own


def _need_adapters(probes: Sequence[Probe], conditions: Container[int]) -> bool:
    """Whether they are fired in several ways, or a program looks at a condition first."""
    return len(set(map(kind_of, probes))) > 1 or any(probe.id in conditions for probe in probes)


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
