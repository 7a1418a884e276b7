"""ip, tcp and udp: every packet once, with the addresses, ports, flags and lengths that tshark sees."""

from ipaddress import ip_address

import pytest
from support.command.command import sonde
from support.packets.network import ADDRESSES, FIRST, LAST, network, tracing, tshark


@pytest.fixture(scope="module")
def net():
    with network() as found:
        yield found


def rows(lines):
    """Lines of words, the empty ones left out."""
    return [tuple(line.split()) for line in lines if line.strip()]


def number(text):
    """A number as tshark shows it; what is one bit is a truth value in newer versions."""
    return ["False", "True"].index(text) if text in ("False", "True") else int(text, 0)


@pytest.mark.long
def test_segments_are_those_that_tshark_sees(net):
    """Connections over IPv4 and IPv6 with more data than a segment takes: all numbers of both headers, in order."""
    text = f"""tcp:::send /args[1]->cs_addr && stringof(((struct sk_buff *)arg0)->dev->name) == "{net.left}"/ {{
        printf("%d %s %s %d %d %d %d %d 0x%x %d %d\\n", args[2]->ip_ver, args[2]->ip_saddr, args[2]->ip_daddr,
        args[2]->ip_plength, args[4]->tcp_sport, args[4]->tcp_dport, args[4]->tcp_seq, args[4]->tcp_ack,
        args[4]->tcp_flags, args[4]->tcp_offset, args[4]->tcp_window); }}
        tcp:::receive /stringof(((struct sk_buff *)arg0)->dev->name) == "{net.left}"/ {{
        printf("%d %s %s %d %d %d %d %d 0x%x %d %d\\n", args[2]->ip_ver, args[2]->ip_saddr, args[2]->ip_daddr,
        args[2]->ip_plength, args[4]->tcp_sport, args[4]->tcp_dport, args[4]->tcp_seq, args[4]->tcp_ack,
        args[4]->tcp_flags, args[4]->tcp_offset, args[4]->tcp_window); }}"""
    fields = ("ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "ip.len", "ipv6.plen", "tcp.srcport", "tcp.dstport",
              "tcp.seq", "tcp.ack", "tcp.flags", "tcp.hdr_len", "tcp.window_size_value")  # fmt: skip
    with tracing(text) as seen, tshark(net, *fields) as packets:
        for version in (4, 6):
            net.connections(version, 8000 + version, 3, 5000)
    expected = []
    for _, source, target, source6, target6, length, length6, sport, *rest in packets:
        if sport:
            ends = (source or source6, target or target6)
            plength = int(length) - 20 if length else int(length6)
            numbers = (plength, int(sport), *map(number, rest))
            expected.append((6 if source6 else 4, *map(ip_address, ends), *numbers))
    found = [(int(v), ip_address(s), ip_address(d), *map(number, rest)) for v, s, d, *rest in rows(seen)]
    assert len(found) > 40
    assert sorted(found) == sorted(expected)


