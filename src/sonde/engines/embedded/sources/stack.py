"""The stack of the thread whose registers are in the buffer, by its frame pointers.

As perf walks it (perf_callchain_user): the program counter, then the return address of each frame from the one that the
frame pointer points to, as long as they can be read.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from sonde.arch import pages
from sonde.arch import registers as places

_WORD = struct.Struct("=Q")
_FRAME = struct.Struct("=QQ")
"""The caller's frame pointer, the return address."""

_PAGE = pages.PAGE


def walker(
    registers: bytearray, read: Callable[[int, int, int], bytes], user_end: int, by_pages: bool = True
) -> Callable[[int, int], Sequence[int]]:
    """A function (thread, depth) -> addresses; processes have memory below `user_end`. `by_pages`: whole pages can be
    read where a frame is."""

    def walk(tid: int, depth: int) -> Sequence[int]:
        (counter,) = _WORD.unpack_from(registers, places.PROGRAM_COUNTER)
        (frame,) = _WORD.unpack_from(registers, places.FRAME_POINTER)
        if not counter:
            return ()
        found, pages = [counter], _Pages(tid, read, by_pages)
        while len(found) < depth and 0 < frame <= user_end - _FRAME.size:
            data = pages.read(frame)
            if data is None:
                break
            frame, back = _FRAME.unpack(data)
            found.append(back)
        return found

    return walk


class _Pages:
    """Memory of a process, a page at a time."""

    def __init__(self, tid: int, read: Callable[[int, int, int], bytes], whole: bool) -> None:
        self._whole = whole
        self._tid = tid
        self._read = read
        self._pages: dict[int, bytes] = {}

    def read(self, address: int) -> bytes | None:
        """A frame; None if it cannot be read."""
        at = address % _PAGE
        start = address - at
        try:
            if at + _FRAME.size > _PAGE or not self._whole:
                return self._read(self._tid, address, _FRAME.size)
            page = self._pages.get(start)
            if page is None:
                page = self._pages[start] = self._read(self._tid, start, _PAGE)
        except OSError:
            return None
        return page[at : at + _FRAME.size]
