"""What --replay is given: a recording, or a file of packets, which is then as --packets has it."""

from __future__ import annotations

from sonde.formats import packet_file
from sonde.model.options import OptionTable
from sonde.untrusted import open_named_file

_MAGIC = 4
"""Bytes that tell one kind of file from another."""


INPUT, PIPE = "/proc/self/fd/", "/proc/thread-self/fd/"
"""Where a recording is that came through the standard input or another pipe, by its descriptor."""


def shown_name(path: str) -> str:
    """What messages call the recording."""
    if path.startswith(PIPE):
        return "the recording from the pipe"
    return f"recording '{'-' if path.startswith(INPUT) else path}'"


def packets_of(options: OptionTable) -> str:
    """The file of packets that the embedded engine is given, "" without one."""
    path = options.text("replay")
    return path if path and _has_packets(path) else options.text("packets")


def recording_of(options: OptionTable) -> str:
    """The recording whose firings run programs, "" without one."""
    path = options.text("replay")
    return "" if path and _has_packets(path) else path


def _has_packets(path: str) -> bool:
    """Whether a file is one of packets; one that cannot be read is left to those who say why."""
    try:
        with open_named_file(path) as file:
            return packet_file.is_packet_file(file.read(_MAGIC))
    except OSError:
        return False
