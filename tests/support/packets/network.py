"""Two network namespaces with a cable between them, traffic of known size, and tshark's view of it."""

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time

import pytest

from support.command.command import start
from support.machine import packages

ADDRESSES = {4: ("10.77.0.1", "10.77.0.2"), 6: ("fd77::1", "fd77::2")}

SERVER = """
import socket, sys
address, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
server = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind((address, port))
server.listen()
print("ready", flush=True)
for _ in range(count):
    connection, _ = server.accept()
    while connection.recv(65536):
        pass
    connection.close()
"""

CLIENT = """
import socket, sys
address, port, count, size = sys.argv[1], *map(int, sys.argv[2:])
for _ in range(count):
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as client:
        try:
            client.connect((address, port))
            client.sendall(b"x" * size)
            client.shutdown(socket.SHUT_WR)
            client.recv(1)
        except ConnectionRefusedError:
            pass
"""

SILENT = "10.77.0.99"

IMPATIENT = """
import socket, sys
client = socket.socket()
client.settimeout(2.6)
try:
    client.connect((sys.argv[1], int(sys.argv[2])))
except TimeoutError:
    pass
"""

DATAGRAMS = """
import socket, sys
address, port, count, size = sys.argv[1], *map(int, sys.argv[2:])
sender = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
for number in range(count):
    sender.sendto(b"x" * (size + number), (address, port))
"""


def _ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Network:
    """`left` and `right` are the namespaces, and the names of their interfaces."""

    def __init__(self, left, right):
        self.left, self.right = left, right

    def run(self, name, script, *words):
        """Run a Python script in a namespace to its end."""
        subprocess.run([*self.command(name), "-c", script, *map(str, words)], check=True)

    def command(self, name):
        return ["ip", "netns", "exec", name, sys.executable]

    def bridge(self, name):
        """Put the left interface below a bridge, which takes over its address."""
        left = "-n", self.left
        _ip(*left, "link", "add", name, "type", "bridge")
        _ip(*left, "addr", "flush", "dev", self.left)
        _ip(*left, "link", "set", self.left, "master", name)
        _ip(*left, "addr", "add", f"{ADDRESSES[4][0]}/24", "dev", name)
        _ip(*left, "link", "set", name, "up")

    def datagrams(self, version, port, count, size=10):
        """From left to right, where nobody takes them: back when all have come, which may be long after they were
        sent, as the kernel asks for the address of a neighbour first and receives when it has time."""
        before = self._received()
        self.run(self.left, DATAGRAMS, ADDRESSES[version][1], port, count, size)
        while self._received() < before + count:
            time.sleep(0.01)

    def _received(self):
        """Datagrams that have come to the right side, for whom nobody waits."""
        words = ["ip", "netns", "exec", self.right, "cat", "/proc/net/snmp", "/proc/net/snmp6"]
        text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        names, numbers = re.findall(r"^Udp: (.*)", text, re.MULTILINE)
        old = dict(zip(names.split(), numbers.split(), strict=True))
        return int(old["NoPorts"]) + int(re.search(r"^Udp6NoPorts\s+(\d+)", text, re.MULTILINE)[1])

    @property
    def number(self):
        """The left namespace's, as the kernel has it (struct net, ns.inum)."""
        return os.stat(f"/run/netns/{self.left}").st_ino

    def connections(self, version, port, count, size):
        """Connections from left to right that carry `size` bytes each."""
        address = ADDRESSES[version][1]
        words = [*self.command(self.right), "-c", SERVER, address, str(port), str(count)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout.readline() == "ready\n"
            self.run(self.left, CLIENT, address, port, count, size)
            assert server.wait() == 0

    def unanswered(self, port):
        """A connection from left to a host that is not there, given up after two attempts."""
        _ip("-n", self.left, "neigh", "replace", SILENT, "lladdr", "02:00:00:00:00:01", "dev", self.left)
        self.run(self.left, IMPATIENT, SILENT, port)

    def refused(self, version, port, count):
        self.run(self.left, CLIENT, ADDRESSES[version][1], port, count, 1)


@contextlib.contextmanager
def network(tag=""):
    """Skips where there is no ip(8) or it may not make namespaces; `tag` tells one network from another."""
    packages.require("ip")
    if os.geteuid():
        pytest.skip("needs root")
    left, right = f"l{tag}{os.getpid()}", f"r{tag}{os.getpid()}"
    made = []
    try:
        for name in (left, right):
            _ip("netns", "add", name)
            made.append(name)
        _ip("link", "add", left, "netns", left, "type", "veth", "peer", "name", right, "netns", right)
        for side, name in enumerate((left, right)):
            _ip("-n", name, "addr", "add", f"{ADDRESSES[4][side]}/24", "dev", name)
            _ip("-n", name, "addr", "add", f"{ADDRESSES[6][side]}/64", "dev", name, "nodad")
            _ip("-n", name, "link", "set", "lo", "up")
            _ip("-n", name, "link", "set", name, "up")
        yield Network(left, right)
    finally:
        for name in made:
            _ip("netns", "del", name)


@contextlib.contextmanager
def tracing(text, *options):
    """sonde at work on a program; what it prints is in `lines` after the block. It may not complain."""
    process = start("-qn", f'BEGIN {{ printf("ready\\n"); }} {text}', *options, text=True)
    found = []
    try:
        assert process.stdout.readline() == "ready\n", process.stderr.read()
        yield found
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate()
        assert (process.returncode, errors) == (0, "")
        found.extend(out.split("\n"))
    finally:
        process.kill()
        process.communicate()


FIRST, LAST = 7001, 7002
"""UDP ports that mark the beginning and the end of a capture."""


@contextlib.contextmanager
def tshark(net, *fields):
    """tshark on the left side; after the block its list has the UDP port and the fields of each packet between
    its marks. None may be named twice."""
    packages.require("tshark")
    words = ["ip", "netns", "exec", net.left, "tshark", "-lnQ", "-i", net.left, "-o",
             "tcp.relative_sequence_numbers:FALSE", "-Ynot icmp and not icmpv6",
             "-Tfields", "-eudp.dstport"]  # fmt: skip
    words += [f"-e{field}" for field in fields]
    found = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        lines = _Lines(process.stdout.fileno())
        try:
            _until(net, lines, FIRST)
            yield found
            _until(net, lines, LAST)
        finally:
            process.terminate()
    marks = {str(FIRST), str(LAST)}
    found.extend(line for line in (text.split("\t") for text in lines.seen) if line[0] not in marks)


class _Lines:
    """Lines that come from a descriptor, as they come."""

    def __init__(self, descriptor):
        self._descriptor = descriptor
        self._rest = ""
        self.seen = []

    def read(self, timeout):
        if select.select([self._descriptor], [], [], timeout)[0]:
            *lines, self._rest = (self._rest + os.read(self._descriptor, 65536).decode()).split("\n")
            self.seen += lines


def _until(net, lines, port):
    """Send datagrams to a port until they are seen."""
    for _ in range(100):
        net.datagrams(4, port, 1)
        lines.read(0.2)
        if any(line.startswith(f"{port}\t") for line in lines.seen):
            return
    raise AssertionError("tshark sees nothing")
