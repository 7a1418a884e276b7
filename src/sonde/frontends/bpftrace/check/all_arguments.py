"""`args` as a value: all arguments of a probe, as a record."""

from __future__ import annotations

from collections.abc import Iterator

from sonde.frontends.bpftrace.check.builtins import CALL_NUMBER, WITHOUT_NAMES, argument, argument_names
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model.catalog import Located
from sonde.model.errors import NO_SUCH_ARGUMENT, SourceError
from sonde.model.probe import Probe, Syscall, Uprobe
from sonde.model.program import Expr


def all_arguments(node: nodes.Name, scope: BtScope) -> Expr:
    """Raises BtError where the probe has none whose names are known."""
    probes = scope.attached.probes
    if scope.attached.kind in WITHOUT_NAMES or not probes:
        return argument("", node.at, scope)
    first = probes[0]
    if isinstance(first.firing, Uprobe):
        names = tuple(each.name for each in parameters(first, node.at, scope))
    else:
        names = argument_names(first, scope)
        if isinstance(first.firing, Syscall):
            names = (CALL_NUMBER, *names)
    if not names:
        raise scope.mistake("Cannot read function parameters", node.at)
    members = tuple(nodes.Member(node.at, node, name) for name in names)
    return scope.expression(nodes.RecordExpression(node.at, names, members), scope)


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
