"""Packets of a file, one after the other: programs run for them as for packets of a device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from sonde.engines.embedded.sources.packet_hooks import DeviceHooks, DevicePlace
from sonde.engines.embedded.sources.stops import PACKETS, Record
from sonde.formats.captured_file import CapturedInterface, CaptureError, FiledPacket
from sonde.formats.packet_file import DeviceNames, records
from sonde.model.probe import COOKED, COOKED_2, link_of
from sonde.runtime.environment import Environment

_AT_ONCE = 64
"""Packets between two looks at all else."""

_INBOUND, _OUTBOUND, _DIRECTION = 1, 2, 3
"""In the flags of a packet, and the bits that they are."""

_KINDS = {COOKED: slice(0, 2), COOKED_2: slice(10, 11)}
"""Where cooked headers tell who a packet is for (https://www.tcpdump.org/linktypes/LINKTYPE_LINUX_SLL2.html)."""
_OUTGOING = 4

_OWN = "sonde "
"""What is written by sonde has packets as programs saw them, where the kernel has taken the outermost tag."""

_U64 = (1 << 64) - 1
_NOW = 1

_RECORD: Record = (PACKETS, 0, 0, 0)
"""Stands for the next packets among the records of stops."""


class _NoDescriptors:
    descriptors: Sequence[int] = ()


class FiledPackets:
    """The source of a session's packets; `hooks` runs what is at a device. A packet whose direction the file does not
    tell has arrived. Times of the file are those of firings, as `realtime_offset`, ns, has them for CLOCK_MONOTONIC."""

    kind = PACKETS
    events = _NoDescriptors()

    def __init__(
        self, path: str, hooks: DeviceHooks, environment: Environment, realtime_offset: int,
        is_filling: Callable[[], bool],
    ) -> None:  # fmt: skip
        self.next = 0
        """When there is something to do: at once, or never."""
        self.is_over = False
        self.has_ended = False
        """Whether somebody should look, once, since the last packet has been taken up."""
        self.damage = ""
        """What is wrong with the file behind the last of its packets, "" if nothing."""
        self.path = path
        self.count = 0
        """The packets so far."""
        self._names = DeviceNames()
        self._places: list[DevicePlace] = []
        self._environment = environment
        self._own = environment.task
        self._offset = realtime_offset
        self._is_filling = is_filling
        self._hooks = hooks
        self._packets = self._read()

    def wait_for_room(self) -> bool:
        """Whether the next packet waits until the rings are read."""
        return bool(self.next) and self._is_filling()

    def start(self) -> None:
        self.next = _NOW

    def merged(self, records: Sequence[Record], limit: int) -> Sequence[Record]:
        """The records, and behind them one for the next packets."""
        return [*records, _RECORD] if self.next else records

    def handle(self, record: Record) -> None:
        """Run programs for the next packets: few enough that the rings take what is recorded of them."""
        if self._is_filling():
            return
        for packet in islice(self._packets, _AT_ONCE):
            self._fire(packet)
            if self._is_filling():
                return
        if self.is_over:
            self.next = 0
            self.has_ended = True

    def _fire(self, packet: FiledPacket) -> None:
        self.count += 1
        environment = self._environment
        environment.task = self._own
        environment.now = (packet.time - self._offset) & _U64
        place = self._places[packet.interface]
        self._hooks.pass_by(place, _is_egress(packet, place.link), packet)

    def _read(self) -> Iterator[FiledPacket]:
        try:
            for each in records(self.path):
                if isinstance(each, CapturedInterface):
                    name, link_type = self._names.add(each)
                    number, is_own = self._names.numbers[name], each.writer.startswith(_OWN)
                    self._places.append(DevicePlace(name, number, link_of(link_type), is_own))
                else:
                    yield each
        except CaptureError as error:
            self.damage = f"{error.text} (byte {error.at})"
        except OSError as error:
            self.damage = error.strerror or str(error)
        self.is_over = True

    def close(self) -> None:
        """Closing twice is harmless."""
        self._packets = iter(())
        self.next = 0


def _is_egress(packet: FiledPacket, link: str) -> bool:
    """As the file says, or the packet's own header."""
    told = packet.flags & _DIRECTION
    if not told and link in _KINDS:
        kind = _KINDS[link]
        return int.from_bytes(packet.data[kind], "big") == _OUTGOING
    return told == _OUTBOUND
