"""Variables that keep signs: one is unsigned only as long as all that it is given is unsigned, or a constant."""

from __future__ import annotations

from sonde.frontends.d import syntax
from sonde.frontends.d.check import assignments, expressions, operators
from sonde.frontends.d.check.calls import call
from sonde.frontends.d.check.operands import Operand, value_of
from sonde.frontends.d.check.scope import Scope
from sonde.frontends.d.syntax import Expr
from sonde.frontends.python.check.numbers import alike, has_sign, whole
from sonde.frontends.python.errors import PythonError
from sonde.model import program as tree
from sonde.model.errors import Position
from sonde.model.kinds import is_integer, is_string
from sonde.model.types import LONG, is_signed, size_of
from sonde.typed import Node

Name = tuple[str, str]
"""Of a variable: whose it is (`global`, `self` or `this`), and what it is called."""


NUMBERS_AT_FIRST: Name = ("", "")
"""Among the names of variables that are unsigned: what is only set to something made of itself is a number, with a
sign. It is there where no function sets such a variable otherwise."""


class NeedsSignError(PythonError):
    """An unsigned variable is given a number that may be negative: it has to be declared as a signed one."""

    def __init__(self, variable: Name, position: Position) -> None:
        super().__init__("this variable has a sign", position)
        self.variable = variable


def name_of(target: Expr) -> Name | None:
    """The variable that is set, or of which an element is; None of anything else."""
    named = target.object if isinstance(target, syntax.Index) else target
    if isinstance(named, syntax.ScopedVariable):
        return named.scope, named.name
    return ("global", named.name) if isinstance(named, syntax.Identifier) else None


class Stored(Node):
    """`target = value`, a number in 64 bits unless it `is_narrow`. `typed` are variables that the program says are
    unsigned."""

    position: Position
    target: Expr
    value: Expr
    typed: set[Name]
    is_narrow: bool = False

    def checked(self, scope: Scope) -> Operand:
        given: list[Operand] = []
        made = scope.evaluate(
            syntax.Assign(self.position, "=", self.target, _Noted(self.value, self.is_narrow, given)), scope
        )
        if given and isinstance(made, tree.Assign) and has_sign(given[0]):
            _require_sign(made, self, scope)
        return made


class Beginning(Node):
    """Stands before `target` is set to something made of itself: where nothing else sets it, it is a number."""

    position: Position
    target: Expr
    typed: set[Name]

    def checked(self, scope: Scope) -> Operand:
        if NUMBERS_AT_FIRST in self.typed and name_of(self.target) not in scope.variables:
            expressions.brought_into_being(self.target, scope)
        return tree.Const(LONG, self.position, 0)


class _Noted(Node):
    """A value as it is kept, which is noted as well."""

    value: Expr
    is_narrow: bool
    given: list[Operand]

    @property
    def position(self) -> Position:
        return self.value.position

    def checked(self, scope: Scope) -> Operand:
        operand = scope.evaluate(self.value, scope)
        operand = operand if self.is_narrow else whole(operand)
        self.given.append(operand)
        return operand


class Compound(Node):
    """`target op= value`; a variable that nothing has set is 0."""

    position: Position
    op: str
    target: Expr
    value: Expr
    typed: set[Name]

    def checked(self, scope: Scope) -> Operand:
        before = scope.evaluate(self.value, scope)
        value = whole(before)
        target = expressions.brought_into_being(self.target, scope) or scope.evaluate(self.target, scope)
        if is_string(target.type) and self.op == "+":
            joined = call("strjoin", (target, value), scope, self.position)
            return assignments.assign(target, joined, scope, self.position)
        made = assignments.compound(self.op, target, value, scope.strsize, self.position)
        if self.op == "-" or (self.op in "+*&|^" and has_sign(before)):
            _require_sign(made, self, scope)
        return made


def _require_sign(made: Operand, node: Stored | Compound, scope: Scope) -> None:
    """Raises NeedsSignError where an unsigned variable of 64 bits is set that the program gives no type."""
    name = name_of(node.target)
    if name is None or name in node.typed or name not in scope.variables:
        return
    if is_integer(made.type) and size_of(made.type) == 8 and not is_signed(made.type):
        raise NeedsSignError(name, node.position)


class Choice(Node):
    """`then` where the test holds, else `otherwise`; integers of 64 bits, signed if one of them may be negative."""

    position: Position
    test: Expr
    then: Expr
    otherwise: Expr

    def checked(self, scope: Scope) -> Operand:
        test = scope.evaluate(self.test, scope)
        then, otherwise = alike(scope.evaluate(self.then, scope), scope.evaluate(self.otherwise, scope))
        made = operators.conditional(test, then, otherwise, self.position)
        return value_of(made)
