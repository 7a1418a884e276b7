"""A filter for a command that was executed before it was known what is wanted: the thread, which waits until all may
go on, is made to install it itself."""

from __future__ import annotations

import ctypes
import errno
import struct
from contextlib import closing

from sonde.arch import system_calls
from sonde.bpf.helpers import MAX_ERRNO
from sonde.engines.embedded.tracer import injection, ptrace, seccomp
from sonde.engines.embedded.tracer.code_space import CodeSpace
from sonde.machine import proc

_SIZE = 1 << 16
"""Bytes: a filter has at most 4096 instructions of 8."""

_READ_WRITE, _PRIVATE_ANONYMOUS = 3, 0x22


def install(tid: int, filter_: bytes) -> None:
    """Put the filter on the process's only thread, which is stopped. Raises OSError where that is not to be, with the
    process as it was but for no_new_privs, and injection.ThreadEndedError."""
    if int(proc.status(tid)["Threads"]) != 1:
        # Each of them would have to be stopped.
        raise OSError(errno.EBUSY, "it has threads")
    code, _ = ptrace.signal_information(tid, (ctypes.c_char * 128)())
    if code >> 8 == ptrace.EVENT_EXEC:
        # It is in that call yet, which would have the last word on a register.
        injection.step(tid)
    with closing(CodeSpace(tid, tid)) as space:
        at = injection.system_call_place(space.mappings(tid), space.read)
        if not at:
            raise OSError(errno.ENOSYS, "no instruction makes system calls")
        area = _made(tid, at, system_calls.MMAP, 0, _SIZE, _READ_WRITE, _PRIVATE_ANONYMOUS, -1, 0)
        try:
            space.write(area, struct.pack("=H6xQ", len(filter_) // 8, area + 16) + filter_)
            _made(tid, at, system_calls.PRCTL, seccomp.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            try:
                _made(tid, at, system_calls.SECCOMP, seccomp.SET_MODE_FILTER, seccomp.SPEC_ALLOW, area)
            except OSError:
                _made(tid, at, system_calls.SECCOMP, seccomp.SET_MODE_FILTER, 0, area)
        finally:
            injection.system_call(tid, at, system_calls.MUNMAP, area, _SIZE)


def _made(tid: int, at: int, number: int, *arguments: int) -> int:
    """The result of a system call that the thread makes. Raises OSError where it fails."""
    result = injection.system_call(tid, at, number, *arguments)
    if -MAX_ERRNO <= result < 0:
        raise OSError(-result, "the thread's call failed")
    return result
