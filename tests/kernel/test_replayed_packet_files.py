"""Files of packets that tcpdump, tshark and sonde write, by --replay: the packets that tshark reads in them."""

import socket
import subprocess
import time
from collections import Counter

import pytest
from support.command.command import sonde, start
from support.files.capture_files import pcap
from support.machine import packages
from support.packets.frames import FRAMES

PORT = 40961
DATAGRAMS = 25


def send(count=DATAGRAMS):
    """Datagrams over loopback, of growing lengths."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for number in range(count):
            sender.sendto(b"x" * (number + 1), ("127.0.0.1", PORT))
            time.sleep(0.001)


def captured(path, words):
    """What a program writes that captures while datagrams are sent."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        for line in running.stdout:
            if "listening on" in line or "Capturing on" in line:
                break
        deadline = time.monotonic() + 20
        while len(shown(path)) < DATAGRAMS and time.monotonic() < deadline:
            send()
            time.sleep(0.2)
        running.terminate()
        running.wait()


def shown(path):
    """The length and the port of each datagram that tshark reads."""
    words = [
        "tshark",
        "-n",
        "-r",
        path,
        f"-Yudp.dstport=={PORT} and not icmp",
        "-Tfields",
        "-eframe.len",
        "-eudp.srcport",
    ]
    done = subprocess.run(words, capture_output=True, text=True)
    return [tuple(map(int, line.split())) for line in done.stdout.splitlines()]


def replayed(path):
    text = f"""
        packet::: /args[0]->udp_dport == {PORT}/ {{ @[pktlen, args[0]->udp_sport] = count(); }}
        END {{ printa("%d %d %@d\\n", @); }}
    """
    found = Counter()
    for line in sonde("--replay", path, "-qn", text).stdout.split("\n"):
        if not line:
            continue
        length, port, count = map(int, line.split())
        found[length, port] += count
    return found


ONLY = f"udp dst port {PORT}"
WRITERS = {
    "tcpdump": ["tcpdump", "-U", "-n", "-i", "lo", "-w", "FILE", ONLY],
    "tcpdump, ns": ["tcpdump", "-U", "-n", "--time-stamp-precision=nano", "-i", "lo", "-w", "FILE", ONLY],
    "tshark": ["tshark", "-n", "-i", "lo", "-w", "FILE", "-f", ONLY],
    "tshark, pcap": ["tshark", "-n", "-F", "pcap", "-i", "lo", "-w", "FILE", "-f", ONLY],
}


@pytest.mark.long
@pytest.mark.parametrize("writer", WRITERS)
def test_a_capture_is_replayed(tmp_path, writer):
    packages.require("tshark")
    packages.require(writer.split(",")[0])
    path = str(tmp_path / "capture")
    captured(path, [path if word == "FILE" else word for word in WRITERS[writer]])
    expected = Counter(shown(path))
    assert sum(expected.values()) >= DATAGRAMS
    assert replayed(path) == expected


@pytest.mark.long
def test_what_sonde_has_captured_is_replayed(tmp_path):
    packages.require("tshark")
    path = str(tmp_path / "capture.pcapng")
    text = "packet:lo:: /args[0]->udp_dport == %d/ { capture(); n++; } tick-100ms /n >= %d/ { exit(0); }"
    running = start("-qo", path, "-n", text % (PORT, DATAGRAMS))
    try:
        deadline = time.monotonic() + 20
        while running.poll() is None and time.monotonic() < deadline:
            send()
            time.sleep(0.2)
    finally:
        running.terminate()
        running.communicate()
    expected = Counter(shown(path))
    assert sum(expected.values()) >= DATAGRAMS
    assert replayed(path) == expected


def test_packets_are_listed_and_options_are_as_with_packets(tmp_path):

    path = tmp_path / "file.pcap"
    path.write_bytes(pcap([(7, number, frame, len(frame)) for number, frame in enumerate(FRAMES.values())], "<"))
    for option in ("--packets", "--replay"):
        done = sonde(option, str(path), "-l", "packet:::")
        assert "if0" in done.stdout
    counts = {
        sonde(option, str(path), "-qn", "packet::: { @ = sum(pktlen); }").stdout for option in ("--packets", "--replay")
    }
    assert len(counts) == 1
    done = sonde("--replay", str(path), "--engine", "kernel", "-n", "packet::: { @ = count(); }", status=1)
    assert "embedded engine" in done.stderr
