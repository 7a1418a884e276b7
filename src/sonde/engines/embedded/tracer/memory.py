"""Memory of other processes in bulk: process_vm_readv(2), else /proc/PID/mem where that call is not permitted.

Remote pieces end at page boundaries, since the kernel transfers whole pieces only: so a string next to an unmapped page
is read by one call. Of pages that are not there (presence.py) the reader is asked (others.py).
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache

from sonde import others
from sonde.arch import pages
from sonde.engines.embedded.tracer.presence import Presence
from sonde.typed import Any

_PAGE = pages.PAGE
LOWEST = 1 << 16
"""Below this, vm.mmap_min_addr as it is set, hardly anything is mapped, and many null pointers lead there."""

_VECTOR = struct.Struct("=QQ")
"""struct iovec."""

_PIECES = 32
_AT_ONCE = (_PIECES - 1) * _PAGE
_READ, _WRITE = "process_vm_readv", "process_vm_writev"


Ask = Callable[[int, int, int, bytes | None], bytes]
"""(tid, address, size, what to write or None) -> what was read. Raises OSError."""


@lru_cache(maxsize=1)
def _calls() -> dict[str, Any]:
    libc: Any = ctypes.CDLL(None, use_errno=True)
    return {name: libc[name] for name in (_READ, _WRITE)}


@lru_cache(maxsize=3)
def _array(size: int) -> type[ctypes.Array[ctypes.c_char]]:
    """A type of the interpreter's own, which is made once."""
    return ctypes.c_char * size


class ProcessMemory:
    """Reads and writes by thread id. Whoever calls needs the right to trace the process."""

    def __init__(self, ask: Ask | None = None) -> None:
        """`ask` does what is not permitted here, if anybody can."""
        self._ask = ask
        self._calls = _calls()
        self.presence = Presence()
        self._buffer = _array(_AT_ONCE)()
        self._start = ctypes.addressof(self._buffer)
        self._local = _array(16)()
        self._remote = _array(16 * _PIECES)()
        self._bytes = memoryview(self._buffer).cast("B")
        self._addresses = (
            ctypes.c_void_p(ctypes.addressof(self._local)),
            ctypes.c_void_p(ctypes.addressof(self._remote)),
        )

    def close(self) -> None:
        """Nothing is read or written any more."""
        self._ask = None
        self._calls = {}
        self.presence.close()
        self._bytes.release()
        self._buffer = self._local = self._remote = _array(16)()

    def read(self, tid: int, address: int, size: int) -> bytes:
        """So many bytes. Raises OSError: EFAULT if not all are there."""
        data = self.read_available(tid, address, size)
        if len(data) < size:
            raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
        return data

    def read_available(self, tid: int, address: int, size: int) -> bytes:
        """As many of the bytes as are mapped from `address` on. Raises OSError if there are none."""
        if size <= _AT_ONCE:
            return self._read(tid, address, size)
        found = bytearray()
        while len(found) < size:
            wanted = min(size - len(found), _AT_ONCE)
            try:
                found += (data := self._read(tid, address + len(found), wanted))
            except OSError:
                if not found:
                    raise
                break
            if len(data) < wanted:
                break
        return bytes(found)

    def write(self, tid: int, address: int, data: bytes) -> None:
        """Raises OSError: EFAULT if not all could be written, where some may have been."""
        for start in range(0, len(data), _AT_ONCE):
            piece = data[start : start + _AT_ONCE]
            self._bytes[: len(piece)] = piece
            if self._transfer(_WRITE, tid, address + start, len(piece)) < len(piece):
                raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))

    def _read(self, tid: int, address: int, size: int) -> bytes:
        return bytes(self._bytes[: self._transfer(_READ, tid, address, size)])

    def _transfer(self, name: str, tid: int, address: int, size: int) -> int:
        """Between the buffer's beginning and the process: bytes transferred."""
        if size <= 0:
            return 0
        if address + size > 1 << 64:
            raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
        if name == _READ and address >= LOWEST and tid != os.getpid() and not self.presence.has(tid, address, size):
            with suppress(PermissionError):
                return self._by_reader(tid, address, size)
            # Yama has let this process trace that one, and not the reader.
        local, remote = self._addresses
        _VECTOR.pack_into(self._local, 0, self._start, size)
        pieces = self._split(address, size)
        done: int = self._calls[name](tid, local, 1, remote, pieces, 0)
        if done >= 0:
            return done
        problem = ctypes.get_errno()
        if problem not in (errno.EPERM, errno.ENOSYS):
            raise OSError(problem, os.strerror(problem))
        return self._by_file(name, tid, address, size)

    def _by_reader(self, tid: int, address: int, size: int) -> int:
        """Where a page is not there: who has it may never answer."""
        data = others.memory(tid, address, size, by_itself=False)
        self._bytes[: len(data)] = data
        return len(data)

    def _split(self, address: int, size: int) -> int:
        """Fill in the remote pieces; their number."""
        count, end = 0, address + size
        while address < end:
            length = min(end - address, _PAGE - address % _PAGE)
            _VECTOR.pack_into(self._remote, count * 16, address, length)
            address += length
            count += 1
        return count

    def _by_file(self, name: str, tid: int, address: int, size: int) -> int:
        """The same through /proc/PID/mem, which gives EIO for EFAULT."""
        if address + size > 1 << 63:
            raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
        try:
            memory = os.open(f"/proc/{tid}/mem", (os.O_RDONLY if name == _READ else os.O_WRONLY) | os.O_CLOEXEC)
            try:
                if name == _READ:
                    return os.preadv(memory, [self._bytes[:size]], address)
                return os.pwrite(memory, self._bytes[:size], address)
            finally:
                os.close(memory)
        except PermissionError:
            if self._ask is None:
                raise
            return self._by_asking(self._ask, name, tid, address, size)
        except OSError as error:
            if error.errno == errno.EIO:
                raise OSError(errno.EFAULT, os.strerror(errno.EFAULT)) from None
            raise

    def _by_asking(self, ask: Ask, name: str, tid: int, address: int, size: int) -> int:
        if name == _WRITE:
            ask(tid, address, size, bytes(self._bytes[:size]))
            return size
        data = ask(tid, address, size, None)
        self._bytes[: len(data)] = data
        return len(data)
