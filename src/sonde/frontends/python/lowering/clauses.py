"""Clauses: a probe function with its descriptions."""

from __future__ import annotations

import ast

from sonde.frontends.d import syntax
from sonde.frontends.d.descriptions import split_description
from sonde.frontends.python.captured import CapturedProgram
from sonde.frontends.python.check.signs import NUMBERS_AT_FIRST, Name, Stored
from sonde.frontends.python.errors import PythonError
from sonde.frontends.python.lowering.context import FunctionFrame, Lowering, encoded, integer
from sonde.frontends.python.lowering.expression_rules import value
from sonde.frontends.python.lowering.logic import condition
from sonde.frontends.python.lowering.names import global_name
from sonde.frontends.python.lowering.operands import as_truth
from sonde.frontends.python.lowering.sources import ParsedFunction, parsed
from sonde.frontends.python.lowering.statement_rules import body
from sonde.frontends.python.lowering.values import Firing
from sonde.model.errors import Position


class Clauses:
    """Makes the clauses of a program, each when it is asked for. `target` is the process that $target means, None where
    that is known later; `number` that of the program among several. Raises PythonError."""

    def __init__(self, program: CapturedProgram, target: int | None, number: int = 0) -> None:
        self._program = program
        self._number = number
        self._made = 0
        self._target = target
        self._typed: set[Name] = set()
        self._functions, self._unread = _parsed(program)
        self._written = frozenset(
            global_name(each.captured, name) for each in self._functions.values() for name in _set_by(each)
        )

    def take_for_numbers(self) -> None:
        """From here on variables that are only set to something made of themselves are numbers."""
        self._typed.add(NUMBERS_AT_FIRST)

    def initial(self) -> syntax.ProbeClause | None:
        """What sets the variables of modules as they are now, None where all are 0."""
        values: dict[str, syntax.Statement] = {}
        for each in self._functions.values():
            at = Position(each.captured.file, each.captured.line, 1)
            for name in sorted(_set_by(each)):
                found = self._first_value(each, name, at)
                if found is not None:
                    target = syntax.Identifier(at, global_name(each.captured, name))
                    values[target.name] = syntax.ExpressionStatement(at, Stored(at, target, found, self._typed))
        if not values:
            return None
        at = next(iter(values.values())).position
        spec = syntax.ProbeDescription(at, "BEGIN", "name", ("", "", "", "BEGIN"))
        return syntax.ProbeClause(at, (spec,), None, tuple(values.values()))

    @staticmethod
    def _first_value(function: ParsedFunction, name: str, at: Position) -> syntax.Expr | None:
        meaning = function.captured.names.get(name)
        if meaning is None or meaning.kind in ("missing", "none"):
            return None
        if meaning.kind == "integer":
            return integer(meaning.value, at) if meaning.value else None
        if meaning.kind == "text":
            return syntax.StringLiteral(at, encoded(meaning.value, at)) if meaning.value else None
        hint = "variables that probes share are numbers and texts; a table is used without `global`"
        raise PythonError(f"{name} is {_WHAT.get(meaning.kind, meaning.value)}, which no probe can set", at, hint)

    def clause(self, number: int) -> syntax.ProbeClause:
        """That of a function, by its number."""
        if number in self._unread:
            raise self._unread[number]
        function = self._functions[number]
        self._made += 1
        name = f"{self._number}.{self._made}"
        context = Lowering(
            self._program, self._functions, self._unread, self._written, self._typed, self._target, name, value, body
        )
        frame = context.enter(function, number)
        frame.is_clause = True
        context.frames.append(frame)
        self._take_firing(frame, context)
        nodes = _statements(function.tree)
        predicate = _predicate(nodes, context)
        if predicate is not None:
            assert isinstance(nodes[0], ast.If)
            nodes = nodes[0].body
        context.body(nodes)
        statements = tuple(context.out)
        at = context.at(function.tree)
        if not statements:
            # A clause without any would show that its probe has fired.
            statements = (syntax.ExpressionStatement(at, integer(0, at)),)
        return syntax.ProbeClause(at, self._specs(function), predicate, statements)

    @staticmethod
    def _take_firing(frame: FunctionFrame, context: Lowering) -> None:
        arguments = frame.function.tree.args
        names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
        if len(names) > 1 or arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
            tree = frame.function.tree
            raise context.mistake(tree, "a probe function has one parameter, the firing", f"def {tree.name}(p):")
        for name in names:
            frame.bound[name] = Firing()

    def _specs(self, function: ParsedFunction) -> tuple[syntax.ProbeDescription, ...]:
        places = _places(function)
        found = []
        for number, text in enumerate(function.captured.probes):
            at = places[number] if number < len(places) else function.at(function.tree)
            fields = split_description(text, "name", self._macro, at)
            found.append(syntax.ProbeDescription(at, text, "name", fields))
        return tuple(found)

    def _macro(self, name: str) -> str | None:
        return str(self._target) if name == "target" and self._target is not None else None


def _set_by(function: ParsedFunction) -> frozenset[str]:
    """Which of the variables that it shares a function sets: those that nobody sets are constants."""
    found = {each.id for each in ast.walk(function.tree) if isinstance(each, ast.Name)
             and not isinstance(each.ctx, ast.Load)}  # fmt: skip
    return function.shared & found


_WHAT = {
    "table": "an associative array", "aggregation": "an aggregation", "tuple": "a tuple", "function": "a function",
    "subroutine": "a function", "builtin": "a function", "maker": "a function", "word": "a function",
    "type": "an integer type", "thread": "what has the variables of a thread", "kernel": "the kernel's data",
}  # fmt: skip
"""What names mean (`captured.Meaning`) that are no variables."""


def _parsed(program: CapturedProgram) -> tuple[dict[int, ParsedFunction], dict[int, PythonError]]:
    """The functions that can be read and, of those that cannot, why: they need not be called."""
    functions: dict[int, ParsedFunction] = {}
    unread: dict[int, PythonError] = {}
    for number, each in enumerate(program.functions):
        try:
            functions[number] = parsed(each)
        except PythonError as error:
            unread[number] = error
    return functions, unread


def _places(function: ParsedFunction) -> list[Position]:
    """Where the descriptions stand in the decorators, as far as they are written there."""
    return [
        function.at(each)
        for decorator in function.tree.decorator_list
        if isinstance(decorator, ast.Call)
        for each in decorator.args
    ]


def _statements(tree: ast.FunctionDef) -> list[ast.stmt]:
    """Without what says nothing to the program."""
    return [
        each for each in tree.body
        if not isinstance(each, (ast.Global, ast.Nonlocal, ast.Pass))
        and not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
    ]  # fmt: skip


def _predicate(nodes: list[ast.stmt], context: Lowering) -> syntax.Expr | None:
    """The condition of a function that is nothing but an `if`: a predicate, where nothing is to be done before it."""
    if len(nodes) != 1 or not isinstance(nodes[0], ast.If) or nodes[0].orelse:
        return None
    with context.block() as before:
        test = condition(nodes[0].test, context)
    return None if before or isinstance(test, syntax.Integer) else as_truth(test)
