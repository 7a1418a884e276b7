"""What an expression turns out to be while it is checked: a program expression, or something only a few places take.

The latter have a type that no operator accepts, so that the ordinary rules refuse them with the ordinary messages.
"""

from __future__ import annotations

from sonde.frontends.d import syntax
from sonde.frontends.d.errors import DError
from sonde.model.errors import Position
from sonde.model.program import (
    Builtin,
    Call,
    Const,
    Deref,
    Element,
    Expr,
    Index,
    KernelObject,
    MemberOf,
    ProbeVariable,
    StackTrace,
    Var,
)
from sonde.model.types import VOID, Opaque, Pointer, Struct, Type
from sonde.typed import NamedTuple, TypeAlias

AGGREGATION = Opaque("aggregation", 0)
AGGREGATING = Opaque("aggregating function", 0)
TRANSLATED = Opaque("translated data", 0)
TRANSLATED_POINTER = Opaque("pointer to translated data", 0)


class AggregationUse(NamedTuple):
    """`@name[keys]`, the keys not checked yet."""

    type: Type
    position: Position
    name: str
    keys: tuple[syntax.Expr, ...] | None
    title: str = ""


class ActionCall(NamedTuple):
    """A call that gives nothing: an action or an aggregating function, its prototype checked."""

    type: Type
    position: Position
    name: str
    arguments: tuple[Operand, ...]

    @property
    def kind(self) -> str:
        """What messages call the function."""
        return "aggregating function" if self.type is AGGREGATING else "tracing function"


class TranslatorValue(NamedTuple):
    """The result of `xlate`, or a pointer to it: its members exist only one at a time."""

    type: Type
    position: Position
    output: Struct
    translator: DeclaredTranslator
    input: Operand


class DeclaredTranslator(NamedTuple):
    """A translator as declared; `members` are checked anew each time one is used, `parameter` bound to the input."""

    output: Struct
    output_name: str
    input: Type
    parameter: str
    members: dict[str, syntax.TranslatorMember]


Operand: TypeAlias = Expr | AggregationUse | ActionCall | TranslatorValue

_LVALUES = (Var, Element, Deref, MemberOf, Index, ProbeVariable, KernelObject, Builtin)
_PSEUDO = (AggregationUse, ActionCall, TranslatorValue)


def action_call(position: Position, name: str, arguments: tuple[Operand, ...], is_aggregating: bool) -> ActionCall:
    return ActionCall(AGGREGATING if is_aggregating else VOID, position, name, arguments)


def is_dynamic(operand: Operand) -> bool:
    """True of what exists only while the program is compiled: translated data, aggregations and their functions."""
    return isinstance(operand, (TranslatorValue, AggregationUse)) or operand.type is AGGREGATING


def is_action(operand: Operand) -> bool:
    """True of a call that is an action, also of one that records what it gives: stack(), sym() ..."""
    if isinstance(operand, (Call, StackTrace)):
        return isinstance(operand.type, Opaque)
    return isinstance(operand, ActionCall) and operand.type is not AGGREGATING


def is_zero(operand: Operand) -> bool:
    """True of an integer constant 0, C's null pointer."""
    return isinstance(operand, Const) and operand.value == 0 and not isinstance(operand.type, Pointer)


def is_lvalue(operand: Operand) -> bool:
    """True of what denotes an object in memory; a member only if its structure does."""
    while isinstance(operand, (MemberOf, Index)):
        operand = operand.object
    return isinstance(operand, _LVALUES)


def is_writable(operand: Operand) -> bool:
    """D programs write to their variables and through pointers, never to kernel data."""
    while isinstance(operand, (MemberOf, Index)):
        operand = operand.object
    if isinstance(operand, Deref):
        return not isinstance(_root(operand.pointer), Builtin)
    return isinstance(operand, (Var, Element))


def _root(pointer: Expr) -> Expr:
    """What an address is read from."""
    while isinstance(pointer, (MemberOf, Index, Deref)):
        pointer = pointer.pointer if isinstance(pointer, Deref) else pointer.object
    return pointer


def is_bitfield(operand: Operand) -> bool:
    return isinstance(operand, MemberOf) and operand.member.bits > 0


def require_aggregating(name: str, operand: Operand, position: Position) -> ActionCall:
    """What is assigned to the aggregation `name`, which must be the call of an aggregating function."""
    if isinstance(operand, ActionCall) and operand.type is AGGREGATING:
        return operand
    text = f"@{name} must be assigned the result of an aggregating function"
    raise DError("D_AGG_FUNC", text, position)


def value_of(operand: Operand) -> Expr:
    """The operand as something that can be computed when a probe fires."""
    if not isinstance(operand, _PSEUDO):
        return operand
    if isinstance(operand, ActionCall):
        raise DError(
            "D_CG_EXPR",
            f"{operand.kind} {operand.name}( ) may not be called from a D expression (D program context required)",
            operand.position,
        )
    if isinstance(operand, AggregationUse):
        raise DError("D_AGG_NULL", f"aggregation @{operand.name} may not be used as a value", operand.position)
    raise DError("D_CG_DYN", "expression cannot evaluate to result of dynamic type", operand.position)
