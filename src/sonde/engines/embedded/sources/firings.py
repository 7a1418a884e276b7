"""Which programs each event runs, in the order of the spec."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sonde.engines.embedded.sources.contexts import Contexts, event_of
from sonde.formats.perf_events import SOFTWARE_CPU_CLOCK
from sonde.model.probe import Firing, PerfEvent, Probe, RawTracepoint, StaticPattern, Syscall, Timer, Tracepoint, Uprobe
from sonde.model.samples import CLOCKS
from sonde.model.spec import ProbeSpec, TracingSpec
from sonde.runtime.programs.ready import ReadyProgram, Run
from sonde.typed import NamedTuple


class Shot(NamedTuple):
    """A program to be run, and the cookie that it finds."""

    run: Run
    cookie: int


class Clock(NamedTuple):
    """A program to be run every `period` ns: once, or for each thread that runs (`samples`). It handles the overflows
    of a software event (`config`), for the probe `name`, whose identifier is `probe`; `in_kernel`: the kernel counts,
    too. Where the event is none of the clocks (`is_counted`), it is run each time a thread has counted `period`."""

    period: int
    samples: bool
    program: ReadyProgram
    cookie: int
    config: int
    name: str
    probe: int
    in_kernel: bool = True

    @property
    def is_counted(self) -> bool:
        return self.config not in CLOCKS


class Shots(NamedTuple):
    """What is run where each tracepoint fires, by its name; and by system call, at its entry and return, all that is
    run there, if there is anything for that call alone."""

    tracepoints: dict[str, tuple[Shot, ...]]
    entries: dict[int, tuple[Shot, ...]]
    returns: dict[int, tuple[Shot, ...]]


def shots(programs: Sequence[ReadyProgram], contexts: Contexts) -> Shots:
    """What these programs, in their order, are run for."""
    return Shots(
        _by_tracepoint(programs, contexts), _by_call(programs, contexts, False), _by_call(programs, contexts, True)
    )


def _by_tracepoint(programs: Sequence[ReadyProgram], contexts: Contexts) -> dict[str, tuple[Shot, ...]]:
    found: dict[str, list[Shot]] = {}
    for program in programs:
        for probe, cookie in program.probes:
            name = _raw_tracepoint(probe.firing)
            if name:
                found.setdefault(name, []).append(Shot(contexts.run(program, probe), cookie))
    return {name: tuple(each) for name, each in found.items()}


def _raw_tracepoint(firing: Firing) -> str:
    """The tracepoint all of whose hits are firings, "" for none."""
    if isinstance(firing, RawTracepoint):
        return firing.name
    event = event_of(firing) if isinstance(firing, Tracepoint) else None
    return event.tracepoint if event is not None and event.number is None else ""


def _by_call(programs: Sequence[ReadyProgram], contexts: Contexts, is_return: bool) -> dict[int, tuple[Shot, ...]]:
    name = "sys_exit" if is_return else "sys_enter"
    found: dict[int, list[Shot]] = {call.number: [] for each in programs for call in calls_of(each.probes, is_return)}
    for program in programs:
        for call in calls_of(program.probes, is_return):
            found[call.number].append(Shot(contexts.run(program, call.probe), call.cookie))
        for_all = _by_tracepoint([program], contexts).get(name, ())
        for each in found.values():
            each += for_all
    return {number: tuple(each) for number, each in found.items()}


class CallFiring(NamedTuple):
    """A system call that something fires at alone."""

    number: int
    probe: Probe
    cookie: int


def calls_of(probes: Iterable[ProbeSpec], is_return: bool) -> list[CallFiring]:
    """What single calls fire of these probes; one call fires all of its own system call probes at once."""
    found, own = [], set()
    for probe, cookie in probes:
        firing = probe.firing
        if isinstance(firing, Syscall) and firing.is_return == is_return and not firing.compat:
            # Which of the probes of one call it is the program finds out by itself.
            if firing.number not in own:
                found.append(CallFiring(firing.number, probe, cookie))
            own.add(firing.number)
        event = event_of(firing) if isinstance(firing, Tracepoint) else None
        if event is not None and event.number is not None and event.is_return == is_return:
            found.append(CallFiring(event.number, probe, cookie))
    return found


def has_samples(spec: TracingSpec, of_clocks: bool = True) -> bool:
    """Whether anything fires with samples of the traced threads, those of clocks among them or not."""
    return any(is_counted(each) or (of_clocks and is_sampling_clock(each)) for each in _firings(spec))


def is_sampling_clock(firing: Firing) -> bool:
    """Whether that fires each time a thread has used so much CPU time."""
    if isinstance(firing, Timer):
        return firing.every_cpu
    return isinstance(firing, PerfEvent) and not is_counted(firing)


def is_counted(firing: Firing) -> bool:
    """Whether that fires each time a thread has counted so many of something."""
    return isinstance(firing, PerfEvent) and firing.config[0] not in CLOCKS


def _firings(spec: TracingSpec) -> list[Firing]:
    return [probe.firing for program in spec.programs for probe, _ in program.probes]


def clocks(programs: Iterable[ReadyProgram]) -> tuple[Clock, ...]:
    """What timers run."""
    found = []
    for program in programs:
        for probe, cookie in program.probes:
            match probe.firing:
                case Timer(period=period, every_cpu=every_cpu):
                    found.append(Clock(period, every_cpu, program, cookie, SOFTWARE_CPU_CLOCK, str(probe), probe.id))
                case PerfEvent(period=period, config=(config, _, _), mode=mode):
                    found.append(Clock(period, True, program, cookie, config, str(probe), probe.id, mode != "user"))
    return tuple(found)


def stopped_clocks(clocks: Iterable[Clock]) -> tuple[int, ...]:
    """The numbers of the clocks that threads can be stopped for."""
    return tuple(number for number, clock in enumerate(clocks) if clock.samples and not clock.is_counted)


def has_user_probes(spec: TracingSpec) -> bool:
    """Whether anything fires at instructions of processes."""
    return any(isinstance(each, (StaticPattern, Uprobe)) for each in _firings(spec))


def awaits_files(spec: TracingSpec) -> bool:
    """Whether anything fires in files that processes have not mapped."""
    return any(isinstance(each, StaticPattern) for each in _firings(spec))


SWITCHES = ("switch_out", "switch_in")
"""The tracepoints of a thread that leaves a CPU or gets one."""


def has_switches(spec: TracingSpec) -> bool:
    """Whether anything fires when a CPU is given to another thread."""
    return any(isinstance(each, RawTracepoint) and each.name in SWITCHES for each in _firings(spec))
