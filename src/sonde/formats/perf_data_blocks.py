"""Blocks of sonde's own among the records of a perf.data file, where perf passes them over.

A block is a kind (a number) and bytes, cut into pieces that records of kind EVENT_UPDATE can hold. Each piece is
behind u32 kind, with bit 31 where another one follows, and u32 length.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from sonde.formats import perf_made_records as made
from sonde.typed import TypeAlias

_KIND = int.from_bytes(b"sonde\0\0\0", "little")
_MORE = 1 << 31
_HEAD = struct.Struct("=II")
_UPDATE = struct.Struct("=QQ")
"""Kind of the update, identifier of the event."""

_MOST = made.MOST_OF_UPDATE - _HEAD.size

Block: TypeAlias = "tuple[int, bytes]"


def records(event: int, kind: int, content: bytes) -> Iterator[bytes]:
    """The records that a block becomes; `event` is an identifier of any event of the file."""
    for start in range(0, max(len(content), 1), _MOST):
        piece = content[start : start + _MOST]
        more = _MORE if start + _MOST < len(content) else 0
        yield made.event_update(event, _KIND, _HEAD.pack(kind | more, len(piece)) + piece)


class BlockReader:
    """Puts blocks together again."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def take(self, body: memoryview) -> Block | None:
        """The block that ends with this EVENT_UPDATE, given without its header; None if there is more to come, or it
        is no part of a block. Raises struct.error for one that is cut off."""
        update, _ = _UPDATE.unpack_from(body)
        if update != _KIND:
            return None
        kind, length = _HEAD.unpack_from(body, _UPDATE.size)
        start = _UPDATE.size + _HEAD.size
        if length > len(body) - start:
            raise struct.error("a block that is longer than its record")
        self._pieces.append(bytes(body[start : start + length]))
        if kind & _MORE:
            return None
        content = b"".join(self._pieces)
        self._pieces.clear()
        return kind, content
