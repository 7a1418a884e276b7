"""signal() and signal_thread()."""

from __future__ import annotations

import signal

from sonde.frontends.bpftrace.check.conversions import constant, converted
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.types import UINT32, is_integer
from sonde.frontends.bpftrace.check.value_call import Action
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.program import Expr, Statement

_PROBES = (
    "kprobe", "kretprobe", "uprobe", "uretprobe", "usdt", "tracepoint", "profile", "fentry", "fexit", "rawtracepoint",
)  # fmt: skip
_LAST = 64
"""_NSIG (include/uapi/asm-generic/signal.h)."""


def send(call: nodes.Call, scope: BtScope) -> Statement:
    """A signal, by its number or name, to the process that fired or to the thread alone."""
    name = f"{call.name}()"
    if scope.attached.kind not in _PROBES:
        raise scope.mistake(f"{name} can not be used for this probetype {scope.attached.kind}", call.at)
    if not scope.is_unsafe:
        raise scope.mistake(f"{name} is unsafe. To use you need the --unsafe flag", call.at)
    if len(call.arguments) != 1 or isinstance(call.arguments[0], nodes.TypeName):
        raise scope.mistake(f"{name} requires one argument ({len(call.arguments)} provided)", call.at)
    number = _number(name, scope.expression(call.arguments[0], scope), call, scope)
    at = scope.at(call.at)
    thread = (constant(1, at),) if call.name == "signal_thread" else ()
    return tree.Act(at, "raise", (converted(number, UINT32), *thread))


def _number(name: str, e: Expr, call: nodes.Call, scope: BtScope) -> Expr:
    if isinstance(e, tree.StringConst):
        return constant(_named(e.value.decode(errors="replace"), call, scope), e.position)
    if not is_integer(e.type):
        raise scope.mistake(f"{name} accepts a string literal or an integer", call.at)
    if isinstance(e, tree.Const) and not 1 <= e.value <= _LAST:
        text = f"{name} accepts a string literal or an integer between 1 and {_LAST} (inclusive)"
        raise scope.mistake(text, call.at)
    return e


def _named(name: str, call: nodes.Call, scope: BtScope) -> int:
    whole = name.upper() if name.upper().startswith("SIG") else f"SIG{name.upper()}"
    try:
        return signal.Signals[whole].value
    except KeyError:
        raise scope.mistake(f"{name} is not a valid signal", call.at) from None


ACTIONS: dict[str, Action] = {"signal": send, "signal_thread": send}
