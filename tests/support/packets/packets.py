"""Packets between two namespaces, seen by sonde and by a packet socket at the same device."""

import contextlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from support.command.command import SONDE, environment

READER = """
import select, signal, socket, struct, sys
asked = []
signal.signal(signal.SIGINT, lambda *_: asked.append(True))
reader = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
reader.setsockopt(socket.SOL_SOCKET, 33, 256 << 20)  # SO_RCVBUFFORCE
reader.bind((sys.argv[1], 3))
with open(sys.argv[2], "wb") as file:
    print("ready", flush=True)
    while True:
        if select.select([reader], [], [], 0.1)[0]:
            data, (_, _, kind, *_) = reader.recvfrom(1 << 17)
            file.write(struct.pack("=II", kind == 4, len(data)) + data)
        elif asked:
            break
lost = int.from_bytes(reader.getsockopt(263, 6, 8)[4:], "little")  # PACKET_STATISTICS
print("lost", lost, flush=True)
"""
"""What passes by a device, into a file: u32 whether it leaves, u32 length, and the packet."""

WAYS = ("ingress", "egress")

UNMERGED = """
import array, fcntl, socket, struct, sys
value = array.array("B", struct.pack("=II", 0x2C, 0))  # ETHTOOL_SGRO, off
request = struct.pack("=16sQ", sys.argv[1].encode(), value.buffer_info()[0])
fcntl.ioctl(socket.socket(), 0x8946, request)  # SIOCETHTOOL
"""
"""Has a device not merge segments of TCP behind its driver, where XDP has seen each."""

_BYTES = re.compile(r"^ +[0-9a-f]+: ((?: ?[0-9a-f]{2})+)", re.MULTILINE)


@contextlib.contextmanager
def seen(name):
    """After the block the list has (way, bytes) of all packets at the interface of a namespace of that name."""
    found = []
    with tempfile.NamedTemporaryFile() as file:
        words = ["ip", "netns", "exec", name, sys.executable, "-c", READER, name, file.name]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout.readline() == "ready\n"
                yield found
                process.send_signal(signal.SIGINT)
                assert process.stdout.read() == "lost 0\n"
            finally:
                process.kill()
        data = file.read()
    position = 0
    while position < len(data):
        way, length = struct.unpack_from("=II", data, position)
        position += 8 + length
        found.append((WAYS[way], data[position - length : position]))


@contextlib.contextmanager
def captured(name, text, *options):
    """sonde in a namespace, until it has said that it is ready; after the block the list has its output. It may not
    complain."""
    found = []
    program = f'BEGIN {{ printf("ready\\n"); }} {text}'
    words = ["ip", "netns", "exec", name, SONDE, "-qn", program, *options]
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment()) as process:
            try:
                assert process.stdout.readline() == "ready\n", complaint(errors)
                yield found
                process.send_signal(signal.SIGINT)
                # Not communicate(), which leaves out what has been read with the first line.
                found.append(process.stdout.read())
                status = process.wait()
            finally:
                process.kill()
        assert (status, complaint(errors)) == (0, "")


def complaint(errors):
    errors.seek(0)
    return errors.read()


def dumps(text):
    """The bytes of the dumps in a piece of sonde's output."""
    return bytes.fromhex("".join(row[1] for row in _BYTES.finditer(text)))


def await_links(process, count):
    """Wait until a process holds so many links of programs."""
    while sum("link_type" in text for text in _held(process.pid)) < count:
        assert process.poll() is None
        time.sleep(0.05)


def _held(pid):
    """What the kernel says of each descriptor."""
    for path in Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(OSError):
            yield path.read_text()
