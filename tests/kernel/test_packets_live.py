"""Packet probes: what they see is what a packet socket sees."""

import contextlib
import os
import subprocess
from collections import Counter

import pytest
from support.packets.network import network
from support.packets.packet_traffic import datagrams, in_pcapng, in_socket, stream, watched
from support.packets.packets import UNMERGED, WAYS, captured, dumps, seen

CLAUSE = """packet:{name}:ingress:, packet:{name}:egress:
{{ printf("%s %s %d %d\\n", probemod, probefunc, pktlen, ifindex); capture({limit}); printf("end\\n"); }}"""


@pytest.fixture(scope="module")
def net():
    with network("pk") as found:
        found.run(found.right, UNMERGED, found.right)
        yield found


def records(text):
    """(device, way, length, interface, bytes) of each record of CLAUSE."""
    found = []
    for part in text.split("end\n")[:-1]:
        head, _, dump = part.strip("\n").partition("\n")
        device, way, length, interface = head.split()
        found.append((device, way, int(length), int(interface), dumps(dump)))
    return found


def is_of_neighbours(data):
    """ARP, or ICMPv6 by itself or behind hop-by-hop options."""
    return data[12:14] == b"\x08\x06" or (data[12:14] == b"\x86\xdd" and data[20] in (0, 58))


def differences(theirs, ours):
    """For people: each packet's way, length and beginning."""
    return [[(way, len(data), data[:64].hex()) for way, data in each] for each in (theirs, ours)]


def traffic(net):
    """Datagrams, some of them fragmented, and connections whose segments the device leaves to be made.

    The first connections make neighbours known: what is sent before waits until they are, a second perhaps.
    """
    net.connections(6, 7102, 1, 10)
    net.connections(4, 7102, 1, 10)
    net.datagrams(4, 7100, 3, 1)
    net.datagrams(6, 7100, 3, 2000)
    net.connections(4, 7101, 2, 200_000)


@pytest.mark.share(1)
@pytest.mark.parametrize("hook", [(), ("-xxdp=native",), ("-xxdp=generic",)])
def test_every_byte_is_what_a_packet_socket_saw(net, hook):
    clause = CLAUSE.format(name=net.right, limit="")
    with captured(net.right, clause, *hook) as output, seen(net.right) as expected:
        traffic(net)
    found = records(output[0])
    assert {device for device, *_ in found} == {net.right}
    assert {length - len(data) for _, _, length, _, data in found} == {0}
    ours, theirs = Counter((way, data) for _, way, _, _, data in found), Counter(expected)
    assert min(Counter(way for way, _ in expected)[way] for way in WAYS) > 20
    # sonde was there before the socket and longer: the namespaces look for neighbours at any time.
    more = [(way, data) for way, data in ours - theirs if not is_of_neighbours(data)]
    assert differences(theirs - ours, more) == [[], []]
    if not hook:
        assert max(len(data) for _, data in ours) > 20_000


def test_a_limit_is_one_and_the_length_is_the_packets(net):
    with captured(net.right, CLAUSE.format(name=net.right, limit="pktlen > 100 ? 21 : 8")) as output:
        net.connections(4, 7102, 1, 10)
        net.datagrams(4, 7100, 2, 10)
        net.datagrams(4, 7100, 2, 100)
    arrived = [(length, len(data)) for _, way, length, _, data in records(output[0]) if way == "ingress"]
    assert {(52, 8), (53, 8), (142, 21), (143, 21)} <= set(arrived)


@pytest.mark.long
def test_many_packets_of_all_sizes_are_what_a_packet_socket_saw(net, tmp_path):
    """UDP in packets of 60 to 65,000 bytes, then TCP, whose segments the device leaves to be made."""
    count = int(os.environ.get("SONDE_PACKETS", "5000"))
    with jumbo(net):
        with watched(net.right, tmp_path) as files:
            datagrams(net, files, count, 60 - HEADERS, 65_000 - HEADERS)
        sizes = compared(files)
    assert sum(sizes.values()) >= count
    assert (min(sizes), max(sizes)) >= (42, 64_000)
    with watched(net.right, tmp_path) as files:
        stream(net, files, 40_000 * max(count // 20, 250))
    assert max(compared(files)) > 40_000


@pytest.mark.share(1)
@pytest.mark.parametrize("mode", ["native", "generic"])
def test_xdp_has_packets_in_fragments_whole(net, tmp_path, mode):
    with jumbo(net):
        with watched(net.right, tmp_path, f"-xxdp={mode}") as files:
            datagrams(net, files, 300, 60 - HEADERS, 65_000 - HEADERS)
        sizes = compared(files)
    assert sum(sizes.values()) >= 300
    assert max(sizes) > 60_000


HEADERS = 42
"""Bytes of Ethernet, IP and UDP before a datagram's."""


@contextlib.contextmanager
def jumbo(net):
    """Both devices take the largest packets in the block."""
    take(net, 65_535)
    try:
        yield
    finally:
        take(net, 1_500)


def take(net, size):
    for name in (net.left, net.right):
        subprocess.run(["ip", "-n", name, "link", "set", name, "mtu", str(size)], check=True)


def compared(files):
    """How many packets there were of each length, all of them the same in both files."""
    ours, theirs = in_pcapng(files.captured), in_socket(files.seen)
    assert [each[:2] for each in theirs - ours] == []
    # sonde was there before the socket: the namespaces look for neighbours at any time.
    assert {length for _, length, _ in ours - theirs} <= set(range(150))
    sizes = Counter()
    for (_, length, _), number in theirs.items():
        sizes[length] += number
    for path in files:
        os.unlink(path)
    return sizes
