"""Attaching programs to what fires them: one function for each kind of Firing.

An attachment is one descriptor; closing it detaches. The perf event behind a link is kept by the link alone.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence

from sonde.bpf import programs
from sonde.engines.kernel import commands, functions, iterators, packet_hooks, perf_events, trace_events, uprobes
from sonde.engines.kernel.failures import NOT_SUPPORTED, explain
from sonde.engines.kernel.programs import LoadedProgram
from sonde.formats.perf_events import SAMPLE_CGROUP
from sonde.machine.system import online_cpus
from sonde.model.errors import EngineError
from sonde.model.probe import (
    Internal,
    KernelFunction,
    KernelIterator,
    Packet,
    PerfEvent,
    Probe,
    RawTracepoint,
    StaticPattern,
    Syscall,
    Timer,
    Tracepoint,
    Uprobe,
)
from sonde.symbols import kallsyms as symbols_kallsyms
from sonde.typed import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from sonde.symbols.kallsyms import Kallsyms

_CANNOT_COUNT = frozenset({errno.EINVAL, errno.EOPNOTSUPP, errno.ENOENT, errno.ENODEV, errno.EACCES, 524})
"""What perf_event_open(2) says of events that a machine has not, or that have no overflows; 524 is ENOTSUPP."""


class Attachment(NamedTuple):
    """`closing_waits`: closing it takes a grace period. `pin` is the name that it has in a file system, "" without."""

    descriptor: int
    closing_waits: bool = False
    pin: str = ""


class KernelSymbols:
    """The kernel's symbols, made when a program is the first to ask for them."""

    def __init__(self) -> None:
        self._made: Kallsyms | None = None

    def kallsyms(self) -> symbols_kallsyms.Kallsyms:
        if self._made is None:
            self._made = symbols_kallsyms.Kallsyms()
        return self._made


Overflows: TypeAlias = Callable[[LoadedProgram, Probe, Callable[[int], None]], None]
"""Opens the perf events of a probe whose overflows a program handles, and hands each over."""


def attach(
    program: LoadedProgram, own: Callable[[Attachment], None], overflows: Overflows, symbols: KernelSymbols,
    leave_out: Callable[[Probe], None] = lambda _: None,
) -> None:  # fmt: skip
    """Attach to everything that fires one of the program's probes; `own` takes each attachment over, `leave_out` is
    told of functions that the kernel refuses where there are others.

    `overflows` opens the perf events of a probe whose overflows the program handles; `symbols` are the kernel's, which
    programs that are attached one after the other need not read again.

    Raises EngineError, with what is attached until then left to its owner.
    """
    syscalls: set[str] = set()
    for probe, cookie in program.probes:
        try:
            match probe.firing:
                case Internal():
                    pass
                case Syscall(is_return=is_return):
                    # One tracepoint serves all system calls: the program tells them apart by number.
                    name = "sys_exit" if is_return else "sys_enter"
                    if name not in syscalls:
                        syscalls.add(name)
                        own(Attachment(_raw_tracepoint(program, name, 0)))
                case RawTracepoint(name=name):
                    own(Attachment(_raw_tracepoint(program, name, cookie)))
                case Timer() | PerfEvent():

                    def hold(event: int, cookie: int = cookie) -> None:
                        own(Attachment(_perf_event(program, event, cookie)))

                    overflows(program, probe, hold)
                case Tracepoint(group=group, name=name):
                    event = perf_events.open_trace_event(trace_events.number_of(group, name), online_cpus()[0])
                    own(Attachment(_perf_event(program, event, cookie), closing_waits=True))
                    if probe.firing.period and program.spec.samples:
                        overflows(program, probe, lambda event: own(_sampled(event)))
                case Uprobe() | KernelFunction():
                    pass  # all of them at a time, below
                case StaticPattern():
                    pass  # `attach_sites`, when they are found
                case KernelIterator(pin=pin):
                    if pin:
                        own(Attachment(*iterators.pinned(program, pin)))
                    # Others are gone over when tracing has begun.
                case Packet():
                    own(Attachment(packet_hooks.attach(program, probe.firing)))
        except OSError as error:
            raise _failure(probe, error, program.spec.sample_fields) from None
    if any(isinstance(probe.firing, Uprobe) for probe, _ in program.probes):
        uprobes.attach(
            program, lambda link: own(Attachment(link)), lambda event: own(Attachment(event, True)), _perf_event,
            leave_out,
        )  # fmt: skip
    if any(isinstance(probe.firing, KernelFunction) for probe, _ in program.probes):
        functions.attach(program, lambda link: own(Attachment(link, True)), _perf_event, symbols.kallsyms(), leave_out)


