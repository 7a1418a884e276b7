"""What it costs in the kernel to record a firing, beside what a record of four fields costs.

    python bench/recording.py [--runs N] [--json FILE]

Needs root and a C compiler. As bench/cost.py measures, with rings that hold all of it.
"""

from __future__ import annotations

import argparse
import tempfile

from common import SONDE, Table, show
from cost import ENTRY, by_turns, statistics

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


def main() -> None:
    parser = argparse.ArgumentParser(description="Cost of recorded firings in the kernel")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    with statistics():
        tables = [recordings(arguments.runs)]
    show(tables, arguments.json)


if __name__ == "__main__":
    main()
