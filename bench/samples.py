"""Samples in a perf.data file: whether all that a program let through are there, and what recording them costs.

    python bench/samples.py [--seconds N] [--json FILE]

Needs root and perf. Every CPU has work to do, in processes that have others start; sonde and perf sample it by turns.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

from common import SONDE, Table, has, show

RATE = 4999
PERIOD = 10**9 // RATE
PROGRAM = "profile-%d { @ = count(); sample(); } tick-%ds { exit(0); }"

FAMILY = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
while True:
    if not os.fork():
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            pass
        os._exit(0)
    os.wait()
"""
"""A process that starts one after the other, each of which works for half a second."""


@contextmanager
def work() -> Iterator[None]:
    """Every CPU works."""
    words = [sys.executable, "-c", FAMILY]
    processes = [
        subprocess.Popen([*words, str(cpu)], start_new_session=True) for cpu in sorted(os.sched_getaffinity(0))
    ]
    try:
        yield
    finally:
        for process in processes:
            os.killpg(process.pid, 9)
            process.wait()


def recorded(command: list[str]) -> tuple[str, float]:
    """What a tool has printed, and the CPU seconds that it took."""
    before = os.times()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return done.stdout, used


def row(name: str, command: list[str], file: str, pattern: str) -> tuple[str, ...]:
    began = time.monotonic()
    text, used = recorded(command)
    took = time.monotonic() - began
    script = subprocess.run(["perf", "script", "-G", "-i", file], capture_output=True, check=True)
    found = len(re.findall(pattern.encode(), script.stdout))
    counted = re.search(r"^\s*(\d+)\s*$", text, re.MULTILINE)
    if counted is None:
        told = missing = "-"
    else:
        told, missing = f"{int(counted[1]):,}", f"{int(counted[1]) - found:,}"
    size = f"{os.path.getsize(file) / found:.0f}"
    return (name, told, f"{found:,}", missing, size, f"{used:.2f} s", f"{took:.1f} s")


def samples(seconds: int) -> Table:
    rows = []
    with tempfile.TemporaryDirectory() as directory, work():
        file = f"{directory}/perf.data"
        for callers in ([], ["-g"]):
            program = PROGRAM % (RATE, seconds)
            ours = [SONDE, "record", *callers, "-qn", program, "-o", file]
            rows.append(row(" ".join(["sonde record", *callers]), ours, file, rf"profile-{RATE}:"))
            theirs = ["perf", "record", "-q", *callers, "-e", "cpu-clock", "-c", str(PERIOD), "-a", "-o", file]
            rows.append(row(" ".join(["perf record", *callers]), [*theirs, "sleep", str(seconds)], file, "cpu-clock:"))
    text = (
        f"{RATE:,} samples a second of every CPU for {seconds} seconds, all CPUs busy: as many as the program has "
        "counted and let through, and as many as `perf script` finds in the file. *Bytes* are of the file, for each "
        "sample; *CPU* and *wall* are of the tool from its start to its end, where it reads /proc before it samples "
        f"and looks for build ids behind. The load was {os.getloadavg()[0]:.1f} when this was measured, of which "
        f"{os.cpu_count()} were the workload's."
    )
    heading = ("tool", "counted", "in the file", "missing", "bytes", "CPU", "wall")
    return Table("Samples in a file", text, heading, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description="Samples in perf.data files")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    if not has("perf"):
        raise SystemExit("there is no perf to read the files with")
    show([samples(arguments.seconds)], arguments.json)


if __name__ == "__main__":
    main()
