"""The `udp` provider."""

from __future__ import annotations

from sonde.providers.derived.definition import Definition, Definitions, NativeArgument, ShownArgument
from sonde.providers.derived.network_packets import RECEIVED, SENT, header, packet, way


def _udp(tracepoint: str) -> tuple[Definition, ...]:
    ip = header(tracepoint)
    values = (way(tracepoint), NativeArgument("struct udphdr *", f"packet_udp[{ip}]"))
    return (
        packet(
            tracepoint,
            f"packet_is_udp[{ip}]",
            values,
            (ShownArgument("udpsinfo_t *", 3), ShownArgument("udpinfo_t *", 4)),
        ),
    )


DEFINITIONS: Definitions = {"send": _udp(SENT), "receive": _udp(RECEIVED)}
