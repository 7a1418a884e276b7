"""Integers in 64 bits: Python's operators on them, and the conversions that programs ask for."""

from __future__ import annotations

from sonde.frontends.d import errors
from sonde.frontends.d.check import casts, operators
from sonde.frontends.d.check.calls import call
from sonde.frontends.d.check.conversions import as_operand
from sonde.frontends.d.check.operands import Operand, value_of
from sonde.frontends.d.check.scope import Scope
from sonde.frontends.d.parser import parse_expression
from sonde.frontends.d.syntax import Cast as CastSyntax
from sonde.frontends.d.syntax import Expr, Identifier, SizeofType, StringLiteral
from sonde.frontends.python.errors import PythonError
from sonde.model import program as tree
from sonde.model.errors import Position
from sonde.model.kinds import is_integer, is_pointer, is_string, is_string_like
from sonde.model.types import BUILTIN_TYPEDEFS, INT, LONG, ULONG, is_signed, size_of
from sonde.typed import Node, TypeAlias


def whole(operand: Operand) -> Operand:
    """An integer with 64 bits, unsigned if it has them already and is; anything else as it is."""
    if not is_integer(operand.type):
        return operand
    is_unsigned = size_of(operand.type) == 8 and not is_signed(operand.type)
    return as_operand(value_of(operand), ULONG if is_unsigned else LONG)


def signed(operand: Operand) -> Operand:
    """An integer of 64 bits as a signed one."""
    return as_operand(value_of(operand), LONG) if is_integer(operand.type) else operand


def has_sign(operand: Operand) -> bool:
    """Whether an integer may be negative: an unsigned one, also of fewer bits, and a constant may not."""
    if isinstance(operand, tree.Const):
        return operand.value < 0
    return is_integer(operand.type) and is_signed(operand.type)


def alike(left: Operand, right: Operand) -> tuple[Operand, Operand]:
    """Integers with 64 bits, both signed where one of them may be negative: numbers of 2**63 and more, which are
    addresses, are negative beside such. Anything else as it is."""
    if not (is_integer(left.type) and is_integer(right.type)):
        return whole(left), whole(right)
    if has_sign(left) or has_sign(right):
        return signed(left), signed(right)
    return whole(left), whole(right)


class Whole(Node):
    """A value as it is kept: a narrower integer becomes one of 64 bits."""

    position: Position
    operand: Expr

    def checked(self, scope: Scope) -> Operand:
        return whole(scope.evaluate(self.operand, scope))


class Operation(Node):
    """`+ - * & | ^ << >>`. A difference is signed, whatever it is of; strings are joined by `+`."""

    position: Position
    op: str
    left: Expr
    right: Expr

    def checked(self, scope: Scope) -> Operand:
        left, right = scope.evaluate(self.left, scope), scope.evaluate(self.right, scope)
        # What is common to a number and an unsigned one is unsigned.
        left, right = (whole(left), whole(right)) if self.op in _AS_THEY_ARE else alike(left, right)
        if self.op == "+" and is_string_like(left.type) and is_string_like(right.type):
            if is_string(left.type) or is_string(right.type):
                return call("strjoin", (left, right), scope, self.position)
        elif is_string(left.type) or is_string(right.type):
            raise PythonError(f"{self.op} is for numbers, and one side of it is a text", self.position, _TEXTS)
        made = operators.binary(self.op, left, right, self.position, scope.strsize)
        return signed(made) if self.op == "-" else made


_AS_THEY_ARE = ("&", *operators.SHIFTS)

_TEXTS = "an f-string puts numbers into a text: f'{name}:{number}'"


class Quotient(Node):
    """`left // right` for whole quotients: cut towards zero, or with `constant`, rounded down for a divisor above 0.
    The operands mean the same each time that they are looked at."""

    position: Position
    left: Expr
    right: Expr
    is_constant: bool

    def checked(self, scope: Scope) -> Operand:
        return _divided("/", self, scope)


