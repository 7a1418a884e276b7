"""The same packets for both engines: sent over a cable between two namespaces, where the kernel engine captures them,
and given to the embedded engine by a pcapng file that is written here.

Kinds and sizes are random, from a seed. Each frame has a source address of its own kind, so that what the kernel sends
besides is told apart, and a number in it.
"""

import random
import signal
import struct
import subprocess
import time

from sonde.formats import pcapng
from support.command.command import SONDE, environment
from support.files import pcapng_reader as reader
from support.packets.frames import ICMP, TCP, UDP, extension, fragment, ipv4, ipv6

MARK = bytes.fromhex("025e")
"""What source addresses begin with."""

_ADDRESSES = (b"\xff" * 6, bytes.fromhex("01005e000001"), bytes.fromhex("0200000000aa"))
_TAGS = ((), (), (), ((0x8100, 0x2123),), ((0x88A8, 0x0456), (0x8100, 0x0789)))
_LARGEST = 65535
_MOST = 65000
"""Bytes of a payload: with its headers and a record's values it fits a perf record, which has no more than 64 KiB."""

VALUES = (
    "args[0]->len", "args[0]->hdr_len", "args[0]->eth_type", "args[0]->vlan_id", "args[0]->ip_ver",
    "args[0]->ip_protocol", "args[0]->ip_plength", "args[0]->tcp_seq", "args[0]->udp_sport", "args[0]->icmp_seq",
)  # fmt: skip

SENDER = """
import os, socket, struct, sys
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
name, path, batch = sys.argv[1], sys.argv[2], int(sys.argv[3])
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sender.setsockopt(socket.SOL_SOCKET, 32, 64 << 20)  # SO_SNDBUFFORCE
sender.bind((name, 0))
count = size = 0
with open(path, "rb") as file:
    while head := file.read(4):
        data = file.read(*struct.unpack("=I", head))
        sender.send(data)
        count, size = count + 1, size + len(data)
        if size > batch:
            size = 0
            print(count, flush=True)
            sys.stdin.readline()
"""
"""Sends frames, and waits now and then until it is told to go on."""

DROPPED = 0.02
"""More than the part of frames that the kernel drops: those that end behind a VLAN's tag."""


class Growing:
    """A pcapng file that is being written, in whole blocks; `count` are our packets that have been seen in it."""

    def __init__(self, path):
        self._path = path
        self._at = 0
        self.count = 0

    def await_packets(self, count):
        while self.count < count:
            self._look()
            time.sleep(0.005)

    def _look(self):
        with open(self._path, "rb") as file:
            file.seek(self._at)
            data = file.read()
        at = 0
        while at + 12 <= len(data):
            kind, length = struct.unpack_from("<II", data, at)
            if at + length > len(data):
                break
            self.count += kind == 6 and data[at + 34 : at + 36] == MARK
            at += length
        self._at += at


def _payload(chance):
    """Of IP or of something else: (type of Ethernet, bytes)."""
    more = chance.randbytes(int(9000 ** chance.random()) if chance.random() < 0.97 else chance.randrange(_MOST))
    protocol, head = chance.choice(((17, UDP), (6, TCP), (1, ICMP)))
    head = bytes(each ^ chance.choice((0, 0, 0, 1)) for each in head)
    kind = chance.randrange(8)
    if kind < 3:
        return 0x0800, ipv4(protocol, head + more[: 65535 - 60 - len(head)], bytes(chance.choice((0, 0, 8, 40))))
    if kind == 3:
        return 0x0800, ipv4(17, more[:65000], fragment=chance.randrange(0x4000))
    if kind < 6:
        extensions, first = chance.choice(((b"", protocol), (extension(protocol, 1), 60), (fragment(protocol, 1), 44)))
        return 0x86DD, ipv6(first, (extensions + head + more)[:65000])
    if kind == 6:
        return chance.choice((0x0806, 0x88CC, 0x9000)), more
    return len(more) & 0x3FF, more


def frames(count, seed):
    """The frames, each with its number in the source address."""
    chance = random.Random(seed)
    for number in range(count):
        kind, payload = _payload(chance)
        tags = b"".join(struct.pack(">HH", *tag) for tag in chance.choice(_TAGS)) if kind >= 0x600 else b""
        source = MARK + number.to_bytes(4, "big")
        frame = chance.choice(_ADDRESSES) + source + tags + struct.pack(">H", kind) + payload
        yield frame[: chance.choice((len(frame), len(frame), 14 + len(tags) + chance.randrange(80)))]


def program(name, direction):
    """What both engines run: values, and the packet or as much of it as its length says."""
    form = " ".join(["%d"] * len(VALUES))
    return f"""packet:{name}:{direction}: /args[0]->len >= 14/
        {{ printf("{form} %s", {", ".join(VALUES)}, args[0]->ip_saddr);
        capture(args[0]->len % 3 ? 262144 : 14 + args[0]->len % 200); }}"""


