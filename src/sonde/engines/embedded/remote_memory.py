"""The memory of other processes: process_vm_readv(2) and process_vm_writev(2), which take no stop and no descriptor."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable

from sonde.typed import Any


class _Vector(ctypes.Structure):
    """struct iovec."""

    _fields_ = (("base", ctypes.c_size_t), ("length", ctypes.c_size_t))


def reader() -> Callable[[int, int, int], bytes]:
    """A function (thread, address, size) -> bytes. It raises OSError unless all of them can be read."""
    libc = ctypes.CDLL(None, use_errno=True)
    call: Any = libc.process_vm_readv
    local, remote = _Vector(), _Vector()
    at_local, at_remote = ctypes.byref(local), ctypes.byref(remote)
    capacity = 1 << 16
    buffer = ctypes.create_string_buffer(capacity)
    start, view = ctypes.addressof(buffer), memoryview(buffer)

    def read(tid: int, address: int, size: int) -> bytes:
        if size > capacity:
            return read(tid, address, capacity) + read(tid, address + capacity, size - capacity)
        local.base, remote.base = start, address
        local.length = remote.length = size
        if call(tid, at_local, 1, at_remote, 1, 0) != size:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
        return view[:size].tobytes()

    return read


def write(tid: int, address: int, data: bytes) -> None:
    """Write to a process's memory where it may write itself. Raises OSError unless all is written."""
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(data, len(data))
    local, remote = _Vector(ctypes.addressof(buffer), len(data)), _Vector(address, len(data))
    if libc.process_vm_writev(tid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0) != len(data):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
