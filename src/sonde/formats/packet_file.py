"""A file of captured packets, pcapng or pcap, with its interfaces as devices.

A device has the name of its interface, as far as a description of a probe can have it: `_` stands for what it cannot.
Interfaces of one name and link type are one device, also those of different sections. One without a name, or with that
of a device of another link type, is called `if` and its number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sonde.formats.captured_file import CapturedInterface, CaptureError, CaptureStream, FiledPacket
from sonde.formats.pcap_reading import is_pcap
from sonde.formats.pcap_reading import records as pcap_records
from sonde.formats.pcapng_reading import is_pcapng
from sonde.formats.pcapng_reading import records as pcapng_records
from sonde.typed import NamedTuple
from sonde.untrusted import open_file

_NO_WORD = re.compile(r"[^A-Za-z0-9_.@-]")
_LONGEST_NAME = 64


class FiledDevice(NamedTuple):
    """A device of a file, and what its packets begin with (https://www.tcpdump.org/linktypes.html)."""

    name: str
    link_type: int


class DeviceNames:
    """The devices of a file by the numbers of its interfaces, as they come."""

    def __init__(self) -> None:
        self.by_interface: list[FiledDevice] = []
        self.numbers: dict[str, int] = {}
        """Of devices, from 1, in the order in which they come."""
        self._links: dict[str, int] = {}

    def add(self, interface: CapturedInterface) -> FiledDevice:
        """That of the next interface."""
        name = _NO_WORD.sub("_", interface.name)[:_LONGEST_NAME]
        if not name or self._links.get(name, interface.link_type) != interface.link_type:
            name = f"if{len(self.by_interface)}"
        while self._links.setdefault(name, interface.link_type) != interface.link_type:
            name += "_"
        device = FiledDevice(name, interface.link_type)
        self.by_interface.append(device)
        self.numbers.setdefault(name, len(self.numbers) + 1)
        return device


def records(path: str) -> Iterator[CapturedInterface | FiledPacket]:
    """Interfaces and packets in their order. Raises CaptureError, and OSError where it cannot be read."""
    with open_file(path) as file:
        stream = CaptureStream(file)
        start = b"" if stream.is_over() else bytes(stream.peek(4))
        if is_pcapng(start):
            yield from pcapng_records(stream)
        elif len(start) == 4 and is_pcap(start):
            yield from pcap_records(stream)
        else:
            raise CaptureError("it begins neither as a pcapng file nor as a pcap file", 0)


def is_packet_file(start: bytes) -> bool:
    """Whether a file with these first four bytes is of one of the formats."""
    return len(start) == 4 and (is_pcapng(start) or is_pcap(start))


def devices(path: str) -> tuple[FiledDevice, ...]:
    """All devices of a file, each once; where it is damaged, those before that. Raises CaptureError where there are
    none, and OSError."""
    names = DeviceNames()
    try:
        for each in records(path):
            if isinstance(each, CapturedInterface):
                names.add(each)
    except CaptureError:
        if not names.by_interface:
            raise
    if not names.by_interface:
        raise CaptureError("it has no interface and no packet", 0)
    return tuple(dict.fromkeys(names.by_interface))