def write_file(path, name, direction, found):
    """A pcapng file of frames, as a wire would have them."""
    flags = pcapng.options([(pcapng.FLAGS, (2 if direction == "egress" else 1).to_bytes(4, "little"))])
    with open(path, "wb") as file:
        file.write(pcapng.section_header("x86_64", "Linux", "replayed_packets"))
        file.write(pcapng.interface_description(name, pcapng.ETHERNET, 0))
        for number, frame in enumerate(found):
            file.write(pcapng.enhanced_packet(0, 10**18 + number, len(frame), frame, flags))


def _numbers(path):
    """(length, bytes, comment) of each of our packets in a file that sonde has written, by their numbers."""
    packets = {}
    for each in reader.packets(path.read_bytes()):
        if each.data[6:8] == MARK:
            number = int.from_bytes(each.data[8:12], "big")
            assert number not in packets, number
            packets[number] = (each.length, each.data, each.options.get(1))
    return packets


QUIET = """
import os
path = "/proc/sys/net/ipv6/conf/all/disable_ipv6"
if os.path.exists(path):
    open(path, "w").write("1")
"""


def _silence(net):
    """Only what is sent here passes by, in packets of any size."""
    for name in (net.left, net.right):
        inside = ["ip", "netns", "exec", name]
        net.run(name, QUIET)
        subprocess.run([*inside, "ip", "link", "set", name, "arp", "off", "mtu", str(_LARGEST)], check=True)


PRIMER = """
import socket, sys, time
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sender.bind((sys.argv[1], 0))
for _ in range(1000):
    sender.send(bytes(12) + bytes([8, 0]) + bytes(80))
    time.sleep(0.01)
"""
"""Sends frames that are none of ours for ten seconds at most."""


def _prime(net, path, sonde):
    """Wait until packets are captured."""
    with subprocess.Popen([*net.command(net.left), "-c", PRIMER, net.left]) as primer:
        try:
            seen = 0
            while seen < 200:
                assert sonde.poll() is None, sonde.stderr.read()
                assert primer.poll() is None
                time.sleep(0.02)
                seen = max(path.stat().st_size - 100, 0) if path.exists() else 0
        finally:
            primer.kill()
    time.sleep(0.1)


def _send(net, path, growing, batch):
    """Send the frames of a file, at no time many more than have been captured."""
    words = [*net.command(net.left), "-c", SENDER, net.left, path, str(batch)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as sender:
        try:
            while line := sender.stdout.readline():
                growing.await_packets(int(int(line) * (1 - DROPPED)))
                sender.stdin.write("\n")
                sender.stdin.flush()
            assert sender.wait() == 0
        finally:
            sender.kill()
    time.sleep(0.3)


class Script:
    """A program of D, given to both engines: the words behind the command, and how much may be on its way at a time."""

    batch = 6 << 20

    def words(self, name, direction, engine):
        return ["-qn", program(name, direction), *(["-b", "32m"] if engine == "kernel" else [])]


class Object:
    """An object, likewise; `options` attach it to a device, by which `{}` stands for its name."""

    batch = 1 << 20

    def __init__(self, path, *options):
        self._path, self._options = path, options

    def words(self, name, direction, engine):
        return ["--object", self._path, *(each.format(name) for each in self._options)]


def captured_by_kernel(net, direction, found, directory, job, *options):
    """What the kernel engine captures of frames that are sent from the left to the right, by their numbers."""
    name = net.right if direction == "ingress" else net.left
    _silence(net)
    path, sent = directory / "kernel.pcapng", directory / "frames"
    with open(sent, "wb") as file:
        for frame in found:
            file.write(struct.pack("=I", len(frame)) + frame)
    words = ["ip", "netns", "exec", name, SONDE, *job.words(name, direction, "kernel"), "-o", path, *options]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()) as sonde:
        try:
            _prime(net, path, sonde)
            _send(net, sent, Growing(path), job.batch)
            sonde.send_signal(signal.SIGTERM)
            output, errors = sonde.communicate()
            assert (sonde.returncode, output.strip(), errors) == (0, "", ""), errors[:1000]
        finally:
            sonde.kill()
    return _numbers(path)


def captured_by_embedded(name, direction, found, directory, job, *options):
    """What the embedded engine captures of a file of the same frames."""
    given, path = directory / "given.pcapng", directory / "embedded.pcapng"
    write_file(given, name, direction, found)
    words = [SONDE, *job.words(name, direction, "embedded"), "--packets", given, "-o", path, *options]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", ""), done.stderr[:1000]
    return _numbers(path)


def compare(net, directory, count, seed, direction, *options, job=None):
    """How many packets each engine captured, and the numbers of those that differ or that one of them alone has."""
    found, job = list(frames(count, seed)), job or Script()
    kernel = captured_by_kernel(net, direction, found, directory, job, *options)
    name = net.right if direction == "ingress" else net.left
    embedded = captured_by_embedded(name, direction, found, directory, job, *options)
    all_ = kernel.keys() | embedded.keys()
    return len(kernel), len(embedded), sorted(number for number in all_ if kernel.get(number) != embedded.get(number))
