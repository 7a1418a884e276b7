"""Run the measurements and write docs/performance.md.

    python bench/report.py [--runs N] [--seconds N] [--long N] [--costs N] [--embedded N]

Needs root and a C compiler. Peers that are installed (bpftrace, perf, strace) are measured in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Sequence

from common import HERE, SONDE, has

TARGET = HERE.parent / "docs" / "performance.md"

INTRODUCTION = """\
# Performance

Written by `bench/report.py`; the figures are of one machine and one day.
What can be compared is what stands in one table: its rows were measured by
turns in one run. *To sonde's* is a tool's figure divided by sonde's, so more
than 1 means that sonde takes less.
"""

VERSIONS = {
    "bpftrace": ["bpftrace", "--version"], "perf": ["perf", "--version"], "strace": ["strace", "--version"],
}  # fmt: skip


def machine() -> Iterator[str]:
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        model = re.search(r"^model name\s*: (.*)$", file.read(), re.MULTILINE)
    system = os.uname()
    release = re.match(r"[\d.]+", system.release)
    yield f"Linux {release[0] if release else system.release}, {system.machine}, {os.cpu_count()} CPUs"
    if model:
        yield model[1].strip()
    yield f"Python {platform.python_version()}"
    yield _version([SONDE, "--version"])
    for tool, command in VERSIONS.items():
        if has(tool):
            yield _version(command)


def _version(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).splitlines()[0]


def measure(script: str, *words: str) -> Iterator[str]:
    """Run one script; its command and its tables as Markdown."""
    print(f"$ python bench/{script} {' '.join(words)}", flush=True)
    with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
        subprocess.run([sys.executable, str(HERE / script), *words, "--json", file.name], check=True)
        tables = json.load(file)
    for table in tables:
        yield f"## {table['title']}\n"
        yield textwrap.fill(table["text"], 79, break_long_words=False, break_on_hyphens=False) + "\n"
        yield f"    python bench/{script} {' '.join(words)}\n"
        yield _markdown(table["heading"], table["rows"])


def _markdown(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heading, ["---", *["---:"] * (len(heading) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write docs/performance.md")
    parser.add_argument("--runs", default="11", help="runs of each tool at start-up")
    parser.add_argument("--seconds", default="5", help="seconds of each run for throughput")
    parser.add_argument("--long", default="60", help="seconds of each run for exactness")
    parser.add_argument("--costs", default="5", help="runs of each clause for its cost")
    parser.add_argument("--embedded", default="5", help="runs of each tool for the embedded engine")
    arguments = parser.parse_args()
    parts = [INTRODUCTION, "".join(f"- {line}\n" for line in machine())]
    parts += measure("startup.py", "--runs", arguments.runs)
    parts += measure("throughput.py", "--seconds", arguments.seconds)
    parts += measure("aggregation.py", "--seconds", arguments.long)
    parts += measure("cost.py", "--runs", arguments.costs)
    if has("strace"):
        parts += measure("embedded.py", "--runs", arguments.embedded)
    TARGET.write_text("\n".join(parts))
    print(f"written: {TARGET.relative_to(HERE.parent)}")


if __name__ == "__main__":
    main()
