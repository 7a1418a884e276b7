"""Blocks of a file of recorded firings (docs/recordings.md): a head, and so many bytes that zlib has packed.

Each block is packed by itself and has a sum of its own, so damage costs the blocks that it hits. Where a head makes no
sense the next block is looked for by what all have: a head with sense, the first bytes of zlib's, and the right sum.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator

from sonde.typed import BinaryIO, NamedTuple

BLOCK = struct.Struct("<IIII")
"""Kind, bytes that follow, bytes that they become, CRC-32 of those that follow."""

DESCRIPTION, HAPPENINGS, SUMMARY, RINGS = 1, 2, 3, 4
"""Kinds of blocks; those of RINGS have firings as the kernel's programs have written them into a ring."""

_KINDS = frozenset((DESCRIPTION, HAPPENINGS, SUMMARY, RINGS))
_LARGEST = 1 << 24
_ROOM, _RATIO = 1 << 22, 256
"""So many bytes may become of all blocks, and so many times those that they have in the file: structures that come
again and again are packed into an eightieth, and a short file is not to take long."""

_PACKED = rb"\x78[\x01\x5e\x9c\xda]"
"""How what zlib packs begins (RFC 1950), whatever its level."""

_WINDOW = 1 << 20
_MOST_TRIED = 1 << 28
"""Bytes of blocks that are tried in search of sound ones: a file can be made of what looks like the head of a block."""


class Damage(NamedTuple):
    """Where a file of blocks is not as it was written; `is_end`: nothing behind that place was found."""

    place: int
    text: str
    is_end: bool = False


class SoundBlocks:
    """Reads the blocks that are whole; `damages` are the places where others were. Of a pipe what stands behind a head
    that makes no sense is lost."""

    def __init__(self, file: BinaryIO, start: int) -> None:
        self._file, self._at = file, start
        self._can_seek = file.seekable()
        self._left_to_try = _MOST_TRIED
        self.damages: list[Damage] = []

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Their kinds and contents."""
        room = _ROOM
        while head := self._file.read(BLOCK.size):
            at = self._at
            if len(head) < BLOCK.size:
                self._end(f"it is cut off at byte {at}")
                return
            kind, stored, size, check = BLOCK.unpack(head)
            if not _is_possible(kind, stored, size):
                if self._go_on(f"it is damaged at byte {at}"):
                    continue
                return
            left = room + _RATIO * stored - size
            if left < 0:
                if self._go_on(f"it becomes too large in the block at byte {at}"):
                    continue
                return
            packed = self._file.read(stored)
            data = unpacked(packed, size) if len(packed) == stored and zlib.crc32(packed) == check else None
            if data is not None:
                room = left
                yield kind, data
                self._at += BLOCK.size + stored
                continue
            is_cut = len(packed) < stored
            text = f"it is cut off in the block at byte {at}" if is_cut else f"the block at byte {at} is damaged"
            if not self._go_on(text, 0 if is_cut else BLOCK.size + stored):
                return

    def refuse(self, text: str) -> None:
        """The block that was given last makes no sense."""
        self.damages.append(Damage(self._at, f"the block at byte {self._at} is damaged: {text}"))

    def _end(self, text: str) -> None:
        self.damages.append(Damage(self._at, text, True))

    def _go_on(self, text: str, length: int = 0) -> bool:
        """Continue behind the damaged block with the next sound one; False if there is none. `length`: that of the
        block, if its head may be right."""
        if not self._can_seek:
            self.damages.append(Damage(self._at, text, not length))
            self._at += length
            return bool(length)
        found = self._next(self._at + 1)
        self.damages.append(Damage(self._at, text, found < 0))
        if found >= 0:
            self._at = self._file.seek(found)
        return found >= 0

    def _next(self, start: int) -> int:
        """The place of the first sound block from there on, -1 without one."""
        while True:
            self._file.seek(start)
            window = self._file.read(_WINDOW)
            for match in re.finditer(_PACKED, window):
                place = match.start() - BLOCK.size
                if place >= 0 and self._is_sound(start + place, *BLOCK.unpack_from(window, place)):
                    return start + place
                if self._left_to_try < 0:
                    return -1
            if len(window) < _WINDOW:
                return -1
            # A head, and the two bytes behind it, may be divided.
            start += _WINDOW - BLOCK.size - 1

    def _is_sound(self, place: int, kind: int, stored: int, size: int, check: int) -> bool:
        if not _is_possible(kind, stored, size) or kind == DESCRIPTION:
            return False
        self._left_to_try -= stored
        self._file.seek(place + BLOCK.size)
        return zlib.crc32(self._file.read(stored)) == check


def _is_possible(kind: int, stored: int, size: int) -> bool:
    return kind in _KINDS and stored <= _LARGEST and size <= _LARGEST


def unpacked(packed: bytes, size: int) -> bytes | None:
    """What zlib has packed, if that is so many bytes."""
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(packed, size + 1)
    except zlib.error:
        return None
    return data if len(data) == size else None
