"""How long sonde takes to start, attach and let go, and its peak memory, beside other tracers in the same run.

    python bench/startup.py [--runs N] [--json FILE]

Needs root. The tools take turns, so that whatever else the machine does meets all of them; figures are medians.
"""

from __future__ import annotations

import argparse
import os
import resource
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence

from common import SONDE, Table, environment, has, median, milliseconds, ratio, show, timed

NOTHING = {
    "sonde": [SONDE, "-q", "-n", "BEGIN { exit(0); }"],
    "sonde bt": [SONDE, "bt", "-q", "-e", "begin { exit() }"],
    "bpftrace": ["bpftrace", "-e", "BEGIN { exit(); }"],
    "perf trace": ["perf", "trace", "-e", "getpid", "true"],
    "strace": ["strace", "-o", "/dev/null", "true"],
    "python alone": [sys.executable, "-I", "-c", "pass"],
}
"""Start, do nothing, end."""

EVERYTHING = {
    "sonde": [
        SONDE, "-q", "-n",
        r'syscall:::entry { @[execname] = count(); } syscall:::entry /!on/ { on = 1; printf("on\n"); }',
    ],
    "bpftrace": [
        "bpftrace", "-B", "none", "-e",
        r'tracepoint:raw_syscalls:sys_enter { @[comm] = count(); if (!@on) { @on = 1; printf("on\n"); } }',
    ],
    "perf trace": ["perf", "trace", "-a", "-o", "/dev/stdout"],
}  # fmt: skip
"""Count all system calls by process, and say so at the first one."""

MARK = {"sonde": b"on\n", "bpftrace": b"on\n", "perf trace": b"("}


def present(tools: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: command for name, command in tools.items() if os.path.isabs(command[0]) or has(command[0])}


def nothing(runs: int) -> Table:
    tools = present(NOTHING)
    for command in tools.values():
        timed(command)
    used = {name: [] for name in tools}
    for _ in range(runs):
        for name, command in tools.items():
            used[name].append(timed(command))
    wall = {name: median([each.wall for each in all_]) for name, all_ in used.items()}
    memory = {name: median([each.memory for each in all_]) for name, all_ in used.items()}
    rows = [
        (name, milliseconds(wall[name]), ratio(wall[name], wall["sonde"]), *_memory(memory[name], memory["sonde"]))
        for name in tools
    ]
    text = (
        "From the command's start to its end, with a program that does nothing but end (for perf trace and strace: "
        "tracing `true`). The last line is the interpreter that sonde runs in, doing nothing."
    )
    return Table("Start and end", text, ("tool", "wall", "to sonde's", "peak memory", "to sonde's"), rows)


def _memory(size: float, to: float) -> tuple[str, str]:
    """A process is charged with what its parent had when it began, so smaller peaks than ours cannot be seen."""
    if size <= resource.getrusage(resource.RUSAGE_SELF).ru_maxrss:
        return f"< {size / 1024:.0f} MiB", "-"
    return f"{size / 1024:.0f} MiB", ratio(size, to)


def attach_and_detach(command: Sequence[str], mark: bytes) -> tuple[float, float]:
    """Seconds until the first system call is counted; from ^C to the end. A run that misses its ^C is repeated."""
    for _ in range(5):
        found = _attach_and_detach(command, mark)
        if found:
            return found
    raise SystemExit(f"{command[0]} does not end")


def _attach_and_detach(command: Sequence[str], mark: bytes) -> tuple[float, float] | None:
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment())
    assert child.stdout is not None
    try:
        output = child.stdout.fileno()
        if not _read(output, 30, mark):
            raise SystemExit(f"{command[0]} shows nothing")
        attached = time.monotonic() - begin
        _read(output, 0.3)
        begin = time.monotonic()
        child.send_signal(signal.SIGINT)
        if not _read(output, 5):
            return None
        child.wait()
        return attached, time.monotonic() - begin
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def _read(output: int, seconds: float, mark: bytes | None = None) -> bool:
    """Read until `mark` is seen or, without one, to the end; False if that takes more than `seconds`."""
    deadline = time.monotonic() + seconds
    seen = b""
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([output], [], [], left)[0]:
            break
        new = os.read(output, 1 << 16)
        if not new:
            return mark is None
        seen = seen[-64:] + new
        if mark and mark in seen:
            return True
    return False


def _call(done: threading.Event) -> None:
    while not done.wait(0.002):
        os.getppid()


def everything(runs: int) -> Table:
    tools = present(EVERYTHING)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in tools}
    # Somebody makes system calls all the time, so the first one to be seen is never long in coming.
    done = threading.Event()
    background = threading.Thread(target=_call, args=(done,))
    background.start()
    try:
        for _ in range(runs):
            for name, command in tools.items():
                found[name].append(attach_and_detach(command, MARK[name]))
    finally:
        done.set()
        background.join()
    column: Callable[[str, int], float] = lambda name, n: median([each[n] for each in found[name]])  # noqa: E731
    rows = [
        (name, milliseconds(column(name, 0)), ratio(column(name, 0), column("sonde", 0)),
         milliseconds(column(name, 1)), ratio(column(name, 1), column("sonde", 1)))
        for name in tools
    ]  # fmt: skip
    text = (
        "`syscall:::entry { @[execname] = count(); }` and its equivalents, for the whole system: from the command's "
        "start to the line about the first call that was counted; then from ^C to the end. perf trace prints each "
        "call instead of counting it."
    )
    return Table("Attach and detach", text, ("tool", "attached", "to sonde's", "detached", "to sonde's"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description="Start-up, peak memory, attaching and detaching")
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    show([nothing(arguments.runs), everything(arguments.runs)], arguments.json)


if __name__ == "__main__":
    main()
