"""Which programs each event runs, in the order of the spec."""

from __future__ import annotations

from collections.abc import Iterable

from sonde.engines.embedded.programs import ReadyProgram, Run
from sonde.probe import RawTracepoint, Syscall, Timer
from sonde.typed import NamedTuple


class Shot(NamedTuple):
    """A program to be run, and the cookie that it finds."""

    run: Run
    cookie: int


class Clock(NamedTuple):
    """A program to be run every `period` ns: once, or for each thread that runs (`samples`). It handles the overflows
    of a cpu-clock event."""

    period: int
    samples: bool
    program: ReadyProgram
    cookie: int


def by_tracepoint(programs: Iterable[ReadyProgram]) -> dict[str, tuple[Shot, ...]]:
    """What is run where a tracepoint fires. One program serves many system calls and tells them apart itself."""
    found: dict[str, list[Shot]] = {}
    for program in programs:
        done = set()
        for probe, cookie in program.probes:
            match probe.firing:
                case Syscall(is_return=is_return):
                    name = "sys_exit" if is_return else "sys_enter"
                    if name not in done:
                        done.add(name)
                        found.setdefault(name, []).append(Shot(program.run, 0))
                case RawTracepoint(name=name):
                    found.setdefault(name, []).append(Shot(program.run, cookie))
    return {name: tuple(shots) for name, shots in found.items()}


def clocks(programs: Iterable[ReadyProgram]) -> tuple[Clock, ...]:
    """What timers run."""
    return tuple(
        Clock(probe.firing.period, probe.firing.every_cpu, program, cookie)
        for program in programs
        for probe, cookie in program.probes
        if isinstance(probe.firing, Timer)
    )