class Remainder(Node):
    """`left % right`, likewise: with the sign of the dividend, or with `constant` of a divisor above 0."""

    position: Position
    left: Expr
    right: Expr
    is_constant: bool

    def checked(self, scope: Scope) -> Operand:
        return _divided("%", self, scope)


def _divided(op: str, node: Quotient | Remainder, scope: Scope) -> Operand:
    at = node.position
    left, right = alike(scope.evaluate(node.left, scope), scope.evaluate(node.right, scope))
    for each in (left, right):
        if not is_integer(each.type):
            spelled = "//" if op == "/" else op
            raise PythonError(f"{spelled} is for numbers", at, "" if spelled == "//" else _TEXTS)
    is_unsigned = not is_signed(left.type) or not is_signed(right.type)
    if is_unsigned or not node.is_constant:
        return operators.binary(op, left, right, at, scope.strsize)
    return _rounded_down(op, value_of(left), value_of(right), at, scope)


def _rounded_down(op: str, left: tree.Expr, right: tree.Expr, at: Position, scope: Scope) -> Operand:
    """By a constant above 0: a negative dividend x is taken as ~x, which is not negative, so that no division has
    signs. floor(x / c) is ~(~x / c), and what is left over is c - 1 - ~x % c."""

    def made(op: str, one: Operand, other: Operand) -> Operand:
        return operators.binary(op, one, other, at, scope.strsize)

    assert isinstance(right, tree.Const)
    divisor = right.value
    if divisor & (divisor - 1) == 0:
        shift = tree.Const(LONG, at, divisor.bit_length() - 1)
        return made(">>", left, shift) if op == "/" else made("&", left, tree.Const(LONG, at, divisor - 1))
    sign = made(">>", left, tree.Const(LONG, at, 63))
    magnitude = as_operand(value_of(made("^", left, sign)), ULONG)
    divided = signed(made(op, magnitude, tree.Const(ULONG, at, divisor)))
    turned = made("^", divided, sign)
    return turned if op == "/" else made("+", turned, made("&", sign, right))


class Corrected(Node):
    """What was divided towards zero, as Python has it: `of` is the quotient (`//`) or the remainder (`%`), which is one
    less, or the divisor more, where the remainder has another sign than the divisor. All mean the same each time."""

    position: Position
    op: str
    of: Expr
    remainder: Expr
    divisor: Expr

    def checked(self, scope: Scope) -> Operand:
        at = self.position
        of, left_over = whole(scope.evaluate(self.of, scope)), whole(scope.evaluate(self.remainder, scope))
        divisor = whole(scope.evaluate(self.divisor, scope))
        if not is_signed(left_over.type):
            return of
        divisor = signed(divisor)

        def made(op: str, one: Operand, other: Operand) -> Operand:
            return operators.binary(op, one, other, at, scope.strsize)

        zero = tree.Const(LONG, at, 0)
        differs = made("<", made("^", left_over, divisor), zero)
        is_wrong = made("&&", made("!=", left_over, zero), differs)
        corrected = made("+", of, divisor) if self.op == "%" else made("-", of, tree.Const(LONG, at, 1))
        return operators.conditional(is_wrong, corrected, of, at)


class Sign(Node):
    """`-`, `~` or `+` before a number."""

    position: Position
    op: str
    operand: Expr

    def checked(self, scope: Scope) -> Operand:
        made = operators.unary(self.op, whole(scope.evaluate(self.operand, scope)), self.position)
        return made if self.op == "+" else signed(made)


class Comparison(Node):
    """`== != < <= > >=`, of integers in 64 bits, of texts by their characters, of addresses."""

    position: Position
    op: str
    left: Expr
    right: Expr

    def checked(self, scope: Scope) -> Operand:
        left, right = scope.evaluate(self.left, scope), scope.evaluate(self.right, scope)
        for of, text, other in ((self.left, left, self.right), (self.right, right, self.left)):
            if self.op in ("==", "!=") and other == StringLiteral(other.position, b"") and is_string(text.type):
                found = _is_text(of, text, scope)
                return found if self.op == "!=" else operators.unary("!", found, self.position)
        known = _known(self.op, whole(left), whole(right))
        if known is not None:
            return tree.Const(INT, self.position, int(known))
        left, right = alike(left, right)
        return operators.binary(self.op, left, right, self.position, scope.strsize)


