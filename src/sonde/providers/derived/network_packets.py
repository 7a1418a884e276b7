"""What the network providers have in common: packets on their way out and in."""

from __future__ import annotations

from sonde.providers.derived.definition import Definition, NativeArgument, ShownArgument

SENT, RECEIVED = "net_dev_queue", "netif_receive_skb"
"""The tracepoints that have every packet: as it is queued to a device (also one without a queue), and as the protocols
get it (net/core/dev.c)."""

_IS_OURS = {SENT: "packet_is_sent[args->skb]", RECEIVED: "packet_is_received[args->skb]"}
_HEADER = {SENT: "packet_ip[args->skb]", RECEIVED: "packet_ip_arriving[args->skb]"}
# What arrives has not met its socket yet; over veth it still has the one that sent it.
_SOCKET = {SENT: "args->skb->sk", RECEIVED: "(struct sock *)NULL"}
_WAY = {SENT: "packet_sent_t *", RECEIVED: "packet_received_t *"}

COMMON = (ShownArgument("pktinfo_t *", 0), ShownArgument("csinfo_t *", 1), ShownArgument("ipinfo_t *", 2))


def header(tracepoint: str) -> str:
    """The packet's IP header, in D."""
    return _HEADER[tracepoint]


def is_ours(tracepoint: str) -> str:
    """Whether it is a packet of IP that IP itself hands over or gets, in D."""
    return _IS_OURS[tracepoint]


def packet(
    tracepoint: str, condition: str, values: tuple[NativeArgument, ...], shown: tuple[ShownArgument, ...]
) -> Definition:
    """A probe on the packets of IP that meet a further condition; `values` follow packet, socket and IP header."""
    common = (
        NativeArgument("struct sk_buff *", "args->skb"),
        NativeArgument("struct sock *", _SOCKET[tracepoint]),
        NativeArgument("struct iphdr *", header(tracepoint)),
    )
    whole = " && ".join(filter(None, (_IS_OURS[tracepoint], condition)))
    return Definition(tracepoint, whole, common + values, COMMON + shown)


def way(tracepoint: str) -> NativeArgument:
    """The packet as one that is sent or received."""
    return NativeArgument(_WAY[tracepoint], f"({_WAY[tracepoint]})args->skb")
