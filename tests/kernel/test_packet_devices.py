"""Devices of packet probes: several by a pattern, one that goes away, ones that refuse."""

import os
import re
import signal
import socket
import struct
import subprocess

import pytest
from support.command.command import SONDE, environment
from support.d import d_run
from support.d.d_run import Run
from support.packets.frames import FRAMES, Reading
from support.packets.network import network
from support.packets.packets import captured

from sonde.bpf.helpers import name_of
from sonde.engines.kernel.features import FOR_PROGRAMS, detect
from sonde.machine.system import current_target


@pytest.fixture(scope="module")
def net():
    with network("pd") as found:
        yield found


def inside(net, *words):
    """The command in the right namespace."""
    return ["ip", "netns", "exec", net.right, SONDE, *words]


def added(net, *names):
    for name in names:
        command = ["ip", "-n", net.right, "link"]
        subprocess.run([*command, "add", name, "type", "veth", "peer", "name", f"p{name}"], check=True)
        for each in (name, f"p{name}"):
            subprocess.run([*command, "set", each, "up"], check=True)


def removed(net, name):
    subprocess.run(["ip", "-n", net.right, "link", "del", name], check=True)


SENDER = """
import socket, sys
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
for name, count in zip(sys.argv[1::2], map(int, sys.argv[2::2])):
    for _ in range(count):
        sender.sendto(bytes(12) + b"\\x88\\xb5" + bytes(50), (name, 0))
"""


def test_a_pattern_means_each_device_and_the_record_says_which(net):
    added(net, "pkone", "pktwo", "other")
    clause = "packet:pk*:egress: /pktlen == 64/ { @[probemod, ifindex] = count(); }"
    with captured(net.right, clause) as output:
        net.run(net.right, SENDER, "pkone", 3, "pktwo", 5, "other", 7)
    counts = {row[0]: int(row[2]) for line in output[0].splitlines() if len(row := line.split()) == 3}
    assert counts == {"pkone": 3, "pktwo": 5}
    for name in ("pkone", "pktwo", "other"):
        removed(net, name)


@pytest.mark.share(1)
@pytest.mark.parametrize("hook", [(), ("-xxdp=generic",)])
def test_a_device_that_goes_is_told_of_and_the_others_go_on(net, hook):
    """The kernel itself may send something from a new device before it goes, so its packets are only counted."""
    added(net, "going")
    program = (
        f'BEGIN {{ printf("ready\\n"); }} packet:going:*gress: {{ @ = count(); }} '
        f"packet:{net.right}:ingress: {{ trace(probemod); }}"
    )
    with subprocess.Popen(inside(net, "-qn", program, *hook), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env=environment()) as sonde:  # fmt: skip
        try:
            assert sonde.stdout.readline() == "ready\n"
            removed(net, "going")
            assert sonde.stderr.readline() == "sonde: network device going has gone: no more packets of it are seen\n"
            net.datagrams(4, 7300, 1)
            assert sonde.stdout.read(len(net.right)) == net.right
            sonde.terminate()
            assert sonde.wait() == 0
        finally:
            sonde.kill()


def test_when_the_last_device_goes_tracing_ends_with_what_there_is(net, tmp_path):
    added(net, "last")
    path = tmp_path / "trace.pcapng"
    program = 'BEGIN { printf("ready\\n"); } packet:last:egress: /pktlen == 64/ { @ = count(); capture(); }'
    with subprocess.Popen(inside(net, "-qn", program, "-o", str(path)), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env=environment()) as sonde:  # fmt: skip
        try:
            assert sonde.stdout.readline() == "ready\n"
            net.run(net.right, SENDER, "last", 11)
            removed(net, "last")
            output, errors = sonde.stdout.read(), sonde.stderr.read()
            assert (sonde.wait(), output.strip()) == (0, "11")
        finally:
            sonde.kill()
    assert errors.startswith("sonde: network device last has gone")
    # Eleven blocks of 32 bytes, the packet, and what its flags take, and the file is whole to its end.
    data, kinds, position = path.read_bytes(), [], 0
    while position < len(data):
        kind, size = (int.from_bytes(data[position + at : position + at + 4], "little") for at in (0, 4))
        assert data[position + size - 4 : position + size] == data[position + 4 : position + 8]
        kinds.append(kind)
        position += size
    assert kinds.count(6) == 11


