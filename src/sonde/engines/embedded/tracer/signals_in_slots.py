"""Signals that come while a thread is in a slot: their handlers and whoever unwinds find it where it really is.

A slot's instruction is executed before the signal is delivered, as the kernel does for its uprobes, so that it is not
begun twice. If the signal is what the instruction itself has caused, the thread stands before it once more.
"""

from __future__ import annotations

import ctypes
import signal
import struct

from sonde.arch import registers
from sonde.engines.embedded.tracer import injection, ptrace
from sonde.engines.embedded.tracer.code_space import CodeSpace
from sonde.engines.embedded.tracer.threads import TracedThreads

_FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
_ADDRESSED = (signal.SIGFPE, signal.SIGILL)
"""Their si_addr is that of the instruction (sigaction(2))."""

_ADDRESS_AT = 16
_U64 = 0xFFFF_FFFF_FFFF_FFFF


def leave(threads: TracedThreads, tid: int, number: int) -> None:
    """A signal is about to be delivered to a thread that may be in a slot. Raises OSError."""
    space = threads.spaces.by_tid[tid]
    counter = ptrace.call(ptrace.PEEKUSER, tid, registers.PROGRAM_COUNTER) & _U64
    found = space.resumptions.get(counter)
    if found is None:
        return
    information = ctypes.create_string_buffer(128)
    at = ctypes.addressof(information)
    ptrace.call(ptrace.GETSIGINFO, tid, 0, at)
    _, _, code = struct.unpack_from("=iii", information)
    if number in _FAULTS and code > 0:
        if number in _ADDRESSED:
            struct.pack_into("=Q", information, _ADDRESS_AT, found.address)
            ptrace.call(ptrace.SETSIGINFO, tid, 0, at)
        resume(space, tid)
        return
    if found.begins:
        try:
            _execute(space, tid)
        except injection.ThreadEndedError as error:
            threads.ended_early.append((tid, error.args[0]))
            raise ProcessLookupError from None
    resume(space, tid)
    ptrace.call(ptrace.SETSIGINFO, tid, 0, at)


def _execute(space: CodeSpace, tid: int) -> None:
    """Step until the instruction has been executed: a call takes two steps. One that faults is begun once more behind
    the signal's handler."""
    for _ in range(2):
        if injection.step(tid):
            return
        counter = ptrace.call(ptrace.PEEKUSER, tid, registers.PROGRAM_COUNTER) & _U64
        found = space.resumptions.get(counter)
        if found is None or not found.begins:
            return


def resume(space: CodeSpace, tid: int) -> bool:
    """Have the stopped thread be where it would be without slots; whether it was in one. Raises OSError."""
    counter = ptrace.call(ptrace.PEEKUSER, tid, registers.PROGRAM_COUNTER) & _U64
    found = space.resumptions.get(counter)
    if found is None:
        return False
    ptrace.call(ptrace.POKEUSER, tid, registers.PROGRAM_COUNTER, found.address)
    if found.stack:
        stack = ptrace.call(ptrace.PEEKUSER, tid, registers.STACK_POINTER)
        ptrace.call(ptrace.POKEUSER, tid, registers.STACK_POINTER, stack + found.stack)
    return True