@pytest.mark.long
def test_datagrams_are_those_that_tshark_sees(net):
    """Eleven of IPv4 and thirteen of IPv6, each longer than the one before."""
    text = f"""udp:::send, udp:::receive /args[4]->udp_dport == 9001/ {{
        printf("%s %s %s %d %d %d %d %d %s %s %d %d\\n", probename, args[2]->ip_saddr, args[2]->ip_daddr,
        args[2]->ip_plength, args[4]->udp_sport, args[4]->udp_length, args[3]->udps_lport, args[3]->udps_rport,
        args[3]->udps_laddr, args[3]->udps_raddr, args[0]->pkt_addr != 0, args[1]->cs_addr != 0); }}
        udp:::send /args[4]->udp_dport != {FIRST} && args[4]->udp_dport != {LAST} && args[4]->udp_dport != 9001 &&
        stringof(((struct sk_buff *)arg0)->dev->name) == "{net.left}"/ {{ printf("other\\n"); }}"""
    fields = ("ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "udp.srcport", "udp.length")
    with tracing(text) as seen, tshark(net, *fields) as packets:
        net.datagrams(4, 9001, 11, 100)
        net.datagrams(6, 9001, 13, 200)
    expected = [
        (ip_address(a or c), ip_address(b or d), *map(int, rest)) for _, a, b, c, d, *rest in packets if rest[0]
    ]
    assert len(expected) == 24
    for way, local in (("send", 0), ("receive", 1)):
        found = []
        for name, source, target, payload, sport, length, lport, rport, laddr, raddr, packet, socket in rows(seen):
            if name == way:
                found.append((ip_address(source), ip_address(target), int(sport), int(length)))
                assert payload == length
                assert (laddr, raddr) == ((source, target) if way == "send" else (target, source))
                assert (lport, rport) == ((sport, "9001") if way == "send" else ("9001", sport))
                assert (packet, socket) == ("1", str(1 - local))
        assert found == expected


@pytest.mark.long
def test_the_headers_of_ip_are_those_that_tshark_sees(net):
    text = f"""ip:::send /args[3]->if_name == "{net.left}" && args[4]->ipv4_protocol == IPPROTO_UDP/ {{
        printf("4 %d %d %d %d %d %d %d %d %s %s %s %d\\n", args[4]->ipv4_ver, args[4]->ipv4_ihl, args[4]->ipv4_tos,
        args[4]->ipv4_length, args[4]->ipv4_ident, args[4]->ipv4_flags, args[4]->ipv4_ttl, args[4]->ipv4_checksum,
        args[4]->ipv4_protostr, args[4]->ipv4_saddr, args[4]->ipv4_daddr, args[5]->ipv6_hdr == 0); }}
        ip:::send /args[3]->if_name == "{net.left}" && args[5]->ipv6_nexthdr == IPPROTO_UDP/ {{
        printf("6 %d %d %d %d %d %s %s %s %d\\n", args[5]->ipv6_ver, args[5]->ipv6_tclass, args[5]->ipv6_flow,
        args[5]->ipv6_plen, args[5]->ipv6_hlim, args[5]->ipv6_nextstr, args[5]->ipv6_saddr, args[5]->ipv6_daddr,
        args[4]->ipv4_hdr == 0); }}"""
    fields = ("ip.version", "ip.hdr_len", "ip.dsfield", "ip.len", "ip.id", "ip.flags.df", "ip.ttl", "ip.checksum",
              "ipv6.tclass", "ipv6.flow", "ipv6.plen", "ipv6.hlim")  # fmt: skip
    with tracing(text) as seen, tshark(net, *fields) as packets:
        net.datagrams(4, 9002, 5, 100)
        net.datagrams(6, 9002, 7, 100)
    found = rows(seen)
    expected4 = [tuple(map(number, p[1:9])) for p in packets if p[:2] == ["9002", "4"]]
    expected6 = [tuple(map(number, (p[1], *p[9:]))) for p in packets if p[:2] == ["9002", "6"]]
    assert (len(expected4), len(expected6)) == (5, 7)
    ends4, ends6 = ADDRESSES[4], ADDRESSES[6]
    found4 = [(*map(int, r[1:6]), int(r[6]) >> 1, *map(int, r[7:9])) for r in found if r[0] == "4"]
    marks = len(found4) - 5
    assert [f for f in found4 if f in expected4] == expected4
    assert marks >= 2
    assert {r[9:] for r in found if r[0] == "4"} == {("UDP", *ends4, "1")}
    assert [tuple(map(int, r[1:6])) for r in found if r[0] == "6"] == expected6
    assert [(r[6], *map(ip_address, r[7:9]), r[9]) for r in found if r[0] == "6"] == (
        [("UDP", *map(ip_address, ends6), "1")] * 7
    )


def test_loopback_has_each_packet_once_in_each_direction(net):
    # Each namespace has a loopback of its own, and others use theirs meanwhile.
    here = f"((struct sk_buff *)arg0)->dev->nd_net.net->ns.inum == {net.number}"
    text = f"""ip:::send, ip:::receive /args[3]->if_local && {here}/ {{
        @[probename, args[3]->if_name, args[2]->ip_ver] = count(); }}
        udp:::send, udp:::receive /args[4]->udp_dport == 9003 && {here}/ {{
        @u[probename, args[2]->ip_ver] = count(); }}"""
    with tracing(text) as seen:
        for address, count in (("127.0.0.1", 17), ("::1", 19)):
            net.run(net.left, DATAGRAM_PAIR, address, 9003, count)
    assert set(rows(seen)) == {
        ("send", "lo", "4", "17"), ("receive", "lo", "4", "17"), ("send", "lo", "6", "19"),
        ("receive", "lo", "6", "19"), ("send", "4", "17"), ("receive", "4", "17"), ("send", "6", "19"),
        ("receive", "6", "19"),
    }  # fmt: skip


DATAGRAM_PAIR = """
import socket, sys
address, port, count = sys.argv[1], *map(int, sys.argv[2:])
family = socket.AF_INET6 if ":" in address else socket.AF_INET
receiver = socket.socket(family, socket.SOCK_DGRAM)
receiver.bind((address, port))
sender = socket.socket(family, socket.SOCK_DGRAM)
for _ in range(count):
    sender.sendto(b"abc", (address, port))
    receiver.recv(10)
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("version", [4, 6])
def test_connections_are_requested_established_and_refused(net, version):
    """Five that are accepted, three that are refused; each probe on its side, with both ends."""
    text = """tcp:::accept-established, tcp:::accept-refused, tcp:::connect-established, tcp:::connect-refused,
        tcp:::connect-request /args[4]->tcp_dport == 8010 || args[4]->tcp_sport == 8010 ||
        args[4]->tcp_dport == 8011 || args[4]->tcp_sport == 8011/ {
        @[probename, args[2]->ip_ver, args[2]->ip_saddr, args[2]->ip_daddr, args[3]->tcps_laddr, args[3]->tcps_raddr,
        args[3]->tcps_lport == 8010 || args[3]->tcps_lport == 8011 ? args[3]->tcps_lport : 0,
        args[3]->tcps_rport == 8010 || args[3]->tcps_rport == 8011 ? args[3]->tcps_rport : 0,
        args[4]->tcp_sport == args[3]->tcps_lport, args[4]->tcp_flags, args[3]->tcps_state] = count(); }"""
    with tracing(text) as seen:
        net.connections(version, 8010, 5, 10)
        net.refused(version, 8011, 3)
    left, right = map(ip_address, ADDRESSES[version])
    found = {}
    for name, ver, source, target, laddr, raddr, *rest, count in rows(seen):
        found[name, *map(ip_address, (source, target, laddr, raddr)), *map(int, rest)] = int(count)
        assert int(ver) == version
    syn, ack, rst = 2, 16, 4
    assert found == {
        ("connect-request", left, right, left, right, 0, 8010, 1, syn, 2): 5,
        ("connect-request", left, right, left, right, 0, 8011, 1, syn, 2): 3,
        ("connect-established", right, left, left, right, 0, 8010, 0, syn | ack, 1): 5,
        ("accept-established", left, right, right, left, 8010, 0, 0, ack, 1): 5,
        ("accept-refused", right, left, right, left, 8011, 0, 1, rst | ack, 0): 3,
        ("connect-refused", right, left, left, right, 0, 8011, 0, rst | ack, 2): 3,
    }


def test_the_states_of_a_connection_follow_each_other(net):
    """Each change begins where the one before of the same socket has ended."""
    text = """tcp:::state-change /args[3]->tcps_lport == 8020 || args[3]->tcps_rport == 8020/ {
        printf("%x %d %d %s\\n", args[1]->cs_addr, args[5]->tcps_state, args[3]->tcps_state,
        tcp_state_string[args[3]->tcps_state]); }"""
    with tracing(text) as seen:
        net.connections(4, 8020, 1, 10)
    ways = {}
    for address, old, new, name in rows(seen):
        way = ways.setdefault(address, [(old, "")])
        assert way[-1][0] == old
        way.append((new, name.removeprefix("state-")))
    names = {tuple(name for _, name in way[1:]) for way in ways.values()}
    assert ("syn-sent", "established", "fin-wait-1", "fin-wait-2", "closed") in names
    assert ("listen", "closed") in names
    assert ("syn-received", "established", "close-wait", "last-ack", "closed") in names


@pytest.mark.long
def test_what_a_connection_knows_of_itself(net):
    """Window scales, segment size, round trip and timeout are those of getsockopt(TCP_INFO)."""
    text = """tcp:::send /args[4]->tcp_dport == 8030 && args[2]->ip_plength > 900/ {
        printf("%d %d %d %d %d %d\\n", args[3]->tcps_snd_ws, args[3]->tcps_rcv_ws, args[3]->tcps_mss,
        args[3]->tcps_rto, args[3]->tcps_state, args[3]->tcps_retransmit); }"""
    with tracing(text) as seen:
        net.connections(4, 8030, 1, 1000)
    ((snd_ws, rcv_ws, mss, rto, state, again),) = rows(seen)
    assert 0 < int(snd_ws) <= 14
    assert 0 < int(rcv_ws) <= 14
    assert 1300 < int(mss) <= 1460
    assert 200 <= int(rto) < 3000
    assert (state, again) == ("1", "0")


def test_a_segment_sent_again_is_no_request_again(net):
    """Nobody answers: one request, and more segments that are marked."""
    text = """tcp:::connect-request /args[4]->tcp_dport == 8040/ { @request = count(); }
        tcp:::send /args[4]->tcp_dport == 8040/ { @[args[3]->tcps_retransmit] = count(); }"""
    with tracing(text) as seen:
        net.unanswered(8040)
    assert rows(seen)[:1] == [("1",)]
    counts = {row[0]: int(row[1]) for row in rows(seen)[1:]}
    assert counts["0"] == 1
    assert counts["1"] >= 1


def test_a_bridge_and_its_port_count_once():
    """The bridge sends; its port, which the packet goes through as well, does not count."""
    text = """udp:::send, udp:::receive /args[4]->udp_dport == 9004/ {
        @[probename, stringof(((struct sk_buff *)arg0)->dev->name)] = count(); }"""
    with network("b") as net:
        net.bridge("bridge0")
        with tracing(text) as seen:
            net.datagrams(4, 9004, 7)
        assert sorted(rows(seen)) == [("receive", net.right, "7"), ("send", "bridge0", "7")]


@pytest.mark.long
def test_what_all_probes_of_a_provider_show_can_be_used_for_all():
    """They are made of different structures; what they show at that place is the same."""
    sonde("-en", "tcp::: { @[probename, args[3]->tcps_state] = count(); }")
    refused = sonde("-en", "tcp::: { trace(args[2]->ip_ver); }", status=1)
    assert "unstable set of probes" in refused.stderr
