"""Calls: the number and the types of arguments against a prototype, and the node each call becomes."""

from __future__ import annotations

from sonde.frontends.d.check import family, notations, prototypes
from sonde.frontends.d.check.compatibility import accepts
from sonde.frontends.d.check.conversions import convert, convert_to_string, decay
from sonde.frontends.d.check.folding import constant_value
from sonde.frontends.d.check.operands import Operand, action_call, is_zero, value_of
from sonde.frontends.d.check.prototypes import Prototype
from sonde.frontends.d.check.scope import Scope
from sonde.frontends.d.errors import DError
from sonde.model.errors import Position
from sonde.model.kinds import is_integer, is_string, is_string_like, spell
from sonde.model.program import Call, Cast, Expr, StackTrace
from sonde.model.scratch import is_scratch
from sonde.model.types import STACK, Pointer, Type, resolve


def call(name: str, arguments: tuple[Operand, ...], scope: Scope, position: Position) -> Operand:
    """A call of one of the functions D knows; actions and aggregating functions remain to be placed."""
    scope.require_offered("function", name, position)
    if name in prototypes.OF_STREAMS:
        text = f"failed to resolve type of {name} arg#1 (mblk_t *): Unknown type name"
        raise DError("D_UNKNOWN", text, position)
    shape = prototypes.prototype(name, scope)
    check_count(f"{name}( )", len(arguments), shape, position)
    if name in prototypes.AGGREGATING or name in prototypes.ACTIONS:
        check_types(f"{name}( )", arguments, shape, position)
        return action_call(position, name, arguments, name in prototypes.AGGREGATING)
    check_types(f"{name}( )", arguments, shape, position)
    if name in ("stack", "ustack", "jstack"):
        return _stack(name, arguments, position, scope)
    converted = tuple(_argument(argument, kind) for argument, kind in zip(arguments, shape.parameters, strict=False))
    _check_scratch(name, converted, scope, position)
    made = Call(shape.returns, position, name, converted)
    if name in ("flagstr", "memstr"):
        return notations.of_number(made) if name == "flagstr" else notations.of_memory(made, scope)
    if name != "progenyof":
        return made

    return family.progeny(made, scope, position)


def check_count(what: str, given: int, shape: Prototype, position: Position, unit: str = "arg") -> None:
    """D_PROTO_LEN unless as many arguments are given as the prototype wants."""
    limit = len(shape.parameters)
    if shape.variadic:
        expected, correct = f"at least {shape.required}", given >= shape.required
    elif shape.required == limit:
        expected, correct = str(limit), given == limit
    else:
        expected = f"at least {shape.required}" if given < shape.required else f"at most {limit}"
        correct = shape.required <= given <= limit
    if not correct:
        plural = unit if given == 1 else f"{unit}s"
        text = f"{what} prototype mismatch: {given} {plural} passed, {expected} expected"
        raise DError("D_PROTO_LEN", text, position)


def check_types(what: str, arguments: tuple[Operand, ...], shape: Prototype, position: Position) -> None:
    for number, (argument, kind) in enumerate(zip(arguments, shape.parameters, strict=False), 1):
        if kind is not None and not accepts(kind, argument):
            refuse(what, number, spell(kind), argument, position)


def refuse(
    what: str, number: int, prototype: str, argument: Operand, position: Position, tag: str = "D_PROTO_ARG"
) -> None:
    """Raise the error about one argument, the two types below each other."""
    text = f"{what} argument #{number} is incompatible with prototype:\n\tprototype: {prototype}\n"
    raise DError(tag, f"{text}\t argument: {spell(argument.type)}", position)


def _argument(argument: Operand, kind: Type | None) -> Expr:
    """The argument as the parameter's type; strings are passed as strings, other arrays by address."""
    value = value_of(argument)
    if kind is None or is_string(value.type):
        return value
    if is_integer(kind):
        return convert(value, kind)
    if is_string_like(kind):
        return convert_to_string(value)
    if is_zero(value) and isinstance(resolve(kind), Pointer):
        return Cast(kind, value.position, value)
    return decay(value)


def _check_scratch(name: str, arguments: tuple[Expr, ...], scope: Scope, position: Position) -> None:
    if name == "inet_ntoa6" and len(arguments) > 1 and constant_value(arguments[1]) is None:
        raise DError("D_PROTO_ARG", "inet_ntoa6( ) argument #2 must be an integer constant", position)
    allocated = {"alloca": 0, "copyin": 1}.get(name)
    if allocated is not None:
        size = constant_value(arguments[allocated])
        if size is not None and size > scope.scratchsize:
            text = f"alloca({size}) size larger than scratchsize {scope.scratchsize}"
            raise DError("D_ALLOCA_SIZE", text, position)
    destination = {"bcopy": 2, "copyinto": 3}.get(name)
    if destination and not is_scratch(arguments[destination - 1], scope.scratch):
        text = f"{name}( ) argument #{destination} is incompatible with prototype:\n\tprototype: alloca pointer\n"
        raise DError("D_PROTO_ARG", f"{text}\t argument: non-alloca pointer", position)


def _stack(name: str, arguments: tuple[Operand, ...], position: Position, scope: Scope) -> Expr:
    frames = _stack_parameter(name, arguments, 0, position)
    strings = _stack_parameter(name, arguments, 1, position)
    # What jstack() adds to ustack() is a matter of the names that frames have.
    return StackTrace(STACK, position, name != "stack", frames or 0, strings or 0)


def _stack_parameter(name: str, arguments: tuple[Operand, ...], index: int, position: Position) -> int | None:
    """The number of frames (which may not be 0) or the string size; None where it is left to the options."""
    if index >= len(arguments):
        return None
    value = constant_value(arguments[index])
    if value is None or value < (0 if index else 1):
        kind = "positive" if index else "non-zero positive"
        tag = "D_STACK_SIZE" if name == "stack" else ("D_USTACK_FRAMES", "D_USTACK_STRSIZE")[index]
        text = f"{name}( ) argument #{index + 1} must be a {kind} integer constant"
        raise DError(tag, text, position)
    return value
