"""A whole program: its clauses, checked until the types of all maps and variables are known."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.frontends.bpftrace.check.conversions import test
from sonde.frontends.bpftrace.check.expressions import expression
from sonde.frontends.bpftrace.check.probes import Machine, attached
from sonde.frontends.bpftrace.check.scope import AttachedProbes, BtScope, Knowledge
from sonde.frontends.bpftrace.check.statements import statements
from sonde.frontends.bpftrace.check.types import INT32, UINT64
from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.errors import Position
from sonde.model.probe import Probe
from sonde.model.program import Clause, Expr, Program, Statement
from sonde.typed import NamedTuple

_MOST_PASSES = 12
"""So often types may grow: from int8 over all integers of a chain of assignments."""

_HIDDEN = SourceSpan(1, 1, 1, 2)


class CheckInput(NamedTuple):
    """What a program is checked with: `arguments` are $1 ...; `shows_maps`: those are shown at the end."""

    file: str | None
    arguments: Sequence[str]
    machine: Machine
    is_unsafe: bool
    shows_maps: bool = True


class CheckedProgram(NamedTuple):
    """`attached` is how many probes its clauses are attached to; `functions` what the language calls the functions of
    aggregations, by their names; `last` the clause that shows the maps at the end, 0 without one."""

    program: Program
    clauses: tuple[Clause, ...]
    attached: int
    functions: dict[str, str]
    last: int


def check(items: Sequence[nodes.Item], given: CheckInput) -> CheckedProgram:
    """Raises BtError."""
    probes = [(item, [attached(point, given.machine) for point in item.points]) for item in _probes(items, given)]
    known = Knowledge()
    for _ in range(_MOST_PASSES):
        known.changed = False
        scope = BtScope(given.machine.catalog, known, given.file, given.arguments, expression, given.is_unsafe)
        known.changed = not known.maps and not known.scratch
        started_unknown = known.changed
        clauses = _clauses(probes, scope)
        if not known.changed or (started_unknown and not known.maps and not known.scratch):
            break
    return _whole(clauses, scope, given, probes)


def _probes(items: Sequence[nodes.Item], given: CheckInput) -> list[nodes.ProbeItem]:
    """The items that are probes; what else there may be is not checked here."""
    found = []
    for item in items:
        if not isinstance(item, nodes.ProbeItem):
            from sonde.frontends.bpftrace.errors import BtError

            raise BtError(f"{_NAMES[type(item)]} are not supported", item.at, "", given.file)
        found.append(item)
    return found


_NAMES: dict[type, str] = {
    nodes.ConfigSetting: "config blocks", nodes.Import: "imports", nodes.MapDeclaration: "declarations of maps",
    nodes.Macro: "macros", nodes.SubprogramItem: "functions", nodes.CDefinition: "C definitions",
}  # fmt: skip


def _clauses(probes: Sequence[tuple[nodes.ProbeItem, list[list[AttachedProbes]]]], scope: BtScope) -> list[Clause]:
    found: list[Clause] = []
    number = 0
    for item, points in probes:
        for descriptions in points:
            number += 1
            found += _clause(item, descriptions, number, len(found) + 1, scope)
    return found


def _clause(
    item: nodes.ProbeItem, descriptions: list[AttachedProbes], number: int, identifier: int, scope: BtScope
) -> list[Clause]:
    """One for all probes of a description or, where it asks for what they have for themselves, one for each."""
    together = tuple(probe for each in descriptions for probe in each.probes)
    whole = descriptions[0]._replace(probes=together)
    scope.needs_each = False
    made = _checked(item, whole, number, identifier, scope)
    if len(descriptions) == 1 or not scope.needs_each:
        return [made]
    return [_checked(item, each, number, identifier + at, scope) for at, each in enumerate(descriptions)]


def _checked(
    item: nodes.ProbeItem, attached_to: AttachedProbes, number: int, identifier: int, scope: BtScope
) -> Clause:
    scope.begin_clause(number, attached_to)
    predicate: Expr | None = None if item.predicate is None else test(item.predicate, scope)
    # A clause without statements would be one that shows its probe.
    body: tuple[Statement, ...] = statements(item.body, scope) or (tree.Return(scope.at(item.at)),)
    return Clause(identifier, attached_to.probes, predicate, body, scope.at(attached_to.point.at))


def _whole(
    clauses: list[Clause],
    scope: BtScope,
    given: CheckInput,
    probes: Sequence[tuple[nodes.ProbeItem, list[list[AttachedProbes]]]],
) -> CheckedProgram:
    """With what the program did not write: the time that it begins, its end where nothing else fires, its maps shown
    at the end."""
    at = scope.at(_HIDDEN)
    before: list[Clause] = []
    if scope.needs_start:
        start = tree.Var(UINT64, at, scope.hidden("start", UINT64))
        taken = tree.Assign(UINT64, at, start, tree.Builtin(UINT64, at, "timestamp"))
        before.append(Clause(-1, _special(given.machine, "BEGIN"), None, (tree.Evaluate(at, taken),), at))
    descriptions = [each for _, points in probes for found in points for each in found]
    whole = [*before, *clauses]
    if all(each.kind == "special" for each in descriptions):
        status = tree.Const(INT32, at, 0)
        whole.append(Clause(len(clauses) + 1, _special(given.machine, "BEGIN"), None, (tree.Exit(at, status),), at))
    last = len(clauses) + 2
    shown = _shown(scope, at) if given.shows_maps else ()
    if shown:
        whole.append(Clause(last, _special(given.machine, "END"), None, shown, at))
    program = Program(tuple(whole), scope.variables, scope.aggregations, is_typed=True)
    functions = {name[1:] or "_": use.function for name, use in scope.known.maps.items() if use.function}
    count = sum(len(each.probes) for each in descriptions)
    return CheckedProgram(program, tuple(clauses), count, functions, last if shown else 0)


def _special(machine: Machine, name: str) -> tuple[Probe, ...]:
    return tuple(machine.catalog.match("dtrace", "", "", name))


def _shown(scope: BtScope, at: Position) -> tuple[Statement, ...]:
    """Have each map shown, by name."""
    found: list[Statement] = []
    for _, use in sorted(scope.known.maps.items()):
        if use.function:
            found.append(tree.Show(at, scope.aggregation(use)))
        elif use.value is not None:
            found.append(tree.Show(at, scope.array(use)))
    return tuple(found)
