"""The names of a D program: variables, aggregations, types, constants, inline definitions and translators."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sonde.frontends.d import syntax
from sonde.frontends.d.check.expansion import Expansions
from sonde.frontends.d.check.folding import constant_value
from sonde.frontends.d.check.operands import DeclaredTranslator, Operand
from sonde.frontends.d.check.options import CheckOptions
from sonde.frontends.d.check.stability import StabilityAttributes, parse_attributes
from sonde.frontends.d.errors import DError
from sonde.frontends.d.warnings.warning import Warning
from sonde.model.catalog import Catalog, Derivation
from sonde.model.errors import Position
from sonde.model.probe import Probe, StaticPattern
from sonde.model.program import Aggregation, Variable
from sonde.model.types import BOOL, BUILTIN_TYPEDEFS, STRING, Enum, Struct, Type
from sonde.typed import NamedTuple

Evaluate = Callable[[syntax.Expr, "Scope"], Operand]
"""Checks an expression. The scope carries it because expressions contain types and types contain expressions."""

_WORDS: dict[str, Type] = {"string": STRING, "_Bool": BOOL}
"""Types that are words of the language."""

USER_MODULES = ("C", "D", "")
"""The modules before a backquote that mean the program's own types."""


class Inline(NamedTuple):
    """An inline definition; its value is checked anew at each use, the parameters bound to the arguments."""

    type: Type
    parameters: tuple[tuple[str, Type], ...] | None
    value: syntax.Expr


class AggregationEntry(NamedTuple):
    aggregation: Aggregation
    position: Position


class ProbePrototype(NamedTuple):
    """A probe of a provider definition: the arguments the program gives it, those a clause sees, and which of the
    former each of the latter is made from. Without an output list of its own (`has_output`) both are the same."""

    inputs: tuple[Type, ...]
    outputs: tuple[Type, ...]
    sources: tuple[int, ...]
    has_output: bool


class Enabling(NamedTuple):
    """What the clause being checked is about: the probes described, how they were written and, if it is for one that
    follows from another, which one and how it does."""

    probes: tuple[Probe, ...]
    text: str
    derivation: Derivation | None = None
    derived: Probe | None = None

    @property
    def is_awaited(self) -> bool:
        """Whether the clause is for static probes of all processes."""
        return bool(self.probes) and all(isinstance(each.firing, StaticPattern) for each in self.probes)


def _provide_nothing(_name: str) -> None:
    """There are no libraries, and nothing keeps hidden clauses."""


