"""The bytes of a file, read as they are asked for.

A mapping would be simpler, but whoever may write to the file could end the process that looks at it, by making the file
shorter (SIGBUS); and the kernel would put the breakpoints of others into a private one (valid_vma in
kernel/events/uprobes.c).
"""

from __future__ import annotations

import os
from collections import OrderedDict

_BLOCK = 1 << 16
_BLOCKS = 16


class FileBytes:
    """As far as it is used here like `bytes`; the size is that at the beginning. Owns the descriptor."""

    def __init__(self, descriptor: int) -> None:
        """Raises OSError."""
        self._descriptor = descriptor
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        self._size = os.fstat(descriptor).st_size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, key: slice) -> bytes:
        """What is there, which is less where the file was made shorter."""
        start, stop, _ = key.indices(self._size)
        if start >= stop:
            return b""
        first = start - start % _BLOCK
        if stop > first + _BLOCK:
            return self._read(start, stop - start)
        block = self._block(first)
        return block[start - first : stop - first]

    def find(self, wanted: bytes, start: int, end: int) -> int:
        """Where it begins, as bytes.find."""
        return found + start if (found := self[start:end].find(wanted)) >= 0 else -1

    def _block(self, start: int) -> bytes:
        found = self._blocks.get(start)
        if found is None:
            if len(self._blocks) >= _BLOCKS:
                self._blocks.popitem(last=False)
            found = self._blocks[start] = self._read(start, _BLOCK)
        return found

    def _read(self, start: int, size: int) -> bytes:
        try:
            return os.pread(self._descriptor, size, start)
        except OSError:
            return b""

    def __del__(self) -> None:
        os.close(self._descriptor)