def refusal(net, *words):
    done = subprocess.run(inside(net, *words), capture_output=True, text=True, env=environment())
    assert done.returncode == 1
    return done.stderr


def test_what_a_device_refuses_is_said_with_what_would_do(net):
    text = refusal(net, "-xxdp=native", "-qn", "packet:lo:ingress: { exit(0); }")
    assert "the driver of lo has no XDP; -xxdp=generic needs none" in text
    text = refusal(net, "-qn", "packet:nowhere:ingress: { }")
    assert f"packet has no module nowhere; there are lo, {net.right}" in text
    with captured(net.right, f"packet:{net.right}:ingress: {{ @ = count(); }}", "-xxdp=native"):
        text = refusal(net, "-xxdp=native", "-qn", f"packet:{net.right}:ingress: {{ exit(0); }}")
    assert f"another program is in XDP at {net.right}; leave -xxdp out to be beside it" in text


def test_capture_needs_a_packet_and_a_perf_ring(net):
    text = refusal(net, "-qn", "BEGIN { capture(); }")
    assert "capture() is for packets, and dtrace:::BEGIN has none" in text
    text = refusal(net, "-xoutput=ringbuf", "-qn", "packet:lo:ingress: { capture(); }")
    assert "the kernel appends packets to records in perf rings alone" in text


def test_what_programs_at_devices_cannot_do_is_refused_by_name(net):
    for statement, helper in (("ustack()", "get_stack"), ("raise(9)", "send_signal"), ("stack()", "get_stack")):
        text = refusal(net, "-wqn", f"packet:lo:ingress: {{ {statement}; }}")
        assert f"the kernel has no bpf_{helper} for such programs" in text


@pytest.mark.parametrize("xdp", ["", "generic"])
def test_a_program_that_captures_reads_nothing_of_the_packet_itself(xdp):
    """The one call that has to do with the packet hands its context and a length to the kernel, which copies."""
    run = d_run.compilation('packet:lo:ingress: { printf("%d", pktlen); capture(128); }', xdp=xdp, output="auto").spec()
    (program,) = run.programs
    found = {name_of(imm) for imm in calls(program.code)}
    assert "bpf_perf_event_output" in found
    readers = ("load_bytes", "probe_read", "skb_output", "ringbuf_output", "ringbuf_reserve", "pull_data")
    assert not [name for name in found for each in readers if each in name]


def calls(code):
    """The helpers that are called, by number."""
    words = [struct.unpack_from("<BBhi", code, at) for at in range(0, len(code), 8)]
    return [imm for opcode, registers, _, imm in words if opcode == 0x85 and registers >> 4 == 0]


TUNNEL = """
import fcntl, os, struct, subprocess, sys
device = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(device, 0x400454CA, struct.pack("16sH22x", b"pktun", 0x1001))  # TUNSETIFF, IFF_TUN | IFF_NO_PI
subprocess.run(["ip", "link", "set", "pktun", "up"], check=True)
print("up", flush=True)
for line in sys.stdin:
    os.write(device, bytes.fromhex(line))
    print("written", flush=True)
"""


