"""The `packet` provider: `packet:DEVICE:ingress:` and `packet:DEVICE:egress:`, the packets of network devices.

The devices are those of the network namespace that sonde runs in, or the interfaces of a file of packets.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Sequence

from sonde.machine.devices import link_type
from sonde.model.catalog import TypedArgument
from sonde.model.probe import Packet, Probe, link_of
from sonde.model.types import UINT, Pointer, Struct, Typedef
from sonde.providers.pattern import Pattern, matcher, matches
from sonde.providers.provider import PACKET

_SHOWN = Pointer(Typedef("packetinfo_t", Struct("struct", "", 0)))
"""args[0] is made from the packet's length and all else that the library packet.d asks for."""

DIRECTIONS = ("ingress", "egress")


class PacketProvider:
    """Two probes for each device, whose identifiers follow from the device's number."""

    def __init__(self, filed: Sequence[tuple[str, int]] | None = None) -> None:
        """`filed` are the devices of a file, names and link types, in the place of this machine's."""
        self._filed = filed

    def match(self, pattern: Pattern) -> Sequence[Probe]:
        return _matching(self._probes().values(), pattern)

    def by_id(self, identifier: int) -> Probe | None:
        return self._probes().get(identifier)

    def arguments(self, probe: Probe) -> tuple[TypedArgument, ...] | None:
        return (TypedArgument(UINT, _SHOWN, 0),)

    def _probes(self) -> dict[int, Probe]:
        """All there are now, by identifier."""
        found: dict[int, Probe] = {}
        for number, device, kind in self._devices():
            first, link = _identifier(number, found), link_of(kind)
            for side, direction in enumerate(DIRECTIONS):
                firing = Packet(device, direction == "egress", link, link_type=kind)
                found[first + side] = Probe(first + side, "packet", device, direction, "", firing)
        return found

    def _devices(self) -> list[tuple[int, str, int]]:
        """Number, name and link type of each."""
        if self._filed is not None:
            return [(number, *device) for number, device in enumerate(self._filed, 1)]
        return [(number, device, link_type(device)) for number, device in sorted(socket.if_nameindex())]


class RecordedPacketProvider:
    """The probes of packets that a recording has, with the numbers that they had."""

    def __init__(self, recorded: Sequence[Probe]) -> None:
        packets = [(each, each.firing) for each in recorded if isinstance(each.firing, Packet)]
        self._probes = {each.id: each._replace(firing=firing._replace(hook="")) for each, firing in packets}

    def match(self, pattern: Pattern) -> Sequence[Probe]:
        return _matching(self._probes.values(), pattern)

    def by_id(self, identifier: int) -> Probe | None:
        return self._probes.get(identifier)

    def arguments(self, probe: Probe) -> tuple[TypedArgument, ...] | None:
        return (TypedArgument(UINT, _SHOWN, 0),)


def _matching(probes: Iterable[Probe], pattern: Pattern) -> Sequence[Probe]:
    if not matches(pattern.name, ""):
        return ()
    is_device, is_direction = matcher(pattern.module), matcher(pattern.function)
    return [probe for probe in probes if is_device(probe.module) and is_direction(probe.function)]


def _identifier(number: int, taken: dict[int, Probe]) -> int:
    """The first of a device's two. Numbers of devices only grow; those too large share with small ones, if these are
    gone."""
    room = (PACKET.last - PACKET.first + 1) // 2
    place = number % room
    while PACKET.first + 2 * place in taken:
        place = (place + 1) % room
    return PACKET.first + 2 * place
