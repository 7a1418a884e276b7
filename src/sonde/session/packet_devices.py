"""The devices whose packets programs of an object get, as a file of packets describes them."""

from __future__ import annotations

import socket

from sonde.captures.object_packets import ObjectDevice
from sonde.formats import pcapng
from sonde.machine.devices import link_type
from sonde.model.probe import SOCKET, Packet
from sonde.model.spec import TracingSpec
from sonde.session.kernels import filed_devices


def object_devices(spec: TracingSpec, packets: str) -> list[ObjectDevice]:
    """Those that programs are attached to, of this network namespace or of the file `packets`. Raises SessionError."""
    firings = [probe.firing for program in spec.programs for probe, _ in program.probes]
    ways: dict[str, set[int]] = {}
    for each in firings:
        if isinstance(each, Packet):
            way = pcapng.OUTBOUND if each.is_egress else pcapng.INBOUND
            ways.setdefault(each.device, set()).add(0 if each.hook == SOCKET else way)
    known = _filed(packets) if packets else {name: (number, link_type(name)) for number, name in socket.if_nameindex()}
    return [
        ObjectDevice(name, *known.get(name, (0, pcapng.ETHERNET)), next(iter(found)) if len(found) == 1 else 0)
        for name, found in ways.items()
    ]


def _filed(packets: str) -> dict[str, tuple[int, int]]:
    """Number and link type by name."""
    return {name: (number, link) for number, (name, link) in enumerate(filed_devices(packets), 1)}
