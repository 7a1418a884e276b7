"""Seccomp filters of the traced programs' own: what they say of a call holds as if nobody traced.

SECCOMP_RET_TRACE fails with ENOSYS where there is no tracer (seccomp(2)), and stops the thread where there is the
guardian. The kernel takes the strictest answer of all filters, and of equal ones that of the filter installed last. So

- a stop whose data has not sonde's mark is of another's filter: its call is skipped;
- a notification is stricter than TRACE, and would hide it: where sonde's filter notifies, a filter that is installed
  says ERRNO and ENOSYS instead of TRACE, which comes to the same; the program finds its filter as it was;
- a filter that was there before sonde's hides behind that, or hides sonde's: below one sonde puts none on the command;
- what a filter that is installed refuses hides sonde's as well: see stepping.py.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress

from sonde.arch import registers
from sonde.engines.embedded.tracer import ptrace, seccomp, stepping, untraced_makers
from sonde.engines.embedded.tracer.threads import TracedThreads
from sonde.machine import proc

_NUMBER, _DATA = 3, 10
"""Words of struct ptrace_syscall_info: a call's number, then its arguments; a filter's data."""

_PROGRAM = 3
"""Which word behind the number is the struct sock_fprog, of seccomp(2) and of prctl(2)."""

_INSTRUCTION = struct.Struct("=HBBI")
_MOST = 4096
"""BPF_MAXINSNS"""

_RETURN, _ACTION = 0x06, 0xFFFF0000
_TRACE, _NO_SUCH_CALL = 0x7FF00000, 0x00050000 | 38


def are_inherited() -> bool:
    """Whether this process has filters that are not those of its whole system or container: who has started it may
    mean something by them."""
    return _filters(os.getpid()) > _filters(1)


def are_any() -> bool:
    """Whether this process has filters, be they those of a container: what they refuse, sonde's would not see."""
    return _filters(os.getpid()) > 0


def _filters(process: int) -> int:
    try:
        found = proc.status(process)
    except OSError:
        return 0
    # Before Linux 5.9 only whether there are any.
    return int(found.get("Seccomp_filters") or int(found.get("Seccomp", "0") == "2"))


def data_of_stop(threads: TracedThreads, tid: int) -> int | None:
    """What sonde's filter says of the call that it stopped the thread at: its 5 lower bits. None if there is nothing
    for sonde in it: the thread is gone, or another filter has said so, and the call will fail."""
    if threads.ptrace(ptrace.GET_SYSCALL_INFO, tid, ptrace.INFO_SIZE, threads.info) < 0:
        return None
    data = threads.writer.info_words[_DATA] & 0xFFFF ^ threads.plan.mark
    if data & seccomp.MARKS:
        # The kernel skips it then, and has put ENOSYS where the result will be.
        with suppress(OSError):
            ptrace.call(ptrace.POKEUSER, tid, registers.CALL_NUMBER, -1)
        return None
    untraced_makers.entered(threads, tid)
    if data & seccomp.INSTALLS and (found := stepping.installation(threads)) is not None:
        changed = _amended(threads, tid) if threads.plan.notified else []
        threads.installing[tid] = found._replace(changed=tuple(changed))
    return data


def _amended(threads: TracedThreads, tid: int) -> list[tuple[int, int]]:
    """Change what the thread is about to install, until it has: the places, and the words that were there. What cannot
    be read is for the kernel to refuse."""
    address = threads.writer.info_words[_NUMBER + _PROGRAM]
    changed: list[tuple[int, int]] = []
    with suppress(OSError):
        length, first = ptrace.peek(tid, address) & 0xFFFF, ptrace.peek(tid, address + 8)
        for place in range(first, first + 8 * min(length, _MOST), 8):
            word = ptrace.peek(tid, place)
            code, _, _, constant = _INSTRUCTION.unpack(word.to_bytes(8, "little"))
            if code == _RETURN and constant & _ACTION == _TRACE:
                ptrace.call(ptrace.POKEDATA, tid, place, word & 0xFFFFFFFF | _NO_SUCH_CALL << 32)
                changed.append((place, word))
    return changed


def installed(threads: TracedThreads, tid: int) -> None:
    """The thread leaves the call that it was in: its filter's program is again what it was."""
    found = threads.installing.pop(tid)
    for place, word in found.changed:
        with suppress(OSError):
            ptrace.call(ptrace.POKEDATA, tid, place, word)
    stepping.installed(threads, tid, found)
