"""Whether a register is what a helper's signature asks for: check_func_arg() of kernel/bpf/verifier.c.

The functions give None, or what is wrong in words that complete "r1 ...".
"""

from __future__ import annotations

from collections.abc import Callable

from sonde.bpf import maps
from sonde.bpf.signatures import Signature
from sonde.model.spec import MapSpec
from sonde.runtime.verifier.bounds import null_problem, region, whole_context
from sonde.runtime.verifier.scalar import MAX32, ScalarValue
from sonde.runtime.verifier.state import State
from sonde.runtime.verifier.subject import Subject
from sonde.runtime.verifier.values import (
    CONTEXT,
    FUNCTION,
    MAP,
    OBJECT,
    PACKETS,
    RECORD,
    SLOT,
    STACK,
    VALUE,
    PointerValue,
    Value,
    show,
)


def problem(subject: Subject, state: State, signature: Signature, position: int) -> str | None:
    """What is wrong with argument number `position`, from 0, of a call of that helper."""
    value = state.frame.registers[position + 1]
    kind = signature.arguments[position]
    if value is None:
        return f"was never set, and bpf_{signature.name} takes it as argument {position + 1}"
    check = _CHECKS.get(kind)
    if check is not None:
        return check(subject, state, signature, value)
    if kind in _MEMORY:
        return _memory(subject, state, signature, position, value)
    return None


def map_of(state: State, signature: Signature) -> MapSpec | None:
    """The map that the call is given."""
    for position, kind in enumerate(signature.arguments):
        if kind == "map":
            value = state.frame.registers[position + 1]
            if type(value) is PointerValue and isinstance(value.referent, MapSpec):
                return value.referent
    return None


def _is_zero(value: Value) -> bool:
    return type(value) is ScalarValue and value.umax == 0


def _context(_subject: Subject, _state: State, signature: Signature, value: Value) -> str | None:
    if type(value) is not PointerValue or value.kind != CONTEXT:
        return f"is {show(value)}, but bpf_{signature.name} takes the program's context"
    if value.offset or value.variable.mask or value.variable.value:
        return f"is {show(value)}, but bpf_{signature.name} takes the context's start"
    return None


def _map(subject: Subject, _state: State, signature: Signature, value: Value) -> str | None:
    name = f"bpf_{signature.name}"
    if type(value) is not PointerValue or value.kind != MAP:
        return f"is {show(value)}, but {name} takes a map"
    if value.maybe_null:
        return null_problem(subject, value, f"{name} takes it as a map")
    assert isinstance(value.referent, MapSpec)
    if signature.map_kinds and value.referent.kind not in signature.map_kinds:
        kinds = ", ".join(sorted(map(maps.type_name, signature.map_kinds)))
        kind = maps.type_name(value.referent.kind)
        return f"is map {value.referent.name} of type {kind}, but {name} takes only: {kinds}"
    if signature.writes_map and value.referent.flags & maps.F_RDONLY_PROG:
        return f"is map {value.referent.name}, which programs may not change: {name}"
    return None


def _of_map(
    size_of: Callable[[MapSpec], int], part: str, is_write: bool, or_null: bool
) -> Callable[[Subject, State, Signature, Value], str | None]:
    """Memory for a map's key or value."""

    def check(subject: Subject, state: State, signature: Signature, value: Value) -> str | None:
        of = map_of(state, signature)
        if or_null and _is_zero(value):
            return None
        if of is None:
            return f"is the {part} of a map that is not known: bpf_{signature.name}"
        doing = f"bpf_{signature.name} takes {size_of(of)} bytes as the {part} of map {of.name}"
        return _bytes(subject, state, signature, value, size_of(of), is_write, doing)

    return check


def _bytes(
    subject: Subject, state: State, signature: Signature, value: Value, size: int, is_write: bool, doing: str
) -> str | None:
    if type(value) is not PointerValue:
        return f"is {show(value)}, not a pointer: {doing}"
    if value.maybe_null:
        return null_problem(subject, value, doing)
    if value.kind in PACKETS and not signature.packet_access:
        return f"points to the packet, of which bpf_{signature.name} takes no bytes: copy them to the stack"
    if value.kind == CONTEXT and subject.context is not None and subject.context.is_memory:
        return whole_context(subject.context, value, size, doing)
    return region(subject, state, value, 0, size, is_write, doing)


def _memory(subject: Subject, state: State, signature: Signature, position: int, value: Value) -> str | None:
    """Memory of as many bytes as the next argument says."""
    kind, size_kind = signature.arguments[position], signature.arguments[position + 1]
    size = state.frame.registers[position + 2]
    name = f"bpf_{signature.name}"
    if type(size) is not ScalarValue:
        return None if size is None else f"has as its size r{position + 2} = {show(size)}, which is no number: {name}"
    if size.smin < 0:
        return (
            f"has a size in r{position + 2} that may be negative ({show(size)}): "
            f"compare it as an unsigned number, or with 0, before {name}"
        )
    if size.umin == 0 and size_kind == "size":
        return f"has a size in r{position + 2} that may be 0 ({show(size)}), which {name} does not take"
    if size.umax > MAX32:
        return (
            f"has a size in r{position + 2} that is not bounded ({show(size)}): compare it with the size of the memory"
        )
    if kind.endswith("_or_null") and _is_zero(value) and size.umax == 0:
        return None
    doing = f"{name} {'writes' if is_output(kind) else 'reads'} up to {size.umax} bytes"
    return _bytes(subject, state, signature, value, size.umax, is_output(kind), doing)


