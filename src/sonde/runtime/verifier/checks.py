"""Whether an obligation is met in a state. Each kind of obligation has one function here, and nothing else decides."""

from __future__ import annotations

from collections.abc import Callable

from sonde.bpf import disassembler
from sonde.bpf import instructions as i
from sonde.bpf.helpers import name_of
from sonde.bpf.programs import name_of as program_type
from sonde.bpf.signatures import may_call
from sonde.model.spec import buffer_size
from sonde.runtime.verifier import addresses, arguments
from sonde.runtime.verifier.bounds import FARTHEST, direct, null_problem
from sonde.runtime.verifier.obligations import (
    Addable,
    Balanced,
    Comparable,
    HelperArgument,
    HoldsVariables,
    InBounds,
    Initialised,
    InvalidInstruction,
    MayCall,
    NotOwnStack,
    Numeric,
    Obligation,
    Released,
    Returns,
    Storable,
)
from sonde.runtime.verifier.scalar import MIN64, ScalarValue, constant
from sonde.runtime.verifier.state import State
from sonde.runtime.verifier.subject import Subject
from sonde.runtime.verifier.values import CONTEXT, FUNCTION, MAP, OBJECT, PACKET_END, STACK, PointerValue, show
from sonde.typed import Any, NamedTuple, TypeAlias


class Problem(NamedTuple):
    """An obligation that is not met; `register` is the one that it is about, -1 if none."""

    text: str
    register: int = -1


Check: TypeAlias = Callable[[Subject, State, Any], Problem | None]


def check_of(obligation: Obligation) -> Check:
    """The function that looks whether obligations of this kind are met; made for being called many times."""
    return _CHECKS[type(obligation)]


def _initialised(_subject: Subject, state: State, o: Initialised) -> Problem | None:
    if state.frame.registers[o.register] is not None:
        return None
    return Problem(f"r{o.register} is read, but was not set on every way here", o.register)


def _in_bounds(subject: Subject, state: State, o: InBounds) -> Problem | None:
    value = state.frame.registers[o.register]
    text = direct(subject, state, value, o.offset, o.size, o.is_write, o.is_atomic, o.is_signed)
    return Problem(f"r{o.register} {text}", o.register) if text else None


def _addable(subject: Subject, state: State, o: Addable) -> Problem | None:
    registers = state.frame.registers
    left = registers[o.register]
    right = registers[o.other] if o.other >= 0 else constant(o.number)
    if type(left) is ScalarValue and type(right) is ScalarValue:
        return None
    if _is_untyped(left) or _is_untyped(right):
        return None
    if type(left) is PointerValue and type(right) is PointerValue:
        if o.operation == i.SUB:
            text = addresses.subtracted(subject, left, right)
            return Problem(f"r{o.register} {text}", o.register) if text else None
        return Problem(
            f"r{o.register} and r{o.other} are both pointers: {_operator(o)} of two has no meaning", o.register
        )
    pointer, number, register = (left, right, o.register) if type(left) is PointerValue else (right, left, o.other)
    assert type(pointer) is PointerValue
    assert type(number) is ScalarValue
    if o.bits == 32:
        return (
            None
            if o.operation == i.SUB and pointer is left and (not subject.rules.addresses or pointer.kind == OBJECT)
            else Problem(f"r{register} is a pointer, and {_operator(o)} in 32 bits would cut it", register)
        )
    if o.operation not in (i.ADD, i.SUB):
        return Problem(f"r{register} is a pointer, for which {_operator(o)} is not defined: only + and - are", register)
    if o.operation == i.SUB and pointer is right:
        return Problem(f"r{register} is a pointer, which cannot be subtracted from a number", register)
    text = _moved(subject, pointer, number, o)
    return Problem(f"r{register} {text}", register) if text else None


def _moved(subject: Subject, pointer: PointerValue, number: ScalarValue, o: Addable) -> str | None:
    """What is wrong with moving the pointer by the number."""
    by_nothing = not number.mask and number.value == 0
    if pointer.maybe_null:
        return null_problem(subject, pointer, f"{_operator(o)} moves it")
    if pointer.kind in (MAP, PACKET_END, FUNCTION) and not by_nothing:
        return f"is {show(pointer)}, which cannot be moved"
    if number.smin == MIN64:
        return f"is moved by a number that may be anything ({show(number)}): compare it first"
    if number.smin <= -FARTHEST or (not number.mask and number.smax >= FARTHEST):
        return f"is moved by {show(number)}, farther than {FARTHEST - 1} bytes"
    if number.smax >= FARTHEST and o.operation == i.SUB:
        return f"is moved back by {show(number)}, farther than {FARTHEST - 1} bytes: compare it first"
    if number.mask and pointer.kind in (CONTEXT, OBJECT):
        return None
    if abs(pointer.offset) + abs(number.smin) >= FARTHEST:
        return f"is moved by {show(number)}, farther than {FARTHEST - 1} bytes from its start"
    return None


