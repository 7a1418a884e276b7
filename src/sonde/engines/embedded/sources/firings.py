"""Which programs each event runs, in the order of the spec."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sonde.formats.perf_events import SOFTWARE_CPU_CLOCK
from sonde.model.probe import Firing, PerfEvent, RawTracepoint, Syscall, Timer
from sonde.model.spec import TracingSpec
from sonde.runtime.programs.ready import ReadyProgram, Run
from sonde.typed import NamedTuple


class Shot(NamedTuple):
    """A program to be run, and the cookie that it finds."""

    run: Run
    cookie: int


class Clock(NamedTuple):
    """A program to be run every `period` ns: once, or for each thread that runs (`samples`). It handles the overflows
    of a software event, cpu-clock or task-clock (`config`), for the probe `name`; `in_kernel`: time there counts."""

    period: int
    samples: bool
    program: ReadyProgram
    cookie: int
    config: int
    name: str
    in_kernel: bool = True


class Shots(NamedTuple):
    """What is run where each tracepoint fires, by its name; and by system call, at its entry and return, all that is
    run there, if there is anything for that call alone."""

    tracepoints: dict[str, tuple[Shot, ...]]
    entries: dict[int, tuple[Shot, ...]]
    returns: dict[int, tuple[Shot, ...]]


def shots(programs: Sequence[ReadyProgram]) -> Shots:
    """What these programs, in their order, are run for."""
    return Shots(_by_tracepoint(programs), _by_call(programs, False), _by_call(programs, True))


def _by_tracepoint(programs: Sequence[ReadyProgram]) -> dict[str, tuple[Shot, ...]]:
    found: dict[str, list[Shot]] = {}
    for program in programs:
        for probe, cookie in program.probes:
            if isinstance(probe.firing, RawTracepoint):
                found.setdefault(probe.firing.name, []).append(Shot(program.run, cookie))
    return {name: tuple(each) for name, each in found.items()}


def _by_call(programs: Sequence[ReadyProgram], is_return: bool) -> dict[int, tuple[Shot, ...]]:
    name = "sys_exit" if is_return else "sys_enter"
    found: dict[int, list[Shot]] = {number: [] for program in programs for number in _numbers(program, is_return)}
    for program in programs:
        for number in _numbers(program, is_return):
            found[number].append(Shot(program.run, 0))
        for_all = _by_tracepoint([program]).get(name, ())
        for each in found.values():
            each += for_all
    return {number: tuple(each) for number, each in found.items()}


def _numbers(program: ReadyProgram, is_return: bool) -> frozenset[int]:
    firings = [probe.firing for probe, _ in program.probes]
    return frozenset(f.number for f in firings if isinstance(f, Syscall) and f.is_return == is_return and not f.compat)


def has_samples(spec: TracingSpec) -> bool:
    """Whether anything fires with samples of the traced threads."""
    return any(isinstance(each, PerfEvent) or (isinstance(each, Timer) and each.every_cpu) for each in _firings(spec))


def _firings(spec: TracingSpec) -> list[Firing]:
    return [probe.firing for program in spec.programs for probe, _ in program.probes]


def clocks(programs: Iterable[ReadyProgram]) -> tuple[Clock, ...]:
    """What timers run."""
    found = []
    for program in programs:
        for probe, cookie in program.probes:
            match probe.firing:
                case Timer(period=period, every_cpu=every_cpu):
                    found.append(Clock(period, every_cpu, program, cookie, SOFTWARE_CPU_CLOCK, str(probe)))
                case PerfEvent(period=period, config=(config, _, _), mode=mode):
                    found.append(Clock(period, True, program, cookie, config, str(probe), mode != "user"))
    return tuple(found)


SWITCHES = ("switch_out", "switch_in")
"""The tracepoints of a thread that leaves a CPU or gets one."""


def has_switches(spec: TracingSpec) -> bool:
    """Whether anything fires when a CPU is given to another thread."""
    return any(isinstance(each, RawTracepoint) and each.name in SWITCHES for each in _firings(spec))
