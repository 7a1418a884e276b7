"""Actions: a call that stands as a statement -> the statement of the program it is."""

from __future__ import annotations

from collections.abc import Callable

from sonde.frontends.d.check import interventions
from sonde.frontends.d.check.conversions import address_space, convert, convert_to_string, decay
from sonde.frontends.d.check.folding import constant_value
from sonde.frontends.d.check.layout import object_size
from sonde.frontends.d.check.operands import ActionCall, AggregationUse, Operand, TranslatorValue, is_bitfield, value_of
from sonde.frontends.d.check.order import ActionOrder
from sonde.frontends.d.check.printa import aggregation_argument, printa
from sonde.frontends.d.check.printf import match_format
from sonde.frontends.d.check.prototypes import AGGREGATING, DESTRUCTIVE
from sonde.frontends.d.check.scope import Scope
from sonde.frontends.d.errors import DError
from sonde.frontends.d.format import parse_format
from sonde.model.kinds import (
    is_float,
    is_function,
    is_integer,
    is_pointer,
    is_recordable_opaque,
    is_user,
    is_void,
    pointed_to,
    pointer_like,
    spell,
)
from sonde.model.probe import OVERFLOWS
from sonde.model.program import (
    Act,
    AddressOf,
    Clear,
    Deref,
    Exit,
    Expr,
    FormattedCommand,
    Index,
    KernelObject,
    MemberOf,
    Normalize,
    Print,
    Printf,
    SetOption,
    Statement,
    StringConst,
    Trace,
    Tracemem,
    Trunc,
)
from sonde.model.types import CHAR, INT, LONG, ULONG, Array, Pointer, resolve

_RESTORE = b"."
"""A file name that stands for the standard output inside DTrace, so that none may be called so."""


def action(call: ActionCall, order: ActionOrder, scope: Scope) -> Statement:
    """The statement; `order` is told what kind of action it is."""
    if call.name in AGGREGATING:
        value_of(call)
    if call.name != "sample":
        for kind in _kinds(call.name):
            order.note(kind, call.position)
    return _ACTIONS[call.name](call, scope)


def _kinds(name: str) -> tuple[str, ...]:
    """The kinds of action that one is: all but those of speculations record data, to DTrace."""
    if name in ("speculate", "commit", "discard"):
        return (name,)
    if name == "exit":
        return name, "recording"
    return ("destructive", "recording") if name in DESTRUCTIVE else ("recording",)


def _trace(call: ActionCall, _scope: Scope) -> Statement:
    operand = call.arguments[0]
    if is_void(operand.type):
        raise DError("D_TRACE_VOID", "trace( ) may not be applied to a void expression", call.position)
    if isinstance(operand, (AggregationUse, TranslatorValue)):
        raise DError("D_TRACE_DYN", "trace( ) may not be applied to a dynamic expression", call.position)
    value = value_of(operand)
    if is_float(value.type):
        # DTrace shows the bits, as an integer, which nobody can read.
        return Printf(call.position, parse_format("%g", "trace"), (value,))
    return Trace(call.position, convert_to_string(value) if _is_text_of_process(value) else value)


def _is_text_of_process(value: Expr) -> bool:
    """Characters in an array of the traced process are text; of the kernel's DTrace shows the bytes."""
    base = resolve(value.type)
    return isinstance(base, Array) and resolve(base.of) == CHAR and is_user(address_space(value))


def _print(call: ActionCall, scope: Scope) -> Statement:
    operand = call.arguments[0]
    if not _is_shown(operand):
        text = "print( ) argument #1 is incompatible with prototype:\n\tprototype: void *\n"
        hint = "a structure of a translator is nowhere as a whole: show its members, as curpsinfo->pr_psargs"
        hint = hint if isinstance(operand, TranslatorValue) else ""
        raise DError("D_PROTO_ARG", f"{text}\t argument: {spell(operand.type)}", call.position, hint)
    value = value_of(operand)
    if _has_address(value):
        value = AddressOf(pointer_like(address_space(value), value.type), call.position, value)
    base = resolve(value.type)
    if not isinstance(base, Pointer):
        return Print(value.type, call.position, value, False)
    to = base.to
    if object_size(to, scope.strsize) == 0:
        text = f"print( ) argument #1 reference has type '{spell(to)}' with size 0; cannot print( ) it."
        raise DError("D_PRINT_SIZE", text, call.position)
    return Print(to, call.position, value, True)


def _is_shown(operand: Operand) -> bool:
    """Whether print() knows what to do with it."""
    if isinstance(operand, (AggregationUse, TranslatorValue)) or is_function(operand.type):
        return False
    return not is_void(operand.type) and not is_recordable_opaque(operand.type)


def _has_address(value: Expr) -> bool:
    """Whether it denotes kernel data or what a pointer points to, which print() shows with its address."""
    root = value
    while isinstance(root, (MemberOf, Index)):
        root = root.object
    is_data = isinstance(root, (Deref, KernelObject)) and not is_pointer(value.type)
    return is_data and not is_bitfield(value)


