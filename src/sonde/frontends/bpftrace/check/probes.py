"""Descriptions of probes, and the probes that they mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress

from sonde.frontends.bpftrace.check import counted_events, iterators, kernel_functions, timers, user_probes, watchpoints
from sonde.frontends.bpftrace.check import trials as check_trials
from sonde.frontends.bpftrace.check.globs import glob, is_glob
from sonde.frontends.bpftrace.check.scope import AttachedProbes
from sonde.frontends.bpftrace.errors import BtError
from sonde.frontends.bpftrace.syntax import nodes
from sonde.frontends.bpftrace.syntax.lexer import integer_of
from sonde.model.errors import NO_FUNCTION, SourceError
from sonde.model.probe import SIGNALS, Internal, Probe
from sonde.typed import TYPE_CHECKING, NamedTuple, NoReturn

if TYPE_CHECKING:
    from sonde.frontends.bpftrace.check.trials import TrialProbes
    from sonde.model.catalog import Catalog

KINDS = {
    "begin": "begin", "BEGIN": "begin", "end": "end", "END": "end", "self": "self",
    "interval": "interval", "i": "interval",
    "profile": "profile", "p": "profile", "tracepoint": "tracepoint", "t": "tracepoint",
    "rawtracepoint": "rawtracepoint", "rt": "rawtracepoint", "kprobe": "kprobe", "k": "kprobe",
    "kretprobe": "kretprobe", "kr": "kretprobe", "fentry": "fentry", "f": "fentry", "kfunc": "fentry", "fexit": "fexit",
    "fr": "fexit", "kretfunc": "fexit", "uprobe": "uprobe", "u": "uprobe", "uretprobe": "uretprobe", "ur": "uretprobe",
    "usdt": "usdt", "U": "usdt", "hardware": "hardware", "h": "hardware", "software": "software", "s": "software",
    "watchpoint": "watchpoint", "w": "watchpoint", "iter": "iter", "it": "iter", "test": "test", "bench": "bench",
}  # fmt: skip
"""Types of probes by their names."""

TRIED = ("test:", "bench:")
"""What descriptions of tests and measurements begin with."""
_SPECIAL = {"begin": "BEGIN", "end": "END"}


class Machine(NamedTuple):
    """What descriptions are looked up in; `process` is that of -p or -c, 0 without one. `trials` are the tests and
    measurements of the program. `told` takes warnings. `is_unsafe`: the kernel may be told places that nobody has
    looked at."""

    catalog: Catalog
    process: int
    trials: TrialProbes | None = None
    told: Callable[[BtError], None] = lambda _: None
    is_unsafe: bool = False


def attached(point: nodes.AttachPoint, machine: Machine) -> list[AttachedProbes]:
    """The probes of a description, each with its own text. None is an error."""
    kind, _, rest = _without_name(point.text).partition(":")
    name = KINDS.get(kind)
    if name is None:
        _fail(point, f"Invalid probe type: {kind}")
    fields = rest.split(":") if rest else []
    try:
        found = _FINDERS[name](point, name, fields, machine)
    except SourceError as error:
        if isinstance(error, BtError):
            raise
        if error.kind == NO_FUNCTION:
            _missing(point, name, rest, error.hint if "(" in rest else "")
        _fail(point, error.text, error.hint)
    if not found and name not in _TRIED:
        _missing(point, name, rest, _absence(name, machine))
    if machine.trials is not None and machine.trials.leaves_out(name):
        return []
    return found


_TRIED = ("test", "bench")
_OF_KERNEL = {"tracepoint": "sdt", "rawtracepoint": "rawtp"}
"""The providers of the kernel's own probes, which an engine may not have."""


def _absence(kind: str, machine: Machine) -> str:
    """Why the engine has no such probes at all, "" if it has some."""
    provider = _OF_KERNEL.get(kind)
    return machine.catalog.mismatch(provider, "", "", "") if provider is not None else ""


def of_each_type(point: nodes.AttachPoint, machine: Machine) -> list[list[AttachedProbes]]:
    """The probes of a description by their types, of which it may have a wildcard: then those are meant that have such
    probes. None is an error."""
    kind, _, rest = _without_name(point.text).partition(":")
    if not is_glob(kind):
        return [attached(point, machine)]
    wanted = [name for name in dict.fromkeys(KINDS.values()) if glob(kind)(name) and name not in _TRIED]
    if not wanted:
        _fail(point, f"No probe type matched for {kind}")
    found = []
    for name in wanted:
        with suppress(BtError):
            found.append(attached(point._replace(text=f"{name}:{rest}" if rest else name), machine))
    if not found:
        _missing(point, kind, rest)
    return found