def is_output(kind: str) -> bool:
    """Whether the helper writes memory that an argument of this kind points to."""
    return kind.startswith("memory_out") or kind in ("value_out", "long_out")


_MEMORY = frozenset({"memory", "memory_or_null", "memory_out", "memory_out_or_null"})


def _size(_subject: Subject, _state: State, signature: Signature, value: Value) -> str | None:
    if type(value) is not ScalarValue:
        return f"is {show(value)}, but bpf_{signature.name} takes a size"
    return None


def _constant(_subject: Subject, _state: State, signature: Signature, value: Value) -> str | None:
    if type(value) is not ScalarValue or value.mask:
        return f"is {show(value)}, but bpf_{signature.name} takes a constant"
    if value.value > MAX32:
        return f"is {show(value)}, which is too large for bpf_{signature.name}"
    return None


def _long(subject: Subject, state: State, signature: Signature, value: Value) -> str | None:
    if type(value) is PointerValue and value.kind == STACK and (value.offset & 7 or value.variable.mask & 7):
        return f"is {show(value)}, but bpf_{signature.name} takes memory aligned to 8 bytes"
    return _bytes(subject, state, signature, value, 8, True, f"bpf_{signature.name} writes 8 bytes")


def _string(_subject: Subject, _state: State, signature: Signature, value: Value) -> str | None:
    name = f"bpf_{signature.name}"
    if type(value) is not PointerValue or value.kind != VALUE or not isinstance(value.referent, MapSpec):
        return f"is {show(value)}, but {name} takes a string in a frozen map"
    of = value.referent
    if value.maybe_null or value.variable.mask or not of.frozen or not of.flags & maps.F_RDONLY_PROG:
        return f"is {show(value)}, but {name} takes a constant place in a map that is frozen and read-only"
    content = dict(of.contents).get(bytes(4), bytes(of.value_size))
    start = value.offset + value.variable.smin
    if not 0 <= start < len(content) or 0 not in content[start:]:
        return f"is {show(value)}, where no string ends before the end of map {of.name}: {name}"
    return None


def _reserved(kind: str) -> Callable[[Subject, State, Signature, Value], str | None]:
    """A record or a slot, as it was reserved."""

    def check(subject: Subject, state: State, signature: Signature, value: Value) -> str | None:
        name = f"bpf_{signature.name}"
        if type(value) is not PointerValue or value.kind != kind:
            return f"is {show(value)}, but {name} takes a reserved {kind}"
        if value.maybe_null:
            return null_problem(subject, value, f"{name} takes it")
        if value.id not in state.references:
            return f"is {show(value)}, a {kind} that was released already: {name}"
        if value.offset or value.variable.mask or value.variable.value:
            return f"is {show(value)}, but {name} takes the {kind}'s start"
        return None

    return check


def _task(subject: Subject, _state: State, signature: Signature, value: Value) -> str | None:
    if type(value) is not PointerValue or value.kind != OBJECT or value.referent not in ("task_struct", ""):
        return f"is {show(value)}, but bpf_{signature.name} takes a task"
    if value.maybe_null:
        return null_problem(subject, value, f"bpf_{signature.name} takes it")
    if value.offset or value.variable.mask or value.variable.value:
        return f"is {show(value)}, but bpf_{signature.name} takes the task's start"
    return None


def _task_or_null(subject: Subject, state: State, signature: Signature, value: Value) -> str | None:
    return None if _is_zero(value) else _task(subject, state, signature, value)


def _callback(_subject: Subject, _state: State, signature: Signature, value: Value) -> str | None:
    if type(value) is not PointerValue or value.kind != FUNCTION:
        return f"is {show(value)}, but bpf_{signature.name} takes a function of the program"
    return None


def _stack_or_null(_subject: Subject, _state: State, signature: Signature, value: Value) -> str | None:
    if _is_zero(value) or (type(value) is PointerValue and value.kind == STACK):
        return None
    return f"is {show(value)}, but bpf_{signature.name} takes a pointer into the stack, or 0"


_CHECKS: dict[str, Callable[[Subject, State, Signature, Value], str | None]] = {
    "context": _context,
    "map": _map,
    "key": _of_map(lambda of: of.key_size, "key", False, False),
    "value": _of_map(lambda of: of.value_size, "value", False, False),
    "value_out": _of_map(lambda of: of.value_size, "value", True, False),
    "value_or_null": _of_map(lambda of: of.value_size, "value", False, True),
    "size": _size,
    "size_or_zero": _size,
    "constant": _constant,
    "long_out": _long,
    "string": _string,
    "record": _reserved(RECORD),
    "slot": _reserved(SLOT),
    "task": _task,
    "task_or_null": _task_or_null,
    "callback": _callback,
    "stack_or_null": _stack_or_null,
}
