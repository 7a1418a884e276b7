"""Addresses read at the wrong time or in the wrong memory."""

from __future__ import annotations

from collections.abc import Iterator

from sonde.frontends.d.warnings.calls import ARGUMENTS, RETURN_ADDRESSES, WRITTEN
from sonde.frontends.d.warnings.warning import Warning
from sonde.model.kinds import is_pointer, is_string
from sonde.model.probe import StaticProbe, Syscall, Uprobe
from sonde.model.program import Assign, Builtin, Call, Cast, Clause, Element, Expr, Var
from sonde.model.walk import nodes
from sonde.typed import Any

_COPIES = ("copyinstr", "copyin")


def misread_addresses(clause: Clause) -> Iterator[Warning]:
    calls = [probe.firing for probe in clause.probes if isinstance(probe.firing, Syscall)]
    is_of_calls = bool(calls) and len(calls) == len(clause.probes)
    is_of_processes = bool(clause.probes) and all(
        isinstance(probe.firing, (Syscall, Uprobe, StaticProbe)) for probe in clause.probes
    )
    for node in nodes(clause):
        if is_of_calls and isinstance(node, Call) and node.name in _COPIES:
            yield from _copied(node, calls)
        elif is_of_processes and isinstance(node, Cast) and is_string(node.type):
            yield from _taken_as_text(node, calls)
        elif isinstance(node, Assign) and _is_address_of_text(node.value) and _outlasts_firing(node.target):
            text = "only the address of this text is kept, and the text is gone when the firing ends"
            yield Warning(node.value.position, text, "keep the text: leave the cast out")


def _is_address_of_text(value: Expr) -> bool:
    inner = value
    while isinstance(inner, Cast) and is_pointer(inner.type):
        inner = inner.operand
    return inner is not value and is_string(inner.type)


def _outlasts_firing(target: Expr) -> bool:
    return isinstance(target, (Var, Element)) and target.variable.scope != "this"


def _copied(node: Call, calls: list[Syscall]) -> Iterator[Warning]:
    name = _argument(node.arguments[0])
    if name not in ARGUMENTS:
        return
    number = ARGUMENTS[name]
    if all(not each.is_return and number in WRITTEN.get(each.name, ()) for each in calls):
        text = f"{calls[0].name}() has not yet written to {name}: this is what was there before"
        remedy = f"keep the address, self->to = {name}, and read it at the return: {node.name}(self->to)"
        yield Warning(node.position, text, remedy)
    if all(each.is_return and each.name not in RETURN_ADDRESSES for each in calls):
        text = f"{name} is {'what the call has returned' if number < 2 else 'no argument'} here, no address"
        yield Warning(node.position, text, f"keep the argument at the entry: self->{name} = {name}")


def _taken_as_text(node: Cast, calls: list[Syscall]) -> Iterator[Warning]:
    name = _argument(node.operand)
    if name in ARGUMENTS and not any(each.is_return for each in calls):
        text = f"{name} is an address in the process, and this reads the kernel's memory"
        yield Warning(node.position, text, f"write copyinstr({name})")


def _argument(value: Expr) -> str:
    """The name of the built-in variable that a value is, under whatever casts; else ""."""
    inner: Any = value
    while isinstance(inner, Cast) and not getattr(inner.type, "user", False):
        inner = inner.operand
    return inner.name if isinstance(inner, Builtin) else ""
