"""A seccomp filter that stops a thread, for its tracer, at some system calls, notifies of some, and allows all others.

Classic BPF over struct seccomp_data: Documentation/userspace-api/seccomp_filter.rst and
include/uapi/linux/{filter,seccomp}.h of the kernel.
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
from collections.abc import Set
from functools import cache, lru_cache

from sonde.arch import system_calls
from sonde.arch.call_numbers import native
from sonde.engines.embedded.tracer.plan import FILES, HOLD_RETURN, RETURN, followed

PR_SET_NO_NEW_PRIVS = 38
SET_MODE_FILTER = 1
MODE_FILTER = 2
"""What seccomp(2) and prctl(PR_SET_SECCOMP) are asked for where they install a filter."""

SYNCHRONIZE = 1 << 0
"""SECCOMP_FILTER_FLAG_TSYNC: all threads of the process get the filter."""

_GET_ACTION_AVAILABLE = 2
SPEC_ALLOW = 1 << 2
"""SECCOMP_FILTER_FLAGSPEC_ALLOW: no mitigation that would slow the program down; the filter guards nothing."""

NEW_LISTENER = 1 << 3
"""SECCOMP_FILTER_FLAG_NEW_LISTENER: the call's result is a descriptor that tells what the filter notifies of."""

_WAIT_KILLABLE = 1 << 5
"""SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV: no signal interrupts a call that has been told; it would begin again."""

_LOAD, _JUMP, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x05, 0x15, 0x35, 0x06
_ALLOW, _TRACE, _NOTIFY = 0x7FFF0000, 0x7FF00000, 0x7FC00000
_ANY_BIT = 0x45
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_PROTECTION, _FILE = _FIRST_ARGUMENT + 2 * 8, _FIRST_ARGUMENT + 4 * 8
_EXECUTE, _NO_FILE = 4, 0xFFFF_FFFF
"""PROT_EXEC, and the descriptor of mmap(2) without a file."""

INSTALLS = 16
"""In a stop's data, besides what is wanted of the call: it installs a filter, or may make a process that is not to be
traced."""

UNTRACED = 0x0080_0000
"""CLONE_UNTRACED of clone(2). What has the filter and no tracer would fail in its calls."""

WANTED = 15
MARKS = 0xFFE0
"""The bits of a stop's data that tell sonde's filter from those of others."""

_LARGE = 0x8000
"""Others number their stops from 0 or 1 on."""

_PR_SET_SECCOMP = 22
_INSTALLS_OR_NOT, _UNTRACED_OR_NOT, _FOLLOWED_OR_NOT = -1, -2, -3

_Instruction = tuple[int, int, int, int]
_FAR = 255


@cache
def clone3() -> int:
    """The number of the call."""
    return native("clone3")[0]


def new_mark() -> int:
    """Bits of MARKS that no filter of others is likely to have."""
    return int.from_bytes(os.urandom(2), "little") & MARKS | _LARGE