def refuse_locked(programs: Sequence[LoadedProgram]) -> None:
    """Raise EngineError where attaching to user code would wait for a process without an end."""
    if any(isinstance(probe.firing, Uprobe) for program in programs for probe, _ in program.probes):
        uprobes.refuse_locked(programs)


def _sampled(event: int) -> Attachment:
    """An event that samples a trace event, enabled. The program that decides on the samples is another event's: of this
    one, the first child that has inherited it would take it off for all when it ends (perf_event_free_bpf_prog,
    kernel/events/core.c)."""
    try:
        perf_events.enable(event)
    except BaseException:
        os.close(event)
        raise
    return Attachment(event, closing_waits=True)


def _raw_tracepoint(program: LoadedProgram, name: str, cookie: int) -> int:
    """tp_btf programs know their tracepoint from loading, others by name.

    A kernel that takes no cookie (before 6.10) has no program that reads one either, since the verifier refuses that.
    """
    descriptor, typed = program.descriptor, program.spec.kind == programs.TRACING
    if cookie:
        try:
            if typed:
                return commands.link_tracing(descriptor, programs.TRACE_RAW_TP, cookie)
            return commands.open_raw_tracepoint(descriptor, name, cookie)
        except OSError as error:
            if error.errno not in NOT_SUPPORTED:
                raise
    return commands.open_raw_tracepoint(descriptor, None if typed else name)


def _perf_event(program: LoadedProgram, event: int, cookie: int) -> int:
    """Attach to a perf event and enable it; takes over `event` and returns the descriptor that now holds it."""
    try:
        holder = _hold(program, event, cookie)
    except BaseException:
        os.close(event)
        raise
    try:
        perf_events.enable(event)
    except BaseException:
        os.close(holder)
        raise
    finally:
        if holder != event:
            os.close(event)
    return holder


def _hold(program: LoadedProgram, event: int, cookie: int) -> int:
    """A link, or, before Linux 5.15, the event itself; there no program can read a cookie."""
    try:
        return commands.link_perf_event(program.descriptor, event, programs.ATTACH_PERF_EVENT, cookie)
    except OSError as error:
        if error.errno not in NOT_SUPPORTED:
            raise
    perf_events.set_program(event, program.descriptor)
    return event


def _failure(probe: Probe, error: OSError, sample_fields: int) -> EngineError:
    match probe.firing:
        case Timer() | PerfEvent() if error.errno == errno.EINVAL and sample_fields & SAMPLE_CGROUP:
            return EngineError(f"cannot attach {probe}: this kernel's samples have no cgroup (CONFIG_CGROUP_PERF)")
        case RawTracepoint(name=name) if error.errno == errno.ENOENT:
            return EngineError(f"cannot attach {probe}: this kernel has no tracepoint {name}")
        case RawTracepoint() | Syscall() if error.errno == errno.EINVAL:
            return EngineError(f"cannot attach {probe}: the program reads more arguments than the tracepoint has")
        case Tracepoint() if error.errno == errno.EACCES:
            return EngineError(f"cannot attach {probe}: the program reads past the end of the event's record")
        case Tracepoint(group=group, name=name) if error.errno in (errno.ENOENT, errno.EINVAL):
            return EngineError(f"cannot attach {probe}: this kernel has no trace event {group}:{name}")
        case PerfEvent(source="breakpoint") if error.errno in (errno.ENOSPC, *_CANNOT_COUNT):
            why = "all debug registers are in use" if error.errno == errno.ENOSPC else error.strerror
            return EngineError(f"cannot attach {probe}: the processor cannot watch this place ({why})")
        case PerfEvent(source=source) if error.errno in _CANNOT_COUNT:
            why = "takes no samples, or not in this mode" if error.errno != errno.EACCES else "is not permitted"
            return EngineError(f"cannot attach {probe}: this event of {source} {why} ({error.strerror})")
        case Packet():
            return packet_hooks.failure(probe, probe.firing, error)
        case Timer() if error.errno in (errno.EOPNOTSUPP, errno.ENOENT):
            return EngineError(f"cannot attach {probe}: this kernel has no cpu-clock event")
    return explain(error, f"cannot attach {probe}")
