"""Attaching to functions and instructions of processes: all places of a file in one link, or a perf event for each
where the kernel has no such links (before 6.6)."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

from sonde import others
from sonde.bpf import programs
from sonde.engines.base import SiteOfFile
from sonde.engines.kernel import address_spaces, commands, perf_events
from sonde.engines.kernel.failures import TRACING, explain
from sonde.engines.kernel.programs import LoadedProgram
from sonde.model.errors import EngineError
from sonde.model.probe import ANY_FILE, Probe, Uprobe
from sonde.model.spec import ProbeSpec
from sonde.symbols.mappings import maps_text
from sonde.untrusted import kernel_text

_REFUSED_INSTRUCTION = frozenset({errno.ENOEXEC, errno.EOPNOTSUPP, 524})
"""What the kernel says of an instruction that it cannot run elsewhere (arch_uprobe_analyze_insn()); 524 is ENOTSUPP."""

_FOR_EVENTS = "CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN"
"""What perf events of uprobes take (perf_uprobe_event_init, kernel/events/core.c); links do without the last."""

Hold = Callable[[LoadedProgram, int, int], int]
"""Attaches a program to a perf event and enables it, with a cookie; takes the event over."""


def attach(
    program: LoadedProgram, quick: Callable[[int], None], slow: Callable[[int], None], hold: Hold,
    leave_out: Callable[[Probe], None],
) -> None:  # fmt: skip
    """Attach to all the program's uprobes; `quick` takes over what is closed at once, `slow` what takes a grace period.
    `leave_out` is told of those whose instruction the kernel refuses, where there are others.

    Raises EngineError, with what is attached until then left to its owners.
    """
    _require_first_threads(program.probes)
    refused: list[tuple[ProbeSpec, OSError]] = []
    count = 0
    for found in _files(program.probes):
        count += len(found)
        with _place(found) as path:
            if program.spec.attach_type == programs.TRACE_UPROBE_MULTI:
                refused += _link_all(program, path, found, quick)
                continue
            for probe in found:
                try:
                    slow(hold(program, _open(probe, path), probe.cookie))
                except OSError as error:
                    if error.errno not in _REFUSED_INSTRUCTION:
                        raise _failure(probe, error, _FOR_EVENTS) from None
                    refused.append((probe, error))
    if refused and len(refused) == count:
        raise _failure(*refused[0])
    for probe, _ in refused:
        leave_out(probe.probe)


def _require_first_threads(probes: Iterable[ProbeSpec]) -> None:
    """The kernel looks for the memory of a process in its first thread, which has none after its end
    (uprobe_multi_link_filter, kernel/trace/bpf_trace.c). Raises EngineError."""
    for pid in dict.fromkeys(each.probe.firing.pid for each in probes if isinstance(each.probe.firing, Uprobe)):
        if pid and _has_memory_elsewhere(pid):
            raise EngineError(
                f"process {pid}: its first thread has ended, and the kernel probes no process without it; "
                "--engine embedded does, and a probe of the file fires in all processes: uprobe:FILE:FUNCTION"
            )


def _has_memory_elsewhere(pid: int) -> bool:
    try:
        return not kernel_text(f"/proc/{pid}/maps") and bool(maps_text(pid))
    except OSError:
        # It has ended, or may not be looked at: attaching says so.
        return False


@contextmanager
def _place(probes: Sequence[ProbeSpec]) -> Iterator[str]:
    """A path that opens the file from which the probes' offsets were read. The owner of the directory may have replaced
    the file, and the offsets would be wrong in another one. Raises EngineError."""
    firing = _firing(probes[0])
    try:
        place, status = others.held(firing.path)
    except OSError as error:
        raise explain(error, f"cannot attach {_shown(probes)}") from None
    try:
        if firing.file not in (ANY_FILE, (status.st_dev, status.st_ino)):
            raise EngineError(
                f"cannot attach {_shown(probes)}: {firing.path} was replaced by another file after its symbols were "
                "read; start again"
            )
        yield f"/proc/self/fd/{place}"
    finally:
        os.close(place)


def _shown(probes: Sequence[ProbeSpec]) -> str:
    return str(probes[0].probe) if len(probes) == 1 else f"{len(probes)} probes to {_firing(probes[0]).path}"


def refuse_locked(programs: Iterable[LoadedProgram]) -> None:
    """Raise EngineError where the kernel would wait for a process that has mapped a file with one of the programs'
    uprobes."""
    firings = {each.probe.firing for program in programs for each in program.probes}
    files = {(each.path, each.file) for each in firings if isinstance(each, Uprobe)}
    address_spaces.refuse_locked({_inode(path, file) for path, file in files})


def _inode(path: str, file: tuple[int, int]) -> int:
    if file != ANY_FILE:
        return file[1]
    try:
        return others.stat(path).st_ino
    except OSError:
        return 0  # attaching fails


def served(path: str, sites: Sequence[SiteOfFile], pid: int) -> tuple[ProbeSpec, ...]:
    """Places in a file as what a program serves, in a process or, if `pid` is 0, in every one."""
    return tuple(
        ProbeSpec(Probe(0, "", "", "", path, Uprobe(pid, path, each.offset, "static", each.semaphore)), each.cookie)
        for each in sites
    )


def _files(probes: Sequence[ProbeSpec]) -> Collection[list[ProbeSpec]]:
    """The uprobes of each file in one process and of one kind: as many as a link takes."""
    together: dict[tuple[str, tuple[int, int], int, bool], list[ProbeSpec]] = {}
    for probe in probes:
        if isinstance(probe.probe.firing, Uprobe):
            firing = probe.probe.firing
            together.setdefault((firing.path, firing.file, firing.pid, firing.kind == "return"), []).append(probe)
    return together.values()


def _firing(probe: ProbeSpec) -> Uprobe:
    assert isinstance(probe.probe.firing, Uprobe)
    return probe.probe.firing


def _link_all(
    program: LoadedProgram, path: str, probes: Sequence[ProbeSpec], own: Callable[[int], None]
) -> list[tuple[ProbeSpec, OSError]]:
    """Link the program to all places of a file whose instruction the kernel takes, as few links as that needs; gives
    the others. Raises EngineError."""
    try:
        own(_link(program, path, probes))
    except OSError as error:
        if error.errno not in _REFUSED_INSTRUCTION:
            if len(probes) == 1:
                raise _failure(probes[0], error) from None
            raise explain(error, f"cannot attach {_shown(probes)}") from None
        if len(probes) == 1:
            return [(probes[0], error)]
        # Halves tell which it is.
        half = len(probes) // 2
        return [each for some in (probes[:half], probes[half:]) for each in _link_all(program, path, some, own)]
    return []


def _link(program: LoadedProgram, path: str, probes: Sequence[ProbeSpec]) -> int:
    firing = _firing(probes[0])
    offsets = [_firing(each).offset for each in probes]
    cookies = [each.cookie for each in probes]
    semaphores = [_firing(each).semaphore for each in probes]
    return commands.link_uprobes(
        program.descriptor, path, offsets, cookies, firing.pid, firing.kind == "return",
        semaphores if any(semaphores) else (),
    )  # fmt: skip


def _open(probe: ProbeSpec, path: str) -> int:
    firing = _firing(probe)
    return perf_events.open_uprobe(path, firing.offset, firing.kind == "return", firing.pid, firing.semaphore)


def _failure(probe: ProbeSpec, error: OSError, needed: str = TRACING) -> EngineError:
    firing = _firing(probe)
    what = f"cannot attach {probe.probe}"
    if error.errno == errno.ESRCH:
        return EngineError(f"{what}: process {firing.pid} has ended")
    if error.errno in _REFUSED_INSTRUCTION:
        return EngineError(f"{what}: the kernel cannot probe this instruction")
    return explain(error, what, needed)