def _is_untyped(value: object) -> bool:
    """A word of which is not known whether it is a pointer to a structure or a number: it is used as either."""
    return type(value) is PointerValue and value.kind == OBJECT and value.referent == ""


def _operator(o: Addable) -> str:
    return f"`{disassembler.OPERATORS[o.operation]}`"


def _may_call(subject: Subject, _state: State, o: MayCall) -> Problem | None:
    if o.signature is None or o.helper not in subject.helpers:
        return Problem(f"{name_of(o.helper)} is a helper that this engine does not have")
    if not may_call(o.signature, subject.kind):
        return Problem(f"{name_of(o.helper)} cannot be called by programs of type {program_type(subject.kind)}")
    if o.signature.sleeps:
        return Problem(f"{name_of(o.helper)} may sleep, and this program may not")
    return None


def _argument(subject: Subject, state: State, o: HelperArgument) -> Problem | None:
    text = arguments.problem(subject, state, o.signature, o.position)
    return Problem(f"r{o.register} {text}", o.register) if text else None


def _holds_variables(subject: Subject, state: State, o: HoldsVariables) -> Problem | None:
    value, needed = state.frame.registers[o.register], buffer_size(subject.program.variables)
    assert type(value) is ScalarValue
    if value.umin >= needed:
        return None
    return Problem(
        f"r{o.register} is {show(value)}, the size of a buffer for variables that take {needed} bytes where the "
        f"program is fired: make the buffer that large",
        o.register,
    )


def _released(subject: Subject, state: State, o: Released) -> Problem | None:
    if not state.references:
        return None
    origin = subject.identities.origins[state.references[0]]
    return Problem(f"the record reserved at {origin} is neither submitted nor discarded on this way, and {o.before}")


def _balanced(subject: Subject, state: State, o: Balanced) -> Problem | None:
    if state.references == state.frame.held:
        return None
    held = [each for each in state.references if each not in state.frame.held]
    if held:
        origin = subject.identities.origins[held[0]]
        return Problem(f"the record reserved at {origin} is neither submitted nor discarded when {o.whose} ends")
    return Problem(f"{o.whose} releases a record that was reserved outside of it")


def _not_own_stack(_subject: Subject, state: State, o: NotOwnStack) -> Problem | None:
    value = state.frame.registers[o.register]
    if type(value) is PointerValue and value.kind == STACK:
        return Problem(f"r{o.register} is {show(value)}: a function cannot return a pointer into a stack", o.register)
    return None


def _storable(_subject: Subject, state: State, o: Storable) -> Problem | None:
    value, base = state.frame.registers[o.register], state.frame.registers[o.base]
    if type(value) is not PointerValue or type(base) is not PointerValue or base.kind != STACK:
        return None
    text = ""
    if o.size < 8 and not base.variable.mask and not _is_untyped(value):
        text = f"of which only all 8 bytes can be stored on the stack, not {o.size}"
    elif value.kind == STACK and base.referent != len(state.frames) - 1:
        text = "which cannot be stored in the stack of a caller: that outlives it"
    return Problem(f"r{o.register} is {show(value)}, {text}", o.register) if text else None


def _returns(_subject: Subject, state: State, o: Returns) -> Problem | None:
    value = state.frame.registers[0]
    if type(value) is ScalarValue and o.low <= value.smin and value.smax <= o.high:
        return None
    allowed = f"{o.low}" if o.low == o.high else f"{o.low} to {o.high}"
    return Problem(f"r0 is {show(value)}, but {o.whose} has to return {allowed}", 0)


def _numeric(subject: Subject, state: State, o: Numeric) -> Problem | None:
    text = addresses.as_number(subject, state.frame.registers[o.register])
    return Problem(f"r{o.register} {text}", o.register) if text else None


def _comparable(subject: Subject, state: State, o: Comparable) -> Problem | None:
    registers = state.frame.registers
    left = registers[o.register]
    if type(left) is ScalarValue and (o.other < 0 or type(registers[o.other]) is ScalarValue):
        return None
    text = addresses.compared(
        subject, o.operation, left, registers[o.other] if o.other >= 0 else constant(o.number), o.bits
    )
    return Problem(f"r{o.register} {text}", o.register) if text else None


def _unsupported(_subject: Subject, _state: State, o: InvalidInstruction) -> Problem | None:
    return Problem(o.why)


_CHECKS: dict[type, Check] = {
    Numeric: _numeric,
    Comparable: _comparable,
    Initialised: _initialised,
    Addable: _addable,
    InBounds: _in_bounds,
    Storable: _storable,
    MayCall: _may_call,
    HelperArgument: _argument,
    HoldsVariables: _holds_variables,
    Released: _released,
    Balanced: _balanced,
    NotOwnStack: _not_own_stack,
    Returns: _returns,
    InvalidInstruction: _unsupported,
}
