"""Run the measurements and write docs/performance.md.

    python bench/report.py [--runs N] [--seconds N] [--long N] [--costs N] [--embedded N] [--first]
                           [--only SCRIPT ...]

Needs root and a C compiler. Peers that are installed (bpftrace, perf, strace, tcpdump) are measured in the same run.
--only measures what one script does (startup, throughput, packets, samples, aggregation, cost, embedded,
whole_commands, loops, library, machine, stacks, unwinding, functions, pictures) and keeps all else as the page has it.
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

Written by `bench/report.py`; the figures are of one machine.
What can be compared is what stands in one table: its rows were measured by
turns in one run. *To sonde's* is a tool's figure divided by sonde's, so more
than 1 means that sonde takes less.
"""

VERSIONS = {
    "bpftrace": ["bpftrace", "--version"], "perf": ["perf", "--version"], "strace": ["strace", "--version"],
    "tcpdump": ["tcpdump", "--version"],
}  # fmt: skip


_PEERS = {"embedded.py": "strace", "whole_commands.py": "strace", "samples.py": "perf"}
"""Without these there is nothing to compare with."""


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


def _title(script: str, title: str) -> str:
    if script not in ("embedded.py", "machine.py", "whole_commands.py"):
        return title
    return f"Embedded engine: {title if title.startswith('sonde') else title[0].lower() + title[1:]}"


def sections(page: str) -> dict[str, list[str]]:
    """The sections of the page as it is, by the script that measured them."""
    found: dict[str, list[str]] = {}
    for section in page.split("\n## ")[1:]:
        command = re.search(r"^    python bench/(\S+)", section, re.MULTILINE)
        if command:
            found.setdefault(command[1], []).append(f"## {section.rstrip()}\n")
    return found


def measure(script: str, *words: str) -> Iterator[str]:
    """Run one script; its command and its tables as Markdown."""
    print(f"$ python bench/{script} {' '.join(words)}", flush=True)
    with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
        subprocess.run([sys.executable, str(HERE / script), *words, "--json", file.name], check=True)
        tables = json.load(file)
    for table in tables:
        yield f"## {_title(script, table['title'])}\n"
        yield textwrap.fill(table["text"], 79, break_long_words=False, break_on_hyphens=False) + "\n"
        yield f"    {' '.join(('python', f'bench/{script}', *words))}\n"
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
    parser.add_argument("--first", action="store_true", help="let packets go before all else that the machine does")
    parser.add_argument("--only", action="append", help="a script whose measurements are made again")
    arguments = parser.parse_args()
    scripts = {
        "startup.py": ("--runs", arguments.runs),
        "throughput.py": ("--seconds", arguments.seconds),
        "packets.py": ("--seconds", arguments.seconds, *(["--first"] if arguments.first else [])),
        "samples.py": ("--seconds", arguments.seconds),
        "aggregation.py": ("--seconds", arguments.long),
        "cost.py": ("--runs", arguments.costs),
        "recording.py": ("--runs", arguments.costs),
        "embedded.py": ("--runs", arguments.embedded),
        "whole_commands.py": ("--runs", arguments.embedded),
        "loops.py": (),
        "library.py": (),
        "machine.py": (),
        "stacks.py": (),
        "unwinding.py": (),
        "functions.py": (),
        "pictures.py": (),
    }
    wanted = [f"{name.removesuffix('.py')}.py" for name in arguments.only or scripts]
    if unknown := set(wanted) - set(scripts):
        parser.error(f"no such script: {', '.join(sorted(unknown))}")
    kept = sections(TARGET.read_text()) if TARGET.exists() else {}
    parts = [INTRODUCTION, "".join(f"- {line}\n" for line in machine())]
    for script, words in scripts.items():
        if script not in wanted:
            parts += kept.get(script, [])
        elif has(_PEERS.get(script, "env")):
            parts += measure(script, *words)
    TARGET.write_text("\n".join(parts))
    print(f"written: {TARGET.relative_to(HERE.parent)}")


if __name__ == "__main__":
    main()
