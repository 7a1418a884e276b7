"""Where the compiler is in a program: the function, its names, the statements made so far."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from sonde.frontends.d import syntax
from sonde.frontends.python.captured import SHARED, CapturedFunction, CapturedProgram
from sonde.frontends.python.check.objects import OfFiring
from sonde.frontends.python.check.signs import Name, Stored
from sonde.frontends.python.errors import PythonError
from sonde.frontends.python.lowering.sources import ParsedFunction
from sonde.frontends.python.lowering.values import Value
from sonde.model.errors import Position
from sonde.model.program import MOST_STATEMENTS
from sonde.model.types import LONG, ULONG

_SIGNED, _UNSIGNED = 1 << 63, 1 << 64


class FunctionFrame:
    """A function that is being compiled: the probe's own, or one that it calls.

    `prefix` tells its variables from those of others. `bound` are names that stand for something that is known now.
    `assigned` are the variables that are set on every way to the present statement, None where no way leads there.
    """

    def __init__(self, function: ParsedFunction, prefix: str, number: int) -> None:
        self.function = function
        self.prefix = prefix
        self.number = number
        self.bound: dict[str, Value] = {}
        self.assigned: set[str] | None = set()
        self.result = ""
        """The variable of what it returns, "" where nothing asks for that."""
        self.is_clause = False

    def variable(self, name: str, position: Position) -> syntax.ScopedVariable:
        return syntax.ScopedVariable(position, "this", f"{self.prefix}{name}")


class Lowering:
    """The state of one clause's compilation. `unread` are functions that cannot be compiled, `written` the variables of
    modules that any function sets, `typed` those whose type a function says. `clause` tells the clause's variables from
    those of others, whose types may differ. `value` and `body` are the rules of expressions and statements, which call
    each other through here."""

    def __init__(
        self,
        program: CapturedProgram,
        functions: dict[int, ParsedFunction],
        unread: dict[int, PythonError],
        written: frozenset[str],
        typed: set[Name],
        target: int | None,
        clause: str,
        value: Callable[[ast.expr, Lowering], Value],
        body: Callable[[Sequence[ast.stmt], Lowering], None],
    ) -> None:
        self.program = program
        self.functions = functions
        self.unread = unread
        self.written = written
        self.typed = typed
        self.target = target
        self.clause = clause
        self._value = value
        self._body = body
        self.frames: list[FunctionFrame] = []
        self.out: list[syntax.Statement] = []
        self._made = 0
        self._numbers = 0

    def value(self, node: ast.expr) -> Value:
        """What an expression is."""
        return self._value(node, self)

    def body(self, nodes: Sequence[ast.stmt]) -> None:
        """Statements in their order."""
        self._body(nodes, self)

    @property
    def frame(self) -> FunctionFrame:
        return self.frames[-1]

    @property
    def captured(self) -> CapturedFunction:
        return self.frame.function.captured

    def at(self, node: ast.AST) -> Position:
        """Where a node begins."""
        return self.frame.function.at(node)

    def mistake(self, node: ast.AST, text: str, hint: str = "") -> PythonError:
        return PythonError(text, self.at(node), hint)

    def emit(self, statement: syntax.Statement) -> None:
        self._made += 1
        if self._made > MOST_STATEMENTS:
            hint = "functions are copied where they are called: let loops call them"
            raise PythonError("the function and those that it calls are too long", statement.position, hint)
        self.out.append(statement)

    def run(self, expression: syntax.Expr, names: tuple[str, ...] = ()) -> None:
        self.emit(syntax.ExpressionStatement(expression.position, expression, names))

    @contextmanager
    def block(self) -> Iterator[list[syntax.Statement]]:
        """What is emitted within goes into a list of its own."""
        outer, self.out = self.out, []
        try:
            yield self.out
        finally:
            self.out = outer

    def number(self) -> int:
        self._numbers += 1
        return self._numbers

    def enter(self, function: ParsedFunction, number: int) -> FunctionFrame:
        """A frame for a function, whose variables are those of this copy of it alone."""
        return FunctionFrame(function, f"{self.clause}.{self.number()}{SHARED}", number)

    def new(self, position: Position) -> syntax.ScopedVariable:
        """A variable that the program did not write."""
        return syntax.ScopedVariable(position, "this", f"{self.clause}{SHARED}#{self.number()}")

    def assignment(self, target: syntax.Expr, value: syntax.Expr) -> Stored:
        """`target = value`, a number in 64 bits."""
        return Stored(target.position, target, value, self.typed)

    def set(self, target: syntax.Expr, value: syntax.Expr) -> None:
        self.run(self.assignment(target, value))

    def kept(self, value: syntax.Expr) -> syntax.ScopedVariable:
        """A new variable with the value."""
        variable = self.new(value.position)
        self.set(variable, value)
        return variable


def integer(value: int, position: Position) -> syntax.Integer:
    """A constant. Raises PythonError for one that does not fit."""
    if -_SIGNED <= value < _SIGNED:
        return syntax.Integer(position, value, LONG)
    if 0 <= value < _UNSIGNED:
        return syntax.Integer(position, value, ULONG)
    raise PythonError("this number does not fit 64 bits", position, "mask it: n & 0xffffffffffffffff")


def encoded(text: str, position: Position) -> bytes:
    """A text as the program has it; what stands for a byte that is no text (PEP 383) is that byte. Raises PythonError
    for half of a surrogate pair."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        hint = "write the whole letter, or bytes: b'...'"
        raise PythonError("half of a surrogate pair is no letter, and has no bytes", position, hint) from None


_PASSING = ("timestamp", "vtimestamp", "walltimestamp")
"""Variables of a firing that are others each time that they are looked at."""


def is_simple(e: syntax.Expr) -> bool:
    """Whether it costs next to nothing to look at it again, and means the same then."""
    if isinstance(e, (syntax.Integer, syntax.StringLiteral)):
        return True
    if isinstance(e, syntax.ScopedVariable):
        return e.scope == "this"
    if isinstance(e, syntax.Index):
        return e.object == syntax.Identifier(e.position, "args") and isinstance(e.subscripts[0], syntax.Integer)
    return isinstance(e, OfFiring) and e.name not in _PASSING
