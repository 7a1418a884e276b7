"""Attaching to functions and instructions of processes: all places of a file in one link, or a perf event for each
where the kernel has no such links (before 6.6)."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence

from sonde.bpf import programs
from sonde.engines.base import SiteOfFile
from sonde.engines.kernel import commands, perf_events
from sonde.engines.kernel.failures import TRACING, explain
from sonde.engines.kernel.programs import LoadedProgram
from sonde.model.errors import EngineError
from sonde.model.probe import Probe, Uprobe
from sonde.model.spec import ProbeSpec

_REFUSED_INSTRUCTION = frozenset({errno.ENOEXEC, errno.EOPNOTSUPP, 524})
"""What the kernel says of an instruction that it cannot run elsewhere (arch_uprobe_analyze_insn()); 524 is ENOTSUPP."""

_FOR_EVENTS = "CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN"
"""What perf events of uprobes take (perf_uprobe_event_init, kernel/events/core.c); links do without the last."""

Hold = Callable[[LoadedProgram, int, int], int]
"""Attaches a program to a perf event and enables it, with a cookie; takes the event over."""


def attach(program: LoadedProgram, quick: Callable[[int], None], slow: Callable[[int], None], hold: Hold) -> None:
    """Attach to all the program's uprobes; `quick` takes over what is closed at once, `slow` what takes a grace period.

    Raises EngineError, with what is attached until then left to its owners.
    """
    for firing, found in _files(program.probes):
        if program.spec.attach_type == programs.TRACE_UPROBE_MULTI:
            quick(_link(program, firing, found))
            continue
        for probe in found:
            try:
                slow(hold(program, _open(probe), probe.cookie))
            except OSError as error:
                raise _failure(probe, error, _FOR_EVENTS) from None


def served(path: str, sites: Sequence[SiteOfFile], pid: int) -> tuple[ProbeSpec, ...]:
    """Places in a file as what a program serves, in a process or, if `pid` is 0, in every one."""
    return tuple(
        ProbeSpec(Probe(0, "", "", "", path, Uprobe(pid, path, each.offset, "static", each.semaphore)), each.cookie)
        for each in sites
    )


def _files(probes: Sequence[ProbeSpec]) -> Iterator[tuple[Uprobe, list[ProbeSpec]]]:
    """The uprobes of each file in one process and of one kind, with one for all: as many as a link takes."""
    together: dict[tuple[str, int, bool], list[ProbeSpec]] = {}
    for probe in probes:
        if isinstance(probe.probe.firing, Uprobe):
            firing = probe.probe.firing
            together.setdefault((firing.path, firing.pid, firing.kind == "return"), []).append(probe)
    for found in together.values():
        yield _firing(found[0]), found


def _firing(probe: ProbeSpec) -> Uprobe:
    assert isinstance(probe.probe.firing, Uprobe)
    return probe.probe.firing


def _link(program: LoadedProgram, firing: Uprobe, probes: Sequence[ProbeSpec]) -> int:
    offsets = [_firing(each).offset for each in probes]
    cookies = [each.cookie for each in probes]
    semaphores = [_firing(each).semaphore for each in probes]
    try:
        return commands.link_uprobes(
            program.descriptor, firing.path, offsets, cookies, firing.pid, firing.kind == "return",
            semaphores if any(semaphores) else (),
        )  # fmt: skip
    except OSError as error:
        if len(probes) == 1:
            raise _failure(probes[0], error) from None
        if error.errno not in _REFUSED_INSTRUCTION:
            raise explain(error, f"cannot attach {len(probes)} probes to {firing.path}") from None
    # One of them is at fault: halves tell which.
    half = len(probes) // 2
    os.close(_link(program, firing, probes[:half]))
    os.close(_link(program, firing, probes[half:]))
    raise EngineError(f"cannot attach {len(probes)} probes to {firing.path} at a time")


def _open(probe: ProbeSpec) -> int:
    firing = _firing(probe)
    return perf_events.open_uprobe(firing.path, firing.offset, firing.kind == "return", firing.pid, firing.semaphore)


def _failure(probe: ProbeSpec, error: OSError, needed: str = TRACING) -> EngineError:
    firing = _firing(probe)
    what = f"cannot attach {probe.probe}"
    if error.errno == errno.ESRCH:
        return EngineError(f"{what}: process {firing.pid} has ended")
    if error.errno in _REFUSED_INSTRUCTION:
        return EngineError(f"{what}: the kernel cannot probe this instruction")
    return explain(error, what, needed)
