"""Where a packet of a record goes that stands behind a `CommandAction` of the name PACKET_FILE: into a file, without
its first bytes. The text of the command says both."""

from __future__ import annotations

from sonde.typed import NamedTuple

PACKET_FILE = "skboutput"
RAW_IP = 101
"""The link type of packets that begin with the header of IP (https://www.tcpdump.org/linktypes.html)."""


class FiledAt(NamedTuple):
    """The bytes of the packet that are left out, and the file."""

    offset: int
    path: str


def text_of(where: FiledAt) -> str:
    return f"{where.offset} {where.path}"


def filed_at(text: str) -> FiledAt:
    """By the command's text. Raises ValueError."""
    offset, _, path = text.partition(" ")
    return FiledAt(int(offset), path)
