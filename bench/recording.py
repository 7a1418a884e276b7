"""What it costs in the kernel to record a firing, beside what a record of four fields costs; and what it costs in
sonde's process, where the firing is written down and the script runs on it.

    python bench/recording.py [--runs N] [--json FILE] [--only kernel|process]

Needs root and a C compiler. In the kernel as bench/cost.py measures, with rings that hold all of it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
from typing import NamedTuple

from common import SONDE, Table, environment, median, show, workload
from cost import ENTRY, by_turns, statistics

from sonde.engines.fired import RecordedFiring
from sonde.recording.firing_file import RecordedFirings

PACE = 300_000
"""Calls a second: so many that other system calls count little, and fewer than the ring holds of a second."""

FIELDS = f'{ENTRY} {{ printf("%d %s %d %d\\n", pid, execname, timestamp, arg0); }}'
OWN = f"{ENTRY} {{ @ = count(); }}"


def recordings(runs: int) -> Table:
    with tempfile.NamedTemporaryFile() as file:
        record = [SONDE, "-q", "-b", "128m", "--record", file.name]
        commands = {
            "`printf` of four fields": [SONDE, "-q", "-b", "128m", "-n", FIELDS],
            "the same, recorded": [*record, "-n", FIELDS],
            "`count()`, recorded": [*record, "-n", OWN],
            "`count()`, recorded with `--record-reads`": [*record, "--record-reads", "-n", OWN],
        }
        values = by_turns(list(commands.values()), runs, PACE)
    rows = [(name, f"{value:.0f} ns", f"{value / values[0]:.2f}") for name, value in zip(commands, values, strict=True)]
    text = (
        "One run of the program, as the table of clauses has it, at "
        f'{PACE:,} calls a second: `printf("%d %s %d %d\\n", pid, execname, timestamp, arg0)`, and a firing of the '
        "call with its registers, thread and time as `--record` has it."
    )
    return Table("Cost of a recorded firing", text, ("program", "a run", "to printf's"), rows)


SECONDS = 2
"""Of a workload that is recorded."""

SCRIPTS = {
    "`count()`": OWN,
    "`sum()` by name": f"{ENTRY} {{ @[execname] = sum(arg0); }}",
    "entry and return": "syscall::getpgid: { @[probename] = count(); }",
    "`printf` of four fields": FIELDS,
}


class Consumed(NamedTuple):
    """Firings that were recorded and that found no room, and seconds of CPU time of sonde's process."""

    recorded: int
    lost: int
    cpu: float


def consumed(script: str, pace: int, file: str) -> Consumed:
    """Record a workload at that pace."""
    with subprocess.Popen([workload(), str(pace), str(60 * SECONDS)], stdout=subprocess.DEVNULL) as traced:
        words = [SONDE, "-q", "--record", file, "-n", f"{script} tick-{SECONDS}s {{ exit(0); }}", "-p", str(traced.pid)]
        with tempfile.TemporaryFile("w+") as errors, open(os.devnull, "w") as nowhere:
            recorder = subprocess.Popen(words, stdout=nowhere, stderr=errors, env=environment())
            _, status, used = os.wait4(recorder.pid, 0)
            recorder.returncode = os.waitstatus_to_exitcode(status)
            traced.kill()
            errors.seek(0)
            lost = re.search(r"(\d+) firings found no room", errors.read())
    with open(file, "rb") as opened:
        source = RecordedFirings(opened, file)
        count = sum(isinstance(each, RecordedFiring) for each in source.happenings())
    return Consumed(count, int(lost[1]) if lost else 0, used.ru_utime + used.ru_stime)


def process(runs: int) -> Table:
    rows: list[tuple[str, ...]] = []
    with tempfile.NamedTemporaryFile() as file:
        idle = median([consumed(OWN, 1, file.name).cpu for _ in range(runs)])
        for name, script in SCRIPTS.items():
            for pace in (20_000, 100_000):
                found = [consumed(script, pace, file.name) for _ in range(runs)]
                each = median([(one.cpu - idle) / max(one.recorded, 1) for one in found])
                lost = median([one.lost / max(one.lost + one.recorded, 1) for one in found])
                rows.append((name, f"{pace:,}", f"{1e6 * each:.1f} µs", f"{100 * lost:.1f} %"))
    text = (
        f"CPU time of sonde's process for each firing that it has recorded in {SECONDS} seconds and run the script "
        "for, and firings that found no room in the ring, at so many calls a second."
    )
    return Table("A recorded firing in sonde's process", text, ("script", "calls a second", "a firing", "lost"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description="Cost of recorded firings in the kernel")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json")
    parser.add_argument("--only", choices=("kernel", "process"))
    arguments = parser.parse_args()
    tables = []
    if arguments.only != "process":
        with statistics():
            tables.append(recordings(arguments.runs))
    if arguments.only != "kernel":
        tables.append(process(arguments.runs))
    show(tables, arguments.json)


if __name__ == "__main__":
    main()
