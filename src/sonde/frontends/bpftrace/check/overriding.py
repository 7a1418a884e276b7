"""override(): a function of the kernel returns at once."""

from __future__ import annotations

from sonde.frontends.bpftrace.check.conversions import converted
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.types import UINT64, base_name, is_integer
from sonde.frontends.bpftrace.check.value_call import Action
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.program import Statement


def override(call: nodes.Call, scope: BtScope) -> Statement:
    """override(result), at the function's first instruction: the function is not run."""
    if scope.attached.kind != "kprobe":
        raise scope.mistake("override() can only be used inside kprobes", call.at)
    if not scope.is_unsafe:
        raise scope.mistake("override() is unsafe. To use you need the --unsafe flag", call.at)
    if len(call.arguments) != 1 or isinstance(call.arguments[0], nodes.TypeName):
        raise scope.mistake(f"override() requires one argument ({len(call.arguments)} provided)", call.at)
    result = scope.expression(call.arguments[0], scope)
    if not is_integer(result.type):
        raise scope.mistake(f"override() only supports int arguments ({base_name(result.type)} provided)", call.at)
    return tree.Act(scope.at(call.at), "override", (converted(result, UINT64),))


ACTIONS: dict[str, Action] = {"override": override}