class Scope:
    """All names known at one place of the program; the sources of one session share it and add to it."""

    def __init__(self, catalog: Catalog, options: CheckOptions, evaluate: Evaluate) -> None:
        self.catalog = catalog
        self.evaluate = evaluate
        self.options = options
        self.strsize = options.strsize
        self.scratchsize = options.scratchsize
        self.amin = parse_attributes(options.amin or "")
        self.attributes: dict[str, StabilityAttributes] = {}
        """What pragmas have said of names."""
        self.variables: dict[tuple[str, str], Variable] = {}
        self.aggregations: dict[str, AggregationEntry] = {}
        self.typedefs: dict[str, Type] = {}
        self.typedef_places: dict[str, Position] = {}
        self.structs: dict[tuple[str, str], Struct] = {}
        self.enums: dict[str, Enum] = {}
        self.enumerators: dict[str, tuple[Type, int]] = {}
        self.inlines: dict[str, Inline] = {}
        self.functions: dict[str, Type] = {}
        self.translators: list[DeclaredTranslator] = []
        self.providers: dict[str, dict[str, ProbePrototype]] = {}
        self.bindings: Mapping[str, Operand] = {}
        self.enabling: Enabling | None = None
        self.provide: Callable[[str], None] = _provide_nothing
        """Called with each name looked up, so that a library that declares it can be added in time."""
        self.require: Callable[[str], None] = _provide_nothing
        """Called with a D source that the clause being checked depends on, to be added to the program unseen."""
        self._expansions = Expansions()
        self.library_files: set[str | None] = set()
        """Where the libraries used so far are."""
        self.is_aside = False
        """Whether what is being checked was not written by the program's author."""
        self.origins: dict[object, Position] = {}
        """Where variables, by their ids, came into being without being declared, and aggregations, by their names."""
        self.asked: set[int] = set()
        """The variables, by their ids, that came into being because a program asked for their values."""
        self.noted: list[Warning] = []
        """What the checker has seen that may be meant otherwise."""
        self.scratch: dict[int, bool] = {}
        """Variables known to hold pointers: True those made by alloca() and its like, False any others."""

    def expand(self, name: str, value: syntax.Expr, bindings: Mapping[str, Operand], position: Position) -> Operand:
        """Check the value of the definition `name`: its parameters are known, itself and other bindings are not.

        `position` is where the definition is used.
        """
        self._expansions.enter(position)
        outer, self.bindings = self.bindings, bindings
        hidden = self.inlines.pop(name, None)
        try:
            result = self.evaluate(value, self)
            self._expansions.require_moderate(result, position)
            return result
        except DError as error:
            raise self._where_used(error, position) from None
        finally:
            self._expansions.leave()
            self.bindings = outer
            if hidden is not None:
                self.inlines[name] = hidden

    def _where_used(self, error: DError, position: Position) -> DError:
        """A mistake that is none in a library but what the engine or kernel lacks is told where the program asks for
        the library's definition."""
        inside = error.position is not None and error.position.file in self.library_files
        if not inside or position.file in self.library_files:
            return error
        return DError(error.tag, f"{error.text}, which the D library needs for this", position)

    def require_offered(self, what: str, name: str, position: Position) -> None:
        """Refuse what the engine does not offer to programs, though libraries may use it. Raises DError."""
        text, remedy = self.catalog.lacks(what, name)
        if text and not self.is_aside and position.file not in self.library_files:
            raise DError("D_UNAVAIL", text, position, remedy)

    def constant(self, node: syntax.Expr) -> int | None:
        """The value of an integer constant expression, None if it is not one."""
        return constant_value(self.evaluate(node, self))

    def declare(self, scope: str, name: str, kind: Type, keys: tuple[Type, ...] | None = None) -> Variable:
        variable = Variable(scope, name, kind, keys, len(self.variables))
        self.variables[scope, name] = variable
        return variable

    def bring(
        self, scope: str, name: str, kind: Type, position: Position, keys: tuple[Type, ...] | None = None
    ) -> Variable:
        """Declare a variable by its first use, at `position`."""
        variable = self.declare(scope, name, kind, keys)
        self.origins[variable.id] = position
        return variable

    def note(self, position: Position, text: str, remedy: str) -> None:
        """Keep a warning, unless what is checked was not written by the program's author."""
        if not self.is_aside:
            self.noted.append(Warning(position, text, remedy))

    def find_inline(self, name: str) -> Inline | None:
        self.provide(name)
        return self.inlines.get(name)

    def find_type(self, name: str, module: str | None = None) -> Type | None:
        """A typedef or base type by its name, the program's own first."""
        self.provide(name)
        if module is None or module in USER_MODULES:
            own = self.typedefs.get(name) or BUILTIN_TYPEDEFS.get(name)
            if own is not None:
                return own
            if name in _WORDS:
                return _WORDS[name]
        return self.catalog.type_named(name, module)

    def is_type_name(self, name: str) -> bool:
        """What the parser asks to tell a declaration from a probe and a cast from a call."""
        module, backquote, own = name.rpartition("`")
        return self.find_type(own, module if backquote else None) is not None

    def find_struct(self, keyword: str, tag: str, module: str | None = None) -> Struct:
        """The structure or union of that tag; an unknown one is declared, to be completed or not."""
        self.provide(tag)
        own = self.structs.get((keyword, tag))
        if own is not None and (module is None or module in USER_MODULES):
            return own
        known = self.catalog.tagged_type(keyword, tag, module)
        if isinstance(known, Struct):
            return known
        return self.structs.setdefault((keyword, tag), Struct(keyword, tag, 0))

    def find_enum(self, tag: str, module: str | None = None) -> Enum | None:
        self.provide(tag)
        own = self.enums.get(tag)
        if own is not None:
            return own
        known = self.catalog.tagged_type("enum", tag, module)
        return known if isinstance(known, Enum) else None