def filter_for(calls: dict[int, int], notified: Set[int] = frozenset(), mark: int = 0, maps: int = 0) -> bytes:
    """The filter's instructions (struct sock_filter): call number -> what is wanted of it, 4 bits, not 0, which its
    stop carries as data together with `mark`, of the bits MARKS.

    It notifies of the calls `notified`. Calls that install filters stop too, those that make a process without a
    tracer, as any clone3(2) may, and with `maps` (StopPlan) the returns of those by which code is mapped or, with
    FILES, any file, or what SIGTRAP does is changed.
    """
    actions = {number: _NOTIFY if number in notified else _TRACE | mark | data for number, data in calls.items()}
    prctl = actions.get(system_calls.PRCTL, _ALLOW)
    actions[system_calls.SECCOMP] = _TRACE | mark | INSTALLS | calls.get(system_calls.SECCOMP, 0)
    actions[system_calls.PRCTL] = _INSTALLS_OR_NOT
    clone = actions.get(system_calls.CLONE, _ALLOW)
    actions[system_calls.CLONE] = _UNTRACED_OR_NOT
    # Its flags are in memory.
    actions[clone3()] = _TRACE | mark | INSTALLS | calls.get(clone3(), 0)
    leaves = {
        _INSTALLS_OR_NOT: [
            (_LOAD, 0, 0, _FIRST_ARGUMENT),
            (_EQUAL, 0, 1, _PR_SET_SECCOMP),
            (_RETURN, 0, 0, _TRACE | mark | INSTALLS | calls.get(system_calls.PRCTL, 0)),
            (_RETURN, 0, 0, prctl),
        ],
        _UNTRACED_OR_NOT: [
            (_LOAD, 0, 0, _FIRST_ARGUMENT),
            (_ANY_BIT, 0, 1, UNTRACED),
            (_RETURN, 0, 0, _TRACE | mark | INSTALLS | calls.get(system_calls.CLONE, 0)),
            (_RETURN, 0, 0, clone),
        ],
    }
    for place, number in enumerate(sorted(followed(maps))):
        actions[number] = _FOLLOWED_OR_NOT - place
        leaves[_FOLLOWED_OR_NOT - place] = _followed(number, mark, calls.get(number, 0), maps)
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, system_calls.AUDIT_ARCHITECTURE),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, _NUMBER),
        *_search(_ranges(actions), leaves),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _followed(number: int, mark: int, wanted: int, maps: int) -> list[_Instruction]:
    """The leaf of a call that may map code, or a file, or change what SIGTRAP does."""
    returns = (_RETURN, 0, 0, _TRACE | mark | wanted | RETURN | HOLD_RETURN)
    other = (_RETURN, 0, 0, _TRACE | mark | wanted if wanted else _ALLOW)
    if number == system_calls.SIGACTION:
        return [(_LOAD, 0, 0, _FIRST_ARGUMENT), (_EQUAL, 0, 1, signal.SIGTRAP), returns, other]
    look = [(_LOAD, 0, 0, _PROTECTION), (_ANY_BIT, 0, 1, _EXECUTE), returns]
    if number == system_calls.MMAP and maps == FILES:
        look += [(_LOAD, 0, 0, _FILE), (_EQUAL, 1, 0, _NO_FILE), returns]
    return [*look, other]


def _ranges(actions: dict[int, int]) -> list[tuple[int, int]]:
    """Where a run of numbers that are treated alike begins, and the filter's answer."""
    found = [(0, _ALLOW)]
    for number in sorted(actions):
        if number != found[-1][0]:
            found.append((number, _ALLOW))
        found[-1] = (number, actions[number])
        found.append((number + 1, _ALLOW))
    merged: list[tuple[int, int]] = []
    for start, action in found:
        if not merged or merged[-1][1] != action:
            merged.append((start, action))
    return merged


def _search(ranges: list[tuple[int, int]], leaves: dict[int, list[_Instruction]]) -> list[_Instruction]:
    """Binary search for the run that the number in the accumulator is in; `leaves` are those that look further."""
    if len(ranges) == 1:
        action = ranges[0][1]
        return leaves.get(action, [(_RETURN, 0, 0, action)])
    middle = len(ranges) // 2
    below, above = _search(ranges[:middle], leaves), _search(ranges[middle:], leaves)
    pivot = ranges[middle][0]
    if len(below) <= _FAR:
        return [(_AT_LEAST, len(below), 0, pivot), *below, *above]
    return [(_AT_LEAST, 0, 1, pivot), (_JUMP, 0, 0, len(below)), *below, *above]


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def is_available() -> bool:
    """Whether filters that trace can be installed here: the kernel may have none, and a profile refuse seccomp(2)."""
    action = struct.pack("=I", _TRACE)
    found: int = _libc().syscall(system_calls.SECCOMP, _GET_ACTION_AVAILABLE, 0, action)
    return not found


def install(filter_: bytes, notifying: bytes = b"") -> None:
    """Put it on this thread for good, and on what it becomes and forks; no_new_privs with it. Raises OSError.

    Rather `notifying`, if there is one and the kernel takes it: from there on a tracer has to see to it that such calls
    are answered, as this thread's next one may be among them. The tracer finds the listener at the end of this call.
    """
    libc = _libc()
    _succeed(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    attempts = [(filter_, SPEC_ALLOW), (filter_, 0)]
    if notifying:
        attempts.insert(0, (notifying, SPEC_ALLOW | NEW_LISTENER | _WAIT_KILLABLE))
    for code, flags in attempts:
        kept = ctypes.create_string_buffer(code, len(code))
        program = struct.pack("=H6xQ", len(code) // 8, ctypes.addressof(kept))
        result = libc.syscall(system_calls.SECCOMP, SET_MODE_FILTER, flags, program)
        if result >= 0:
            return
    _succeed(result)


def _succeed(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
