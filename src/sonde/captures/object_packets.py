"""Packets that programs of an object have appended to their records, as a pcapng file; their heads are comments."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from sonde import __version__
from sonde.captures.file import CaptureFile
from sonde.captures.interfaces import LONGEST
from sonde.formats import pcapng
from sonde.typed import NamedTuple
from sonde.visible import visible


class ObjectDevice(NamedTuple):
    """A device that programs are attached to: its name and number, the link type, and the direction of the packets
    (`pcapng.INBOUND`, `pcapng.OUTBOUND`), 0 if programs get both."""

    name: str
    number: int
    link_type: int
    direction: int


class ObjectPackets:
    """Writes to a file. Of several devices the head of a record has to name one by its number; else a packet is of an
    interface that is called by the array. `is_live`: what is captured is captured now."""

    def __init__(self, file: CaptureFile, devices: Iterable[ObjectDevice], is_live: bool = True) -> None:
        self._file = file
        self._devices = list(devices)
        self._numbers: dict[str, int] = {}
        self._delivered: dict[int, int] = {}
        self._started = time.time_ns() if is_live else None
        self._latest = 0
        system = os.uname()
        name = f"{system.sysname} {system.release}"
        file.write(pcapng.section_header(system.machine, name, f"sonde {__version__}"))
        for each in self._devices:
            self._describe(each.name, each.link_type)
        file.flush()

    def write(self, array: str, device: int, moment: int, length: int, data: bytes, comment: bytes) -> None:
        """A packet of `length` bytes that came at `moment`, in ns since 1970."""
        found = [each for each in self._devices if each.number == device or len(self._devices) == 1]
        link = found[0].link_type if found else self._devices[0].link_type
        interface = self._describe(found[0].name if found else array, link)
        direction = found[0].direction if len(found) == 1 else 0
        values = [(pcapng.FLAGS, direction.to_bytes(4, "little"))] if direction else []
        options = pcapng.options([*values, (pcapng.COMMENT, pcapng.utf8(comment))])
        self._latest = moment
        self._delivered[interface] = self._delivered.get(interface, 0) + 1
        self._file.write(pcapng.enhanced_packet(interface, moment, length, data, options), 1)

    def _describe(self, name: str, link_type: int) -> int:
        """The number of the interface of that name, which is described where there is none."""
        if name not in self._numbers:
            self._numbers[name] = len(self._numbers)
            self._file.write(pcapng.interface_description(visible(name), link_type, LONGEST))
        return self._numbers[name]

    @property
    def has_failed(self) -> bool:
        """Whether the file takes no more."""
        return bool(self._file.failure)

    def flush(self) -> None:
        self._file.flush()

    def finish(self) -> None:
        """Tracing is over: write down how many packets there were of each interface."""
        ended = time.time_ns() if self._started is not None else self._latest
        for interface in self._numbers.values():
            statistics = pcapng.Statistics(self._started, ended, self._delivered.get(interface, 0), None)
            self._file.write(pcapng.interface_statistics(interface, statistics))
        self._file.flush()
