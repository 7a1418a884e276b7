"""A whole program: its clauses, checked until the types of all maps and variables are known."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sonde.frontends.bpftrace import series as bpftrace_series
from sonde.frontends.bpftrace.check import expressions, subprograms, unreachable, unwatched
from sonde.frontends.bpftrace.check.conversions import test
from sonde.frontends.bpftrace.check.globs import is_glob
from sonde.frontends.bpftrace.check.jumps import refuse_jumps
from sonde.frontends.bpftrace.check.known_types import KnownTypes
from sonde.frontends.bpftrace.check.macros import of_items
from sonde.frontends.bpftrace.check.parameters import require_known
from sonde.frontends.bpftrace.check.probe_filter import filtered, require_any
from sonde.frontends.bpftrace.check.probes import Machine, NoSuchProbeError, of_each_type
from sonde.frontends.bpftrace.check.scope import AttachedProbes, BtScope, Knowledge
from sonde.frontends.bpftrace.check.statements import in_block, statements
from sonde.frontends.bpftrace.check.types import INT32, UINT64
from sonde.frontends.bpftrace.errors import BtError, SourceSpan
from sonde.frontends.bpftrace.program_text import ProgramText
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.errors import ProgramError
from sonde.model.probe import Probe
from sonde.model.program import Aggregation, Clause, Expr, Kept, Program, Statement, Variable
from sonde.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sonde.frontends.bpftrace.check.trials import TrialProbes
    from sonde.frontends.bpftrace.series import Series

_MOST_PASSES = 64
"""So often types may grow: from int8 over all integers of a chain of assignments."""

_HIDDEN = SourceSpan(1, 1, 1, 2)


class CheckInput(NamedTuple):
    """What a program is checked with: `arguments` are $1 ..., `settings` those of the program and the environment,
    `options` what follows `--`. Of the probes only those are wanted that `filter` finds, and begin and
    end. With `tells` elements that are not there are told with their place. `process` is the one that is traced, 0
    for all."""

    file: str | None
    text: ProgramText
    arguments: Sequence[str]
    machine: Machine
    is_unsafe: bool
    settings: Mapping[str, int | str]
    types: KnownTypes
    options: Mapping[str, str | None] = {}
    filter: re.Pattern[str] | None = None
    tells: bool = False
    process: int = 0


class CheckedProgram(NamedTuple):
    """`attached` is how many probes its clauses are attached to; `functions` what the language calls the functions of
    aggregations, by their names. `warnings` are what
    compiles and may be meant otherwise; `settings` are all, with their values. `spans` has where what begins at a line
    and column ends; `text` is that of all its files. `series` are the maps of tseries(), by their names; `trials` the
    internal probes of tests and measurements that are to be run, each with its name in the program."""

    program: Program
    clauses: tuple[Clause, ...]
    attached: int
    functions: dict[str, str]
    warnings: tuple[BtError, ...] = ()
    settings: Mapping[str, int | str] = {}
    spans: Mapping[tuple[int, int], tuple[int, int]] = {}
    text: ProgramText = ProgramText("", ())
    series: Mapping[str, Series] = {}
    trials: tuple[tuple[str, str], ...] = ()


def check(items: Sequence[nodes.Item], given: CheckInput) -> CheckedProgram:
    """Raises BtError. `func` is a string, and a symbol where a program that has ksym() or usym() wants one."""
    known = Knowledge()
    try:
        return _check(items, given, known)
    except BtError as error:
        if not (known.asks_function and known.has_symbols and "mismatch" in error.text):
            raise
    return _check(items, given, Knowledge(functions_are_symbols=True))


def _check(items: Sequence[nodes.Item], given: CheckInput, known: Knowledge) -> CheckedProgram:
    warnings: list[BtError] = []
    if refuse_jumps(items, given.file):
        warnings += unreachable.unreachable(items, given.file)
    probes = [(item, _points(item, given, warnings)) for item in items if isinstance(item, nodes.ProbeItem)]
    known.has_processes = _has_processes(probes)
    functions = _functions(items, given.file)
    macros = of_items([each for each in items if isinstance(each, nodes.Macro)])
    for _ in range(_MOST_PASSES):
        known.changed = False
        scope = _scope(items, given, known, macros, functions)
        known.changed = not known.maps and not known.scratch
        started_unknown = known.changed
        known.put_off, known.has_unknown = None, False
        clauses = _clauses(probes, scope)
        is_over = not known.changed or (started_unknown and not known.maps and not known.scratch)
        if is_over and (known.settled or not known.has_unknown):
            break
        known.settled = is_over
    if known.put_off is not None:
        raise known.put_off
    if set(functions) - scope.called:
        subprograms.check_uncalled(scope, lambda: _outside(_scope(items, given, known, macros, functions), given))
    _require_kinds(items, known, given)
    require_known(given.options, known.options)
    warnings += scope.remarks.values()
    declared = (each for each in items if isinstance(each, nodes.MapDeclaration) and each.name not in known.maps)
    warnings += [BtError(f"Unused map: {each.name}", each.at, "", given.file) for each in declared]
    return _whole(clauses, scope, given, probes)._replace(
        warnings=tuple(warnings), settings=given.settings, text=given.text
    )


def _expression(node: nodes.Expr, scope: BtScope) -> Expr:
    return expressions.expression(node, scope)


def _scope(
    items: Sequence[nodes.Item],
    given: CheckInput,
    known: Knowledge,
    macros: Mapping[tuple[str, int], Sequence[nodes.Macro]],
    functions: Mapping[str, nodes.SubprogramItem],
) -> BtScope:
    """That of one pass."""
    scope = BtScope(given.machine.catalog, known, given.file, given.arguments, _expression, in_block, given.is_unsafe)
    scope.types, scope.settings = given.types, given.settings
    scope.stack_mode = str(given.settings["stack_mode"])
    scope.macros, scope.options, scope.source = macros, given.options, given.text if given.tells else None
    scope.functions, scope.process = functions, given.process
    scope.strsize = int(given.settings["max_strlen"])
    scope.entries = int(given.settings["max_map_keys"])
    scope.kept = {each.name: _kept(each, given) for each in items if isinstance(each, nodes.MapDeclaration)}
    return scope


def _outside(scope: BtScope, given: CheckInput) -> BtScope:
    """In a clause that is not a part of the program, at its beginning."""
    point = nodes.AttachPoint(_HIDDEN, "begin")
    scope.begin_clause(0, AttachedProbes(point, "begin", "special", _special(given.machine, "BEGIN")))
    return scope


def _require_kinds(items: Sequence[nodes.Item], known: Knowledge, given: CheckInput) -> None:
    """Raises BtError for a map that is declared as one that cannot hold what it has."""
    for each in items:
        use = known.maps.get(each.name) if isinstance(each, nodes.MapDeclaration) else None
        if use is None or not isinstance(each, nodes.MapDeclaration):
            continue
        of_value = "percpuhash" if use.function else "hash"
        if each.kind.startswith("percpu") != bool(use.function):
            text = f"Incompatible map types. Type from declaration: {each.kind}. Type from value/key type: {of_value}"
            raise BtError(text, use.span, "", given.file)


def _has_processes(probes: Sequence[tuple[nodes.ProbeItem, list[list[AttachedProbes]]]]) -> bool:
    """Whether arguments of some probe are of a process."""
    return any(True in each.of_processes() for _, points in probes for found in points for each in found)


def _kept(declared: nodes.MapDeclaration, given: CheckInput) -> Kept:
    if declared.kind not in _MAP_KINDS:
        text = f"Invalid bpf map type: {declared.kind}"
        raise BtError(text, declared.at, f"one of {', '.join(_MAP_KINDS)}", given.file)
    if not declared.entries:
        raise BtError("a map has to have room for an element", declared.at, "", given.file)
    return Kept(declared.entries, declared.kind.startswith(_EVICTING) or declared.kind == _EVICTING_BY_CPU)


_MAP_KINDS = ("hash", "lruhash", "percpuhash", "percpulruhash")
_EVICTING, _EVICTING_BY_CPU = "lru", "percpulruhash"


def _points(item: nodes.ProbeItem, given: CheckInput, warnings: list[BtError]) -> list[list[AttachedProbes]]:
    """The probes of each attach point; what is not there is left out where the settings say so, and a wildcard that
    nothing fits where there are others."""
    found: list[list[AttachedProbes]] = []
    machine = given.machine._replace(told=warnings.append)
    policy, hint, is_any = given.settings["missing_probes"], "", False
    for point in item.points:
        try:
            attached = of_each_type(point, machine)
        except NoSuchProbeError as error:
            hint = hint or error.hint
            if is_glob(point.text):
                continue
            if policy == "error":
                raise
            if policy == "warn":
                warnings.append(BtError(f"{error.text} Skipping.", error.span, "", given.file))
        else:
            found += [filtered(each, given.filter) for each in attached]
            is_any = True
    if not is_any and policy != "ignore":
        span = item.points[0].at.to(item.points[-1].at)
        if policy == "error":
            text = "If this is expected, set the 'missing_probes' config variable to 'warn'."
            raise BtError(f"{_WITHOUT_PROBES} {text}", span, hint, given.file)
        text = "It is being removed which may cause issues with program behavior."
        warnings.append(BtError(f"{_WITHOUT_PROBES} {text}", span, "", given.file))
    return found


_WITHOUT_PROBES = "Probe has no valid attach points."


def _clauses(probes: Sequence[tuple[nodes.ProbeItem, list[list[AttachedProbes]]]], scope: BtScope) -> list[Clause]:
    found: list[Clause] = []
    number = 0
    for item, points in probes:
        for descriptions in filter(None, points):
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
    scope.texts = {probe.id: each.text for each in descriptions for probe in each.probes}
    made = _checked(item, whole, number, identifier, scope)
    if len(descriptions) == 1 or not scope.needs_each:
        return [made]
    return [_checked(item, each, number, identifier + at, scope) for at, each in enumerate(descriptions)]


def _checked(
    item: nodes.ProbeItem, attached_to: AttachedProbes, number: int, identifier: int, scope: BtScope
) -> Clause:
    scope.begin_clause(number, attached_to)
    at = scope.at(item.at)
    scope.before.append([])
    predicate: Expr | None = None if item.predicate is None else test(item.predicate, scope, item.predicate_at)
    before = scope.before.pop()
    if attached_to.kind == "watchpoint":
        watched = unwatched.is_watched(item.at, scope)
        if watched is not None and predicate is not None:
            predicate = tree.Binary(INT32, at, "&&", watched, predicate)
        predicate = watched if predicate is None else predicate
    # A clause without statements would be one that shows its probe.
    body: tuple[Statement, ...] = statements(item.body, scope) or (tree.Return(at),)
    scope.end_clause()
    if predicate is not None and before:
        body, predicate = (*before, tree.If(at, predicate, body, ())), None
    if scope.process and attached_to.kind not in _OF_ALL:
        mine = _is_process(item.at, scope)
        predicate = mine if predicate is None else tree.Binary(INT32, at, "&&", mine, predicate)
    return Clause(identifier, attached_to.probes, predicate, body, scope.at(attached_to.point.at))


_OF_ALL = ("special", "self", "interval", "iter", "test", "bench", "watchpoint")
"""Kinds of probes that -p leaves as they are; memory is watched for that process alone."""


def _is_process(span: SourceSpan, scope: BtScope) -> Expr:
    pid = scope.expression(nodes.Name(span, "pid"), scope)
    return tree.Binary(INT32, pid.position, "==", pid, tree.Const(pid.type, pid.position, scope.process))


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
    if all(each.kind == "special" for each in descriptions) and not _ends_by_itself(clauses):
        status = tree.Const(INT32, at, 0)
        whole.append(Clause(len(clauses) + 1, _special(given.machine, "BEGIN"), None, (tree.Exit(at, status),), at))
    trials = given.machine.trials
    is_shown = given.settings["print_maps_on_exit"] and not (trials and trials.mode)
    program = Program(
        tuple(whole),
        scope.variables,
        scope.aggregations,
        is_typed=True,
        goes_on=True,
        probe_texts=tuple(scope.probe_texts.items()),
        has_whole_literals=True,
        shown=_shown(scope) if is_shown else (),
    )
    functions = {name[1:] or "_": use.function for name, use in scope.known.maps.items() if use.function}
    count = sum(len(each.probes) for each in descriptions)
    if given.filter is not None:
        require_any(count)
    _require_few(count, int(given.settings["max_probes"]))
    whole_program = CheckedProgram(program, tuple(clauses), count, functions, spans=scope.spans)
    _require_probes(count, trials)
    tried = tuple((each.probe.name, each.name) for each in trials.found) if trials else ()
    return whole_program._replace(series=_series(scope), trials=tried)


def _functions(items: Sequence[nodes.Item], file: str | None) -> dict[str, nodes.SubprogramItem]:
    if not any(isinstance(each, nodes.SubprogramItem) for each in items):
        return {}

    return subprograms.functions_of(items, file)


def _require_few(count: int, most: int) -> None:
    """Raises ProgramError for more probes than the settings allow."""
    if count > most:
        text = f"Can't attach to {count} probes because it exceeds the current limit of {most} probes."
        hint = "the setting max_probes, or BPFTRACE_MAX_PROBES in the environment, allows more"
        raise ProgramError(f"ERROR: {text}", hint)


def _require_probes(count: int, trials: TrialProbes | None) -> None:
    """Raises BtError for a program that has but tests which are not asked for."""
    for kind, what in (("test", "test"), ("bench", "benchmark")):
        if not count and trials is not None and kind in trials.kinds and not trials.mode:
            raise BtError(f"No probes attached; use --{kind} to run {what} probes.", trials.kinds[kind])


def _series(scope: BtScope) -> dict[str, Series]:
    """What tseries() makes of maps, by what the spec calls them."""
    found = [use for use in scope.known.maps.values() if use.function == "tseries"]
    if not found:
        return {}

    return {use.name[1:] or "_": bpftrace_series.made_of(use.parameters) for use in found}


def _ends_by_itself(clauses: list[Clause]) -> bool:
    """Whether the program ends as soon as it has begun: its first clause ends it, whatever happens."""
    first = clauses[0] if clauses else None
    if first is None or first.predicate is not None or not any(each.name == "BEGIN" for each in first.probes):
        return False
    return any(isinstance(each, tree.Exit) for each in first.statements[:1])


def _special(machine: Machine, name: str) -> tuple[Probe, ...]:
    return tuple(machine.catalog.match("dtrace", "", "", name))


def _shown(scope: BtScope) -> tuple[Aggregation | Variable, ...]:
    """All maps, by name."""
    return tuple(
        scope.storage(use) for _, use in sorted(scope.known.maps.items()) if use.function or use.value is not None
    )
