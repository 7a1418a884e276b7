"""A clause before several descriptions, which the language has as a clause for each, compiled once.

They are numbered on their own nevertheless: what tells a clause's number (`epid`, a fault, ERROR's arg2) tells that of
the description that the probe was found by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonde.model.probe import StaticPattern
from sonde.model.program import Clause

Numbers = Mapping[int, Mapping[int, int]]
"""Of clauses that stand for several: for the clause's id, the id of the one that each probe has, by the probe's."""


def compiled_once(clauses: Sequence[Clause]) -> tuple[tuple[Clause, ...], Numbers]:
    """The clauses, with those that say the same of different probes as one, which is the first of them.

    A probe that several descriptions match fires each, so its clauses stay apart, and in their order.
    """
    found: list[Clause] = []
    numbers: dict[int, dict[int, int]] = {}
    for clause in clauses:
        place = _place(clause, found)
        if place is None:
            found.append(clause)
            continue
        first = found[place]
        of_probes = numbers.setdefault(first.id, {probe.id: first.id for probe in first.probes})
        of_probes.update((probe.id, clause.id) for probe in clause.probes)
        found[place] = first._replace(probes=first.probes + clause.probes)
    return tuple(found), numbers


def _place(clause: Clause, before: Sequence[Clause]) -> int | None:
    """Where there is one that says the same, with none behind it that the clause's probes have as well."""
    ids = {probe.id for probe in clause.probes}
    for place in range(len(before) - 1, -1, -1):
        each = before[place]
        if not ids.isdisjoint(probe.id for probe in each.probes):
            return None
        if _say_the_same(each, clause):
            return place
    return None


def _say_the_same(one: Clause, other: Clause) -> bool:
    if one.is_hidden != other.is_hidden or one.statements != other.statements or one.predicate != other.predicate:
        return False
    return not _is_open(one) and not _is_open(other)


def _is_open(clause: Clause) -> bool:
    """Whether it has probes that are found while it runs, with rows of a table of their own."""
    return any(isinstance(probe.firing, StaticPattern) for probe in clause.probes)
