"""The `ip` provider: packets of IPv4 and IPv6."""

from __future__ import annotations

from sonde.providers.derived.definition import Definition, Definitions, NativeArgument, ShownArgument
from sonde.providers.derived.network_packets import RECEIVED, SENT, header, packet


def _ip(tracepoint: str) -> tuple[Definition, ...]:
    ip = header(tracepoint)
    values = (
        NativeArgument("struct net_device *", "args->skb->dev"),
        NativeArgument("struct iphdr *", f"args->skb->protocol == htons(0x0800) ? {ip} : (struct iphdr *)NULL"),
        NativeArgument("struct ipv6hdr *", f"(struct ipv6hdr *)(args->skb->protocol == htons(0x0800) ? NULL : {ip})"),
    )
    shown = (ShownArgument("ifinfo_t *", 3), ShownArgument("ipv4info_t *", 4), ShownArgument("ipv6info_t *", 5))
    return (packet(tracepoint, "", values, shown),)


DEFINITIONS: Definitions = {"send": _ip(SENT), "receive": _ip(RECEIVED)}
