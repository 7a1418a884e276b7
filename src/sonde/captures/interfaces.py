"""Where packets were captured: the interfaces of a capture file, and the probes at them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sonde.formats import pcapng
from sonde.model.probe import Packet, Probe
from sonde.typed import NamedTuple
from sonde.visible import visible

DIRECTIONS = {"ingress": pcapng.INBOUND, "egress": pcapng.OUTBOUND}
"""Of a packet, by the function of the probe that captured it."""

LONGEST = 65535
"""Bytes of a packet that a record can have, at most: more than any of them."""


def is_of_device(probe: Probe) -> bool:
    return probe.provider == "packet"


PCAP = "pcap()"


class InterfacePlace(NamedTuple):
    """Where a probe's packets are seen: the number of the interface, and the direction (0 if that is not known)."""

    interface: int
    direction: int

    @property
    def options(self) -> tuple[pcapng.Option, ...]:
        return ((pcapng.FLAGS, self.direction.to_bytes(4, "little")),) if self.direction else ()


class Interfaces(dict[int, InterfacePlace]):
    """The place of each probe, by its identifier.

    A device's interface is described, with `write`, when a probe of it is first asked for: it stands in the file before
    its packets. `link_type` tells how packets of a device begin
    whose probe does not say it.
    """

    def __init__(
        self, probes: Iterable[Probe], write: Callable[[bytes], None], link_type: Callable[[str], int]
    ) -> None:
        super().__init__()
        self._probes = {probe.id: probe for probe in probes}
        self._write = write
        self._link_type = link_type
        self.names: list[str] = []
        """The devices, by interface; that of packets of no known device is called as PCAP says."""
        self._kinds: dict[int, InterfacePlace] = {}

    def __missing__(self, identifier: int) -> InterfacePlace:
        probe = self._probes[identifier]
        if probe.module not in self.names:
            link = probe.firing.link_type if isinstance(probe.firing, Packet) else -1
            self._describe(probe.module, link if link >= 0 else self._link_type(probe.module))
        place = self[identifier] = InterfacePlace(self.names.index(probe.module), DIRECTIONS.get(probe.function, 0))
        return place

    def _describe(self, name: str, link: int) -> int:
        """The number of a new interface."""
        self._write(pcapng.interface_description(visible(name), link, LONGEST))
        self.names.append(name)
        return len(self.names) - 1

    def is_of_device(self, identifier: int) -> bool:
        """Whether it is known at which device the probe sees packets."""
        return is_of_device(self._probes[identifier])

    def of_kind(self, link: int) -> InterfacePlace:
        """The place of packets of no known device that begin as that link type says."""
        if link not in self._kinds:
            self._kinds[link] = InterfacePlace(self._describe(PCAP, link), 0)
        return self._kinds[link]
