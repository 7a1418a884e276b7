"""`args` as a value: all arguments of a probe, as a record."""

from __future__ import annotations

from collections.abc import Iterator

from sonde.frontends.bpftrace.check.builtins import CALL_NUMBER, RESULT, WITHOUT_NAMES, argument, argument_names, called
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model.catalog import Located
from sonde.model.errors import NO_SUCH_ARGUMENT, SourceError
from sonde.model.probe import Probe, Syscall, Uprobe
from sonde.model.program import Expr


def all_arguments(node: nodes.Name, scope: BtScope) -> Expr:
    """Raises BtError where the probe has none whose names are known."""
    attached = scope.attached
    if attached.kind in WITHOUT_NAMES or not attached.probes:
        return argument("", node.at, scope)
    names, *others = (_names(each, node.at, scope) for each in attached.probes)
    if not names:
        raise scope.mistake("Cannot read function parameters", node.at)
    members: tuple[nodes.Expr, ...] = tuple(nodes.Member(node.at, node, name) for name in names)
    if _has_result(attached.probes[0], scope):
        names, members = (*names, _RESULT), (*members, nodes.Name(node.at, "retval"))
    record = nodes.RecordExpression(node.at, names, members)
    if all(each == names for each in others):
        return scope.expression(record, scope)
    # Each probe has a clause of its own then, and this is what the first one's has.
    scope.needs_each = True
    scope.attached = attached._replace(probes=attached.probes[:1])
    made = scope.expression(record, scope)
    scope.attached = attached
    return made


_RESULT = "$retval"
"""What the result is called among the arguments of a return."""


def _has_result(probe: Probe, scope: BtScope) -> bool:
    """Whether it is the return from a function of the kernel that gives a value."""
    return called(probe) is not probe and len(scope.catalog.arguments(probe) or ()) > RESULT


def _names(probe: Probe, span: SourceSpan, scope: BtScope) -> tuple[str, ...]:
    if isinstance(probe.firing, Uprobe):
        return tuple(each.name for each in parameters(probe, span, scope))
    names = argument_names(probe, scope)
    return (CALL_NUMBER, *names) if isinstance(probe.firing, Syscall) else names


def parameters(probe: Probe, span: SourceSpan, scope: BtScope) -> Iterator[Located]:
    """The parameters of a function, as its debug information has them."""
    number = 0
    while True:
        try:
            yield scope.catalog.variable(probe, "args", number)
        except SourceError as error:
            if error.kind == NO_SUCH_ARGUMENT:
                return
            raise scope.mistake(error.text, span, error.hint) from None
        number += 1
