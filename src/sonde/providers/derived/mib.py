"""The `mib` provider: the counters of IP, ICMP, TCP and UDP (RFC 4293, 4022 and 4113).

Linux counts without telling anybody, so the probes follow from packets, from what their sockets make of them, and from
the reasons for which packets are dropped (include/net/dropreason-core.h, since Linux 5.17).
"""

from __future__ import annotations

from sonde.providers.derived.counters import grows
from sonde.providers.derived.definition import Absent, Definition, Definitions
from sonde.providers.derived.network_packets import RECEIVED, SENT, header, is_ours

_ALL = "packet_count[args->skb]"
_STATE = "inet_sock_set_state"
_CLOSED = "args->newstate == TCP_STATE_CLOSED"


def _packets(way: str, condition: str = "", by: str = _ALL) -> tuple[Definition, ...]:
    """A packet of IP on its way; in the condition IP is its header."""
    whole = " && ".join(filter(None, (is_ours(way), condition.replace("IP", header(way)))))
    return (grows(way, whole, by.replace("IP", header(way))),)


def _icmp(way: str, kind: int) -> tuple[Definition, ...]:
    return _packets(way, f"packet_is_icmp[IP] && icmp_type_of[IP] == {kind}")


def _sent(condition: str = "", by: str = _ALL) -> tuple[Definition, ...]:
    """A segment of TCP; in the condition FLAGS are its own."""
    flags = "tcp_flags_of[packet_tcp[IP]]"
    return _packets(SENT, " && ".join(filter(None, ("packet_is_tcp[IP]", condition.replace("FLAGS", flags)))), by)


def _state(*conditions: str) -> tuple[Definition, ...]:
    return (grows(_STATE, " && ".join(("args->sk->sk_protocol == IPPROTO_TCP", *conditions))),)


def _taken(condition: str, by: str = "1") -> tuple[Definition, ...]:
    """A segment that an established connection takes in: SEGMENT is it with its socket."""
    arguments = "(struct sock *)args->sk, (struct sk_buff *)args->skb"
    packet = "(struct sk_buff *)args->skb"
    whole, amount = (text.replace("SEGMENT", arguments).replace("PACKET", packet) for text in (condition, by))
    return (grows("tcp_probe", whole, amount),)


def _dropped(reason: str, protocol: str) -> tuple[Definition, ...]:
    ip = "packet_ip[args->skb]"
    condition = f"args->reason == SKB_DROP_REASON_{reason} && packet_is_ip[args->skb] && {protocol.replace('IP', ip)}"
    return (grows("kfree_skb", condition),)


def _datagram(event: str, condition: str) -> tuple[Definition, ...]:
    return (grows(event, f"args->sk->sk_protocol == 17 && {condition}"),)


_DATA = "tcp_sent_bytes[args->skb] > 0"
_FIRST, _AGAIN = "!tcp_is_sent_again[args->skb]", "tcp_is_sent_again[args->skb]"
_SENT_BYTES = "tcp_sent_bytes[args->skb]"

_BYTES = "tcp_taken_bytes[PACKET]"
_IN_ORDER = f"{_BYTES} > 0 && tcp_ahead[SEGMENT] <= 0 && tcp_taken_new[SEGMENT] > 0"
_AHEAD = f"{_BYTES} > 0 && tcp_ahead[SEGMENT] > 0"
_BEFORE = f"{_BYTES} > 0 && tcp_taken_new[SEGMENT] <= 0"
_PARTLY = f"{_BYTES} > 0 && tcp_ahead[SEGMENT] < 0 && tcp_taken_new[SEGMENT] > 0"
_ACKNOWLEDGES = "tcp_acknowledged[SEGMENT] > 0"

_ICMP = {
    "EchoReps": 0, "DestUnreachs": 3, "SrcQuenchs": 4, "Redirects": 5, "Echos": 8, "TimeExcds": 11, "ParmProbs": 12,
    "Timestamps": 13, "TimestampReps": 14, "AddrMasks": 17, "AddrMaskReps": 18,
}  # fmt: skip
"""Types of messages (RFC 792)."""

_IP4, _IP6 = "packet_version[IP] == 4", "packet_version[IP] == 6"
_RAW = (
    "{0}->sk_type == 3 && !{0}->sk_kern_sock && "
    "({0}->__sk_common.skc_family == AF_INET || {0}->__sk_common.skc_family == AF_INET6)"
)
"""A SOCK_RAW of IP, and a process's: the kernel answers through such sockets of its own."""
_UDP = "packet_is_udp[IP]"

