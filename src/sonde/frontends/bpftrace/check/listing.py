"""The probes that there are, by bpftrace's descriptions, and their arguments (-l)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from sonde.frontends.bpftrace.check.builtins import (
    CALL_ARGUMENTS,
    CALL_ARGUMENTS_TYPE,
    CALL_NUMBER,
    RESULT,
    called,
    event_names,
)
from sonde.frontends.bpftrace.check.counted_events import HARDWARE, SOFTWARE, CountedEvent
from sonde.frontends.bpftrace.check.globs import glob, is_glob
from sonde.frontends.bpftrace.check.probes import KINDS, Machine, attached
from sonde.frontends.bpftrace.check.scope import AttachedProbes
from sonde.frontends.bpftrace.check.timers import UNITS
from sonde.frontends.bpftrace.errors import BtError, SourceSpan
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model.probe import SIGNALS, Probe, Syscall
from sonde.model.types import LONG, Array, Type, declarator, name_of
from sonde.typed import NamedTuple

_OF_KERNEL = ("fentry", "hardware", "iter", "kprobe", "rawtracepoint", "software", "tracepoint")
"""Types that a list of everything has: returns and other names of the same are left out."""
_OF_PROCESSES = ("uprobe", "usdt")
_WITH_TARGETS = ("uprobe", "uretprobe", "usdt", "tracepoint", "fentry", "fexit", "rawtracepoint")
"""Types whose descriptions have a target, which may be left out in a search."""
_LIST = SourceSpan(1, 1, 1, 2)


Parameters = Callable[[Probe], tuple[str, ...]]
"""Tells the parameters of a function of a program, as C declares them."""


class DescribedProbe(NamedTuple):
    """A probe's description in full, and the declarations of its arguments."""

    text: str
    arguments: Callable[[], tuple[str, ...]]


def listed(search: str, machine: Machine, parameters: Parameters) -> Iterator[DescribedProbe]:
    """Those that a description finds, or several with commas between them; without a colon it is a type of probes or
    else what a probe's name is. Raises BtError for a type that there is not."""
    for each in search.split(","):
        kind, colon, rest = each.strip().partition(":")
        if not colon:
            if kind and kind not in KINDS:
                yield from _of_name(kind, machine, parameters)
                continue
            rest = "*"
        for name in _types(kind, rest, machine):
            yield from _of_type(name, rest, machine, parameters)


def _of_name(name: str, machine: Machine, parameters: Parameters) -> Iterator[DescribedProbe]:
    """Those of a name, which may be a glob. A word that is the name of none may have been meant as a type, but for one
    with a dot, as files have."""
    found = [each for kind in _types("*", name, machine) for each in _of_type(kind, name, machine, parameters)]
    if not found and not is_glob(name) and "." not in name:
        raise BtError(f"Invalid probe type: {name}", _LIST)
    yield from found


def of_points(
    points: Sequence[nodes.AttachPoint], machine: Machine, parameters: Parameters
) -> Iterator[DescribedProbe]:
    """The probes that a program's descriptions mean. Raises BtError."""
    for point in points:
        kind, _, rest = point.text.partition(":")
        if KINDS.get(kind) in ("begin", "end", "self"):
            continue
        if KINDS.get(kind) in _NAMED:
            yield from _of_type(KINDS[kind], f"{rest.split(':')[0]}:", machine, parameters)
            continue
        yield from _in_order(attached(point, machine), machine, parameters)


def _types(kind: str, rest: str, machine: Machine) -> list[str]:
    if not is_glob(kind) and kind:
        if kind not in KINDS:
            raise BtError(f"Invalid probe type: {kind}", _LIST)
        return [KINDS[kind]]
    test = glob(kind or "*")
    found = [name for name in _OF_KERNEL if test(name)]
    target = rest.split(":")[0]
    if machine.process or (target and not is_glob(target) and "/" in target):
        found += [name for name in _OF_PROCESSES if test(name)]
    return found


def _of_type(kind: str, rest: str, machine: Machine, parameters: Parameters) -> Iterator[DescribedProbe]:
    if kind in _NAMED:
        test = glob(rest or "*")
        yield from (DescribedProbe(f"{kind}:{name}", _nothing) for name in sorted(_NAMED[kind]()) if test(name))
        return
    if kind == "iter":
        iterators = machine.catalog.match(kind, "", "", rest)
        yield from (_probe(f"{kind}:{probe.name}", (probe,), machine, parameters) for probe in iterators)
        return
    if kind in _WITH_TARGETS and ":" not in rest:
        rest = f"*:{rest}"
    try:
        found = attached(nodes.AttachPoint(_LIST, f"{kind}:{rest}"), machine)
    except BtError:
        # What cannot be found is not in the list.
        return
    yield from _in_order(found, machine, parameters)


def _in_order(found: Iterable[AttachedProbes], machine: Machine, parameters: Parameters) -> Iterator[DescribedProbe]:
    in_order = sorted(found, key=lambda each: each.text)
    return (_probe(each.text, each.probes, machine, parameters) for each in in_order)


def _names(events: dict[str, CountedEvent]) -> Iterator[str]:
    for name, event in events.items():
        yield f"{name}:"
        if event.alias:
            yield f"{event.alias}:"


_NAMED: dict[str, Callable[[], Iterator[str]]] = {
    "hardware": lambda: _names(HARDWARE), "software": lambda: _names(SOFTWARE),
    "interval": lambda: (f"{unit}:" for unit in UNITS), "profile": lambda: (f"{unit}:" for unit in UNITS),
    "self": lambda: (f"signal:{name}" for name in SIGNALS),
}  # fmt: skip
"""Names of probes that are the same on every machine, by types."""


def _probe(text: str, probes: Sequence[Probe], machine: Machine, parameters: Parameters) -> DescribedProbe:
    is_event = text.startswith("tracepoint:")
    return DescribedProbe(text, lambda: _declared(probes[0], machine, parameters, is_event) if probes else ())


def _nothing() -> tuple[str, ...]:
    return ()


def _declared(probe: Probe, machine: Machine, parameters: Parameters, is_event: bool) -> tuple[str, ...]:
    """The arguments that args has there, as C declares them. A trace event has no registers."""
    of = called(probe)
    names = machine.catalog.argument_names(of)
    if names is None:
        return parameters(probe)
    arguments = machine.catalog.arguments(of) or ()
    kinds = dict(zip(names, (each.native for each in arguments), strict=False))
    shown = event_names(names) if is_event else names
    kinds.setdefault(CALL_ARGUMENTS, CALL_ARGUMENTS_TYPE)
    found = tuple(_argument(kinds.get(name, LONG), name) for name in shown if name in kinds or is_event)
    if of is not probe:
        given = machine.catalog.arguments(probe) or ()
        found += tuple(_argument(each.native, "retval") for each in given[RESULT:])
    return (f"int {CALL_NUMBER}", *found) if isinstance(probe.firing, Syscall) else found


def _argument(kind: Type, name: str) -> str:
    return declarator(kind, name) if isinstance(kind, Array) else f"{name_of(kind)} {name}"
