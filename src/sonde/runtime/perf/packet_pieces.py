"""Packets as the network stack has them: in pieces, of which only the first is memory that programs access directly.

Both kinds have a `copy` for fragments of raw records, so a record takes packet bytes out of all pieces in one copy.
"""

from __future__ import annotations

from collections.abc import Iterable

from sonde.typed import NamedTuple, Protocol


class PacketBytes(Protocol):
    """What output needs of a packet. Bytes are counted over all pieces."""

    @property
    def length(self) -> int: ...

    def copy(self, destination: memoryview, offset: int, length: int) -> int:
        """Fill `destination` from `offset`; return how many of the `length` bytes are not there."""


class SkbPacket(NamedTuple):
    """A struct sk_buff: a linear `head`, then `pages` of the same packet, then a list of further packets that follow it
    (skb_shared_info.frag_list), each in pieces itself."""

    head: memoryview
    pages: tuple[memoryview, ...] = ()
    fragments: tuple[SkbPacket, ...] = ()

    @property
    def length(self) -> int:
        return len(self.head) + sum(map(len, self.pages)) + sum(each.length for each in self.fragments)

    def copy(self, destination: memoryview, offset: int, length: int) -> int:
        """As skb_copy_bits: head, pages, then down into the fragment list."""
        missing, offset = _gather(destination[:length], offset, (self.head, *self.pages))
        for each in self.fragments:
            if not missing:
                break
            if offset < each.length:
                taken = min(missing, each.length - offset)
                each.copy(destination[length - missing : length - missing + taken], offset, taken)
                missing -= taken
                offset = 0
            else:
                offset -= each.length
        return missing


class XdpPacket(NamedTuple):
    """A struct xdp_buff: the `buffer` that the driver received into, and the fragments of a packet of several."""

    buffer: memoryview
    fragments: tuple[memoryview, ...] = ()

    @property
    def length(self) -> int:
        return len(self.buffer) + sum(map(len, self.fragments))

    def copy(self, destination: memoryview, offset: int, length: int) -> int:
        """As bpf_xdp_copy_buf."""
        return _gather(destination[:length], offset, (self.buffer, *self.fragments))[0]


def _gather(destination: memoryview, offset: int, pieces: Iterable[memoryview]) -> tuple[int, int]:
    """Fill `destination` from `offset` of the pieces in a row; how much is missing then, and what is left of the offset
    behind the last piece."""
    at = 0
    for piece in pieces:
        if offset < len(piece):
            taken = min(len(destination) - at, len(piece) - offset)
            destination[at : at + taken] = piece[offset : offset + taken]
            at += taken
            if at == len(destination):
                return 0, 0
            offset = 0
        else:
            offset -= len(piece)
    return len(destination) - at, offset
