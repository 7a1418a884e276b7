"""A seccomp filter that stops a thread, for its tracer, at some system calls and allows all others.

Classic BPF over struct seccomp_data: Documentation/userspace-api/seccomp_filter.rst and
include/uapi/linux/{filter,seccomp}.h of the kernel.
"""

from __future__ import annotations

import ctypes
import os
import struct

_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP = 317
"""The system call's number on x86-64; libc has no function for it."""

_SET_MODE_FILTER = 1
_SPEC_ALLOW = 1 << 2
"""SECCOMP_FILTER_FLAG_SPEC_ALLOW: no mitigation that would slow the program down; the filter guards nothing."""

_LOAD, _JUMP, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x05, 0x15, 0x35, 0x06
_ALLOW, _TRACE = 0x7FFF0000, 0x7FF00000
_NUMBER, _ARCHITECTURE = 0, 4
_NATIVE = 0xC000003E
"""AUDIT_ARCH_X86_64: calls of i386 are allowed, as those of x32 are, whose numbers have bit 30 set."""

_Instruction = tuple[int, int, int, int]
_FAR = 255


def filter_for(calls: dict[int, int]) -> bytes:
    """The filter's instructions (struct sock_filter): call number -> what its stop carries as data, 16 bits, not 0."""
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _NATIVE),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, _NUMBER),
        *_search(_ranges(calls)),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _ranges(calls: dict[int, int]) -> list[tuple[int, int]]:
    """Where a run of numbers that are treated alike begins, and how they are: 0 for those of no interest."""
    found = [(0, 0)]
    for number in sorted(calls):
        if number != found[-1][0]:
            found.append((number, 0))
        found[-1] = (number, calls[number])
        found.append((number + 1, 0))
    merged: list[tuple[int, int]] = []
    for start, data in found:
        if not merged or merged[-1][1] != data:
            merged.append((start, data))
    return merged


def _search(ranges: list[tuple[int, int]]) -> list[_Instruction]:
    """Binary search for the run that the number in the accumulator is in."""
    if len(ranges) == 1:
        data = ranges[0][1]
        return [(_RETURN, 0, 0, _TRACE | data if data else _ALLOW)]
    middle = len(ranges) // 2
    below, above = _search(ranges[:middle]), _search(ranges[middle:])
    pivot = ranges[middle][0]
    if len(below) <= _FAR:
        return [(_AT_LEAST, len(below), 0, pivot), *below, *above]
    return [(_AT_LEAST, 0, 1, pivot), (_JUMP, 0, 0, len(below)), *below, *above]


def install(filter_: bytes) -> None:
    """Put it on this thread for good, and on what it becomes and forks; no_new_privs with it. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(filter_, len(filter_))
    program = struct.pack("=H6xQ", len(filter_) // 8, ctypes.addressof(code))
    _succeed(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    if libc.syscall(_SECCOMP, _SET_MODE_FILTER, _SPEC_ALLOW, program):
        _succeed(libc.syscall(_SECCOMP, _SET_MODE_FILTER, 0, program))


def _succeed(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
