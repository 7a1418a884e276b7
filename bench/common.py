"""What the measurements share: the workload, the tools that are there, running and timing, tables."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
SONDE = str(Path(sys.executable).parent / "sonde")

SETTINGS = {"BPFTRACE_MAX_PROBES": "1024", "BPFTRACE_MAX_BPF_PROGS": "1024", "BPFTRACE_MAP_KEYS_MAX": "65536"}
"""So that no limit of a peer's decides the outcome."""


class Table(NamedTuple):
    """One measurement: a title, the sentences that explain it, the heading and the rows."""

    title: str
    text: str
    heading: tuple[str, ...]
    rows: list[tuple[str, ...]]


class Usage(NamedTuple):
    """Wall seconds, peak resident memory in KiB and seconds of CPU of a process that has ended."""

    wall: float
    memory: int
    cpu: float


def has(tool: str) -> bool:
    return shutil.which(tool) is not None


def environment() -> dict[str, str]:
    return {**os.environ, **SETTINGS, "LC_ALL": "C"}


def timed(command: Sequence[str]) -> Usage:
    """Run it to its end, its output thrown away."""
    begin = time.monotonic()
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment()
    )
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(command)}: exit status {child.returncode}")
    return Usage(time.monotonic() - begin, used.ru_maxrss, used.ru_utime + used.ru_stime)


def workload() -> str:
    """The path of the compiled workload; exits where there is no C compiler."""
    compiler = next(filter(has, ("cc", "gcc", "clang")), None)
    if compiler is None:
        raise SystemExit("the workload is a C program, and there is no C compiler")
    target = Path(tempfile.gettempdir()) / f"sonde-bench-workload-{os.getuid()}"
    source = HERE / "workload.c"
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        subprocess.run([compiler, "-O2", "-o", str(target), str(source)], check=True)
    return str(target)


def median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


def milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms"


def ratio(value: float, to: float) -> str:
    return f"{value / to:.2f}" if to else "-"


def show(tables: Sequence[Table], file: str | None = None) -> None:
    """Print the tables; into `file` as JSON, for report.py."""
    for table in tables:
        widths = [max(len(row[n]) for row in [table.heading, *table.rows]) for n in range(len(table.heading))]
        print(f"\n{table.title}\n")
        for row in [table.heading, *table.rows]:
            first, *rest = (cell.ljust(width) if not n else cell.rjust(width)
                            for n, (cell, width) in enumerate(zip(row, widths, strict=True)))  # fmt: skip
            print("  ".join(["  " + first, *rest]).rstrip())
    if file:
        Path(file).write_text(json.dumps([table._asdict() for table in tables], indent=1))
