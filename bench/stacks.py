"""How long it takes to aggregate 50,000 different stacks and to print them with the names of their frames.

Usage: python bench/stacks.py [--runs N] [--json FILE]
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

from common import HERE, SONDE, Table, has, median, ratio, show, timed

STACKS, MORE = 50_000, 20

WHAT = (
    ("user stacks", "ustack()", "ustack"),
    ("user and kernel stacks", "ustack(), stack()", "ustack, kstack"),
    ("user stacks, not named", None, None),
)


def commands(target: str, ours: str | None, theirs: str | None) -> list[tuple[str, list[str]]]:
    """The tools by name with what they are to do; `ours` is the key in D, `theirs` the one of bpftrace."""
    predicate = "syscall::getppid:entry /pid == $target/"
    settings = ["-q", "-xaggsize=256m", "-c", target]
    if ours is None:
        return [
            (
                "sonde",
                [SONDE, *settings, "-n", f"{predicate} {{ @[ustack()] = count(); }} END {{ clear(@); trunc(@); }}"],
            )
        ]
    found = [("sonde", [SONDE, *settings, "-n", f"{predicate} {{ @[{ours}] = count(); }}"])]
    if has("bpftrace"):
        # It ends with the command.
        program = f"tracepoint:syscalls:sys_enter_getppid /pid == cpid/ {{ @[{theirs}] = count(); }}"
        found.append(("bpftrace", ["bpftrace", "-c", target, "-e", program]))
    return found


def built(directory: str) -> str:
    compiler = next(filter(has, ("cc", "gcc", "clang")), None)
    if compiler is None:
        raise SystemExit("the workload is a C program, and there is no C compiler")
    target = str(Path(directory) / "paths")
    flags = ["-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"]
    subprocess.run([compiler, *flags, "-o", target, str(HERE / "paths.c")], check=True)
    return f"{target} {STACKS} {MORE}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the printing of many stacks")
    parser.add_argument("--runs", type=int, default=3, help="runs of each tool")
    parser.add_argument("--json", help="file for the tables, for report.py")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        target = built(directory)
        for title, ours, theirs in WHAT:
            tools = commands(target, ours, theirs)
            used = {name: [timed(command) for _ in range(arguments.runs)] for name, command in tools}
            walls = {name: median([each.wall for each in runs]) for name, runs in used.items()}
            for name, wall in walls.items():
                memory = max(each.memory for each in used[name]) / 1024
                rows.append((title, name, f"{wall:.2f} s", ratio(wall, walls["sonde"]), f"{memory:.0f} MiB"))
    text = (
        f"{STACKS:,} different user stacks of {MORE + 2 * 16 + 4} frames and more, counted and printed at the end with "
        "the names of all frames: from the start of the tool to its end, the command that has the stacks included."
    )
    show([Table("Many stacks", text, ("what", "tool", "time", "to sonde's", "memory"), rows)], arguments.json)


if __name__ == "__main__":
    main()
