"""Descriptions of probes, and the probes that they mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonde.frontends.bpftrace.check.scope import AttachedProbes
from sonde.frontends.bpftrace.errors import BtError
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model.catalog import Catalog
from sonde.model.errors import NO_FUNCTION, SourceError
from sonde.model.probe import Probe
from sonde.typed import NamedTuple, NoReturn

KINDS = {
    "begin": "begin", "BEGIN": "begin", "end": "end", "END": "end", "interval": "interval", "i": "interval",
    "profile": "profile", "p": "profile", "tracepoint": "tracepoint", "t": "tracepoint",
    "rawtracepoint": "rawtracepoint", "rt": "rawtracepoint", "kprobe": "kprobe", "k": "kprobe",
    "kretprobe": "kretprobe", "kr": "kretprobe", "fentry": "fentry", "f": "fentry", "kfunc": "fentry", "fexit": "fexit",
    "fr": "fexit", "kretfunc": "fexit", "uprobe": "uprobe", "u": "uprobe", "uretprobe": "uretprobe", "ur": "uretprobe",
    "usdt": "usdt", "U": "usdt", "hardware": "hardware", "h": "hardware", "software": "software", "s": "software",
}  # fmt: skip
"""Types of probes by their names."""

_PENDING = ("watchpoint", "w", "asyncwatchpoint", "aw", "iter", "it", "self", "test", "bench")
_UNITS = ("us", "ms", "s", "hz")
_SPECIAL = {"begin": "BEGIN", "end": "END"}


class Machine(NamedTuple):
    """What descriptions are looked up in; `process` is that of -p or -c, 0 without one."""

    catalog: Catalog
    process: int


def attached(point: nodes.AttachPoint, machine: Machine) -> list[AttachedProbes]:
    """The probes of a description, each with its own text. None is an error."""
    kind, _, rest = point.text.partition(":")
    if kind in _PENDING:
        _fail(point, f"{kind} probes are not supported")
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
            _missing(point, name, rest)
        _fail(point, error.text, error.hint)
    if not found:
        _missing(point, name, rest)
    return found


class NoSuchProbeError(BtError):
    """There is no such probe."""


def _fail(point: nodes.AttachPoint, text: str, hint: str = "") -> NoReturn:
    raise BtError(text, point.at, hint)


def _missing(point: nodes.AttachPoint, kind: str, rest: str) -> NoReturn:
    raise NoSuchProbeError(f"No matches for {kind} {rest}.", point.at)


def _each(
    point: nodes.AttachPoint, kind: str, found: Sequence[Probe], text: Callable[[Probe], str]
) -> list[AttachedProbes]:
    return [AttachedProbes(point, f"{kind}:{text(probe)}" if text(probe) else kind, kind, (probe,)) for probe in found]


def _special(point: nodes.AttachPoint, kind: str, fields: list[str], machine: Machine) -> list[AttachedProbes]:
    if fields:
        _fail(point, f"{kind} probe type requires 0 arguments, found {len(fields)}")
    found = machine.catalog.match("dtrace", "", "", _SPECIAL[kind])
    return [AttachedProbes(point, kind, "special", tuple(found))]


def _timer(point: nodes.AttachPoint, kind: str, fields: list[str], machine: Machine) -> list[AttachedProbes]:
    """`interval:s:1`, `profile:hz:99`, or a duration such as `interval:100ms`."""
    if len(fields) == 1:
        period = _duration(point, kind, fields[0])
        if period < _SHORTEST:
            text = f"Invalid rate of {kind} probe. Minimum is {_SHORTEST} or 1us. Found: {period} nanoseconds"
            _fail(point, text)
        name = f"{period}ns"
    elif len(fields) == 2:
        unit, count = fields
        if unit not in _UNITS:
            _fail(point, f"{kind} probe must have a valid unit (us, ms, s, hz), not {unit}")
        if not count.isdigit() or not int(count):
            _fail(point, f"Invalid rate of {kind} probe: {_what_is_wrong(count)}")
        name = f"{count}{unit}"
    else:
        _fail(point, f"{kind} probe type requires 1 or 2 arguments, found {len(fields)}")
    found = machine.catalog.match("profile", "", "", f"{'tick' if kind == 'interval' else 'profile'}-{name}")
    if not found:
        _fail(point, f"{kind}:{':'.join(fields)} fires too often or too seldom")
    return [AttachedProbes(point, ":".join((kind, *fields)), kind, tuple(found))]


def _what_is_wrong(number: str) -> str:
    """With what should have been a number."""
    return f"{'invalid trailing bytes' if number[:1].isdigit() else 'invalid integer'}: {number}"


_SHORTEST = 1000
"""Nanoseconds of a period."""


def _duration(point: nodes.AttachPoint, kind: str, text: str) -> int:
    from sonde.frontends.bpftrace.syntax.lexer import number_of

    if not text[:1].isdigit():
        _fail(point, f"Invalid duration of {kind} probe: {text}")
    return number_of(text, point.at)[0]


def _tracepoint(point: nodes.AttachPoint, kind: str, fields: list[str], machine: Machine) -> list[AttachedProbes]:
    if len(fields) != 2:
        _fail(point, f"{kind} probe type requires 2 arguments, found {len(fields)}")
    group, event = fields
    if group == "syscalls":
        return _system_calls(point, kind, event, machine)
    found = machine.catalog.match("sdt", group, "", event)
    return _each(point, kind, found, lambda probe: f"{probe.module}:{probe.name}")


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
    found = machine.catalog.match("rawtp", "", "", fields[-1])
    return _each(point, kind, found, lambda probe: f"vmlinux:{probe.name}")


def _function(point: nodes.AttachPoint, kind: str, fields: list[str], machine: Machine) -> list[AttachedProbes]:
    """Of the kernel."""
    if len(fields) not in (1, 2):
        _fail(point, f"{kind} probe type requires 1 or 2 arguments, found {len(fields)}")
    module = fields[0] if len(fields) == 2 else ""
    function, plus, offset = fields[-1].partition("+")
    if plus and kind != "kprobe":
        _fail(point, "Offset not allowed")
    if plus and offset not in ("0", "0x0"):
        _fail(point, "offsets into functions are not supported")
    name = "return" if kind in ("kretprobe", "fexit") else "entry"
    found = machine.catalog.match("fbt", module, function, name)
    return _each(point, kind, found, lambda probe: f"{probe.module}:{probe.function}" if module else probe.function)


def _user_function(point: nodes.AttachPoint, kind: str, fields: list[str], machine: Machine) -> list[AttachedProbes]:
    if len(fields) < 2:
        _fail(point, f"{kind} probe type requires 2 or 3 arguments, found {len(fields)}")
    path, function = ":".join(fields[:-1]), fields[-1]
    name, plus, offset = function.partition("+")
    if plus and kind == "uretprobe":
        _fail(point, "Offset not allowed")
    if name.isdigit() or name.startswith("0x") or (plus and int(offset, 0)):
        _fail(point, "addresses in files are not supported")
    wanted = "return" if kind == "uretprobe" else "entry"
    provider = f"pid{machine.process}" if path == "*" and machine.process else "uprobe"
    found = machine.catalog.match(provider, path, name, wanted)
    return _each(point, kind, found, lambda probe: f"{path}:{probe.function}")


def _static(point: nodes.AttachPoint, kind: str, fields: list[str], machine: Machine) -> list[AttachedProbes]:
    if len(fields) not in (2, 3):
        _fail(point, f"usdt probe type requires 2 or 3 arguments, found {len(fields)}")
    path, name = fields[0], fields[-1]
    namespace = fields[1] if len(fields) == 3 else ""
    found = machine.catalog.match("usdt", path, namespace, name)
    return _each(point, kind, found, lambda probe: f"{path}:{probe.function}:{probe.name}")


_SOFTWARE = {
    "cpu": "cpu-clock", "faults": "page-faults", "cs": "context-switches",
}  # fmt: skip
_HARDWARE = {
    "branches": "branch-instructions", "branch-instructions": "branch-instructions", "instructions": "instructions",
    "cycles": "cpu-cycles", "cpu-cycles": "cpu-cycles", "branch-misses": "branch-misses", "bus-cycles": "bus-cycles",
    "cache-misses": "cache-misses", "cache-references": "cache-references", "ref-cycles": "ref-cycles",
}  # fmt: skip
_COUNTS = {"software": 100, "hardware": 1_000_000}
_CLOCK_COUNT = 1_000_000


def _counted(point: nodes.AttachPoint, kind: str, fields: list[str], machine: Machine) -> list[AttachedProbes]:
    """A perf event, and each how many times it fires."""
    if len(fields) not in (1, 2):
        _fail(point, f"{kind} probe type requires 1 or 2 arguments, found {len(fields)}")
    event = (_SOFTWARE if kind == "software" else _HARDWARE).get(fields[0], fields[0])
    count = fields[1] if len(fields) == 2 and fields[1] else str(_CLOCK_COUNT if "clock" in event else _COUNTS[kind])
    if not count.isdigit() or not int(count):
        _fail(point, f"Invalid count for {kind} probe: {_what_is_wrong(count)}")
    source = "software" if kind == "software" else "cpu"
    found = machine.catalog.match("perf", source, "", f"{event}-{count}")
    return [AttachedProbes(point, ":".join((kind, *fields)), kind, tuple(found))] if found else []


_FINDERS: dict[str, Callable[[nodes.AttachPoint, str, list[str], Machine], list[AttachedProbes]]] = {
    "begin": _special, "end": _special, "interval": _timer, "profile": _timer, "tracepoint": _tracepoint,
    "rawtracepoint": _raw_tracepoint, "kprobe": _function, "kretprobe": _function, "fentry": _function,
    "fexit": _function, "uprobe": _user_function, "uretprobe": _user_function, "usdt": _static,
    "hardware": _counted, "software": _counted,
}  # fmt: skip
