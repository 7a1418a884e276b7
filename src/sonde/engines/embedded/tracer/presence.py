"""Which pages of a process are in memory: only these are read without waiting for anybody.

A page that is not there may have to come from a server that never answers (FUSE, userfaultfd(2)), and who reads it
waits, with the thread that it holds. So the reader is asked for it (others.py), which may be left behind.
"""

from __future__ import annotations

import ctypes
import os
import struct
import time
from collections import OrderedDict
from functools import lru_cache

from sonde.arch import pages
from sonde.typed import Any

_SCAN = 0xC0606610
"""PAGEMAP_SCAN of linux/fs.h, since Linux 6.7: struct pm_scan_arg, of a struct page_region."""

_ARGUMENT = struct.Struct("=12Q")
_SIZE = 96
_PRESENT, _SWAPPED = 1 << 3, 1 << 4
_REGION = struct.Struct("=3Q")

_ENTRY = 8
_ENTRY_PRESENT = 3 << 6
"""Bits 63 and 62 in the last byte of an entry of /proc/PID/pagemap: the page is there, or can be swapped in."""

_MOST = 32
_LIFE = 0.05
"""Seconds after which a process's pagemap is opened again: it may have executed another program, which leaves what is
open with the memory from before."""

_PAGE = pages.PAGE


@lru_cache(maxsize=1)
def _ioctl() -> Any:
    # As ptrace.prepared(): no errno.
    return ctypes.PyDLL(None)["ioctl"]


class Presence:
    """Asked by thread. Where that cannot be told every page counts as present."""

    def __init__(self) -> None:
        self._open: OrderedDict[int, tuple[int, float]] = OrderedDict()
        # Without types of arrays of their own, which would be garbage in circles.
        self._region, self._argument = bytearray(_REGION.size), bytearray(_ARGUMENT.size)
        self._region_at = ctypes.addressof(ctypes.c_char.from_buffer(self._region))
        self._at = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(self._argument)))
        self._scan = ctypes.c_ulong(_SCAN)
        self._call = _ioctl()
        self._can_scan, self._has_scanned = True, False

    def has(self, tid: int, address: int, size: int) -> bool:
        """Whether all pages of this part of a process are in memory."""
        start, end = address - address % _PAGE, -(-(address + size) // _PAGE) * _PAGE
        descriptor = self._descriptor(tid)
        if descriptor < 0 or end > 1 << 63:
            return True
        if self._can_scan:
            wanted = _PRESENT | _SWAPPED
            _ARGUMENT.pack_into(self._argument, 0, _SIZE, 0, start, end, 0, self._region_at, 1, 0, 0, 0, wanted, wanted)
            found: int = self._call(descriptor, self._scan, self._at)
            self._has_scanned |= found >= 0
            if found > 0:
                # A part of a huge page is one region, pages in memory and swapped ones are two.
                first, last, _ = _REGION.unpack(self._region)
                return bool(first <= start and last >= end) or self._in_entries(descriptor, start, end)
            if not found:
                return False
            # The kernel does not know how, unless it did before: that thread has ended.
            self._can_scan = self._has_scanned
        return self._in_entries(descriptor, start, end)

    def _in_entries(self, descriptor: int, start: int, end: int) -> bool:
        try:
            entries = os.pread(descriptor, (end - start) // _PAGE * _ENTRY, start // _PAGE * _ENTRY)
        except OSError:
            return True
        return all(each & _ENTRY_PRESENT for each in entries[_ENTRY - 1 :: _ENTRY])

    def _descriptor(self, tid: int) -> int:
        """-1 where it may not be looked at."""
        now = time.monotonic()
        known = self._open.get(tid)
        if known is not None and now < known[1]:
            return known[0]
        if known is not None:
            self._close(tid)
        try:
            descriptor = os.open(f"/proc/{tid}/pagemap", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            descriptor = -1
        self._open[tid] = descriptor, now + _LIFE
        if len(self._open) > _MOST:
            self._close(next(iter(self._open)))
        return descriptor

    def _close(self, tid: int) -> None:
        descriptor, _ = self._open.pop(tid)
        if descriptor >= 0:
            os.close(descriptor)

    def close(self) -> None:
        """Nothing is asked any more."""
        for tid in list(self._open):
            self._close(tid)
