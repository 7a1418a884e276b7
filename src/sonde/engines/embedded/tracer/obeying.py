"""Commands of sonde, carried out by the guardian."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from contextlib import suppress
from functools import cache

from sonde.arch import registers
from sonde.arch.call_numbers import native
from sonde.engines.embedded.tracer import commands, injection, late_filter, plan, ptrace, samples, sites, stops
from sonde.engines.embedded.tracer import traps as tracer_traps
from sonde.engines.embedded.tracer.events import handle, wait_for_go
from sonde.engines.embedded.tracer.memory import ProcessMemory
from sonde.engines.embedded.tracer.threads import TracedThreads

_FOLLOW = ptrace.O_SYSGOOD | ptrace.O_FORK | ptrace.O_VFORK | ptrace.O_CLONE | ptrace.O_EXEC
_FILTERED = ptrace.O_SECCOMP | ptrace.O_EXITKILL


def obey(threads: TracedThreads, asked: int, tid: int, argument: int, payload: bytes) -> None:
    """One command (commands.py)."""
    if asked == commands.RESUME:
        threads.release(tid, argument)
    elif asked == commands.INJECT:
        _inject(threads, tid, *commands.INJECTION.unpack(payload))
    elif asked == commands.PLAN:
        threads.adopt_plan(plan.from_bytes(payload))
    elif asked == commands.SEIZE_COMMAND:
        threads.answer(commands.SEIZED, tid, _seize_command(threads, tid))
    elif asked == commands.SEIZE_PROCESS:
        threads.answer(commands.SEIZED, tid, _seize_process(threads, tid))
    elif asked == commands.FILTER:
        threads.answer(commands.SEIZED, tid, _filter(threads, tid, payload))
    elif asked == commands.RUN_TO:
        _run_to(threads, tid, argument)
    elif asked == commands.SITES:
        threads.want_sites(sites.from_bytes(payload))
    elif asked == commands.STAND:
        _stand(threads)
    elif asked == commands.SAMPLE:
        samples.ask(threads)
    elif asked == commands.TRAPS:
        threads.answer(commands.SEIZED, tid, _set_traps(threads, payload))
    elif asked == commands.GO:
        _go(threads)
    elif asked == commands.READ:
        _read(threads, tid, payload)
    elif asked == commands.WRITE:
        _write(threads, tid, payload)


@cache
def _info() -> ctypes.Array[ctypes.c_char]:
    return ctypes.create_string_buffer(ptrace.INFO_SIZE)


def _inject(threads: TracedThreads, tid: int, record: int, result: int) -> None:
    """A call whose number is -1 is not made, and its result is what is in the register (do_syscall_64)."""
    held = threads.held.get(tid)
    if held is None or held.record != record:
        return
    # Not where records are made: one may be on its way there, and wait for a slot.
    info = _info()
    if threads.ptrace(ptrace.GET_SYSCALL_INFO, tid, ptrace.INFO_SIZE, info) < 0:
        return
    with suppress(OSError):
        if info.raw[0] in (ptrace.INFO_ENTRY, ptrace.INFO_SECCOMP):
            ptrace.call(ptrace.POKEUSER, tid, registers.CALL_NUMBER, -1)
        ptrace.call(ptrace.POKEUSER, tid, registers.CALL_RESULT, result)


def _seize(threads: TracedThreads, tid: int, options: int, request: int) -> int:
    """0 or an errno."""
    try:
        ptrace.call(ptrace.SEIZE, tid, 0, options)
    except OSError as error:
        return error.errno or errno.EPERM
    threads.requests[tid] = request
    return 0


def _seize_command(threads: TracedThreads, tid: int) -> int:
    """The thread runs on, to where it calls exec. With a filter it ends if the guardian does: its calls would fail."""
    options = _FOLLOW | (ptrace.O_EXIT if stops.EXIT in threads.plan.events else 0)
    if threads.plan.seccomp:
        threads.filters = True
        problem = _seize(threads, tid, options | _FILTERED, ptrace.CONT)
    else:
        problem = _seize(threads, tid, options, ptrace.SYSCALL)
    if not problem:
        threads.starting.add(tid)
        if threads.plan.notified:
            threads.notifications.awaited = tid
            threads.ptrace(ptrace.INTERRUPT, tid, 0, 0)
        threads.note(tid, stops.START, 0, 0, -1)
    return problem


def _filter(threads: TracedThreads, tid: int, filter_: bytes) -> int:
    """Have a command that waits get the filter of a plan that was not known when it was executed: 0, or an errno where
    each of its system calls goes on to stop."""
    try:
        if tid not in threads.waiting:
            return errno.ESRCH
        ptrace.call(ptrace.SETOPTIONS, tid, 0, _FOLLOW | ptrace.O_EXIT | _FILTERED)
        try:
            late_filter.install(tid, filter_)
        except OSError:
            ptrace.call(ptrace.SETOPTIONS, tid, 0, _FOLLOW | ptrace.O_EXIT)
            raise
    except injection.ThreadEndedError as error:
        handle(threads, tid, error.args[0])
        return errno.ESRCH
    except OSError as error:
        return error.errno or errno.EPERM
    threads.filters = True
    if tid in threads.in_exec:
        # What was injected has taken it out of the call.
        threads.in_exec[tid] = False
    threads.requests[tid] = ptrace.CONT
    return 0


def _seize_process(threads: TracedThreads, pid: int) -> int:
    """All its threads, which run on; those that they make meanwhile are either found here or traced by themselves."""
    tried: set[int] = set()
    problem, found = errno.ESRCH, False
    while new := _tasks(pid) - tried:
        for tid in sorted(new, key=lambda tid: (tid != pid, tid)):
            tried.add(tid)
            if tid in threads.requests:
                continue
            result = _seize(threads, tid, _FOLLOW | ptrace.O_EXIT, ptrace.SYSCALL)
            if not result:
                found = True
                threads.note(tid, stops.START, 0, int(tid != pid), -1)
            elif tid == pid:
                problem = result
    return 0 if found else problem


def _tasks(pid: int) -> set[int]:
    try:
        return {int(name) for name in os.listdir(f"/proc/{pid}/task")}
    except FileNotFoundError:
        return set()


def _run_to(threads: TracedThreads, tid: int, address: int) -> None:
    """Put a breakpoint there. A command that cannot have one waits where it is."""
    threads.waiting.discard(tid)
    threads.in_exec.pop(tid, None)
    try:
        word = ptrace.set_breakpoint(tid, address)
    except OSError:
        wait_for_go(threads, tid)
        return
    threads.breakpoints[tid] = (address, word)
    threads.proceed(tid)


def _stand(threads: TracedThreads) -> None:
    for tid, request in threads.requests.items():
        if request == ptrace.SYSCALL and tid not in threads.waiting:
            threads.standing.add(tid)
            threads.ptrace(ptrace.INTERRUPT, tid, 0, 0)


def _set_traps(threads: TracedThreads, payload: bytes) -> int:
    """0 or an errno: then there are none."""
    mark, *periods = (word for (word,) in struct.iter_unpack("=Q", payload))
    traps = tracer_traps.ClockTraps(periods, mark)
    try:
        for tid in threads.requests:
            with suppress(ProcessLookupError):
                traps.find(tid)
    except OSError as error:
        traps.close()
        return error.errno or errno.EPERM
    threads.traps = traps
    return 0


def _go(threads: TracedThreads) -> None:
    """Those that no filter stops are stopped once, so that their system calls do from then on."""
    threads.tracing = True
    if threads.spaces.wanted:
        # Those that sonde was given come before those that have their memory, too.
        threads.spaces.find(list(threads.requests))
    threads.notes[stops.TELLING] = 1
    for tid in threads.waiting:
        if tid in threads.in_exec:
            _leave_exec(threads, tid)
        else:
            threads.proceed(tid)
    threads.in_exec.clear()
    for tid, request in threads.requests.items():
        if request == ptrace.SYSCALL and tid not in threads.waiting:
            threads.standing.add(tid)
            threads.ptrace(ptrace.INTERRUPT, tid, 0, 0)
    threads.waiting.clear()


def _leave_exec(threads: TracedThreads, tid: int) -> None:
    """A command that stands in its exec goes on: what exec does fires, and the return from it."""
    number = native("execve")[0]
    wanted = threads.wanted.get(number, 0)
    if wanted & plan.RETURN and threads.in_exec[tid]:
        threads.inside[tid] = number << 4 | wanted
    threads.tell_always(tid, stops.EXEC, tid)


@cache
def _memory() -> ProcessMemory:
    """One, for the reason that ptrace.call has one library for."""
    return ProcessMemory()


def _read(threads: TracedThreads, tid: int, payload: bytes) -> None:
    """The tracer may read what sonde, which is only an ancestor or not even that, may not (Yama's ptrace_scope 1)."""
    address, size = commands.TRANSFER.unpack(payload)
    try:
        data = _memory().read_available(tid, address, size)
    except OSError as error:
        threads.answer(commands.DATA, tid, -(error.errno or errno.EPERM))
        return
    threads.answer(commands.DATA, tid, len(data), data)


def _write(threads: TracedThreads, tid: int, payload: bytes) -> None:
    address, size = commands.TRANSFER.unpack_from(payload)
    try:
        _memory().write(tid, address, payload[commands.TRANSFER.size :])
    except OSError as error:
        size = -(error.errno or errno.EPERM)
    threads.answer(commands.DATA, tid, size)
