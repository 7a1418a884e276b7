"""What the guardian is to tell of the traced threads, and which stops it holds, from the programs that want to know.

A stop is held where a program looks into the thread's memory, at its stack, or does something to it. All else is told
while the thread runs on; memory behind a system call's arguments can be fetched where the call is entered, if it is
known beforehand what the program reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sonde.arch import call_registers, system_calls
from sonde.arch.call_numbers import native
from sonde.bpf.helpers import NUMBERS
from sonde.bpf.programs import TRACING
from sonde.engines.embedded.sources.contexts import event_of
from sonde.engines.embedded.sources.pointers import READING, pointers_read
from sonde.engines.embedded.sources.registers import needs_more_registers, needs_stack_pointer
from sonde.engines.embedded.sources.tail_callees import TailCallees
from sonde.engines.embedded.sources.task_reads import looks_at_task
from sonde.engines.embedded.tracer import plan as plans
from sonde.engines.embedded.tracer import stops
from sonde.engines.embedded.tracer.plan import ENTRY, HOLD_ENTRY, HOLD_RETURN, RETURN, EntryFetch, StopPlan
from sonde.model.probe import Internal, Probe, RawTracepoint, Syscall, Timer, Tracepoint
from sonde.model.spec import ProbeSpec, ProgramSpec, TracingSpec
from sonde.runtime.programs.ready import called_helpers

USER = frozenset(
    NUMBERS[name]
    for name in (
        "probe_read", "probe_read_str", "probe_read_user", "probe_read_user_str", "probe_write_user", "copy_from_user",
        "copy_from_user_task", "get_stack", "get_stackid", "send_signal", "send_signal_thread", "open_file",
        "path_text", "cpu_time", "trace_printk", "trace_vprintk", "inject_result", "delay_task",
        "get_current_cgroup_id",
    )
)  # fmt: skip
"""Helpers for which the thread must stand still."""

STACK = frozenset(NUMBERS[name] for name in ("get_stack", "get_stackid"))
_IDENTITY = frozenset(NUMBERS[name] for name in ("get_current_uid_gid", "probe_read_kernel"))

SET_IDENTITY = native(
    "setuid", "setgid", "setpgid", "setsid", "setreuid", "setregid", "setgroups", "setresuid", "setresgid", "setfsuid",
    "setfsgid",
)  # fmt: skip
SENDING = (
    system_calls.KILL, system_calls.TKILL, system_calls.TGKILL, system_calls.SIGQUEUE, system_calls.TGSIGQUEUE,
)  # fmt: skip
"""The calls by which a process sends a signal to another."""

_EXEC, _FORK = native("execve", "execveat"), native("clone", "fork", "vfork", "clone3")
_SIGTIMEDWAIT, _YIELD = native("rt_sigtimedwait"), native("sched_yield")
_DERIVED = {
    ("proc", "exec"): _EXEC, ("proc", "exec-failure"): _EXEC, ("proc", "start"): _FORK, ("proc", "lwp-start"): _FORK,
    ("proc", "signal-clear"): _SIGTIMEDWAIT, ("sched", "surrender"): _YIELD,
}  # fmt: skip
"""Probes that follow from the raw tracepoints of system calls, and of which calls."""

_NOTHING: frozenset[int] = frozenset()
"""The registers that records of other events tell."""

_EVENTS = {
    "sched_process_fork": (stops.FORK,), "sched_process_exec": (stops.EXEC,), "sched_process_exit": (stops.EXIT,),
    "signal_generate": (stops.SIGNAL, stops.EXIT), "signal_deliver": (stops.SIGNAL,),
}  # fmt: skip


def plan_of(spec: TracingSpec, seccomp: bool, holds_all: bool = False, records: bool = False) -> StopPlan:
    """The plan that lets the spec's programs fire. `holds_all`: threads stand still, with all registers,
    whatever these do. `records`: firings are recorded, with the thread's name and identity."""
    programs = spec.programs
    calls: dict[int, int] = {}
    events, held = set(), set()
    registers = False
    pointers: dict[int, dict[tuple[int, int], int]] = {}
    callees = TailCallees(spec)
    for program in programs:
        running = callees.running(program)
        helpers = frozenset[int]().union(*map(called_helpers, running))
        has_variables = any(map(fetches_memory, running))
        stands_still = holds_all or bool(helpers & USER) or has_variables
        registers = registers or holds_all or bool(helpers & STACK)
        needs = _Needs(running, program.probes)
        is_followed = not (holds_all or has_variables or helpers & USER - READING) and len(running) == 1
        reads = pointers_read(program) if stands_still and is_followed else None
        for probe, _ in program.probes:
            for number, wanted, told in _calls(probe, stands_still):
                more = needs.more_than(told)
                if more:
                    wanted |= HOLD_RETURN if wanted & RETURN else HOLD_ENTRY
                    registers = True
                elif wanted & HOLD_ENTRY and reads is not None:
                    wanted &= ~HOLD_ENTRY
                    merge(pointers.setdefault(number, {}), reads)
                calls[number] = calls.get(number, 0) | wanted
            for kind in _kinds(probe):
                more = needs.more_than(_NOTHING)
                registers = registers or more
                events.add(kind)
                # What a process ignores is looked at before it can change.
                if stands_still or more or _generates(probe):
                    held.add(kind)
    if any(calls.get(number, 0) & HOLD_RETURN for number in _FORK):
        held.add(stops.START)
    refusals = bool(calls)
    looks = records or any(map(_looks, programs))
    if looks:
        held.add(stops.EXEC)
    _add_own(programs, calls, looks, records)
    notify = not any(map(needs_stack_pointer, programs))
    fetches = _fetches(pointers, calls)
    return StopPlan(
        calls, frozenset(events), frozenset(held), registers, seccomp, fetches, notify, refusals=refusals
    )  # fmt: skip


