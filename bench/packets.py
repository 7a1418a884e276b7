"""Packets of 64 bytes written to a file: what arrives of those that were sent, and what it costs.

    python bench/packets.py [--seconds N] [--first] [--json FILE]

Needs root, ip(8) and a C compiler. A sender on one end of a veth pair sends 450,000 frames a second, then as many as it
can; each tool captures the first 64 bytes of each at the other end, in another network namespace. Every frame has a
number: what was captured is compared with what was sent, byte by byte, and frames = packets + reported losses, or the
run fails. --first lets sender and tools go before all else, on a machine that has other work.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from common import HERE, SONDE, Table, environment, has, ratio, show

PACE, SIZE = 450_000, 64
DEVICE, SENDER = "r0", "l0"
PROGRAM = f'BEGIN {{ printf("listening\\n"); }} packet:{DEVICE}:ingress: {{ capture({SIZE}); }}'
COMMENTED = PROGRAM.replace("{ capture", "{ trace(cpu); capture")
SETTLE = 0.5
"""Seconds after the last frame until the tool is told to end."""


class Tool(NamedTuple):
    """A command, by `name`, that captures to a file, and how it says how many packets it lost."""

    name: str
    command: list[str]
    losses: str


class Outcome(NamedTuple):
    sent: int
    seconds: float
    captured: int
    lost: int
    processor: float
    """Seconds that the tool used from when it was ready."""


@contextlib.contextmanager
def network() -> Iterator[tuple[str, str]]:
    """Two network namespaces with a cable between them: that of the sender and that of the tool."""
    names = f"sdb{os.getpid()}a", f"sdb{os.getpid()}b"
    made = []
    try:
        for name in names:
            ip("netns", "add", name)
            made.append(name)
        ip("link", "add", SENDER, "netns", names[0], "type", "veth", "peer", "name", DEVICE, "netns", names[1])
        for name, device in zip(names, (SENDER, DEVICE), strict=True):
            # Nothing is to be on the cable but what is sent.
            ip("-n", name, "link", "set", device, "addrgenmode", "none")
            ip("-n", name, "link", "set", device, "up")
        yield names
    finally:
        for name in made:
            ip("netns", "del", name)


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def built(directory: str) -> str:
    compiler = next(filter(has, ("cc", "gcc", "clang")), None)
    if compiler is None:
        raise SystemExit("the sender is a C program, and there is no C compiler")
    target = str(Path(directory) / "packets")
    subprocess.run([compiler, "-O2", "-o", target, str(HERE / "packets.c")], check=True)
    return target


def tools(directory: str) -> Iterator[Tool]:
    sonde = [SONDE, "-q", "-o", f"{directory}/sonde.pcapng", "-n"]
    yield Tool("sonde", [*sonde, PROGRAM], r"(\d+) drops? on CPU")
    yield Tool("sonde, with a comment", [*sonde, COMMENTED], r"(\d+) drops? on CPU")
    if has("tcpdump"):
        command = ["tcpdump", "-i", DEVICE, "-s", str(SIZE), "-Z", "root", "-w", f"{directory}/tcpdump.pcap"]
        yield Tool("tcpdump", command, r"(\d+) packets? dropped by kernel")


def run(tool: Tool, spaces: tuple[str, str], sender: str, pace: int, seconds: int, directory: str) -> Outcome:
    """Let a tool capture what is sent, end it, and look at its file."""
    words = ["ip", "netns", "exec", spaces[1], *tool.command]
    said = Path(directory) / "said"
    with said.open("wb") as output:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment())
    try:
        while "listening" not in said.read_text():
            if process.poll() is not None:
                raise SystemExit(f"{tool.name}: {said.read_text()}")
            time.sleep(0.05)
        time.sleep(SETTLE)
        before = used_by(process.pid)
        words = ["ip", "netns", "exec", spaces[0], sender, SENDER, str(pace), str(seconds), str(SIZE)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        time.sleep(SETTLE)
    finally:
        process.send_signal(signal.SIGINT)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{tool.name}: exit status {process.returncode}\n{said.read_text()}")
    sent, took = done.stdout.split()
    lost = sum(map(int, re.findall(tool.losses, said.read_text())))
    captured = count(Path(directory), tool)
    return Outcome(int(sent), float(took), captured, lost, used.ru_utime + used.ru_stime - before)


def used_by(pid: int) -> float:
    """Seconds of CPU that a process has used so far."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def count(directory: Path, tool: Tool) -> int:
    """The packets in the tool's file; each has to be as it was sent, in that order."""
    (path,) = directory.glob("*.pcap*")
    data = memoryview(path.read_bytes())
    path.unlink()
    found, last = 0, -1
    for packet in pcapng(data) if path.suffix == ".pcapng" else pcap(data):
        (number,) = struct.unpack_from("<Q", packet, 14)
        if number <= last or len(packet) != SIZE or bytes(packet[22:]) != bytes(range(22, SIZE)):
            raise SystemExit(f"{tool.name}: packet {found} of the file is not as it was sent")
        found, last = found + 1, number
    return found


