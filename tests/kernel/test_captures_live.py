"""Packets of a device in a pcapng file: as tshark reads it, with losses, and where the file takes no more."""

import contextlib
import json
import os
import re
import resource
import signal
import subprocess

import pytest
from support.command.command import SONDE, environment, sonde
from support.files import pcapng_reader as reader
from support.machine import packages
from support.packets.network import DATAGRAMS, network

PORT = 7300


@pytest.fixture(scope="module")
def net():
    with network("pn") as found:
        yield found


@contextlib.contextmanager
def tracing(net, program, *options, **settings):
    """sonde at the right end, ready; after the block its output and messages are in `outcome`, and its status."""
    outcome = {}
    words = ["ip", "netns", "exec", net.right, SONDE, "-qn", f'BEGIN {{ printf("ready\\n"); }} {program}', *options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment()}
    with subprocess.Popen(words, **pipes, **settings) as process:
        try:
            first = process.stdout.readline()
            assert first == "ready\n", process.stderr.read()
            yield outcome
            if not outcome.get("ends"):
                process.send_signal(signal.SIGINT)
            outcome["out"] = process.stdout.read()
            outcome["messages"] = process.stderr.read()
            outcome["status"] = process.wait()
        finally:
            process.kill()


def datagrams(net, count, size):
    """From the left end to nobody, of `size` bytes of payload and then one more each."""
    net.run(net.left, DATAGRAMS, "10.77.0.2", PORT, count, size)


def tshark(path, *fields):
    """The fields of each datagram of a file; tshark may not complain."""
    packages.require("tshark")
    words = ["tshark", "-n", "-r", path, f"-Yudp.dstport=={PORT} and not icmp", "-Tfields"]
    done = subprocess.run([*words, *(f"-e{each}" for each in fields)], capture_output=True, text=True, check=True)
    assert [line for line in done.stderr.splitlines() if "Running as user" not in line] == []
    return [line.split("\t") for line in done.stdout.splitlines()]


@pytest.mark.long
def test_tshark_reads_packets_and_comments_live_and_from_a_recording(net, tmp_path):
    """Of lengths that differ and others that do not, with values of the clause, and bytes to the last one."""
    path, raw, again = (tmp_path / name for name in ("out.pcapng", "raw", "again.pcapng"))
    program = f"""packet:{net.right}:ingress: /pktlen >= 342 && pktlen < 642/
        {{ printf("of %d bytes, %s", pktlen, probefunc); trace(ifindex); capture(); @ = count(); }}
        packet:{net.right}:ingress: /pktlen == 102/ {{ capture(60); printf("short\\n"); }}"""
    with tracing(net, program, "-o", path, "--raw", raw) as outcome:
        datagrams(net, 300, 300)
        for _ in range(2):
            datagrams(net, 1, 60)
    assert (outcome["status"], outcome["messages"]) == (0, "")
    assert outcome["out"].split() == ["short", "short", "300"]
    sonde("raw", raw, "-q", "-o", again)
    for file in (path, again):
        fields = ("frame.len", "frame.cap_len", "frame.interface_name", "frame.packet_flags_direction", "frame.comment")
        rows = tshark(file, *fields, "udp.payload")
        (number,) = {row[4].split()[-1] for row in rows[:300]}
        assert rows[:300] == [
            [str(42 + size), str(42 + size), net.right, "0x00000001", f"of {42 + size} bytes, ingress {number}",
             (b"x" * size).hex()]
            for size in range(300, 600)
        ]  # fmt: skip
        assert [row[:5] for row in rows[300:]] == [["102", "60", net.right, "0x00000001", ""]] * 2
    assert reader.packets(path.read_bytes()) == reader.packets(again.read_bytes())
    assert [value.get("name") for value in described(path)["values"]] == ["pktlen", "probefunc", "ifindex"]
    # A recording does not tell when it was begun.
    (_, first), (_, second) = (reader.statistics(file.read_bytes())[0] for file in (path, again))
    assert {code: value for code, value in first.items() if code not in (2, 3)} == second


def described(path):
    """What a file says about the only kind of records with values in it."""
    section = next(reader.blocks(path.read_bytes()))
    (layout,) = json.loads(reader.options(section.body[16:])[2989][12:])["layouts"]
    return layout