DEFINITIONS: Definitions = {
    "icmpInMsgs": _packets(RECEIVED, "packet_is_icmp[IP]"),
    "icmpOutMsgs": _packets(SENT, "packet_is_icmp[IP]"),
    **{f"icmpIn{name}": _icmp(RECEIVED, kind) for name, kind in _ICMP.items()},
    **{f"icmpOut{name}": _icmp(SENT, kind) for name, kind in _ICMP.items()},
    "ipIfStatsHCInOctets": _packets(RECEIVED, "", "packet_octets[IP]"),
    "ipIfStatsHCInReceives": _packets(RECEIVED),
    "ipIfStatsHCOutOctets": _packets(SENT, "", "packet_octets[IP]"),
    "ipIfStatsHCOutTransmits": _packets(SENT),
    "ipInReceives": _packets(RECEIVED, _IP4),
    "ipOutTransmits": _packets(SENT, _IP4),
    "ipv6InReceives": _packets(RECEIVED, _IP6),
    "ipv6OutTransmits": _packets(SENT, _IP6),
    "rawipInDatagrams": (
        grows("sock_recv_length", f"{_RAW.format('args->sk')} && args->ret >= 0 && !(args->flags & 2)"),
    ),
    "rawipOutDatagrams": _packets(SENT, f"args->skb->sk != NULL && {_RAW.format('args->skb->sk')}", "1"),
    "tcpActiveOpens": _state("args->newstate == TCP_STATE_SYN_SENT"),
    "tcpAttemptFails": _state(
        "(args->oldstate == TCP_STATE_SYN_SENT || args->oldstate == TCP_STATE_SYN_RECEIVED)", _CLOSED
    ),
    "tcpEstabResets": _state(
        "(args->oldstate == TCP_STATE_ESTABLISHED || args->oldstate == TCP_STATE_CLOSE_WAIT)", _CLOSED
    ),
    "tcpInAckBytes": _taken(_ACKNOWLEDGES, "tcp_acknowledged[SEGMENT]"),
    "tcpInAckSegs": _taken(_ACKNOWLEDGES),
    "tcpInDataDupBytes": _taken(_BEFORE, _BYTES),
    "tcpInDataDupSegs": _taken(_BEFORE),
    "tcpInDataInorderBytes": _taken(_IN_ORDER, "tcp_taken_new[SEGMENT]"),
    "tcpInDataInorderSegs": _taken(_IN_ORDER),
    "tcpInDataPartDupBytes": _taken(_PARTLY, "-tcp_ahead[SEGMENT]"),
    "tcpInDataPartDupSegs": _taken(_PARTLY),
    "tcpInDataUnorderBytes": _taken(_AHEAD, _BYTES),
    "tcpInDataUnorderSegs": _taken(_AHEAD),
    "tcpInErrs": _dropped("TCP_CSUM", "packet_is_tcp[IP]"),
    "tcpInSegs": _packets(RECEIVED, "packet_is_tcp[IP]"),
    "tcpOutAck": _sent(f"(FLAGS & (TH_SYN | TH_FIN | TH_RST | TH_ACK)) == TH_ACK && !({_DATA})"),
    "tcpOutControl": _sent("(FLAGS & (TH_SYN | TH_FIN | TH_RST))"),
    "tcpOutDataBytes": _sent(f"{_DATA} && {_FIRST}", _SENT_BYTES),
    "tcpOutDataSegs": _sent(f"{_DATA} && {_FIRST}"),
    "tcpOutRsts": _sent("(FLAGS & TH_RST)"),
    "tcpOutSegs": _sent(),
    "tcpPassiveOpens": _state("args->oldstate == TCP_STATE_SYN_RECEIVED", "args->newstate == TCP_STATE_ESTABLISHED"),
    "tcpRetransBytes": _sent(f"{_DATA} && {_AGAIN}", _SENT_BYTES),
    "tcpRetransSegs": (grows("tcp_retransmit_skb", "", "packet_count[(struct sk_buff *)args->skb]"),),
    "udpHCInDatagrams": _datagram("sock_recv_length", "args->ret >= 0 && !(args->flags & 2)"),
    "udpHCOutDatagrams": _packets(SENT, _UDP, "1"),
    "udpInCksumErrs": _dropped("UDP_CSUM", _UDP),
    "udpInDatagrams": _datagram("sock_recv_length", "args->ret >= 0 && !(args->flags & 2)"),
    "udpInErrors": (_datagram("udp_fail_queue_rcv_skb", "args->rc != 0")[0]._replace(more=_dropped("UDP_CSUM", _UDP)),),
    "udpNoPorts": _dropped("NO_SOCKET", _UDP),
    "udpOutDatagrams": _packets(SENT, _UDP, "1"),
    "udpOutErrors": _datagram("sock_send_length", "args->ret < 0"),
}

_ELSEWHERE = "Linux counts it, if at all, without a tracepoint: /proc/net/snmp, /proc/net/snmp6 and /proc/net/netstat"

ABSENT: Absent = {
    "tcpHC*": "the same without HC: tcpInSegs and tcpOutSegs",
    "*": _ELSEWHERE,
}