def pcapng(data: memoryview) -> Iterator[memoryview]:
    """The packets of a file of little-endian blocks."""
    position = 0
    while position < len(data):
        kind, size = struct.unpack_from("<II", data, position)
        if kind == 6:
            (captured,) = struct.unpack_from("<I", data, position + 20)
            yield data[position + 28 : position + 28 + captured]
        position += size


def pcap(data: memoryview) -> Iterator[memoryview]:
    position = 24
    while position < len(data):
        (captured,) = struct.unpack_from("<I", data, position + 8)
        yield data[position + 16 : position + 16 + captured]
        position += 16 + captured


def measure(pace: int, seconds: int) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    first = 0.0
    with tempfile.TemporaryDirectory() as directory, network() as spaces:
        sender = built(directory)
        for tool in tools(directory):
            got = run(tool, spaces, sender, pace, seconds, directory)
            missing = got.sent - got.captured - got.lost
            rate, cost = got.captured / got.seconds, 1e6 * got.processor / max(got.captured, 1)
            first = first or cost
            rows.append(
                (tool.name, f"{pace:,}/s" if pace else "full", f"{got.sent / got.seconds / 1e3:,.0f}k/s",
                 f"{got.captured:,}", f"{got.lost:,}", f"{missing:,}", f"{rate / 1e3:,.0f}k/s", f"{cost:.2f} µs",
                 ratio(cost, first))
            )  # fmt: skip
            if missing and tool.name.startswith("sonde"):
                raise SystemExit(f"{tool.name}: {missing} of {got.sent} are neither in the file nor reported as lost")
    return rows


def go_first() -> None:
    """Take the highest priority that is not real-time, among all processes and, where the kernel schedules sessions as
    groups, among those."""
    if os.getpid() != os.getsid(0):
        with contextlib.suppress(PermissionError):
            os.setsid()
    os.setpriority(os.PRIO_PROCESS, 0, -20)
    group = Path("/proc/self/autogroup")
    if group.exists():
        group.write_text("-20")


def main() -> None:
    parser = argparse.ArgumentParser(description="Packets that arrive in a file of those that were sent")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--json")
    parser.add_argument("--first", action="store_true")
    arguments = parser.parse_args()
    if arguments.first:
        go_first()
    rows = [row for pace in (PACE, 0) for row in measure(pace, arguments.seconds)]
    text = (
        f"`packet:DEVICE:ingress: {{ capture({SIZE}); }}` with `-o FILE.pcapng`, the same with `trace(cpu);` before "
        f"it, and `tcpdump -s {SIZE} -w FILE`, default buffer sizes, for {arguments.seconds} s, from a sender with "
        "PACKET_QDISC_BYPASS at the other end of a veth pair. What each does to a packet in the kernel is part of the "
        "sender's call, so that is the slower the more it is: *sent*. *CPU* is what the tool's process uses for each "
        "packet in the file. Every packet was compared with the one sent."
    )
    if arguments.first:
        text += " Sender and tools had the highest priority that is not real-time, since the machine had other work."
    heading = ("tool", "pace", "sent", "packets", "lost", "unaccounted", "packets a second", "CPU", "to sonde's")
    show([Table("Packets", text, heading, rows)], arguments.json)


if __name__ == "__main__":
    main()
