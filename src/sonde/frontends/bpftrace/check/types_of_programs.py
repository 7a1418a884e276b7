"""Types and enumerators that the debug information of a traced program has: those that the parameters of the probe's
function, or what it returns, lead to."""

from __future__ import annotations

from collections.abc import Iterator

from sonde.frontends.bpftrace.check.all_arguments import parameters
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.errors import BtError, SourceSpan
from sonde.model.errors import SourceError
from sonde.model.probe import Probe, Uprobe
from sonde.model.types import Array, Enum, Pointer, Struct, Type, resolve

_MOST = 4096
"""Types that are looked at."""


def tagged_type(keyword: str, name: str, span: SourceSpan, scope: BtScope) -> Type | None:
    """A structure, union or enumeration."""
    for each in _known(span, scope):
        if isinstance(each, Struct) and (each.keyword, each.name) == (keyword, name) and each.size:
            return each
        if isinstance(each, Enum) and (keyword, name) == ("enum", each.name):
            return each
    return None


def enumerator(name: str, span: SourceSpan, scope: BtScope) -> tuple[Type, int] | None:
    for each in _known(span, scope):
        value = dict(each.values).get(name) if isinstance(each, Enum) else None
        if value is not None:
            return each, value
    return None


def _result(probe: Probe, scope: BtScope) -> list[Type]:
    """The type of what a function returns, if it is known and there is any."""
    try:
        return [scope.catalog.variable(probe, "args", 1).type]
    except SourceError:
        return []


def _known(span: SourceSpan, scope: BtScope) -> Iterator[Type]:
    """Structures and enumerations, the parameters' own first."""
    probe = scope.attached.probes[0] if scope.attached.probes else None
    if probe is None or not isinstance(probe.firing, Uprobe):
        return
    waiting: list[Type] = []
    if probe.firing.kind == "return":
        # The function has parameters at its entry only.
        waiting += _result(probe, scope)
        probe = probe._replace(firing=probe.firing._replace(kind="entry"))
    try:
        waiting += [each.type for each in parameters(probe, span, scope)]
    except BtError:
        # Without debug information the name is not known.
        return
    seen: set[int] = set()
    while waiting and len(seen) < _MOST:
        kind = resolve(waiting.pop(0))
        if isinstance(kind, Pointer):
            waiting.append(kind.to)
        elif isinstance(kind, Array):
            waiting.append(kind.of)
        elif isinstance(kind, (Struct, Enum)) and id(kind) not in seen:
            seen.add(id(kind))
            yield kind
            waiting += [each.type for each in kind.members] if isinstance(kind, Struct) else ()
