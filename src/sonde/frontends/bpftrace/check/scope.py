"""What the checker knows while it goes through a program."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from sonde.frontends.bpftrace import series
from sonde.frontends.bpftrace.check.known_types import KnownTypes
from sonde.frontends.bpftrace.check.types import INT64, UINT64, fixed, is_integer, learned, merged, spelled
from sonde.frontends.bpftrace.errors import BtError, SourceSpan, position
from sonde.frontends.bpftrace.program_text import ProgramText
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model.errors import Position
from sonde.model.probe import Probe, StaticProbe, Syscall, Uprobe
from sonde.model.program import MOST_STATEMENTS, Aggregation, Expr, Kept, Statement, Variable
from sonde.model.types import STRING, Type, resolve
from sonde.typed import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from sonde.model.catalog import Catalog

MAP_KEYS = 4096
"""Elements of a map, unless the program says otherwise."""


class AttachedProbes(NamedTuple):
    """Probes that one description of a clause has become, and the description in full, as `probe` gives it."""

    point: nodes.AttachPoint
    text: str
    kind: str
    probes: tuple[Probe, ...]

    def of_processes(self) -> set[bool]:
        """Whether what arguments of a probe lead to is memory of a process: the answers for all probes."""
        return {isinstance(each.firing, (Uprobe, StaticProbe, Syscall)) for each in self.probes}


SAMPLED = ("interval", "profile", "hardware", "software", "watchpoint")
"""Kinds of probes that events of perf fire, whose programs have the registers of a sample."""

Default: TypeAlias = bool | int | bytes


class ProgramOption(NamedTuple):
    """An option that a program reads: what it is if it is not given, and what is said of it, "" for nothing."""

    default: Default
    text: str


class MapUse:
    """What is known of a map: the types of its keys and values, the function that aggregates in it."""

    def __init__(self, name: str, span: SourceSpan, kept: Kept) -> None:
        self.name = name
        self.span = span
        self.kept = kept
        self.keys: tuple[Type, ...] | None = None
        self.sizes: tuple[int, ...] = ()
        self.value: Type | None = None
        self.written: Type | None = None
        """The type of what is assigned, before it is widened, for messages."""
        self.function = ""
        self.is_signed = False
        """Whether values of the function are signed numbers."""
        self.parameters: tuple[int, ...] = ()

    @property
    def key_types(self) -> tuple[Type, ...]:
        """The types of the keys as they are kept."""
        return tuple(map(fixed, self.keys or ()))


class Knowledge:
    """What one pass over the program tells the next: types that grow with every use. `changed`: another pass is due."""

    def __init__(self, functions_are_symbols: bool = False) -> None:
        self.functions_are_symbols = functions_are_symbols
        """`func` is what ksym() and usym() give, no string."""
        self.asks_function = False
        """The program asks for `func`."""
        self.has_symbols = False
        """The program has ksym() or usym()."""
        self.maps: dict[str, MapUse] = {}
        self.scratch: dict[tuple[int, int], Type] = {}
        self.options: dict[str, ProgramOption] = {}
        """What the program reads of the command line, by name."""
        self.changed = False
        self.settled = False
        """The pass before has found nothing more: maps that nothing is assigned to hold numbers."""
        self.has_unknown = False
        """The program asks for elements of a map of which nothing is known yet."""
        self.has_processes = False
        """Some numbers that the program keeps may be addresses of a process."""
        self.unwatches = False
        """The program takes watchpoints away."""
        self.is_guessed = False
        """A type was taken for granted in the statement that is being checked."""
        self.put_off: BtError | None = None
        """A mistake that may have come of that: it is one if nothing more becomes known."""


RESULT = "$return "
"""How a variable begins that has what a function of the program, whose name follows, returns."""


class Local:
    """A scratch variable: its number in its clause, and its type as far as it is known."""

    def __init__(self, name: str, number: int, type_: Type | None) -> None:
        self.stands_for: Expr | None = None
        """What it is another name for."""
        self.name = name
        self.number = number
        self.type = type_
        self.written: Type | None = None
        """The type of what is assigned to it, for messages."""
        self.declared: Type | None = None
        """The type that the program declares it with."""


class BtScope:
    """One pass. `file` is the program's, None for the command line's; `arguments` are $1 ...; `clause` counts from
    1."""

    def __init__(
        self, catalog: Catalog, known: Knowledge, file: str | None, arguments: Sequence[str], expression: Checking,
        body: CheckingBody, is_unsafe: bool,
    ) -> None:  # fmt: skip
        self.catalog = catalog
        self.known = known
        self.file = file
        self.arguments = arguments
        self.expression = expression
        self.is_unsafe = is_unsafe
        self.called: set[str] = set()
        """Functions of the program that something has called."""
        self.needs_start = False
        self.needs_each = False
        """The clause asks for something that each of its probes has for itself."""
        self.texts: dict[int, str] = {}
        """What each of the clause's probes is called, by its identifier."""
        self.probe_texts: dict[int, str] = {}
        """The same of all clauses that ask for it."""
        self.clause = 0
        self.attached = AttachedProbes(nodes.AttachPoint(SourceSpan(1, 1, 1, 1), ""), "", "", ())
        self.call: SourceSpan | None = None
        """The call whose arguments are being checked: mistakes of theirs are told there."""
        self.loops = 0
        """That the statement stands in."""
        self.function: nodes.Inlined | None = None
        """That it belongs to."""
        self.unassigned: dict[Local, SourceSpan] = {}
        """Variables of the clause that are declared and have not been assigned to, with the declaration."""
        self.indexed: list[tuple[Local, int, SourceSpan]] = []
        """Variables of the clause that are strings, characters of which are asked for, by their numbers."""
        self.unevaluated = 0
        """Whether types alone are asked for, of so many expressions within each other."""
        self.copies = 1
        """Of the statement that is being checked: those of unrolled loops that it stands in."""
        self.statements = 0
        """Of the clause up to now, with calls of macros and functions; what is copied counts each time."""
        self.before: list[list[Statement]] = []
        """Statements that come before the one that is being checked: those of blocks that are values in it."""
        self.body: CheckingBody = body
        self.options: Mapping[str, str | None] = {}
        """What stands behind `--` on the command line, None for what has no value."""
        self.source: ProgramText | None = None
        """The program's text, where elements that are not there are told with their place."""
        self.process = 0
        """The one that is traced, 0 for all."""
        self.entries = MAP_KEYS
        self.settings: Mapping[str, int | str] = {}
        self.stack_mode = ""
        """How stacks are shown for which the program does not say it."""
        self.strsize = 0
        """Bytes of the longest string, with its NUL."""
        self.kept: Mapping[str, Kept] = {}
        """How maps are kept that are declared."""
        self.macros: Mapping[tuple[str, int], Sequence[nodes.Macro]] = {}
        self.functions: Mapping[str, nodes.SubprogramItem] = {}
        self.remarks: dict[tuple[SourceSpan, str, tuple[SourceSpan, ...]], BtError] = {}
        self.types = KnownTypes(catalog)
        self.expansions = 0
        self.spans: dict[tuple[int, int], tuple[int, int]] = {}
        """Where what begins at a place ends."""
        self.expanded_from: list[SourceSpan] = []
        """Where the macros are called that the expression or statement comes from, the outermost first."""
        self.depth = 0
        """Macros that the one which is being checked stands in."""
        self._blocks: list[dict[str, Local]] = [{}]
        self._locals = 0
        self._variables: dict[object, Variable] = {}
        self._aggregations: dict[str, Aggregation] = {}

    def at(self, span: SourceSpan) -> Position:
        place = span.line, span.column
        if place not in self.spans or (span.end_line, span.end_column) > self.spans[place]:
            self.spans[place] = span.end_line, span.end_column
        return position(span, self.file)

    def mistake(self, text: str, span: SourceSpan, hint: str = "") -> BtError:
        """What is raised for a mistake there. Variables of macros and functions are called as they were written."""
        written = re.sub(r"(\$[A-Za-z_]\w*) \d+", r"\1", text) if self.expansions else text
        return BtError(written, span, hint, self.file, self.expanded_from[::-1])

    def remark(self, text: str, span: SourceSpan, hint: str = "") -> None:
        """Warn of something there, once."""
        self.remarks[span, text, tuple(self.expanded_from)] = self.mistake(text, span, hint)

    def take_back(self, span: SourceSpan) -> None:
        """What has been remarked of something there."""
        for key in [key for key in self.remarks if key[0] == span]:
            del self.remarks[key]

    # Scratch variables

    def begin_clause(self, number: int, attached: AttachedProbes) -> None:
        self.clause, self.attached = number, attached
        self._blocks, self._locals, self.statements = [{}], 0, 0
        self.unassigned.clear()
        self.indexed.clear()

    def add_statement(self, span: SourceSpan) -> None:
        """Count a statement, or the call of a macro or function. Raises BtError for more than a clause may have."""
        self.statements += 1
        if self.statements > MOST_STATEMENTS:
            hint = "calls of macros and functions, and turns of unroll, are copies: use loops that are not unrolled"
            raise self.mistake(f"a probe has more than {MOST_STATEMENTS} statements", span, hint)

    def assigned(self, name: str) -> None:
        """Something is assigned to the variable of that name, if there is one."""
        local = self.find(name)
        if local is not None:
            self.unassigned.pop(local, None)

    def end_clause(self) -> None:
        """Warn of variables that never were assigned to. Raises BtError for characters behind the ends of strings."""
        for local, number, span in self.indexed:
            size = getattr(resolve(local.declared or local.written or STRING), "length", None)
            if size and number >= size:
                raise self.mistake(f"the index {number} is out of bounds for array of size {size}", span)
        for local, span in self.unassigned.items():
            self.remark(f"Variable {local.name} was never assigned to.", span)

    def open(self) -> None:
        self._blocks.append({})

    def close(self) -> None:
        self._blocks.pop()

    def mark(self) -> tuple[int, int, int, int, int, int]:
        """Where the checker is, for `back_to`."""
        calls = len(self.expanded_from)
        return len(self._blocks), len(self.before), self.depth, self.loops, self.unevaluated, calls

    def back_to(self, mark: tuple[int, int, int, int, int, int]) -> None:
        """Leave what has been entered since the mark was taken."""
        blocks, before, self.depth, self.loops, self.unevaluated, calls = mark
        del self._blocks[blocks:]
        del self.before[before:]
        del self.expanded_from[calls:]

    def body_of(self, inlined: nodes.Inlined) -> tuple[Statement, ...]:
        """The statements of a function, which sees those variables of its caller alone that are its own."""
        found = {name: self.find(outside) for name, outside in inlined.names}
        outer = self._blocks, self.function, self.loops
        self._blocks = [{name: local for name, local in found.items() if local is not None}]
        self.function, self.loops = inlined, 0
        try:
            return self.body(inlined.function.body, self)
        finally:
            self._blocks, self.function, self.loops = outer

    def find(self, name: str) -> Local | None:
        return next((block[name] for block in reversed(self._blocks) if name in block), None)

    def declare(self, name: str, type_: Type | None) -> Local:
        """A variable of the innermost block."""
        self._locals += 1
        known = self.known.scratch.get((self.clause, self._locals), type_)
        local = self._blocks[-1][name] = Local(name, self._locals, known)
        return local

    def learn_local(self, local: Local, type_: Type, span: SourceSpan, written: Type | None = None) -> Type:
        """The variable's type, where a value of `type_` is assigned to it, which messages call `written`."""
        type_ = learned(type_)
        whole = type_ if local.type is None else merged(local.type, type_)
        if whole is not None and local.declared is not None and is_integer(whole) and is_integer(local.declared):
            # Only the types of variables without a declared one grow.
            whole = local.declared
        if whole is None:
            assert local.type is not None
            given, has = spelled(written or type_), spelled(local.written or local.type)
            if local.name.startswith(RESULT):
                raise self.mistake(f"Function {local.name.split()[1]} is of type {has}, cannot return {given}", span)
            text = (
                f"Type mismatch for {local.name}: trying to assign value of type '{given}' when variable already has "
            )
            raise self.mistake(f"{text}a type '{has}'", span)
        local.written = _both(local.written, written)
        if whole != local.type or (self.clause, local.number) not in self.known.scratch:
            self.known.changed |= self.known.scratch.get((self.clause, local.number)) != whole
            self.known.scratch[self.clause, local.number] = local.type = whole
        return whole

    def local_variable(self, local: Local) -> Variable:
        assert local.type is not None
        # Each clause has its own: nothing is handed on from one to the next.
        return self._variable((self.clause, local.number), "this", f"{local.name[1:]}", fixed(local.type), None, None)

    # Maps

    def map(self, name: str, span: SourceSpan) -> MapUse:
        found = self.known.maps.get(name)
        if found is None:
            found = self.known.maps[name] = MapUse(name, span, self.kept.get(name) or Kept(self.entries))
        return found

    def learn_keys(
        self, use: MapUse, keys: tuple[Type, ...], sizes: tuple[int, ...], span: SourceSpan
    ) -> tuple[Type, ...]:
        """The types of a map's keys, where it is used with these; `sizes` are the bytes of those that are strings."""
        keys = tuple(map(learned, keys))
        if use.keys is None:
            whole: tuple[Type | None, ...] = keys
        elif len(use.keys) != len(keys):
            raise self._wrong_keys(use, keys, sizes, span)
        else:
            whole = tuple(merged(old, new) for old, new in zip(use.keys, keys, strict=True))
        found = tuple(each for each in whole if each is not None)
        if len(found) != len(keys):
            raise self._wrong_keys(use, keys, sizes, span)
        use.sizes = tuple(map(max, sizes, use.sizes or sizes))
        if found != use.keys:
            use.keys = found
            self.known.changed = True
        return found

    def _wrong_keys(self, use: MapUse, keys: tuple[Type, ...], sizes: tuple[int, ...], span: SourceSpan) -> BtError:
        assert use.keys is not None
        if not use.keys or not keys:
            with_, without = "with an explicit key (non-scalar map)", "without an explicit key (scalar map)"
            now, before = (with_, without) if keys else (without, with_)
            return self.mistake(f"{use.name} used as a map {now}, previously used {before}", span)
        given, wanted = _spelled_keys(keys, sizes), _spelled_keys(use.keys, use.sizes)
        text = (
            f"Argument mismatch for {use.name}: trying to access with arguments: '{given}' when map expects arguments"
        )
        return self.mistake(f"{text}: '{wanted}'", span)

    def learn_value(self, use: MapUse, type_: Type, span: SourceSpan, written: Type | None = None) -> Type:
        """The type of the map's values, where one of `type_` is assigned, which messages call `written`."""
        given = spelled(written or type_)
        text = f"Type mismatch for {use.name}: trying to assign value of type '{given}' when map already has a type "
        if use.function:
            raise self.mistake(f"{text}'{use.function}_t'", span)
        type_ = learned(type_)
        whole = type_ if use.value is None else merged(use.value, type_)
        if whole is None:
            assert use.value is not None
            raise self.mistake(f"{text}'{spelled(use.written or use.value)}'", span)
        use.written = _both(use.written, written)
        if whole != use.value:
            use.value = whole
            self.known.changed = True
        return whole

    def learn_function(self, use: MapUse, function: str, parameters: tuple[int, ...], span: SourceSpan) -> None:
        if use.value is not None or (use.function and (use.function, use.parameters) != (function, parameters)):
            has = f"{use.function}_t" if use.function else spelled(use.written or use.value)  # type: ignore[arg-type]
            text = (
                f"Type mismatch for {use.name}: trying to assign value of type '{function}_t' when map already has a "
            )
            raise self.mistake(f"{text}type '{has}'", span)
        self.known.changed |= not use.function
        use.function, use.parameters = function, parameters

    def array(self, use: MapUse) -> Variable:
        assert use.value is not None
        assert use.keys is not None
        return self._variable(use.name, "global", use.name[1:], fixed(use.value), use.key_types, use.kept)

    def aggregation(self, use: MapUse) -> Aggregation:
        function = model_function(use.function)
        return self._aggregation(use, function, use.parameters, use.key_types, use.kept)

    def _aggregation(
        self, use: MapUse, function: str, parameters: tuple[int, ...], keys: tuple[Type, ...], kept: Kept | None
    ) -> Aggregation:
        name = use.name
        found = self._aggregations.get(name)
        if found is None:
            number = len(self._aggregations) + 1
            is_unsigned = function in UNSIGNED_TOO and not use.is_signed
            found = Aggregation(name[1:] or "_", number, function, parameters, keys, kept, is_unsigned=is_unsigned)
            self._aggregations[name] = found
        return found

    def storage(self, use: MapUse) -> Aggregation | Variable:
        """What holds a map's elements, as it is shown and emptied."""
        if use.function == "tseries":
            return self._series(use)
        return self.aggregation(use) if use.function else self.array(use)

    def _series(self, use: MapUse) -> Aggregation | Variable:
        """The values of tseries(), by the map's keys and the number of an interval."""
        shape = series.made_of(use.parameters)
        keys = (*use.key_types, UINT64)
        kept = Kept(series.entries(shape, use.kept.entries if use.keys else 1), evicts=True)
        if shape.function == series.LAST:
            value = INT64 if use.is_signed else UINT64
            return self._variable(use.name, "global", use.name[1:], value, keys, kept)
        return self._aggregation(use, series.MODEL[shape.function], (), keys, kept)

    def hidden(
        self, name: str, type_: Type, keys: tuple[Type, ...] | None = None, kept: Kept | None = None
    ) -> Variable:
        """A global variable that the program did not write."""
        return self._variable(("hidden", name), "global", name, type_, keys, kept)

    def _variable(
        self, identity: object, scope: str, name: str, type_: Type, keys: tuple[Type, ...] | None, kept: Kept | None
    ) -> Variable:
        found = self._variables.get(identity)
        if found is None or found.type != type_ or found.keys != keys:
            number = len(self._variables) + 1 if found is None else found.id
            found = self._variables[identity] = Variable(scope, name, type_, keys, number, kept)
        return found

    @property
    def variables(self) -> tuple[Variable, ...]:
        return tuple(self._variables.values())

    @property
    def aggregations(self) -> tuple[Aggregation, ...]:
        return tuple(self._aggregations.values())


Checking = Callable[[nodes.Expr, BtScope], Expr]
"""Checks an expression."""

CheckingBody = Callable[[Iterable[nodes.Statement], BtScope], tuple[Statement, ...]]
"""Checks the statements of a block."""


def _both(one: Type | None, other: Type | None) -> Type | None:
    """The type of both, as far as there is one."""
    return (merged(one, other) or one) if one is not None and other is not None else one or other


def _spelled_keys(keys: tuple[Type, ...], sizes: tuple[int, ...]) -> str:
    """What messages call the keys; strings with the bytes that they take."""
    each = [f"string[{size}]" if size else spelled(key) for key, size in zip(keys, sizes, strict=True)]
    return each[0] if len(each) == 1 else f"({','.join(each)})"


UNSIGNED_TOO = ("sum", "avg", "min", "max")
"""Functions of the model that are told whether they are of unsigned numbers."""

_FUNCTIONS = {"hist": "quantize", "lhist": "lquantize", "stats": "avg"}


def model_function(name: str) -> str:
    """What the model calls an aggregating function: what differs is how it is shown."""
    return _FUNCTIONS.get(name, name)
