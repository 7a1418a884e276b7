"""Memory that is mapped twice: what runs over the end of it is at its beginning, without anybody's doing.

So a record of a ring has one address and can be filled by plain stores, also where the ring's end is within it.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, MAP_SHARED, PROT_READ, PROT_WRITE

_MAP_FIXED = 0x10
_PROT_NONE = 0

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.argtypes = (
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
)  # fmt: skip
_libc.mmap.restype = ctypes.c_size_t
_libc.munmap.argtypes = (ctypes.c_size_t, ctypes.c_size_t)
_FAILED = ctypes.c_size_t(-1).value


def mirrored(before: int, size: int) -> memoryview:
    """`before` bytes, then the same `size` bytes twice; both numbers are multiples of a page. The memory goes when its
    last view does. Raises OSError."""
    whole = before + 2 * size
    descriptor = os.memfd_create("perf_ring", os.MFD_CLOEXEC)
    try:
        os.ftruncate(descriptor, before + size)
        address = _map(0, whole, _PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        try:
            _map_file(address, before + size, descriptor, 0)
            _map_file(address + before + size, size, descriptor, before)
        except OSError:
            _libc.munmap(address, whole)
            raise
    finally:
        os.close(descriptor)
    owner = (ctypes.c_ubyte * whole).from_address(address)
    # At the end of the process there may be views still.
    weakref.finalize(owner, _libc.munmap, address, whole).atexit = False
    return memoryview(owner).cast("B")


def _map_file(address: int, size: int, descriptor: int, offset: int) -> None:
    _map(address, size, PROT_READ | PROT_WRITE, MAP_SHARED | _MAP_FIXED, descriptor, offset)


def _map(address: int, size: int, protection: int, flags: int, descriptor: int, offset: int) -> int:
    found = int(_libc.mmap(address, size, protection, flags, descriptor, offset))
    if found == _FAILED:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return found