def _known(op: str, left: Operand, right: Operand) -> bool | None:
    """What the comparison of an unsigned value with a negative constant gives, which C would take for a large one."""
    if isinstance(left, tree.Const) and left.value < 0 and _is_unsigned(right):
        return op in ("!=", "<", "<=")
    if isinstance(right, tree.Const) and right.value < 0 and _is_unsigned(left):
        return op in ("!=", ">", ">=")
    return None


def _is_unsigned(operand: Operand) -> bool:
    return is_integer(operand.type) and not is_signed(operand.type)


def _is_text(node: Expr, operand: Operand, scope: Scope) -> Operand:
    """Whether a text is not empty; that of a variable which nobody has set is NULL."""
    empty = scope.evaluate(StringLiteral(node.position, b""), scope)
    found = operators.binary("!=", operand, empty, node.position, scope.strsize)
    if not _may_be_unset(operand):
        return found
    is_set = operators.binary("!=", operand, scope.evaluate(Identifier(node.position, "NULL"), scope), node.position, 0)
    return operators.binary("&&", is_set, found, node.position, scope.strsize)


def _may_be_unset(operand: Operand) -> bool:
    """Whether it is a variable of a thread or of all, or an element of an array."""
    if isinstance(operand, tree.Var):
        return operand.variable.scope != "this"
    return isinstance(operand, tree.Element)


class Truth(Node):
    """What an `if` asks for: a number that is not 0, an address that is not NULL, a text that is not empty."""

    position: Position
    operand: Expr

    def checked(self, scope: Scope) -> Operand:
        operand = scope.evaluate(self.operand, scope)
        if is_string(operand.type) or (is_string_like(operand.type) and not is_pointer(operand.type)):
            return _is_text(self.operand, operand, scope)
        if not operators.is_scalar_test(operand):
            told = "only numbers, addresses and texts are true or false"
            raise PythonError(told, self.operand.position, "compare it with something")
        return operand


class Narrow(Node):
    """`u32(x)` and its like; `type` is C's name of the type. An address becomes a number."""

    position: Position
    type: str
    operand: Expr

    def checked(self, scope: Scope) -> Operand:
        return casts.cast(BUILTIN_TYPEDEFS[self.type], scope.evaluate(self.operand, scope), self.position)


class TypeCast(Node):
    """`cast("struct file *", x)`."""

    position: Position
    type: str
    operand: Expr

    def checked(self, scope: Scope) -> Operand:
        parsed = _parsed(f"({self.type})0", self, scope)
        if not isinstance(parsed, CastSyntax):
            raise PythonError(f"{self.type} is no type", self.position, "write it as C does: 'struct file *'")
        return scope.evaluate(parsed._replace(position=self.position, operand=self.operand), scope)


class TypeQuestion(Node):
    """`sizeof("struct file")`, and `offsetof("struct file", "f_pos")` with a `member`."""

    position: Position
    type: str
    member: str

    def checked(self, scope: Scope) -> Operand:
        text = f"offsetof({self.type}, {self.member})" if self.member else f"sizeof({self.type})"
        parsed = _parsed(text, self, scope)
        if not self.member and not isinstance(parsed, SizeofType):
            raise PythonError(f"{self.type} is no type", self.position, "write it as C does: 'struct file'")
        return scope.evaluate(parsed._replace(position=self.position), scope)  # type: ignore[union-attr]


Asking: TypeAlias = "TypeCast | TypeQuestion"


def _parsed(text: str, node: Asking, scope: Scope) -> Expr:
    try:
        return parse_expression(text, is_type_name=scope.is_type_name)
    except errors.DError:
        hint = "write it as C does: 'struct file *'"
        raise PythonError(f"'{node.type}' is no type of C's", node.position, hint) from None
