"""The file that captured packets are written to: whole blocks, or it says that it cannot."""

from __future__ import annotations

import os
import signal
import stat
import struct

from sonde.formats.pcapng import ENHANCED_PACKET

_CHUNK = 1 << 18
_HEAD = struct.Struct("<II")


class CaptureFile:
    """Collects blocks for an open file and writes them by the chunk. The descriptor is the caller's to close.

    When the file takes no more (`failure`), it ends with its last whole block, where it can be cut, and what comes
    later is left out.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._is_regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        self._parts: list[bytes | bytearray] = []
        self._size = self._waiting = 0
        self._written = 0
        self.failure = ""
        """Why it takes no more."""
        self.packets = self.lost = 0
        """Those in the file, and those that came too late for it."""

    def write(self, blocks: bytes | bytearray, packets: int = 0) -> None:
        """Whole blocks, any number of them, of which so many are packets."""
        self._parts.append(blocks)
        self._waiting += packets
        self._size += len(blocks)
        if self._size >= _CHUNK:
            self.flush()

    def flush(self) -> None:
        """Write what is waiting."""
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        packets = self._waiting
        self._parts.clear()
        self._size = self._waiting = 0
        if self.failure or not data:
            self.lost += packets
            return
        written = 0
        try:
            while written < len(data):
                written += self._put(memoryview(data)[written:])
        except OSError as error:
            self.failure = error.strerror or str(error)
            self.lost = packets - self._cut(data, written)
        else:
            self._written += written
            self.packets += packets

    def _put(self, data: memoryview) -> int:
        """One write(2), which may find that nobody reads the pipe any more: that is an error, no signal's death."""
        if self._is_regular:
            return os.write(self._descriptor, data)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})
        try:
            return os.write(self._descriptor, data)
        except BrokenPipeError:
            signal.sigtimedwait({signal.SIGPIPE}, 0)
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _cut(self, data: bytes | bytearray, written: int) -> int:
        """Let the file end with the last whole block; how many packets of `data` it has."""
        whole = packets = 0
        while whole + 12 <= written:
            kind, length = _HEAD.unpack_from(data, whole)
            if whole + length > written:
                break
            whole += length
            packets += kind == ENHANCED_PACKET
        self._written += whole
        self.packets += packets
        if self._is_regular:
            os.ftruncate(self._descriptor, self._written)
        return packets
