"""The `udp` provider."""

from __future__ import annotations

from sonde.providers.derived.definition import Definition, Definitions, Shown, Value
from sonde.providers.derived.packets import RECEIVED, SENT, header, packet, way


def _udp(tracepoint: str) -> tuple[Definition, ...]:
    ip = header(tracepoint)
    values = (way(tracepoint), Value("struct udphdr *", f"packet_udp[{ip}]"))
    return (packet(tracepoint, f"packet_is_udp[{ip}]", values, (Shown("udpsinfo_t *", 3), Shown("udpinfo_t *", 4))),)


DEFINITIONS: Definitions = {"send": _udp(SENT), "receive": _udp(RECEIVED)}
