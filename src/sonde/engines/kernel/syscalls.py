"""The system calls Python has no function for: bpf(2), perf_event_open(2), and poll(2) that a signal interrupts.

Failures are OSError with the kernel's errno. Nothing here knows what the attributes mean; see `commands.py`.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable

from sonde.arch import system_calls

_TEXT_OF_ERRNO = {524: "operation not supported"}
"""Errors the kernel returns that the C library does not know: ENOTSUPP (include/linux/errno.h)."""

_POLLFD = struct.Struct("@ihh")
POLLIN = 1

_library = ctypes.CDLL(None, use_errno=True)
_call = _library["syscall"]
_call.restype = ctypes.c_long
_call.argtypes = [ctypes.c_long] * 6
_poll = _library["poll"]
_poll.argtypes = [ctypes.c_void_p, ctypes.c_ulong, ctypes.c_int]
_getcpu = _library["sched_getcpu"]


def os_error() -> OSError:
    """The error of the last call, as an exception."""
    number = ctypes.get_errno()
    return OSError(number, _TEXT_OF_ERRNO.get(number) or os.strerror(number))


def address_of(data: bytearray) -> int:
    """Where `data` is in memory; it must neither be resized nor dropped while the kernel may use it."""
    return ctypes.addressof(ctypes.c_char.from_buffer(data)) if data else 0


def bpf(command: int, attributes: bytearray) -> int:
    """bpf(2): `attributes` is union bpf_attr, into which some commands write results."""
    result: int = _call(system_calls.BPF, command, address_of(attributes), len(attributes), 0, 0)
    if result < 0:
        raise os_error()
    return result


def perf_event_open(attributes: bytearray, process: int, cpu: int, group: int, flags: int) -> int:
    """perf_event_open(2): `attributes` is struct perf_event_attr. Returns a descriptor."""
    result: int = _call(system_calls.PERF_EVENT_OPEN, address_of(attributes), process, cpu, group, flags)
    if result < 0:
        raise os_error()
    return result


def current_cpu() -> int:
    """The CPU this thread is running on."""
    return int(_getcpu())


class PollSet:
    """Descriptors to wait for. Unlike select.poll, `wait` returns when a signal arrives, so that handlers' decisions
    are seen; a signal that arrives just before the wait is only noticed by a descriptor (signal.set_wakeup_fd)."""

    def __init__(self, descriptors: Iterable[int]) -> None:
        self.descriptors = tuple(descriptors)
        self._buffer = bytearray().join(_POLLFD.pack(descriptor, POLLIN, 0) for descriptor in self.descriptors)
        self._address = address_of(self._buffer)

    def wait(self, timeout: float | None) -> list[int]:
        """Those that are readable or broken; none after `timeout` seconds (None: never) or a signal."""
        milliseconds = -1 if timeout is None else max(0, min(-int(-timeout * 1000 // 1), 0x7FFFFFFF))
        count = _poll(self._address, len(self.descriptors), milliseconds)
        if count < 0:
            error = os_error()
            if isinstance(error, InterruptedError):
                return []
            raise error
        return [descriptor for descriptor, _, ready in _POLLFD.iter_unpack(self._buffer) if ready] if count else []
