"""The bytes of a file, read as they are asked for.

A mapping would be simpler, but whoever may write to the file could end the process that looks at it, by making the file
shorter (SIGBUS); and the kernel would put the breakpoints of others into a private one (valid_vma in
kernel/events/uprobes.c). So a part of a file is a window, which reads blocks of it when they are asked for.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from contextlib import suppress

from sonde.directory_walk import is_trusted
from sonde.symbols.elf.costs import Costs
from sonde.typed import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from typing import overload

_BLOCK = 1 << 14
_BLOCKS = 8
"""What is kept of a file that is asked for a few bytes here and there: hundreds of them are open."""

_PIECE = 1 << 20
_DISK_BLOCK = 512
"""st_blocks counts these, whatever the file system has (stat(2))."""

_WINDOW_BLOCK = 1 << 17
_WINDOW_BLOCKS = 16
_NEAR = 256


class FileBytes:
    """As far as it is used here like `bytes`; the size is that at the beginning. Owns the descriptor."""

    def __init__(
        self, descriptor: int, costs: Costs | None = None, identity: tuple[int, int] | None = None
    ) -> None:  # fmt: skip
        """`identity` is that of the file where the descriptor is of a copy. Raises OSError."""
        self._descriptor = descriptor
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        found = os.fstat(descriptor)
        self.identity = identity or (found.st_dev, found.st_ino)
        """The device and the inode number of the file."""
        self._size = found.st_size
        self.on_disk = min(found.st_size, found.st_blocks * _DISK_BLOCK)
        """Bytes that are not holes."""
        self.changed = found.st_ctime_ns
        """When the file was last changed, in ns."""
        self.owner = found.st_uid
        self.is_trusted = is_trusted(found)
        self.costs = costs or Costs()

    def __len__(self) -> int:
        return self._size

    @property
    def is_deleted(self) -> bool:
        """True if the file has no name left: its disk space is freed when the last descriptor is closed."""
        try:
            return os.fstat(self._descriptor).st_nlink == 0
        except OSError:
            return False

    def __getitem__(self, key: slice) -> bytes:
        """What is there, which is less where the file was made shorter. Raises CostError."""
        start, stop, _ = key.indices(self._size)
        if start >= stop:
            return b""
        first = start - start % _BLOCK
        if stop > first + _BLOCK:
            return self.piece(start, stop - start)
        block = self._block(first)
        return block[start - first : stop - first]

    def find(self, wanted: bytes, start: int, end: int) -> int:
        """Where it begins, as bytes.find."""
        return found + start if (found := self[start:end].find(wanted)) >= 0 else -1

    def window(self, start: int, size: int) -> Window:
        """A part of the file, as far as there is so much of it."""
        end = min(start + size, self._size)
        return Window(self, start, max(end - start, 0))

    def _block(self, start: int) -> bytes:
        found = self._blocks.get(start)
        if found is None:
            if len(self._blocks) >= _BLOCKS:
                self.costs.buffered -= len(self._blocks.popitem(last=False)[1])
            found = self._blocks[start] = self.piece(start, _BLOCK)
            self.costs.buffered += len(found)
        return found

    def piece(self, start: int, size: int) -> bytes:
        """Bytes of the file, which are not kept here. Raises CostError."""
        self.costs.check()
        if size <= _PIECE:
            return self._read(start, size)
        # So much memory must be there at once, whoever keeps it.
        self.costs.take(size)
        self.costs.give_back(size)
        found = bytearray()
        while len(found) < size:
            data = self._read(start + len(found), min(size - len(found), _PIECE))
            if not data:
                break
            found += data
            self.costs.check()
        return bytes(found)

    def _read(self, start: int, size: int) -> bytes:
        try:
            return os.pread(self._descriptor, size, start)
        except (OSError, OverflowError):
            return b""

    def __del__(self) -> None:
        # Who serves the file may be gone, which has close(2) fail: the descriptor is closed all the same.
        with suppress(OSError):
            os.close(self._descriptor)


class Window:
    """A part of a file as if it were bytes in memory: of a large section little is looked at, as a rule."""

    __slots__ = ("_begin", "_blocks", "_data", "_file", "_size", "_start")

    def __init__(self, file: FileBytes, start: int, size: int) -> None:
        self._file = file
        self._start = start
        self._size = size
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        # The block that was asked for last.
        self._begin, self._data = 0, b""

    def __len__(self) -> int:
        return self._size

    def __del__(self) -> None:
        self._file.costs.buffered -= sum(map(len, self._blocks.values()))

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, key: int) -> int: ...
        @overload
        def __getitem__(self, key: slice) -> bytes: ...

    def __getitem__(self, key: int | slice) -> int | bytes:
        """Raises IndexError, and CostError."""
        if isinstance(key, int):
            at = key - self._begin
            if 0 <= at < len(self._data):
                return self._data[at]
            if key < 0:
                key += self._size
            if not 0 <= key < self._size:
                raise IndexError("beyond the end of the section")
            self._use(key)
            return self._data[key - self._begin]
        start, stop, step = key.indices(self._size)
        if step != 1:
            return self[start:stop][::step]
        at = start - self._begin
        if at >= 0 and stop - self._begin <= len(self._data):
            return self._data[at : at + max(stop - start, 0)]
        if start >= stop:
            return b""
        if stop - start > _WINDOW_BLOCK // 2:
            return self._file.piece(self._start + start, stop - start)
        self._use(start)
        found = self._data[start - self._begin : stop - self._begin]
        return found if len(found) == stop - start else found + self._next(start + len(found), stop)

    def _next(self, start: int, stop: int) -> bytes:
        """What is in the block behind; less where the file was made shorter."""
        if start % _WINDOW_BLOCK:
            return b""
        self._use(start)
        return self._data[: stop - start]

    def find(self, wanted: bytes, start: int = 0, end: int | None = None) -> int:
        """Where it begins, as bytes.find. Raises CostError."""
        start, stop, _ = slice(start, end).indices(self._size)
        if self._begin <= start < self._begin + len(self._data):
            # Most that is looked for, the end of a name, is near.
            near = min(stop - self._begin, len(self._data))
            found = self._data.find(wanted, start - self._begin, near)
            if found >= 0:
                return found + self._begin
            start = max(self._begin + near - len(wanted) + 1, start)
        overlap = len(wanted) - 1
        size = _WINDOW_BLOCK
        while start + overlap < stop:
            data = self[start : min(start + size, stop)]
            found = data.find(wanted)
            if found >= 0:
                return found + start
            if len(data) <= overlap:
                break
            start += len(data) - overlap
            size = min(2 * size, _PIECE)
        return -1

    def rfind(self, wanted: bytes, start: int, end: int) -> int:
        """As bytes.rfind. Raises CostError."""
        start, stop, _ = slice(start, end).indices(self._size)
        size = _NEAR
        while stop - start >= len(wanted):
            first = max(stop - size, start)
            found = self[first:stop].rfind(wanted)
            if found >= 0 or first == start:
                return found + first if found >= 0 else -1
            stop, size = first + len(wanted) - 1, min(2 * size + len(wanted), _PIECE)
        return -1

    def index(self, wanted: bytes | int, start: int = 0, end: int | None = None) -> int:
        """As bytes.index. Raises ValueError."""
        found = self.find(bytes((wanted,)) if isinstance(wanted, int) else wanted, start, end)
        if found < 0:
            raise ValueError("subsection not found")
        return found

    def startswith(self, wanted: bytes, start: int = 0) -> bool:
        """As bytes.startswith."""
        return self[start : start + len(wanted)] == wanted

    def _use(self, at: int) -> None:
        """Have the block that a byte is in."""
        first = at - at % _WINDOW_BLOCK
        found = self._blocks.get(first)
        if found is None:
            costs = self._file.costs
            if len(self._blocks) >= _WINDOW_BLOCKS:
                costs.buffered -= len(self._blocks.popitem(last=False)[1])
            size = min(_WINDOW_BLOCK, self._size - first)
            # Of a file that was made shorter the rest is as a hole.
            found = self._blocks[first] = self._file.piece(self._start + first, size).ljust(size, b"\0")
            costs.buffered += size
        self._begin, self._data = first, found


Part: TypeAlias = "bytes | Window"
"""A section's bytes, in memory or in the file."""
