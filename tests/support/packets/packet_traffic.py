"""Much traffic of packets of all sizes between two namespaces, and captures of it in files: pcapng, and as a packet
socket saw it."""

import contextlib
import hashlib
import mmap
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter

from support.command.command import SONDE, environment
from support.packets.network import ADDRESSES, SERVER
from support.packets.packets import READER, complaint

BATCH = 8 << 20
"""Bytes that may be on their way at a time, so that nobody's buffer overflows however busy the machine is."""

DATAGRAMS = """
import random, socket, sys
address, port, count, least, most, batch = sys.argv[1], *map(int, sys.argv[2:])
chance = random.Random(count)
pool = chance.randbytes(1 << 18)
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sent = due = 0
for number in range(count):
    size = int(least * (most / least) ** chance.random())
    start = chance.randrange(len(pool) - most)
    sender.sendto(pool[start : start + size], (address, port))
    sent += size
    if sent >= due:
        print(sent, flush=True)
        sys.stdin.readline()
        due = sent + batch
print(sent, flush=True)
sys.stdin.readline()
"""

STREAM = """
import random, socket, sys
address, port, total, batch = sys.argv[1], *map(int, sys.argv[2:])
pool = random.Random(total).randbytes(1 << 20)
sent = due = 0
with socket.create_connection((address, port)) as client:
    while sent < total:
        sent += client.send(pool[sent % 65536 : sent % 65536 + 262144])
        if sent >= due:
            print(sent, flush=True)
            sys.stdin.readline()
            due = sent + batch
    client.shutdown(socket.SHUT_WR)
    client.recv(1)
print(sent, flush=True)
sys.stdin.readline()
"""

_BLOCK = struct.Struct("<II")
_PACKET = struct.Struct("<IIIII")


def _digest(way, data):
    return way, len(data), hashlib.blake2b(data, digest_size=16).digest()


def in_pcapng(path):
    """How often there is each packet, as (way, length, digest); all whole."""
    found = Counter()
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data, memoryview(data) as view:
        position = 0
        while position < len(view):
            kind, size = _BLOCK.unpack_from(view, position)
            if kind == 6:
                _, _, _, captured, length = _PACKET.unpack_from(view, position + 8)
                start = position + 28
                end = start + captured
                assert captured == length
                found[_digest(_way(view[start + (captured + 3 & ~3) : position + size - 4]), view[start:end])] += 1
            position += size
    return found


def _way(options):
    """0 of a packet that arrived, 1 of one that left: the direction in its flags."""
    position = 0
    while position < len(options):
        code, size = struct.unpack_from("<HH", options, position)
        if code == 2:
            return (struct.unpack_from("<I", options, position + 4)[0] & 3) - 1
        position += 4 + (size + 3 & ~3)
    raise AssertionError("a packet without direction")


def in_socket(path):
    """The same of what a packet socket saw (`packets.READER`)."""
    found = Counter()
    with open(path, "rb") as file:
        while head := file.read(8):
            way, length = struct.unpack("=II", head)
            found[_digest(way, file.read(length))] += 1
    return found


class Watched:
    """The files in which sonde and a packet socket write what passes by at a device."""

    def __init__(self, captured, seen):
        self.captured, self.seen = captured, seen

    def settle(self, start, sent):
        """Wait until both have nearly all of `sent` bytes, counted from the files' size at the start; what waits to be
        written together is left out."""
        while any(os.path.getsize(path) < first + sent - BATCH for path, first in zip(self, start, strict=True)):
            time.sleep(0.002)

    def sizes(self):
        return [os.path.getsize(path) for path in self]

    def __iter__(self):
        return iter((self.captured, self.seen))


@contextlib.contextmanager
def watched(name, directory, *options):
    """sonde and a packet socket at the device of a namespace of that name; after the block the files are whole."""
    found = Watched(os.path.join(directory, "trace.pcapng"), os.path.join(directory, "seen"))
    program = f'BEGIN {{ printf("ready\\n"); }} packet:{name}:ingress:, packet:{name}:egress: {{ capture(); }}'
    sonde = [SONDE, "-qn", program, "-b", "64m", "-o", found.captured, *options]
    reader = [sys.executable, "-c", READER, name, found.seen]
    with tempfile.TemporaryFile("w+") as errors, contextlib.ExitStack() as stack:
        pipes = {"stdout": subprocess.PIPE, "stderr": errors, "text": True, "env": environment()}
        inside = "ip", "netns", "exec", name
        ours = stack.enter_context(subprocess.Popen([*inside, *sonde], **pipes))
        stack.callback(ours.kill)
        assert ours.stdout.readline() == "ready\n", complaint(errors)
        theirs = stack.enter_context(subprocess.Popen([*inside, *reader], **pipes))
        stack.callback(theirs.kill)
        assert theirs.stdout.readline() == "ready\n", complaint(errors)
        yield found
        for each in (theirs, ours):
            each.send_signal(signal.SIGINT)
            each.wait()
        assert theirs.stdout.read() == "lost 0\n"
        assert (ours.returncode, complaint(errors)) == (0, "")


def _send(net, files, script, *words):
    """Run a sender in the left namespace, which waits for the files when it has sent so much."""
    start = files.sizes()
    command = [*net.command(net.left), "-c", script, *map(str, words), str(BATCH)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as sender:
        try:
            while line := sender.stdout.readline():
                files.settle(start, int(line))
                sender.stdin.write("\n")
                sender.stdin.flush()
            assert sender.wait() == 0
        finally:
            sender.kill()


def datagrams(net, files, count, least, most):
    """UDP of `least` to `most` bytes, each a packet: the devices must take them whole."""
    _send(net, files, DATAGRAMS, ADDRESSES[4][1], 7200, count, least, most)


def stream(net, files, total):
    """A connection with so many bytes, which the kernel hands to the device in packets of up to 64 KiB."""
    words = [*net.command(net.right), "-c", SERVER, ADDRESSES[4][1], "7201", "1"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout.readline() == "ready\n"
        _send(net, files, STREAM, ADDRESSES[4][1], 7201, total)
        assert server.wait() == 0
