"""The way in: items of D programs, one source after another -> one checked program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from sonde.frontends.d import syntax
from sonde.frontends.d.check import (
    derived,
    inlines,
    kept_arguments,
    provider_definitions,
    translators,
    variable_declarations,
)
from sonde.frontends.d.check.builtins import NAMES as BUILTINS
from sonde.frontends.d.check.doubtful import note_assignment
from sonde.frontends.d.check.expressions import expression
from sonde.frontends.d.check.libraries import Libraries
from sonde.frontends.d.check.located import Divided
from sonde.frontends.d.check.operands import value_of
from sonde.frontends.d.check.operators import is_scalar_test
from sonde.frontends.d.check.options import CheckOptions
from sonde.frontends.d.check.pragmas import Pragmas, is_satisfied
from sonde.frontends.d.check.probes import matching_probes, numbered_probe, require_stability
from sonde.frontends.d.check.prototypes import NAMES as FUNCTIONS
from sonde.frontends.d.check.scope import Enabling, ProbePrototype, Scope
from sonde.frontends.d.check.stability import StabilityAttributes
from sonde.frontends.d.check.statements import OF_ACTIONS, statements
from sonde.frontends.d.check.undefined import UNDEFINED, is_assigned
from sonde.frontends.d.errors import DError
from sonde.frontends.d.parser import NO_MACROS, Parser
from sonde.frontends.d.source import Macros, ProgramSource, check_arguments_used
from sonde.frontends.d.warnings import all as warnings_all
from sonde.frontends.d.warnings.warning import Warning
from sonde.model.catalog import Catalog
from sonde.model.errors import Position
from sonde.model.probe import Probe
from sonde.model.program import Clause, Expr, Program, Statement, Variable
from sonde.model.types import STRING, Type

_OF_HIDDEN = NO_MACROS._replace(target=None)
"""`$target` in what a program did not write is found out when it runs."""


class Checker:
    """Checks the sources of one session as they are parsed; `program` is what they amount to.

    A parser asks `is_type_name` while it runs, so items are to be checked one at a time, before the next is parsed.
    """

    def __init__(self, catalog: Catalog, options: CheckOptions) -> None:
        self._scope = Scope(catalog, options, expression)
        self._scope.require = self._add_hidden
        self._clauses: list[Clause] = []
        self._hidden: dict[str, list[Clause]] = {}
        self._hidden_count = 0
        self._enablings: list[Enabling] = []
        """What each of the clauses was checked for."""
        self._options: list[tuple[str, str | None]] = []

    def add_text(self, source: ProgramSource, macros: Macros = NO_MACROS) -> None:
        """Parse and check one source, which must hold a program and use the arguments it was given."""
        parser = Parser(source, macros, self.is_type_name, self.is_known)
        try:
            self.add_source(parser.items(), lambda: parser.position, lambda count: self._whole(count, parser, macros))
        except RecursionError:
            raise DError("D_SYNTAX", "nested too deeply", parser.position) from None

    def _whole(self, count: int, parser: Parser, macros: Macros) -> None:
        """Refuse a source, read to its end, of nothing but declarations, or that does not use its last argument."""
        if not self._scope.options.unused_arguments:
            check_arguments_used(macros, parser.used_arguments, parser.position)
        if not count and not self._scope.options.empty:
            raise DError("D_EMPTY", "empty D program translation unit", parser.position)

    def use_libraries(self, find: Callable[[], Sequence[ProgramSource]]) -> None:
        """Libraries to be found when a name is first asked for, and parsed when a name of theirs is used."""
        self._libraries = Libraries(find, self._add_library_text, BUILTINS)
        self._scope.provide = self._libraries.provide

    def read_libraries(self, directories: Sequence[str]) -> None:
        """Add all of the user's libraries: a mistake in one is told, even where the program does not use it. Raises
        DError."""
        self._libraries.provide_all(directories)

    def _add_library_text(self, source: ProgramSource) -> None:
        self._scope.library_files.add(source.file)
        if source.is_own:
            self.add_library(Parser(source, NO_MACROS, self.is_type_name).items())
        else:
            self._add_foreign_library(source)

    def _add_foreign_library(self, source: ProgramSource) -> None:
        """A library of the user's: all in it is checked, as dtrace compiles it and keeps what it declares. Its clauses
        do not run. Raises DError."""
        seen = len(self._clauses)
        parser = Parser(source, NO_MACROS, self.is_type_name, self.is_known)
        try:
            self.add_source(self._satisfied(parser.items()), lambda: parser.position)
        except RecursionError:
            raise DError("D_SYNTAX", "nested too deeply", parser.position) from None
        finally:
            del self._clauses[seen:], self._enablings[seen:]

    def _satisfied(self, items: Iterable[syntax.Item]) -> Iterator[syntax.Item]:
        """The items of a library up to one that depends on something that is not there."""
        for item in items:
            if not (isinstance(item, syntax.Pragma) and item.name == "depends_on"):
                yield item
            elif not is_satisfied(item, self._scope):
                return

    def is_type_name(self, name: str) -> bool:
        return self._scope.is_type_name(name)

    def is_known(self, name: str) -> bool:
        """Whether a bare name means something that is not a type."""
        scope = self._scope
        has_meaning = name in BUILTINS or name in FUNCTIONS or name in scope.enumerators or name == "NULL"
        return has_meaning or ("global", name) in scope.variables or scope.find_inline(name) is not None

    @property
    def variables(self) -> Mapping[tuple[str, str], Variable]:
        """Those that have been declared or have come into being, by their scopes and names."""
        return self._scope.variables

    def declare(self, variable: Variable) -> None:
        """Make a variable known before a clause is checked that uses it."""
        self._scope.declare(variable.scope, variable.name, variable.type, variable.keys)

    @property
    def attributes(self) -> Mapping[str, StabilityAttributes]:
        """How stable names are, as far as pragmas have said so."""
        return self._scope.attributes

    @property
    def providers(self) -> Mapping[str, Mapping[str, ProbePrototype]]:
        """The probes of each provider that programs have defined, by their names with dashes."""
        return self._scope.providers

    def warnings(self) -> list[Warning]:
        """What compiles, but may do something else than its writer thinks."""
        # Only needed where people read.

        scope = self._scope
        return warnings_all.warnings(self._clauses, scope.origins, scope.noted, scope.library_files)

    def declared_types(self) -> list[Type]:
        """The types that programs and libraries have declared so far."""
        scope = self._scope
        return [STRING, *scope.structs.values(), *scope.enums.values(), *scope.typedefs.values()]

    def add_library(self, items: Iterable[syntax.Item]) -> None:
        """Declarations for everyone's use; inline definitions and translators are checked where they are used.

        A library that depends on a provider or module that is not there ends where it says so.
        """
        for item in items:
            if isinstance(item, syntax.Pragma):
                if item.name == "depends_on" and not is_satisfied(item, self._scope):
                    return
            elif isinstance(item, syntax.InlineDefinition):
                inlines.define_inline(item, self._scope, trusted=True)
            elif isinstance(item, syntax.Translator):
                translators.declare_translator(item, self._scope, True, item.position)
            elif isinstance(item, syntax.Declaration):
                self._declare(item)

    def add_source(
        self, items: Iterable[syntax.Item], end: Callable[[], Position] | None = None,
        whole: Callable[[int], None] | None = None,
    ) -> None:  # fmt: skip
        """One program; clauses are numbered on from those of the sources before.

        As DTrace does, this reads all items before it looks into the clauses: what cannot be read is told first.
        `end` tells where the item just taken ends, which is where DTrace reports what is wrong with it as a whole.
        `whole` is told how many items there are but declarations.
        """
        pragmas = Pragmas(self._scope, self._options)
        count = 0
        clauses: list[tuple[syntax.ProbeClause, Position]] = []
        for item in items:
            count += not isinstance(item, (syntax.Pragma, syntax.Declaration))
            position = end() if end else item.position
            if isinstance(item, syntax.Pragma):
                pragmas.handle(item)
            elif isinstance(item, syntax.ProbeClause):
                clauses.append((item, position))
                # Before the end of the program is looked at, as DTrace does.
                for spec in item.specs:
                    if spec.identifier is not None:
                        numbered_probe(spec, self._scope)
            elif isinstance(item, syntax.Declaration):
                self._declare(item)
            elif isinstance(item, syntax.InlineDefinition):
                inlines.define_inline(item, self._scope, trusted=False)
            elif isinstance(item, syntax.Translator):
                translators.declare_translator(item, self._scope, False, position)
            elif isinstance(item, syntax.ProviderDefinition):
                provider_definitions.define_provider(item, self._scope)
        pragmas.require_used()
        if whole is not None:
            whole(count)
        for clause, position in clauses:
            # What is wrong with a clause as a whole is told where it ends.
            self._add_clause(clause._replace(position=position), position)

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """Those that were written, without what they depend on."""
        return tuple(self._clauses)

    def program(self) -> Program:
        scope = self._scope
        aggregations = tuple(entry.aggregation for entry in scope.aggregations.values())
        scratch = frozenset(number for number, is_scratch in scope.scratch.items() if is_scratch)
        variables = tuple(scope.variables.values())
        hidden = (clause for clauses in self._hidden.values() for clause in clauses)
        return Program((*hidden, *self._clauses), variables, aggregations, tuple(self._options), scratch)

    def keeping_arguments(self) -> Program:
        """The program with clauses, behind the written ones, that read what recordings keep besides
        (`kept_arguments.py`)."""
        found: dict[tuple[Probe, ...], Clause] = {}
        for clause, enabling in zip(self._clauses, self._enablings, strict=True):
            if clause.probes in found:
                continue
            self._scope.enabling = enabling
            body = kept_arguments.kept(self._scope, clause.probes, clause.position)
            if body:
                self._hidden_count += 1
                found[clause.probes] = Clause(
                    -self._hidden_count, clause.probes, None, body, clause.position, clause.condition, True
                )
        self._scope.enabling = None
        program = self.program()
        return program._replace(clauses=(*program.clauses, *found.values()))

    def _add_clause(self, node: syntax.ProbeClause, end: Position) -> None:
        """A clause is checked, and runs, once for each of its descriptions: their arguments may differ. So may those
        of the probes of one description that follow from others."""
        for spec in node.specs:
            probes = matching_probes(spec, self._scope)
            require_stability(spec, len(probes), self._scope, end)
            for own, derivation in derived.parts(probes, self._scope):
                described = derived.together(own, probes)
                enabling = Enabling(described, ":".join(spec.fields), derivation, own[0] if derivation else None)
                self._add_for(enabling, own, node, spec)

    def _add_for(
        self, enabling: Enabling, own: tuple[Probe, ...], node: syntax.ProbeClause, spec: syntax.ProbeDescription
    ) -> None:
        """A clause for probes of one description: one clause, or one for each group of them that have a variable
        elsewhere, or of another type, than the others."""
        self._scope.enabling = enabling
        try:
            condition = derived.condition(self._scope, spec.position)
            predicate, body = self._contents(node)
        except Divided as divided:
            for group in divided.groups:
                self._add_group(divided, group.probes, own, node, spec)
            return
        number = len(self._clauses) + 1
        self._clauses.append(Clause(number, own, predicate, body, spec.position, condition))
        self._enablings.append(enabling)
        self._scope.enabling = None

    def _add_group(
        self, divided: Divided, probes: tuple[Probe, ...], own: tuple[Probe, ...], node: syntax.ProbeClause,
        spec: syntax.ProbeDescription,
    ) -> None:  # fmt: skip
        """The clause for a group alone; what is wrong there may be that the types differ."""
        enabling = Enabling(probes, ":".join(spec.fields))
        try:
            self._add_for(enabling, tuple(each for each in own if each in probes), node, spec)
        except DError as error:
            raise DError(error.tag, error.text, error.position, error.hint or divided.differences) from None

    def _add_hidden(self, text: str) -> None:
        """Add what the program depends on and did not write, once, whatever is being checked at the moment."""
        if text in self._hidden:
            return
        found = self._hidden[text] = []
        with derived.aside(self._scope):
            source = ProgramSource(text, derived.HIDDEN)
            for item in Parser(source, _OF_HIDDEN, self.is_type_name).items():
                if isinstance(item, syntax.ProbeClause):
                    found += self._hidden_clauses(item)
                elif isinstance(item, syntax.Declaration):
                    self._declare(item)

    def _declare(self, node: syntax.Declaration) -> None:
        variable_declarations.declare_variables(node, self._scope)

    def _hidden_clauses(self, node: syntax.ProbeClause) -> list[Clause]:
        clauses = []
        for spec in node.specs:
            probes = matching_probes(spec, self._scope)
            self._scope.enabling = Enabling(probes, ":".join(spec.fields))
            predicate, body = self._contents(node)
            self._hidden_count += 1
            clauses.append(Clause(-self._hidden_count, probes, predicate, body, spec.position))
        return clauses

    def _contents(self, node: syntax.ProbeClause) -> tuple[Expr | None, tuple[Statement, ...]]:
        """Predicate and statements. Either may bring variables into being that the other uses, so that DTrace checks
        the statements first and, where they use a variable that is not there, again behind the predicate."""
        nodes = node.statements or ()
        if node.predicate is None:
            return None, statements(nodes, self._scope)
        try:
            body = statements(nodes, self._scope)
        except DError as error:
            if error.tag not in (*UNDEFINED, *OF_ACTIONS):
                raise
            if error.tag in OF_ACTIONS:
                self._predicate(node, node.predicate)
                raise
            return self._predicate_first(node, node.predicate, nodes, error), statements(nodes, self._scope)
        return self._predicate(node, node.predicate), body

    def _predicate_first(
        self, clause: syntax.ProbeClause, node: syntax.Expr, nodes: tuple[syntax.Statement, ...], of_statements: DError
    ) -> Expr:
        """The predicate of a clause whose statements use a variable that is not there. If it lacks one too, that is
        its own mistake unless the statements, but for theirs, bring that variable into being."""
        try:
            return self._predicate(clause, node)
        except DError as error:
            if error.tag in UNDEFINED and is_assigned(error.position, node, nodes):
                raise of_statements from None
            raise

    def _predicate(self, clause: syntax.ProbeClause, node: syntax.Expr) -> Expr:
        operand = expression(node, self._scope)
        note_assignment(node, self._scope)
        if not is_scalar_test(operand):
            is_one_line = clause.position.line == node.position.line
            place = node.position if is_one_line else clause.position
            raise DError("D_PRED_SCALAR", "predicate result must be of scalar type", place)
        return value_of(operand)