@pytest.mark.skipif(not os.path.exists("/dev/net/tun"), reason="needs /dev/net/tun")
def test_a_device_without_link_header(net):
    """What a packet begins with is IP."""
    fields = ("ip_saddr", "ip_daddr", "ip_protocol", "udp_dport", "tcp_seq", "hdr_len", "len", "eth_src", "vlan_id")
    arguments = ", ".join(f"args[0]->{name}" for name in fields)
    clause = f'packet:pktun:ingress: {{ printf("%s %s %d %d %d %d %d %s %d\\n", {arguments}); }}'
    words = [*net.command(net.right), "-c", TUNNEL]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as tunnel:
        assert tunnel.stdout.readline() == "up\n"
        with captured(net.right, clause) as output:
            for name in TUNNELLED:
                tunnel.stdin.write(FRAMES[name][14:].hex() + "\n")
                tunnel.stdin.flush()
                assert tunnel.stdout.readline() == "written\n"
        tunnel.stdin.close()
    rows = [tuple(line.split()) for line in output[0].splitlines()]
    for name in TUNNELLED:
        whole = Reading(FRAMES[name])
        whole |= {"len": whole["len"] - 14, "hdr_len": whole["hdr_len"] - 14, "eth_src": "<unknown>"}
        assert rows.count(tuple(str(whole[field]) for field in fields)) == 1


TUNNELLED = ("udp", "tcp6 behind extensions")


BIG = """
import socket
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.sendto(bytes(65507), ("127.0.0.1", 7301))
"""


def test_what_does_not_fit_a_record_is_cut_and_counted(net):
    """Packets of lo may be larger than a record."""
    program = 'BEGIN { printf("ready\\n"); } packet:lo:egress: /pktlen > 60000/ { capture(); exit(0); }'
    with subprocess.Popen(inside(net, "-qn", program), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=environment()) as sonde:  # fmt: skip
        try:
            assert sonde.stdout.readline() == "ready\n"
            net.run(net.right, BIG)
            output, errors = sonde.stdout.read(), sonde.stderr.read()
            assert sonde.wait() == 0
        finally:
            sonde.kill()
    assert errors == "sonde: 1 shortened capture (a record takes at most 64 KiB)\n"
    captured_bytes = sum(len(row.split()) for row in re.findall(r"^ +[0-9a-f]+: ((?: ?[0-9a-f]{2})+)", output, re.M))
    assert 65_400 < captured_bytes < 65_496


def test_a_ring_that_fills_loses_packets_that_are_counted(net):
    """sonde sleeps while they come: each is in the output, whole, or among the losses."""
    added(net, "filling")
    program = 'BEGIN { printf("ready\\n"); } packet:filling:egress: /pktlen == 64/ { printf("!"); capture(); }'
    with subprocess.Popen(inside(net, "-b", "16k", "-qn", program), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env=environment()) as sonde:  # fmt: skip
        try:
            assert sonde.stdout.readline() == "ready\n"
            sonde.send_signal(signal.SIGSTOP)
            net.run(net.right, SENDER, "filling", 997)
            sonde.send_signal(signal.SIGCONT)
            sonde.send_signal(signal.SIGINT)
            output, errors = sonde.stdout.read(), sonde.stderr.read()
            assert sonde.wait() == 0
        finally:
            sonde.kill()
            removed(net, "filling")
    lost = sum(int(count) for count in re.findall(r"(\d+) drops? on CPU", errors))
    shown = output.count("!")
    assert (shown + lost, min(shown, lost) > 0) == (997, True)
    assert len(re.findall(r"^ +30: (?:[0-9a-f]{2} ?){16}", output, re.MULTILINE)) == shown


@pytest.mark.every_kernel
def test_packet_sockets_where_there_is_no_tcx(monkeypatch):
    """Both directions of the loopback device, each told from the other."""
    monkeypatch.setattr(d_run, "_target", current_target(detect(FOR_PROGRAMS)))
    text = """packet:lo:ingress:, packet:lo:egress: /arg0 == 99/ { printf("%s%d", probefunc, pktlen); capture(20); }"""
    with Run(text) as run:
        assert {program.kind for program in run.spec.programs} == {1}
        run.attach()
        run.activate()
        send_to_itself(57)
        found = sorted((name, length) for name, length in run.values())
    assert found == [(b"egress", 99), (b"ingress", 99)]


def send_to_itself(size):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(bytes(size), ("127.0.0.1", 7302))