class _Needs:
    """What the programs that run where these probes fire need besides what a record tells."""

    def __init__(self, running: Sequence[ProgramSpec], fired: Sequence[ProbeSpec]) -> None:
        self._running = running
        self._fired = fired
        self._found: dict[frozenset[int], bool] = {}

    def more_than(self, told: frozenset[int]) -> bool:
        """Whether they may load registers that are not told."""
        if told not in self._found:
            self._found[told] = any(needs_more_registers(each, told, self._fired) for each in self._running)
        return self._found[told]


def fetches_memory(program: ProgramSpec) -> bool:
    """Whether a variable that it asks for is in the process's memory."""
    fetches = [fetch for each in program.variables for fetch in each.fetches]
    return any(each.kind != "value" or any(s.operation == "dereference" for s in each.steps) for each in fetches)


def merge(pointers: dict[tuple[int, int], int], reads: dict[tuple[int, int], int]) -> None:
    for pointer, size in reads.items():
        pointers[pointer] = max(pointers.get(pointer, 0), size)


def _fetches(
    pointers: dict[int, dict[tuple[int, int], int]], calls: dict[int, int]
) -> dict[int, tuple[EntryFetch, ...]]:
    """What is fetched, by system call; a call is held where that is too much."""
    found = {}
    for number, reads in pointers.items():
        fetches = tuple(EntryFetch(argument, size, offset) for (argument, offset), size in sorted(reads.items()))
        if not plans.can_fetch(fetches):
            calls[number] |= HOLD_ENTRY
        elif not calls[number] & HOLD_ENTRY:
            found[number] = fetches
    return found


def _calls(probe: Probe, stands_still: bool) -> Iterator[tuple[int, int, frozenset[int]]]:
    """The system calls that a program attached to the probe fires with, what is wanted of them, and which registers a
    record tells."""
    numbers: Iterable[int]
    match probe.firing:
        case Syscall(number=number, is_return=is_return, compat=compat):
            numbers = () if compat or (is_return and number == system_calls.SIGRETURN) else (number,)
        case Tracepoint() as firing:
            event = event_of(firing)
            if event is None:
                return
            is_return = event.is_return
            numbers = range(plans.NUMBERS) if event.number is None else (event.number,)
        case RawTracepoint(name="sys_enter" | "sys_exit" as name):
            numbers, is_return = _DERIVED.get((probe.provider, probe.name), range(plans.NUMBERS)), name == "sys_exit"
        case _:
            return
    wanted = (RETURN | stands_still * HOLD_RETURN) if is_return else (ENTRY | stands_still * HOLD_ENTRY)
    for number in numbers:
        yield number, wanted, _told(is_return, number)


def _told(is_return: bool, number: int) -> frozenset[int]:
    if is_return:
        return call_registers.TOLD_BEGINNING if number in _FORK else call_registers.TOLD_LEAVING
    return call_registers.TOLD_ENTERING


def _kinds(probe: Probe) -> tuple[int, ...]:
    """The kinds of records that the probe fires with, besides those of system calls."""
    match probe.firing:
        case RawTracepoint(name=name):
            return _EVENTS.get(name, ())
    return ()


def _add_own(programs: Sequence[ProgramSpec], calls: dict[int, int], looks: bool, records: bool) -> None:
    """What must be seen to know who is who, where a program may ask."""
    if all(isinstance(probe.firing, Internal) for program in programs for probe, _ in program.probes):
        return
    if any(_generates(probe) for program in programs for probe, _ in program.probes):
        # The sender is held where it may have the receiver end next: what that ignores must be known by then.
        for number in SENDING:
            calls[number] = calls.get(number, 0) | ENTRY | RETURN | HOLD_RETURN
    if looks:
        calls[system_calls.PRCTL] = calls.get(system_calls.PRCTL, 0) | ENTRY | HOLD_ENTRY
    if records or any(called_helpers(program) & _IDENTITY or program.kind == TRACING for program in programs):
        for number in SET_IDENTITY:
            calls[number] = calls.get(number, 0) | RETURN


def _looks(program: ProgramSpec) -> bool:
    """Whether the program may look at the thread that fires it, or at others."""
    return looks_at_task(program) or any(
        not isinstance(probe.firing, (Internal, Syscall, Timer)) for probe, _ in program.probes
    )


def _generates(probe: Probe) -> bool:
    return isinstance(probe.firing, RawTracepoint) and probe.firing.name == "signal_generate"
