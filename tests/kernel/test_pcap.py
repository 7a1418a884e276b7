"""pcap(): packets of the kernel as tshark reads them."""

import shutil
import subprocess

import pytest
from command import build, sonde

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
    if not shutil.which("tshark"):
        pytest.skip("needs tshark")
    words = ["tshark", "-nr", path, "-Tfields", *(f"-e{field}" for field in fields)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "cut short" not in done.stderr
    return [tuple(line.split("\t")) for line in done.stdout.splitlines()]


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


def test_pcapsize_limits_what_is_captured_but_not_the_length(tmp_path):
    program = build(tmp_path, "datagrams", DATAGRAMS)
    path = tmp_path / "out.pcap"
    text = f'BEGIN {{ freopen("{path}"); }} rawtp:::net_dev_queue /pid == $target/ {{ pcap(args[0], PCAP_ETHER); }}'
    sonde("-wqc", program, "-xpcapsize=60", "-n", text)
    sizes = [(int(length), int(captured)) for length, captured in read(path, "frame.len", "frame.cap_len")]
    lengths = [14 + 20 + 8 + 5 * number for number in range(1, 14)]
    # The option is rounded up to a multiple of 8, as in DTrace.
    assert sizes == [(length, min(length, 64)) for length in lengths]


def test_a_capture_may_be_as_long_as_a_packet_can_be(tmp_path):
    """What is captured is what stands in one piece: of these packets all of the small ones, less of the large."""
    text = DATAGRAMS.replace("char data[100]", "char data[60000]").replace("5 * i", "4600 * i")
    program = build(tmp_path, "datagrams", text)
    path = tmp_path / "out.pcap"
    text = f'BEGIN {{ freopen("{path}"); }} rawtp:::net_dev_queue /pid == $target/ {{ pcap(args[0], PCAP_ETHER); }}'
    sonde("-wqc", program, "-xpcapsize=65535", "-n", text)
    sizes = [(int(length), int(captured)) for length, captured in read(path, "frame.len", "frame.cap_len")]
    assert [length for length, _ in sizes] == [14 + 20 + 8 + 4600 * number for number in range(1, 14)]
    assert [captured for _, captured in sizes[:3]] == [length for length, _ in sizes[:3]]


def test_a_packet_that_is_none_is_a_fault():
    done = sonde("-qn", "BEGIN { pcap((void *)8, PCAP_IP); } BEGIN { exit(0); }")
    assert "invalid address" in done.stderr
