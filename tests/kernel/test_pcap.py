"""pcap(): packets of the kernel as tshark reads them."""

import subprocess

import pytest
from support.command.command import build, sonde
from support.machine import packages

DATAGRAMS = r"""
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>
int main(void) {
    struct sockaddr_in to = {AF_INET, htons(9100)};
    int receiver = socket(AF_INET, SOCK_DGRAM, 0), sender = socket(AF_INET, SOCK_DGRAM, 0);
    char data[100];
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < sizeof data; i++) data[i] = i;
    if (bind(receiver, (struct sockaddr *)&to, sizeof to)) return 1;
    for (int i = 1; i <= 13; i++) sendto(sender, data, 5 * i, 0, (struct sockaddr *)&to, sizeof to);
    return 0;
}
"""


def read(path, *fields):
    """The fields of each packet of a capture, which must be whole."""
    packages.require("tshark")
    words = ["tshark", "-nr", path, "-Tfields", *(f"-e{field}" for field in fields)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "cut short" not in done.stderr
    return [tuple(line.split("\t")) for line in done.stdout.splitlines()]


@pytest.mark.share(1)
@pytest.mark.parametrize(("probe", "link"), [("net_dev_queue", "PCAP_ETHER"), ("netif_receive_skb", "PCAP_IP")])
def test_a_capture_has_the_packets_bytes(tmp_path, probe, link):
    """On their way out with the link's header, on their way in without."""
    program = build(tmp_path, "datagrams", DATAGRAMS)
    path = tmp_path / "out.pcap"
    text = f"""BEGIN {{ freopen("{path}"); }}
        rawtp:::{probe} /pid == $target/ {{ pcap(args[0], {link}); }}"""
    sonde("-wqc", program, "-n", text)
    packets = read(path, "udp.dstport", "udp.payload")
    data = bytes(range(100))
    assert packets == [("9100", data[: 5 * number].hex()) for number in range(1, 14)]


def test_packets_go_to_a_file_of_packets_with_what_is_traced_before_them(tmp_path):
    program = build(tmp_path, "datagrams", DATAGRAMS)
    path = tmp_path / "out.pcapng"
    text = """rawtp:::net_dev_queue /pid == $target/ { trace(probename); pcap(args[0], PCAP_ETHER); }
        rawtp:::netif_receive_skb /pid == $target/ { pcap(args[0], PCAP_IP); printf("in\\n"); }"""
    done = sonde("-qc", program, "-n", text, "-o", path)
    assert done.stdout.split() == ["in"] * 13
    packets = read(path, "udp.payload", "frame.comment", "frame.interface_name")
    data = bytes(range(100))
    assert sorted(packets) == sorted(
        (data[: 5 * number].hex(), comment, "pcap()") for number in range(1, 14) for comment in ("net_dev_queue", "")
    )


def test_pcapsize_limits_what_is_captured_but_not_the_length(tmp_path):
    program = build(tmp_path, "datagrams", DATAGRAMS)
    path = tmp_path / "out.pcap"
    text = f'BEGIN {{ freopen("{path}"); }} rawtp:::net_dev_queue /pid == $target/ {{ pcap(args[0], PCAP_ETHER); }}'
    sonde("-wqc", program, "-xpcapsize=60", "-n", text)
    sizes = [(int(length), int(captured)) for length, captured in read(path, "frame.len", "frame.cap_len")]
    lengths = [14 + 20 + 8 + 5 * number for number in range(1, 14)]
    # The option is rounded up to a multiple of 8, as in DTrace.
    assert sizes == [(length, min(length, 64)) for length in lengths]


LARGE = DATAGRAMS.replace("char data[100]", "char data[60000]").replace("5 * i", "4600 * i")
LENGTHS = [14 + 20 + 8 + 4600 * number for number in range(1, 14)]


def sizes_of(path):
    return [(int(length), int(captured)) for length, captured in read(path, "frame.len", "frame.cap_len")]


@pytest.mark.long
def test_a_capture_may_be_as_long_as_a_packet_can_be(tmp_path):
    """The kernel appends it to the record, pages and all, from derived probes too."""
    program = build(tmp_path, "datagrams", LARGE)
    for probe, packet, link in (
        ("rawtp:::net_dev_queue", "args[0]", "PCAP_ETHER"),
        ("udp:::send", "(void *)args[0]->pkt_addr", "PCAP_ETHER"),
    ):
        path = tmp_path / f"{probe[:3]}.pcap"
        text = f'BEGIN {{ freopen("{path}"); }} {probe} /pid == $target/ {{ pcap({packet}, {link}); }}'
        sonde("-wqc", program, "-xpcapsize=65535", "-n", text)
        packets = [found for found in read(path, "frame.len", "frame.cap_len", "udp.payload") if found[2]]
        assert [(int(length), int(captured)) for length, captured, _ in packets] == [(n, n) for n in LENGTHS], probe
        assert [payload for *_, payload in packets] == [
            bytes(at % 256 for at in range(4600 * number)).hex() for number in range(1, 14)
        ]


def test_a_packet_that_is_just_an_address_is_captured_as_far_as_it_is_in_one_piece(tmp_path):
    program = build(tmp_path, "datagrams", LARGE)
    path = tmp_path / "out.pcap"
    text = f'''BEGIN {{ freopen("{path}"); }}
        sdt:net::net_dev_queue /pid == $target/ {{ pcap(args[0], PCAP_ETHER); }}'''
    sonde("-wqc", program, "-xpcapsize=30000", "-n", text)
    sizes = sizes_of(path)
    assert [length for length, _ in sizes] == LENGTHS
    assert [captured for _, captured in sizes[:3]] == LENGTHS[:3]
    assert all(captured <= min(length, 30000) for length, captured in sizes)


def test_packets_in_a_ring_buffer_are_as_long_as_they_are_in_one_piece(tmp_path):
    """-xoutput=ringbuf: the kernel appends nothing there."""
    program = build(tmp_path, "datagrams", LARGE)
    path = tmp_path / "out.pcap"
    text = f'BEGIN {{ freopen("{path}"); }} rawtp:::net_dev_queue /pid == $target/ {{ pcap(args[0], PCAP_ETHER); }}'
    sonde("-wqc", program, "-xpcapsize=30000", "-xoutput=ringbuf", "-n", text)
    assert [length for length, _ in sizes_of(path)] == LENGTHS


def test_the_memory_of_a_packet_can_be_traced(tmp_path):
    program = build(tmp_path, "datagrams", DATAGRAMS)
    text = "rawtp:::net_dev_queue /pid == $target/ { tracemem(args[0]->data + 42, 5); }"
    shown = sonde("-qc", program, "-n", text).stdout
    assert shown.count("00 01 02 03 04") == 13


def test_a_packet_that_is_none_is_a_fault():
    done = sonde("-qn", "BEGIN { pcap((void *)8, PCAP_IP); } BEGIN { exit(0); }")
    assert "invalid address" in done.stderr
