"""Aggregations: whether their counts are exact while they are printed and cleared.

    python bench/aggregation.py [--seconds N] [--json FILE]

Needs root and a C compiler. 100,000 increments a second with printa and clear (or trunc) ten times a second: the sum of
all that was printed must be the number of calls.
"""

from __future__ import annotations

import argparse
import re
import subprocess

from common import SONDE, Table, show, workload

PACE = 100_000

EXACT = {
    "count(), clear": (
        "@ = count();", r'printa("=%@d\n", @); clear(@);',
    ),
    "sum(), key, clear": (
        "@[execname] = sum(1);", r'printa("%s=%@d\n", @); clear(@);',
    ),
    "count(), key, trunc": (
        "@[execname, cpu] = count();", r'printa("%s %d=%@d\n", @); trunc(@);',
    ),
}  # fmt: skip


def exactness(seconds: int) -> Table:
    rows = []
    for name, (count, empty) in EXACT.items():
        probes = f"syscall::getpgid:entry /pid == $target/ {{ {count} }} tick-100ms, END {{ {empty} }}"
        command = [SONDE, "-q", "-c", f"{workload()} {PACE} {seconds}", "-n", probes]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        calls = int(re.findall(r"^(\d+) \d+\.\d{3}$", done.stdout, re.MULTILINE)[0])
        values = [int(value) for value in re.findall(r"=(\d+)$", done.stdout, re.MULTILINE)]
        rows.append((name, f"{calls:,}", f"{len(values):,}", f"{sum(values):,}", f"{calls - sum(values):,}"))
        if calls != sum(values) or done.stderr.strip().count("\n") > 0:
            raise SystemExit(f"{name}: {calls} calls, {sum(values)} counted\n{done.stderr}")
    text = (
        f"{PACE:,} increments a second for {seconds} seconds, printed and emptied ten times a second; the sum of all "
        "that was printed."
    )
    return Table("Exactness", text, ("aggregation", "calls", "printed", "sum", "missing"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description="Exactness of aggregations")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    show([exactness(arguments.seconds)], arguments.json)


if __name__ == "__main__":
    main()