def _without_name(text: str) -> str:
    """A description without the name that may stand before it, which means nothing yet."""
    return re.sub(_NAMED, "", text, count=1) if "=" in text else text


_NAMED = r"(?a)[A-Za-z_]\w*="


class NoSuchProbeError(BtError):
    """There is no such probe."""


def _fail(point: nodes.AttachPoint, text: str, hint: str = "") -> NoReturn:
    raise BtError(text, point.at, hint)


def _missing(point: nodes.AttachPoint, kind: str, rest: str, hint: str = "") -> NoReturn:
    raise NoSuchProbeError(f"No matches for {kind} {rest}.", point.at, hint)


def _each(
    point: nodes.AttachPoint, kind: str, found: Sequence[Probe], text: Callable[[Probe], str]
) -> list[AttachedProbes]:
    return [AttachedProbes(point, f"{kind}:{text(probe)}" if text(probe) else kind, kind, (probe,)) for probe in found]


def _arguments(kind: str, wanted: str, fields: list[str]) -> str:
    return f"{kind} probe type requires {wanted} arguments, found {len(fields)}"


def _special(point: nodes.AttachPoint, kind: str, fields: list[str], machine: Machine) -> list[AttachedProbes]:
    if fields:
        _fail(point, f"{kind} probe type requires 0 arguments, found {len(fields)}")
    found = machine.catalog.match("dtrace", "", "", _SPECIAL[kind])
    return [AttachedProbes(point, kind, "special", tuple(found))]


def _signal(point: nodes.AttachPoint, kind: str, fields: list[str], machine: Machine) -> list[AttachedProbes]:
    """A signal to the tracer itself."""
    if fields[:1] != ["signal"] or len(fields) != 2:
        what = f"{fields[0]} is not a supported trigger" if len(fields) == 2 else _arguments(kind, "2", fields)
        _fail(point, what, "self:signal:SIGUSR1 is one")
    if fields[1] not in SIGNALS:
        _fail(point, f"{fields[1]} is not a supported signal", f"there are {', '.join(SIGNALS)}")
    probe = Probe(_OF_SIGNALS + SIGNALS.index(fields[1]), "dtrace", "", "", fields[1], Internal(fields[1]))
    return [AttachedProbes(point, ":".join((kind, *fields)), kind, (probe,))]


_OF_SIGNALS = 99_000
"""Identifiers that no provider gives."""


def _timer(point: nodes.AttachPoint, kind: str, fields: list[str], machine: Machine) -> list[AttachedProbes]:
    return timers.timed(point, kind, fields, machine.catalog, machine.told)


def _tracepoint(point: nodes.AttachPoint, kind: str, fields: list[str], machine: Machine) -> list[AttachedProbes]:
    if len(fields) != 2:
        _fail(point, f"{kind} probe type requires 2 arguments, found {len(fields)}")
    group, event = fields
    calls = _system_calls(point, kind, event, machine) if glob(group)(_CALLS) else []
    if group == _CALLS:
        return calls
    found = machine.catalog.match("sdt", group, "", event)
    if not found and glob(group)(RAW_CALLS):
        raw = [probe for name in _RAW if glob(event)(name) for probe in machine.catalog.match("rawtp", "", "", name)]
        return [*_each(point, kind, raw, lambda probe: f"{RAW_CALLS}:{probe.name}"), *calls]
    return [*_each(point, kind, found, lambda probe: f"{probe.module}:{probe.name}"), *calls]


_CALLS, RAW_CALLS = "syscalls", "raw_syscalls"
_RAW = ("sys_enter", "sys_exit")
"""Tracepoints of all calls, which are raw ones where the kernel's trace events cannot be had."""


def _system_calls(point: nodes.AttachPoint, kind: str, event: str, machine: Machine) -> list[AttachedProbes]:
    """`sys_enter_CALL` and `sys_exit_CALL`, which may be globs."""
    found: list[AttachedProbes] = []
    for begins, name in (("sys_enter_", "entry"), ("sys_exit_", "return")):
        pattern = _rest_of_glob(event, begins)
        probes = machine.catalog.match("syscall", "vmlinux", pattern, name) if pattern is not None else ()
        found += _each(point, kind, probes, lambda probe, at=begins: f"syscalls:{at}{probe.function}")  # type: ignore[misc]
    return found


