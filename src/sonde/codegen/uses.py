"""What a program does with its aggregations and arrays, gathered before code is generated."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.codegen.settings import Settings
from sonde.codegen.shapes import Use, key_fields
from sonde.codegen.walk import nodes
from sonde.lang import program as tree
from sonde.lang.program import Aggregation, Clause, Variable
from sonde.spec import Field

Keys = dict[Variable | Aggregation, tuple[tuple[Field, ...], int]]


def gather_keys(clauses: Sequence[Clause], settings: Settings) -> Keys:
    """The key layout of every associative array and aggregation, wide enough for all its uses."""
    uses: dict[Variable | Aggregation, list[Use]] = {}
    for clause in clauses:
        for node in nodes(clause):
            if isinstance(node, tree.Aggregate):
                uses.setdefault(node.aggregation, []).append((node.keys, clause.probes))
            elif isinstance(node, tree.Element):
                uses.setdefault(node.variable, []).append((node.keys, clause.probes))
    starts = {what: 8 if isinstance(what, Variable) and what.scope == "self" else 0 for what in uses}
    return {what: key_fields(found, settings, starts[what]) for what, found in uses.items()}


def gather_replaceable(clauses: Sequence[Clause]) -> frozenset[Aggregation]:
    """Aggregations whose map must be replaceable: keys are removed, or a value is cleared that is no sum."""
    found = set()
    for clause in clauses:
        for node in nodes(clause):
            if isinstance(node, tree.Trunc) or (
                isinstance(node, tree.Clear) and node.aggregation.function in ("min", "max")
            ):
                found.add(node.aggregation)
    return frozenset(found)


def uses_arguments(clauses: Sequence[Clause]) -> bool:
    """Whether any of the clauses looks at the probe's arguments."""
    for clause in clauses:
        for node in nodes(clause):
            if isinstance(node, tree.Argument):
                return True
            if isinstance(node, tree.Builtin) and node.name.startswith("arg") and node.name[3:].isdigit():
                return True
    return False
