"""uaddr(): where a process has a variable of its program."""

from __future__ import annotations

from sonde.frontends.bpftrace.check.conversions import literal_text
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.types import UINT64, integer
from sonde.frontends.bpftrace.check.value_call import ValueCall
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.catalog import Located
from sonde.model.errors import SourceError
from sonde.model.probe import Probe, Uprobe
from sonde.model.program import Expr
from sonde.model.types import Pointer, size_of

_SIZES = (1, 2, 4, 8)


def of_process(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """uaddr(name): a pointer to an unsigned integer as large as the variable, to 64 bits if there is none so large."""
    name = literal_text(arguments[0], scope, "uaddr()", call.at).decode(errors="surrogateescape")
    probes = scope.attached.probes
    if not all(isinstance(each.firing, Uprobe) for each in probes):
        raise scope.mistake("uaddr() can only be used with u(ret)probes", call.at)
    try:
        found = [_located(probe, name, scope) for probe in probes]
    except SourceError as error:
        raise scope.mistake(f"Could not resolve symbol: {name}: {error.text}", call.at, error.hint) from None
    scope.needs_each |= any(each != found[0] for each in found)
    at, size = scope.at(call.at), size_of(found[0].type)
    to = integer(size, False) if size in _SIZES else UINT64
    variable = tree.ProbeVariable(found[0].type, at, f"globals.{name}", found[0].pieces, found[0].is_user)
    return tree.Cast(Pointer(to, True), at, tree.AddressOf(Pointer(found[0].type, True), at, variable))


def _located(probe: Probe, name: str, scope: BtScope) -> Located:
    """By debug information or, without any, by the symbol table. Raises SourceError."""
    try:
        return scope.catalog.variable(probe, "globals", name)
    except SourceError:
        return scope.catalog.variable(probe, "symbols", name)


VALUES: dict[str, ValueCall] = {
    "uaddr": ValueCall(1, 1, of_process),
}
