"""A line of four fields for each of many events: what arrives, and whether what does not is reported.

    python bench/throughput.py [--seconds N] [--rounds N] [--json FILE]

Needs root and a C compiler. The workload calls getpgid(0) 300,000 times a second, then as fast as it can; each call
is one line in a file. Calls = lines + reported losses, or the run fails. The tools take turns; of their rounds the one
with the middle number of lines a second is shown.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
from typing import NamedTuple

from common import SONDE, Table, environment, has, ratio, show, workload

PACE = 300_000

PROGRAM = r'syscall::getpgid:entry /pid == $target/ { printf("%d %s %d %d\n", pid, execname, timestamp, arg0); }'
BT = (
    "tracepoint:syscalls:sys_enter_getpgid /pid == cpid/ "
    r'{ printf("%d %s %lld %d\n", pid, comm, nsecs, args.pid); }'
)
PEER = (
    r"tracepoint:syscalls:sys_enter_getpgid /pid == cpid/ "
    r'{ printf("%d %s %lld %d\n", pid, comm, nsecs, args->pid); }'
)


class Outcome(NamedTuple):
    calls: int
    seconds: float
    lines: int
    lost: int
    processor: float

    @property
    def rate(self) -> float:
        return self.lines / self.seconds

    @property
    def unaccounted(self) -> int:
        return self.calls - self.lines - self.lost


def run(command: list[str], output: str, losses: str) -> Outcome:
    """Run a tool; its lines are in the file `output`, and `losses` matches the numbers it reports as lost."""
    before = os.times()
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    after = os.times()
    said = done.stdout + done.stderr
    calls, seconds = re.findall(r"^(\d+) (\d+\.\d{3})$", said, re.MULTILINE)[0]
    with open(output, "rb") as file:
        lines = sum(1 for line in file if line.count(b" ") == 3)
    lost = sum(map(int, re.findall(losses, said)))
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return Outcome(int(calls), float(seconds), lines, lost, used)


def tools(load: str, output: str) -> dict[str, tuple[list[str], str]]:
    found = {
        "sonde": ([SONDE, "-q", "-o", output, "-c", load, "-n", PROGRAM], r"(\d+) drops? on CPU"),
        "sonde bt": ([SONDE, "bt", "-q", "-o", output, "-c", load, "-e", BT], r"Lost (\d+) events"),
    }
    if has("bpftrace"):
        found["bpftrace"] = (["bpftrace", "-o", output, "-c", load, "-e", PEER], r"Lost (\d+) events")
    return found


def measure(pace: int, seconds: int, rounds: int) -> list[tuple[str, ...]]:
    found: dict[str, list[Outcome]] = {}
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "lines")
        for _ in range(rounds):
            for name, (command, losses) in tools(f"{workload()} {pace} {seconds}", path).items():
                got = run(command, path, losses)
                os.unlink(path)
                found.setdefault(name, []).append(got)
                if name.startswith("sonde") and got.unaccounted:
                    text = f"{got.unaccounted} of {got.calls} calls are neither lines nor reported as lost"
                    raise SystemExit(f"{name}: {text}")
    middle = {name: sorted(each, key=lambda got: got.rate)[len(each) // 2] for name, each in found.items()}
    return [
        (name, f"{pace:,}/s" if pace else "full", f"{got.calls:,}", f"{got.lines:,}", f"{got.lost:,}",
         f"{got.unaccounted:,}", f"{got.rate / 1e3:,.0f}k/s", ratio(got.rate, middle["sonde"].rate))
        for name, got in middle.items()
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="Lines that arrive of those that should")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    rows = [row for pace in (PACE, 0) for row in measure(pace, arguments.seconds, arguments.rounds)]
    text = (
        f"`{PROGRAM}` and its equivalents, into a file, default buffer sizes, for {arguments.seconds} seconds. "
        "What is neither a line nor reported as lost is *unaccounted*."
    )
    heading = ("tool", "pace", "calls", "lines", "lost", "unaccounted", "lines a second", "to sonde's")
    show([Table("Lines", text, heading, rows)], arguments.json)


if __name__ == "__main__":
    main()