def test_what_finds_no_room_is_counted_in_messages_and_in_the_file(net, tmp_path):
    path = tmp_path / "out.pcapng"
    program = f"packet:{net.right}:ingress: /pktlen > 900/ {{ capture(); @ = count(); }}"
    with tracing(net, program, "-b", "16k", "-o", path) as outcome:
        datagrams(net, 400, 1000)
    data = path.read_bytes()
    ((_, statistics),) = reader.statistics(data)
    received, lost, written = (int.from_bytes(statistics[code], "little") for code in (4, 7, 8))
    assert lost > 0
    assert lost == sum(map(int, re.findall(r"(\d+) drops? on CPU", outcome["messages"])))
    assert (received, written) == (int(outcome["out"]), len(reader.packets(data))) == (400, 400 - lost)
    assert len(tshark(path, "frame.number")) == written


TUNNEL = r"""
import fcntl, os, socket, struct, subprocess, sys
name, address, peer, *command = sys.argv[1:]
tunnel = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tunnel, 0x400454CA, struct.pack("=16sH22x", name.encode(), 0x1001))  # TUNSETIFF, IFF_TUN | IFF_NO_PI
subprocess.run(["ip", "addr", "add", f"{address}/24", "dev", name], check=True)
subprocess.run(["ip", "link", "set", name, "up"], check=True)
process = subprocess.Popen(command, stdout=subprocess.PIPE)
process.stdout.readline()
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x" * 30, (peer, 7300))
packet = bytearray(os.read(tunnel, 2000))
while packet[9] != 17:
    packet = bytearray(os.read(tunnel, 2000))
packet[12:16], packet[16:20] = packet[16:20], packet[12:16]
os.write(tunnel, packet)
process.communicate()
"""
"""A device without link headers, through which a datagram goes out and comes back."""


def test_packets_of_a_device_without_link_header_begin_with_that_of_ip(net, tmp_path):
    if not os.path.exists("/dev/net/tun"):
        pytest.skip("needs tun devices")
    path, name = tmp_path / "out.pcapng", f"t{os.getpid()}"
    program = f"""BEGIN {{ printf("ready\\n"); }} packet:{name}:egress: /pktlen == 58/ {{ capture(); }}
        packet:{name}:ingress: /pktlen == 58/ {{ capture(); exit(0); }}"""
    net.run(net.right, TUNNEL, name, "10.78.0.1", "10.78.0.2", SONDE, "-qn", program, "-o", path)
    rows = tshark(path, "frame.protocols", "frame.interface_name", "frame.packet_flags_direction", "ip.dst")
    assert [(row[0][:10], *row[1:]) for row in rows] == [
        ("raw:ip:udp", name, "0x00000002", "10.78.0.2"), ("raw:ip:udp", name, "0x00000001", "10.78.0.1"),
    ]  # fmt: skip


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))


@pytest.mark.long
def test_a_file_that_takes_no_more_ends_the_trace_and_is_whole(net, tmp_path):
    """As a full disk: a part of a block may have been written when it is refused."""
    path = tmp_path / "out.pcapng"
    program = f"packet:{net.right}:ingress: /pktlen > 900/ {{ capture(); @ = count(); }} END {{ trace(probename); }}"
    with tracing(net, program, "-o", path, preexec_fn=limit_files) as outcome:
        outcome["ends"] = True
        datagrams(net, 200, 1000)
    assert outcome["status"] == 1
    assert outcome["out"].split()[0] == "END"
    (found,) = re.findall(r"capture file '.*out.pcapng': File too large\n.*first (\d+) packets; (\d+) more",
                          outcome["messages"])  # fmt: skip
    kept, late = map(int, found)
    assert kept == len(reader.packets(path.read_bytes())) == len(tshark(path, "frame.number")) > 30
    assert kept + late == int(outcome["out"].split()[1])


def test_a_reader_that_goes_away_ends_the_trace(net, tmp_path):
    path = tmp_path / "out.pcapng"
    os.mkfifo(path)
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with tracing(net, f"packet:{net.right}:ingress: /pktlen > 900/ {{ capture(); }}", "-o", path) as outcome:
            outcome["ends"] = True
            assert os.read(reading, 4) == b"\x0a\x0d\x0d\x0a"
            os.close(reading)
            reading = -1
            datagrams(net, 3, 1000)
    finally:
        if reading >= 0:
            os.close(reading)
    assert outcome["status"] == 1
    assert re.search(r"out.pcapng': Broken pipe\n.*first 0 packets; [123] more were captured", outcome["messages"])


def test_a_program_without_packets_writes_no_such_file(tmp_path):
    done = sonde("-qn", "BEGIN { exit(0); }", "-o", tmp_path / "out.pcapng", status=1)
    assert "the program captures none" in done.stderr
    assert not (tmp_path / "out.pcapng").exists()
