"""The `tcp` provider: segments, and how connections begin and change."""

from __future__ import annotations

from sonde.providers.derived.definition import Definition, Definitions, NativeArgument, ShownArgument
from sonde.providers.derived.network_packets import COMMON, RECEIVED, SENT, header, packet, way

_SHOWN = (ShownArgument("tcpsinfo_t *", 3), ShownArgument("tcpinfo_t *", 4))
_STATE = "inet_sock_set_state"
_HEARD = NativeArgument("sock_heard_t *", "(sock_heard_t *)args->sk")


def _segment(tracepoint: str, condition: str = "") -> tuple[Definition, ...]:
    """A probe on segments; `condition` may call the segment's header TCP."""
    ip = header(tracepoint)
    whole = f"packet_is_tcp[{ip}]" + (" && " + condition.replace("TCP", f"packet_tcp[{ip}]") if condition else "")
    return (
        packet(tracepoint, whole, (way(tracepoint), NativeArgument("struct tcphdr *", f"packet_tcp[{ip}]")), _SHOWN),
    )


def _heard(tracepoint: str, condition: str, flags: str, state: str) -> tuple[Definition, ...]:
    """A probe on what a socket did because of a segment with these flags."""
    values = (
        NativeArgument("struct sk_buff *", "(struct sk_buff *)NULL"),
        NativeArgument("struct sock *", "(struct sock *)args->sk"),
        *(_HEARD,) * 3,
        NativeArgument("int", "0"),
        NativeArgument("int", flags),
        NativeArgument("int", state),
    )
    return (Definition(tracepoint, condition, values, COMMON + _SHOWN),)


def _established(old: str, flags: str) -> tuple[Definition, ...]:
    condition = f"args->sk->sk_protocol == IPPROTO_TCP && args->oldstate == {old} && args->newstate == {_ESTABLISHED}"
    return _heard(_STATE, condition, flags, _ESTABLISHED)


_ESTABLISHED = "TCP_STATE_ESTABLISHED"

_CHANGE = (
    Definition(
        _STATE,
        "args->sk->sk_protocol == IPPROTO_TCP",
        (
            NativeArgument("void *", "(void *)NULL"),
            NativeArgument("struct sock *", "(struct sock *)args->sk"),
            NativeArgument("void *", "(void *)NULL"),
            _HEARD,
            NativeArgument("void *", "(void *)NULL"),
            NativeArgument("int", "args->oldstate"),
            NativeArgument("int", "0"),
            NativeArgument("int", "args->newstate"),
        ),
        (
            ShownArgument("void *", 0),
            ShownArgument("csinfo_t *", 1),
            ShownArgument("void *", 2),
            ShownArgument("tcpsinfo_t *", 3),
            ShownArgument("void *", 4),
            ShownArgument("tcplsinfo_t *", 5),
        ),
    ),
)

DEFINITIONS: Definitions = {
    "accept-established": _established("TCP_STATE_SYN_RECEIVED", "TH_ACK"),
    # A reset that answers a segment without ACK, that is a SYN, numbers nothing (RFC 9293, 3.10.7.1).
    "accept-refused": _segment(
        SENT, "(tcp_flags_of[TCP] & (TH_RST | TH_ACK)) == (TH_RST | TH_ACK) && TCP->seq == 0 && TCP->window == 0"
    ),
    "connect-established": _established("TCP_STATE_SYN_SENT", "TH_SYN | TH_ACK"),
    "connect-refused": _heard(
        "tcp_receive_reset",
        "args->sk->__sk_common.skc_state == TCP_STATE_SYN_SENT",
        "TH_RST | TH_ACK",
        "TCP_STATE_SYN_SENT",
    ),
    "connect-request": _segment(
        SENT,
        "(tcp_flags_of[TCP] & (TH_SYN | TH_ACK)) == TH_SYN && "
        "!xlate <tcpsinfo_t *>((packet_sent_t *)args->skb)->tcps_retransmit",
    ),
    "receive": _segment(RECEIVED),
    "send": _segment(SENT),
    "state-change": _CHANGE,
}
