"""Members, elements and variables, as Python writes them."""

from __future__ import annotations

from sonde.frontends.d import syntax
from sonde.frontends.d.check import access, assignments, expressions, operands, translators
from sonde.frontends.d.check.calls import call
from sonde.frontends.d.check.operands import Operand, TranslatorValue
from sonde.frontends.d.check.scope import Scope
from sonde.frontends.d.check.variables import undeclared
from sonde.frontends.d.syntax import Expr
from sonde.frontends.python.check.numbers import whole
from sonde.frontends.python.errors import PythonError
from sonde.model import program as tree
from sonde.model.errors import Position
from sonde.model.kinds import is_array, is_pointer, is_string, is_string_like
from sonde.model.types import LONG, Array, resolve
from sonde.typed import Node


def placed(operand: Operand, position: Position) -> Operand:
    """A value where the function has it: D's libraries, which may define it, are of no help there."""
    return operand._replace(position=position)


class OfFiring(Node):
    """`p.name`: one of D's built-in variables, or what D's libraries define."""

    position: Position
    name: str

    def checked(self, scope: Scope) -> Operand:
        return placed(scope.evaluate(self.identifier(), scope), self.position)

    def identifier(self) -> syntax.Identifier:
        return syntax.Identifier(self.position, self.name)

    def is_array(self, scope: Scope) -> bool:
        """Whether a library defines it with keys."""
        inline = scope.find_inline(self.name)
        return inline is not None and inline.parameters is not None


class Attribute(Node):
    """`object.name`: a member of a structure, or of the one that a pointer points to."""

    position: Position
    object: Expr
    name: str

    def checked(self, scope: Scope) -> Operand:
        operand = scope.evaluate(self.object, scope)
        if isinstance(operand, TranslatorValue):
            is_pointer_to = operand.type == operands.TRANSLATED_POINTER
            return placed(translators.member(operand, self.name, is_pointer_to, scope, self.position), self.position)
        if is_string(operand.type):
            hint = "D's functions are for texts: strlen, strstr, substr, index, toupper ..."
            raise PythonError(f"texts have no methods in a probe: {self.name}", self.position, hint)
        return access.member(operand, self.name, is_pointer(operand.type), self.position)


class ItemOf(Node):
    """`object[subscripts]`: an element of an associative array, an array or what a pointer points to; of a text the
    text of one character."""

    position: Position
    object: Expr
    subscripts: tuple[Expr, ...]

    def checked(self, scope: Scope) -> Operand:
        if isinstance(self.object, OfFiring) and self.object.is_array(scope):
            element = syntax.Index(self.position, self.object.identifier(), self.subscripts)
            return placed(scope.evaluate(element, scope), self.position)
        if _is_place(self.object) and not _is_scalar(self.object, scope):
            return scope.evaluate(syntax.Index(self.position, self.object, self.subscripts), scope)
        operand = scope.evaluate(self.object, scope)
        if len(self.subscripts) != 1:
            raise PythonError("one subscript is due here", self.position)
        subscript = scope.evaluate(self.subscripts[0], scope)
        if is_string(operand.type):
            one = tree.Const(LONG, self.position, 1)
            return call("substr", (operand, subscript, one), scope, self.position)
        return access.index(operand, subscript, self.position, scope.strsize)


def _is_place(node: Expr) -> bool:
    """Whether it is the name of a variable, which may be an array that is not there yet."""
    is_own = isinstance(node, syntax.ScopedVariable) and node.scope == "self"
    return is_own or isinstance(node, syntax.Identifier)


def _is_scalar(node: Expr, scope: Scope) -> bool:
    """Whether the variable is there, and has no keys."""
    assert isinstance(node, (syntax.ScopedVariable, syntax.Identifier))
    where = node.scope if isinstance(node, syntax.ScopedVariable) else "global"
    found = scope.variables.get((where, node.name))
    return found is not None and found.keys is None


class SliceOf(Node):
    """`text[start:stop]`, the ends as numbers; None: to the end."""

    position: Position
    object: Expr
    start: Expr
    length: Expr | None

    def checked(self, scope: Scope) -> Operand:
        operand = scope.evaluate(self.object, scope)
        if not is_string_like(operand.type):
            raise PythonError("only texts have slices", self.position, "take one element after the other in a loop")
        ends = [each for each in (self.start, self.length) if each is not None]
        return call("substr", (operand, *(scope.evaluate(each, scope) for each in ends)), scope, self.position)


class Length(Node):
    """`len(x)` of a text or an array."""

    position: Position
    operand: Expr

    def checked(self, scope: Scope) -> Operand:
        operand = scope.evaluate(self.operand, scope)
        base = resolve(operand.type)
        if is_string_like(operand.type):
            return call("strlen", (operand,), scope, self.position)
        if is_array(operand.type) and isinstance(base, Array) and base.length is not None:
            return tree.Const(LONG, self.position, base.length)
        raise PythonError("len() is for texts and arrays", self.position)


class AsText(Node):
    """`str(x)`: a number in decimal digits, or characters at an address."""

    position: Position
    operand: Expr

    def checked(self, scope: Scope) -> Operand:
        operand = whole(scope.evaluate(self.operand, scope))
        if is_string(operand.type):
            return operand
        if is_string_like(operand.type):
            return scope.evaluate(syntax.Stringof(self.position, self.operand), scope)
        return call("lltostr", (operand,), scope, self.position)


class AsNumber(Node):
    """`int(x)`: of a text the number that its digits say; of a number itself, in 64 bits."""

    position: Position
    operand: Expr

    def checked(self, scope: Scope) -> Operand:
        operand = whole(scope.evaluate(self.operand, scope))
        return call("strtoll", (operand,), scope, self.position) if is_string_like(operand.type) else operand


class Current(Node):
    """What a variable is that is changed next; one that nothing has set is 0."""

    position: Position
    target: Expr

    def checked(self, scope: Scope) -> Operand:
        return expressions.brought_into_being(self.target, scope) or scope.evaluate(self.target, scope)


class Freed(Node):
    """`del` of a variable of the thread or an element of an array, which something else has set."""

    position: Position
    target: Expr

    def checked(self, scope: Scope) -> Operand:
        named = self.target.object if isinstance(self.target, syntax.Index) else self.target
        if isinstance(named, syntax.ScopedVariable) and (named.scope, named.name) not in scope.variables:
            raise undeclared(named.name, self.position, named.scope)
        if isinstance(named, syntax.Identifier) and ("global", named.name) not in scope.variables:
            raise undeclared(named.name, self.position)
        zero = tree.Const(LONG, self.position, 0)
        return assignments.assign(scope.evaluate(self.target, scope), zero, scope, self.position)
