"""What a program does with its aggregations and arrays, gathered before code is generated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
    shared = shares_map(what for what in uses if isinstance(what, Variable))
    keys = {what: key_fields(found, settings, _start(what, shared)) for what, found in uses.items()}
    if shared:
        size = max(size for what, (_, size) in keys.items() if isinstance(what, Variable))
        keys |= {what: (fields, size) for what, (fields, _) in keys.items() if isinstance(what, Variable)}
    return keys


def shares_map(arrays: Iterable[Variable]) -> bool:
    """Whether the associative arrays are too many for a hash map each: they are then in one, told apart by a number
    that their keys begin with."""
    return len(set(arrays)) > MAPS_FOR_ARRAYS


MAPS_FOR_ARRAYS = 32
"""A program may use 64 maps (MAX_USED_MAPS, include/linux/bpf_verifier.h), aggregations and its own included."""


def _start(what: Variable | Aggregation, shared: bool) -> int:
    """Where the elements of the tuple begin in a key: behind the array's number and the thread's."""
    if not isinstance(what, Variable):
        return 0
    return (8 if shared else 0) + (8 if what.scope == "self" else 0)


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
