"""Raw files: what a consumer has read, in that order, in blocks.

The file: 8 bytes magic, then blocks of {u32 kind, u32 length, `length` bytes}, all little-endian:
  1  the description (`consume/description.py`), first and once: JSON of the records, aggregations, strings, probes, the
     number of rings, the options that decide how it is shown and the types that print() shows
  2  ring bytes: u32 ring number, then records as they stood in the ring, each behind its 8-byte header
  3  a map that was read or replaced: JSON name and newline, then {u32 size, key, u32 size, value} for each element
  4  probes that were found while tracing: JSON of the strings that follow those there are, and of the probes
  5  functions of Python that stacks have by number from here on: JSON
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

from sonde.formats.allowance import TOO_LARGE, allowance
from sonde.formats.damage import DamagedError
from sonde.typed import BinaryIO, Protocol, TypeAlias

MAGIC = b"SONDERAW"
DESCRIPTION, RING, MAP, FOUND, FUNCTIONS = 1, 2, 3, 4, 5
"""Kinds of blocks."""

LARGEST = {DESCRIPTION: 64 << 20, RING: 256 << 20, MAP: 1 << 30, FOUND: 64 << 20, FUNCTIONS: 64 << 20}
"""Bytes of a block of each kind; what is read of a ring at once is divided where there is more."""

BLOCK = struct.Struct("<II")
"""What a block begins with: its kind and length."""

SIZE = struct.Struct("<I")
"""What stands before the elements of a map, and the number before the bytes of a ring."""

Block: TypeAlias = "tuple[int, bytes]"
"""Its kind and content."""


class RawFileError(DamagedError):
    """The file is not a raw file of this format, or it is damaged."""


class WriteBlock(Protocol):
    """Keeps a block: its kind, and the parts of its content."""

    def __call__(self, kind: int, *parts: bytes | memoryview) -> None: ...


class RawFile:
    """Writes blocks one behind the other to a file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        file.write(MAGIC)

    def block(self, kind: int, *parts: bytes | memoryview) -> None:
        """Append one block to the file."""
        self._file.write(BLOCK.pack(kind, sum(map(len, parts))))
        for part in parts:
            self._file.write(part)


_NOTHING = "it has nothing: the session that was to write it ended before it had begun"


class RawBlocks:
    """The blocks of a raw file, as far as they are whole. Raises RawFileError for a file that is none.

    `cut` says that the file ends within a block, as that of a session that was killed does; "" if it does not.
    """

    def __init__(self, file: BinaryIO) -> None:
        """`file` can be sought in."""
        found = file.read(len(MAGIC))
        if found != MAGIC:
            is_begun = MAGIC.startswith(found)
            raise RawFileError(_NOTHING if is_begun else "not a raw file of sonde")
        self._file = file
        self._size = file.seek(0, os.SEEK_END)
        self._allowance = allowance(file, self._size)
        self.cut = ""

    def __iter__(self) -> Iterator[Block]:
        """Raises RawFileError where something else than a block begins."""
        position = len(MAGIC)
        while position < self._size:
            # There may be several readers.
            self._file.seek(position)
            header = self._file.read(BLOCK.size)
            kind, length = BLOCK.unpack(header) if len(header) == BLOCK.size else (0, self._size)
            if position + BLOCK.size + length > self._size and (kind in LARGEST or len(header) < BLOCK.size):
                self.cut = f"it is cut off in the block at byte {position}"
                return
            if kind not in LARGEST or length > LARGEST[kind]:
                what = f"a block of {length} bytes" if kind in LARGEST else f"a block of the unknown kind {kind}"
                raise RawFileError(f"it is damaged at byte {position}: {what}")
            if length > self._allowance:
                raise RawFileError(TOO_LARGE)
            yield kind, self._file.read(length)
            position += BLOCK.size + length