def _printf(call: ActionCall, _scope: Scope) -> Statement:
    return Printf(call.position, *match_format("printf", call.arguments, call.position))


def _command(call: ActionCall, _scope: Scope) -> Statement:
    first = call.arguments[0]
    if call.name == "freopen" and isinstance(first, StringConst):
        if first.value == _RESTORE:
            text = f'freopen( ) argument #1 cannot be "{_RESTORE.decode()}"'
            raise DError("D_FREOPEN_INVALID", text, call.position)
        if not first.value:
            return FormattedCommand(call.position, "freopen", (), ())
    return FormattedCommand(call.position, call.name, *match_format(call.name, call.arguments, call.position))


def _tracemem(call: ActionCall, _scope: Scope) -> Statement:
    address = call.arguments[0]
    if not is_integer(address.type) and pointed_to(address.type) is None:
        text = "tracemem( ) argument #1 is incompatible with prototype:\n\tprototype: pointer or integer\n"
        raise DError("D_TRACEMEM_ADDR", f"{text}\t argument: {spell(address.type)}", call.position)
    size = constant_value(call.arguments[1])
    if size is None or size <= 0 or size >= 1 << 31:
        text = "tracemem( ) argument #2 must be a non-zero positive integral constant expression"
        raise DError("D_TRACEMEM_SIZE", text, call.position)
    dynamic = convert(value_of(call.arguments[2]), ULONG) if len(call.arguments) > 2 else None
    return Tracemem(call.position, decay(value_of(address)), size, dynamic)


def _exit(call: ActionCall, _scope: Scope) -> Statement:
    return Exit(call.position, convert(value_of(call.arguments[0]), INT))


def _clear(call: ActionCall, scope: Scope) -> Statement:
    return Clear(call.position, aggregation_argument(call, 1, call.arguments[0], "CLEAR", scope))


def _trunc(call: ActionCall, scope: Scope) -> Statement:
    aggregation = aggregation_argument(call, 1, call.arguments[0], "TRUNC", scope)
    keep = convert(value_of(call.arguments[1]), LONG) if len(call.arguments) > 1 else None
    return Trunc(call.position, aggregation, keep)


def _normalize(call: ActionCall, scope: Scope) -> Statement:
    aggregation = aggregation_argument(call, 1, call.arguments[0], "NORMALIZE", scope)
    factor = convert(value_of(call.arguments[1]), ULONG) if len(call.arguments) > 1 else None
    return Normalize(call.position, aggregation, factor)


def _set_option(call: ActionCall, _scope: Scope) -> Statement:
    strings = [convert_to_string(value_of(argument)) for argument in call.arguments]
    return SetOption(call.position, strings[0], strings[1] if len(strings) > 1 else None)


def _act(call: ActionCall, _scope: Scope) -> Statement:
    """An action whose arguments are integers or addresses."""
    values = (decay(value_of(argument)) for argument in call.arguments)
    return Act(call.position, call.name, tuple(convert(v, INT) if is_integer(v.type) else v for v in values))


def _sample(call: ActionCall, scope: Scope) -> Statement:
    """Only a perf event has a sample that the program decides about."""
    probes = scope.enabling.probes if scope.enabling else ()
    other = next((probe for probe in probes if not isinstance(probe.firing, OVERFLOWS)), None)
    if other is not None:
        text = f"sample( ) may not be used at {other}, which is not fired by a perf event"
        raise DError("D_SAMPLE_PROBE", text, call.position, "profile, tick, cpc and perf probes have samples")
    return Act(call.position, "sample", ())


def _pcap(call: ActionCall, _scope: Scope) -> Statement:
    packet, kind = (value_of(argument) for argument in call.arguments)
    return Act(call.position, "pcap", (decay(packet), convert(kind, INT)))


def _capture(call: ActionCall, _scope: Scope) -> Statement:
    return Act(call.position, "capture", tuple(convert(value_of(argument), ULONG) for argument in call.arguments))


_ACTIONS: dict[str, Callable[[ActionCall, Scope], Statement]] = {
    "breakpoint": _act,
    "capture": _capture,
    "chill": _act,
    "clear": _clear,
    "commit": _act,
    "delay": lambda call, scope: interventions.intervention(call, scope),
    "denormalize": _normalize,
    "discard": _act,
    "exit": _exit,
    "freopen": _command,
    "ftruncate": _act,
    "inject": lambda call, scope: interventions.intervention(call, scope),
    "normalize": _normalize,
    "panic": _act,
    "pcap": _pcap,
    "print": _print,
    "printa": printa,
    "printf": _printf,
    "raise": _act,
    "sample": _sample,
    "setopt": _set_option,
    "speculate": _act,
    "stop": _act,
    "system": _command,
    "trace": _trace,
    "tracemem": _tracemem,
    "trunc": _trunc,
}
