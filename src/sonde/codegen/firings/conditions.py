"""When probes fire that follow from others: a condition, which clauses look at first.

Where the engine has general probes, a clause for such a probe and others is compiled once. Then the adapter of the
probe looks at the condition, before it calls the clause.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonde.codegen.firings import adapters
from sonde.model.probe import RawTracepoint
from sonde.model.program import Binary, Call, Clause, Expr
from sonde.model.types import INT
from sonde.model.walk import below

Conditions = Mapping[int, Expr]
"""Those that adapters look at, by the identifier of the probe."""

NONE: Conditions = {}


def apart(clauses: Sequence[Clause], has_general_probes: bool) -> tuple[tuple[Clause, ...], Conditions]:
    """The clauses, and the conditions of those that say the same of other probes; all others begin with theirs."""
    conditions = _of_adapters(clauses) if has_general_probes else NONE
    return tuple(_with_condition(clause, conditions) for clause in clauses), conditions


def _with_condition(clause: Clause, conditions: Conditions) -> Clause:
    condition = clause.condition
    if condition is None:
        return clause
    if clause.probes[0].id in conditions:
        return clause._replace(condition=None)
    predicate = clause.predicate
    if predicate is not None:
        condition = Binary(INT, predicate.position, "&&", condition, predicate)
    return clause._replace(predicate=condition, condition=None)


def _of_adapters(clauses: Sequence[Clause]) -> Conditions:
    by_probe: dict[int, list[Clause]] = {}
    for clause in clauses:
        if clause.condition is not None:
            by_probe.setdefault(clause.probes[0].id, []).append(clause)
    return {
        identifier: own[0].condition
        for identifier, own in by_probe.items()
        if own[0].condition is not None and _is_one_probe(own) and all(_can_be_apart(each, clauses) for each in own)
    }


def _is_one_probe(own: Sequence[Clause]) -> bool:
    """Whether the probe follows from one event, in which case all its clauses have the same condition."""
    return len({clause.probes[0].firing for clause in own}) == 1


def _can_be_apart(clause: Clause, clauses: Sequence[Clause]) -> bool:
    bare = clause._replace(condition=None)
    return (
        isinstance(clause.probes[0].firing, RawTracepoint)
        and not any(isinstance(node, Call) for node in below(clause.condition))
        and adapters.can_be_general(clause.probes[0], adapters.looks((bare,)))
        and any(_says_as_much(bare, other) for other in clauses)
    )


def _says_as_much(clause: Clause, other: Clause) -> bool:
    if other.id == clause.id or other.probes[0].id == clause.probes[0].id:
        return False
    return other.statements == clause.statements and other.predicate == clause.predicate