def _rest_of_glob(glob: str, begins: str) -> str | None:
    """What a glob wants behind a beginning, None where it does not want that."""
    star = glob.find("*")
    head = glob if star < 0 else glob[:star]
    if glob.startswith(begins):
        return glob[len(begins) :]
    if star >= 0 and begins.startswith(head):
        # The star stands for a part of the beginning, or for all of it and more.
        rest = glob[star + 1 :]
        overlap = next((rest[n:] for n in range(len(rest), 0, -1) if begins.endswith(rest[:n])), None)
        return f"*{rest}" if overlap is None else overlap
    return None


def _raw_tracepoint(point: nodes.AttachPoint, kind: str, fields: list[str], machine: Machine) -> list[AttachedProbes]:
    if len(fields) not in (1, 2):
        _fail(point, f"{kind} probe type requires 2 or 1 arguments, found {len(fields)}")
    module = fields[0] if len(fields) == 2 else "*"
    if not glob(module)(_KERNEL) and not machine.catalog.offers("module", module):
        return []
    found = machine.catalog.match("rawtp", "", "", fields[-1])
    return _each(point, kind, found, lambda probe: f"vmlinux:{probe.name}")


_KERNEL = "vmlinux"
"""The kernel itself, among its modules."""


def _function(point: nodes.AttachPoint, kind: str, fields: list[str], machine: Machine) -> list[AttachedProbes]:
    """Of the kernel."""
    found = kernel_functions.functions(point, kind, fields, machine.catalog, machine.is_unsafe, machine.told)
    if not found:
        _missing(point, kind, ":".join(fields), machine.catalog.mismatch("fbt", "", fields[-1], "entry"))
    return found


def _user_function(point: nodes.AttachPoint, kind: str, fields: list[str], machine: Machine) -> list[AttachedProbes]:
    return user_probes.functions(point, kind, ":".join(fields), machine.catalog, machine.process)


def _static(point: nodes.AttachPoint, kind: str, fields: list[str], machine: Machine) -> list[AttachedProbes]:
    return user_probes.static(point, kind, ":".join(fields), machine.catalog, machine.process)


def _counted(point: nodes.AttachPoint, kind: str, fields: list[str], machine: Machine) -> list[AttachedProbes]:
    """A perf event, and each how many times it fires."""
    if len(fields) not in (1, 2):
        _fail(point, f"{kind} probe type requires 1 or 2 arguments, found {len(fields)}")
    if "*" in fields[0]:
        _fail(point, f"wildcards are not allowed for {kind} probe type")
    source, events = ("software", counted_events.SOFTWARE) if kind == "software" else ("cpu", counted_events.HARDWARE)
    found = counted_events.event_named(events, fields[0])
    if found is None:
        _fail(point, f"{fields[0]} is not a {kind} probe")
    event, described = found
    count = described.rate
    if len(fields) == 2 and fields[1]:
        given = integer_of(fields[1])
        if given is None or given <= 0:
            _fail(point, f"Invalid count for {kind} probe: {timers.what_is_wrong(fields[1])}")
        count = given
    elif "clock" in event:
        # Each nanosecond is no rate that a machine has.
        count = max(count, _CLOCK_COUNT)
    wanted = "perf", source, "", f"{event}-{count}"
    probes = machine.catalog.match(*wanted)
    if not probes:
        _missing(point, kind, ":".join(fields), machine.catalog.mismatch(*wanted))
    return [AttachedProbes(point, ":".join((kind, *fields)), kind, tuple(probes))]


_CLOCK_COUNT = 1_000_000


def _watchpoint(point: nodes.AttachPoint, kind: str, fields: list[str], machine: Machine) -> list[AttachedProbes]:
    return watchpoints.watched(point, fields, machine.catalog)


def _iterator(point: nodes.AttachPoint, kind: str, fields: list[str], machine: Machine) -> list[AttachedProbes]:
    return iterators.iterated(point, fields, machine.catalog)


def _tried(point: nodes.AttachPoint, kind: str, fields: list[str], machine: Machine) -> list[AttachedProbes]:
    return (machine.trials or check_trials.TrialProbes()).attached(point, kind, fields)


_FINDERS: dict[str, Callable[[nodes.AttachPoint, str, list[str], Machine], list[AttachedProbes]]] = {
    "begin": _special, "end": _special, "self": _signal, "interval": _timer, "profile": _timer,
    "tracepoint": _tracepoint,
    "rawtracepoint": _raw_tracepoint, "kprobe": _function, "kretprobe": _function, "fentry": _function,
    "fexit": _function, "uprobe": _user_function, "uretprobe": _user_function, "usdt": _static,
    "hardware": _counted, "software": _counted, "watchpoint": _watchpoint,
    "iter": _iterator, "test": _tried, "bench": _tried,
}  # fmt: skip
