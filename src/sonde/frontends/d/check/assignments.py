"""`=`, the compound assignments, `++` and `--` on objects known already."""

from __future__ import annotations

from sonde.frontends.d.check import operators
from sonde.frontends.d.check.compatibility import accepts
from sonde.frontends.d.check.conversions import (
    arithmetic_type,
    as_operand,
    common_type,
    convert,
    convert_to_string,
    decay,
)
from sonde.frontends.d.check.folding import refuse_zero
from sonde.frontends.d.check.operands import Operand, is_lvalue, is_writable, is_zero, value_of
from sonde.frontends.d.check.scope import Scope
from sonde.frontends.d.check.scratch import record_assignment, record_increment
from sonde.frontends.d.errors import DError
from sonde.frontends.d.warnings import narrowing
from sonde.model.errors import Position
from sonde.model.kinds import (
    is_array,
    is_blind_pointer,
    is_function,
    is_integer,
    is_pointer,
    is_scalar,
    is_string,
    is_string_like,
    spell,
)
from sonde.model.program import Assign, Cast, Element, Expr, Increment, Var
from sonde.model.types import LONG, STRING, Type


def require_modifiable(op: str, target: Operand, position: Position) -> None:
    if not is_lvalue(target):
        raise DError("D_OP_LVAL", f"operator {op} requires modifiable lvalue as an operand", position)
    if not is_writable(target):
        raise DError("D_OP_WRITE", f"operator {op} can only be applied to a writable variable", position)


def assign(target: Operand, value: Operand, scope: Scope, position: Position) -> Expr:
    if is_lvalue(target) and is_pointer(value.type):
        record_assignment(value_of(target), value_of(value), scope.scratch)
    if is_array(target.type) or is_function(target.type) or is_function(value.type):
        culprit = target if is_array(target.type) or is_function(target.type) else value
        text = f'operator = may not be applied to operand of type "{spell(culprit.type)}"'
        raise DError("D_OP_ARRFUN", text, position)
    if not accepts(target.type, value) and not _clears(target, value):
        operators.incompatible("=", target, value, position, _asked_for_before(target, value, scope))
    require_modifiable("=", target, position)
    return Assign(target.type, position, value_of(target), stored(value_of(value), target.type))


def _asked_for_before(target: Operand, value: Operand, scope: Scope) -> str:
    """What helps where a variable has its type because an operator asked for it before it was set."""
    if not isinstance(target, (Element, Var)) or target.variable.id not in scope.asked:
        return ""
    # Only needed to help with a mistake.

    first = scope.origins[target.variable.id]
    wanted = narrowing.declaration(target.variable, declared_type(value))
    return f"it is an {spell(target.type)} since {first.line}:{first.column} asks for it: declare it before, {wanted}"


def _clears(target: Operand, value: Operand) -> bool:
    """A constant zero deletes an element or a thread's variable, whatever its type."""
    dynamic = isinstance(target, Element) or (isinstance(target, Var) and target.variable.scope == "self")
    return dynamic and is_zero(value)


def stored(value: Expr, kind: Type) -> Expr:
    """`value` as it is kept in an object of type `kind`."""
    if is_integer(kind):
        return convert(value, kind)
    if is_string(kind):
        return convert_to_string(value)
    if is_pointer(kind):
        return Cast(kind, value.position, value) if is_zero(value) else decay(value)
    return value


def compound(op: str, target: Operand, value: Operand, strsize: int, position: Position) -> Expr:
    """`target op= value`; `op` is without the `=`."""
    spelled = f"{op}="
    _check_compound(op, spelled, target, value, position)
    require_modifiable(spelled, target, position)
    into, operand = value_of(target), value_of(value)
    if is_pointer(target.type):
        step = operators.step_of(target.type, strsize)
        return Assign(target.type, position, into, operators.scaled(operand, step, position), op, LONG)
    if op in operators.SHIFTS:
        return Assign(target.type, position, into, operand, op, arithmetic_type(into))
    refuse_zero(op, operand, position)
    kind = common_type(into, operand)
    return Assign(target.type, position, into, as_operand(operand, kind), op, kind)


def _check_compound(op: str, spelled: str, target: Operand, value: Operand, position: Position) -> None:
    if op in ("&", "|", "^", "%", *operators.SHIFTS):
        operators.require_integers(spelled, target, value, position)
    elif op in ("*", "/"):
        operators.require_arithmetic(spelled, target, value, position)
    elif is_string(target.type) or is_string(value.type):
        operators.incompatible(spelled, target, value, position)
    elif not (is_integer(target.type) and is_integer(value.type)):
        _check_step(spelled, target, value, position)


def _check_step(spelled: str, target: Operand, value: Operand, position: Position) -> None:
    """`+=` or `-=` of what is not two integers: a pointer takes steps."""
    if not (is_pointer(target.type) or is_array(target.type)) or is_blind_pointer(target.type):
        text = f"operator {spelled} requires left-hand scalar operand of known size"
        raise DError("D_OP_VFPTR", text, position)
    if not is_integer(value.type):
        operators.incompatible(spelled, target, value, position)


def increment(op: str, target: Operand, is_prefix: bool, scope: Scope, position: Position) -> Expr:
    if not is_scalar(target.type):
        raise DError("D_OP_SCALAR", f"operator {op} requires operand of scalar type", position)
    if is_blind_pointer(target.type):
        raise DError("D_OP_VFPTR", f"operator {op} requires an operand of known size", position)
    require_modifiable(op, target, position)
    step = 1
    if is_pointer(target.type):
        step = operators.step_of(target.type, scope.strsize)
        if step == 0:
            raise DError("D_OP_INCOMPLETE", f"operator {op} requires operand of known type", position)
    record_increment(value_of(target), scope.scratch)
    return Increment(target.type, position, value_of(target), step if op == "++" else -step, is_prefix)


def declared_type(value: Operand) -> Type:
    """The type of a variable that comes into being with this value: characters of an array become a string."""
    return STRING if is_array(value.type) and is_string_like(value.type) else value.type
