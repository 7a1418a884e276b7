"""What a record costs sonde's own process as text, lines of JSON and tables, and whether all of them arrive.

    python bench/tables.py [--pace N] [--seconds N] [--json FILE]

Needs root, a C compiler and pyarrow. The CPU time of a record is the difference between a long run and one of a second,
so that starting counts for nothing. Records of a run = calls - reported losses, or it fails.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

import pyarrow as pa
import pyarrow.dataset
from common import Table, environment, show, workload

PACE = 500_000
PROGRAM = r'syscall::getpgid:entry /pid == $target/ { printf("%d %s %d %d\n", pid, execname, timestamp, arg0); }'
TEXT = (
    f"`{PROGRAM}`, into a file. The microseconds are of CPU time of sonde's process alone; the kernel "
    "writes the records in the time of the program that is traced."
)
IN_PROCESS = """
import sys, time
from sonde.cli.main import main
status = main(["sonde", *sys.argv[1:]])
print("CPU", time.process_time())
sys.exit(status)
"""
WAYS = {
    "text": ("lines",),
    "`-f json`": ("lines", "-f", "json"),
    "`-o trace.arrow`": ("trace.arrow",),
    "`-o trace.parquet`": ("trace.parquet",),
    "`-xparquet=parts`": ("parts.parquet", "-x", "parquet=parts"),
}


class Outcome(NamedTuple):
    calls: int
    records: int
    lost: int
    cpu: float


def records_of(path: str, name: str) -> int:
    """How many records a file has."""
    if name.endswith(".parquet"):
        table = pyarrow.dataset.dataset(path).to_table(columns=["event"])
        return table.column("event").to_pylist().count("record")
    if name.endswith(".arrow"):
        with pa.ipc.open_stream(path) as reader:
            return sum(batch.column("event").to_pylist().count("record") for batch in reader)
    with open(path, "rb") as file:
        return sum(line.count(b" ") == 3 or line.startswith(b'{"type":"record"') for line in file)


def run(pace: int, seconds: int, name: str, *words: str) -> Outcome:
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, name)
        load = f"{workload()} {pace} {seconds}"
        command = [sys.executable, "-c", IN_PROCESS, "-q", "-b", "64m", "-o", path, *words, "-c", load, "-n", PROGRAM]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
        said = done.stdout + done.stderr
        records = records_of(path, name)
        if "json" in words:
            with open(path) as file:
                said += "".join(line for line in file if '"loss"' in line[:20])
    (calls,) = re.findall(r"^(\d+) \d+\.\d{3}$", said, re.MULTILINE)
    (cpu,) = re.findall(r"^CPU (.*)$", said, re.MULTILINE)
    lost = sum(map(int, re.findall(r"(\d+) drops? on CPU", said)))
    if int(calls) != records + lost:
        raise SystemExit(f"{name}: {calls} calls, but {records} records and {lost} reported as lost")
    return Outcome(int(calls), records, lost, float(cpu))


def row(name: str, pace: int, seconds: int, *words: str) -> tuple[str, ...]:
    short, long = run(pace, 1, *words), run(pace, 1 + seconds, *words)
    cost = (long.cpu - short.cpu) / (long.records - short.records)
    return name, f"{cost * 1e6:.2f} µs", f"{long.records / (1 + seconds):,.0f}", f"{long.lost:,}"


def main() -> None:
    parser = argparse.ArgumentParser(description="What a record costs in each format")
    parser.add_argument("--pace", type=int, default=PACE, help="events a second, 0: as many as there can be")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    rows = [row(name, arguments.pace, arguments.seconds, *words) for name, words in WAYS.items()]
    heading = ("", "CPU time of a record", "records a second", "lost")
    show([Table("Records as data", TEXT, heading, rows)], arguments.json)


if __name__ == "__main__":
    main()
