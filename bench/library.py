"""Records a second out of the library, from a printf of four fields at full speed, beside the command's text.

    python bench/library.py [--seconds N] [--json FILE]

Needs root and a C compiler. What counts is the CPU time of sonde itself: so many records could one core take.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from common import Table, show, workload

import sonde

TEXT = (
    '`printf("%d %s %d %d", pid, execname, arg0, timestamp)` at each of a program\'s calls, as fast as it makes them. '
    "Records as Python values, one by one and in the lists in which they come, and the same as text."
)
PROGRAM = 'syscall::getpgid:entry /pid == $target/ { printf("%d %s %d %d\\n", pid, execname, arg0, timestamp); }'


def one_by_one(run: sonde.Run) -> int:
    found = 0
    for event in run:
        found += isinstance(event, sonde.Record)
    return found


def in_lists(run: sonde.Run) -> int:
    return sum(sum(isinstance(event, sonde.Record) for event in events) for events in run.batches())


def lines(run: sonde.Run) -> int:
    return sum(event.text.count(b"\n") for event in run if isinstance(event, sonde.Text))


WAYS: tuple[tuple[str, Callable[[sonde.Run], int], str | None], ...] = (
    ("`for event in run`", one_by_one, None),
    ("`for events in run.batches()`", in_lists, None),
    ('`output="text"`', lines, "text"),
)


def row(name: str, take: Callable[[sonde.Run], int], output: str | None, seconds: str) -> tuple[str, ...]:
    options = {"quiet": True, "bufsize": "64m"}
    with sonde.trace(PROGRAM, [workload(), "0", seconds], options=options, output=output) as run:
        begin, cpu = time.monotonic(), time.process_time()
        found = take(run)
        cpu, wall = time.process_time() - cpu, time.monotonic() - begin
    lost = sum(each.lost for each in run.losses if each.kind == "records")
    return name, f"{found / cpu / 1e6:.2f} M", f"{found / wall / 1e6:.2f} M", f"{lost / max(found + lost, 1):.1%}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Records out of the library")
    parser.add_argument("--seconds", default="3")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    heading = ("", "records a second of CPU", "records a second", "lost")
    rows = [row(*way, arguments.seconds) for way in WAYS]
    show([Table("Records as Python values", TEXT, heading, rows)], arguments.json)


if __name__ == "__main__":
    main()
