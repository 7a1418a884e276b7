"""What clauses cost in the kernel, measured by the kernel.

    python bench/cost.py [--runs N] [--json FILE]

Needs root and a C compiler. One run of the program, by the statistics of sysctl kernel.bpf_stats_enabled, on getpgid
called at full speed, by turns with bpftrace's equivalent where that is installed.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from common import SONDE, Table, environment, has, median, show, workload

STATISTICS = "/proc/sys/kernel/bpf_stats_enabled"

ENTRY, RETURN = "syscall::getpgid:entry", "syscall::getpgid:return"
PEER_ENTRY, PEER_RETURN = "tracepoint:syscalls:sys_enter_getpgid", "tracepoint:syscalls:sys_exit_getpgid"

PREDICATES = {
    "0": "0",
    'execname == "x" && arg0 > 3': 'comm == "x" && args->pid > 3',
    "pid == 1": "pid == 1",
    "arg0 > 3": "args->pid > 3",
}
"""Predicates that are false, in D and in bpftrace's language."""

CLAUSES = {
    "count": (f"{ENTRY} {{ @ = count(); }}", f"{PEER_ENTRY} {{ @ = count(); }}"),
    "count by process": (f"{ENTRY} {{ @[execname] = count(); }}", f"{PEER_ENTRY} {{ @[comm] = count(); }}"),
    "count by pid": (f"{ENTRY} {{ @[pid] = count(); }}", f"{PEER_ENTRY} {{ @[pid] = count(); }}"),
    "quantize": (f"{ENTRY} {{ @ = quantize(arg0); }}", f"{PEER_ENTRY} {{ @ = hist(args->pid); }}"),
    "max": (f"{ENTRY} {{ @ = max(arg0); }}", f"{PEER_ENTRY} {{ @ = max(args->pid); }}"),
    "latency": (
        f"{ENTRY} {{ self->ts = timestamp; }} {RETURN} /self->ts/ {{ @ = quantize(timestamp - self->ts); }}",
        f"{PEER_ENTRY} {{ @ts[tid] = nsecs; }} "
        f"{PEER_RETURN} /@ts[tid]/ {{ @ = hist(nsecs - @ts[tid]); delete(@ts[tid]); }}",
    ),
}
"""Programs in D and in bpftrace's language; the last is two, and its cost that of both together."""


@contextmanager
def statistics() -> Iterator[None]:
    """The kernel measures programs meanwhile."""
    with open(STATISTICS, encoding="ascii") as file:
        before = file.read()
    try:
        with open(STATISTICS, "w", encoding="ascii") as file:
            file.write("1")
        yield
    finally:
        with open(STATISTICS, "w", encoding="ascii") as file:
            file.write(before)


def programs_of(pid: int) -> tuple[int, int]:
    """Nanoseconds and runs of the process's BPF programs, each program counted once (proc(5), fdinfo)."""
    found: dict[int, tuple[int, int]] = {}
    for name in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{name}", encoding="ascii") as file:
                fields = dict(re.findall(r"^(\w+):\s*(\d+)$", file.read(), re.MULTILINE))
        except OSError:
            continue
        if "run_cnt" in fields and "prog_id" in fields:
            found[int(fields["prog_id"])] = int(fields["run_time_ns"]), int(fields["run_cnt"])
    return sum(each[0] for each in found.values()), sum(each[1] for each in found.values())


def attached(pid: int) -> tuple[int, int]:
    """Wait until calls make the process's programs run, and give their figures."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        before = programs_of(pid)
        subprocess.run([workload(), "1000", "0.2"], stdout=subprocess.DEVNULL, check=True)
        after = programs_of(pid)
        if before[1] and after[1] > before[1] + 150:
            return after
    raise SystemExit("the programs were not attached in 20 seconds")


def cost(command: list[str], pace: int = 0) -> float:
    """Nanoseconds a run, from one second of calls, so many a second, or at full speed."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
    try:
        before = attached(child.pid)
        subprocess.run([workload(), str(pace), "1"], stdout=subprocess.DEVNULL, check=True)
        after = programs_of(child.pid)
    finally:
        child.send_signal(signal.SIGINT)
        child.wait()
    runs = after[1] - before[1]
    if not runs:
        raise SystemExit(f"no run of a program of {' '.join(command)} was measured")
    return (after[0] - before[0]) / runs


def by_turns(programs: list[list[str]], runs: int, pace: int = 0) -> list[float]:
    """The median cost of each command, measured by turns so that they share the machine's moods."""
    measured: list[list[float]] = [[] for _ in programs]
    for _ in range(runs):
        for command, values in zip(programs, measured, strict=True):
            values.append(cost(command, pace))
    return [median(values) for values in measured]


def predicates(runs: int) -> Table:
    peer = has("bpftrace")
    commands = [[SONDE, "-q", "-n", f"{ENTRY} /{own}/ {{ trace(1); }}"] for own in PREDICATES]
    if peer:
        commands += [["bpftrace", "-e", f"{PEER_ENTRY} /{other}/ {{ print(1); }}"] for other in PREDICATES.values()]
    values = by_turns(commands, runs)
    own, others = values[: len(PREDICATES)], values[len(PREDICATES) :]
    rows = []
    for index, name in enumerate(PREDICATES):
        row = [f"`{name}`", f"{own[index] - own[0]:+.0f} ns"]
        rows.append((*row, f"{others[index] - others[0]:+.0f} ns") if peer else tuple(row))
    text = "What a false predicate costs beyond the constant 0: differences of medians."
    return Table("Cost of a predicate", text, ("predicate", "sonde", "bpftrace")[: 2 + peer], rows)


def clauses(runs: int) -> Table:
    rows = []
    for name, (body, other) in CLAUSES.items():
        commands = [[SONDE, "-q", "-n", body]]
        if has("bpftrace"):
            commands.append(["bpftrace", "-e", other])
        values = by_turns(commands, runs)
        row = [name, *(f"{value:.0f} ns" for value in values)]
        rows.append(tuple([*row, f"{values[1] / values[0]:.2f}"] if len(values) > 1 else row))
    heading = ("clause", "sonde", "bpftrace", "to sonde's") if has("bpftrace") else ("clause", "sonde")
    text = (
        "Medians for one run of the program (the statistics add some ten nanoseconds to each). sonde's program stands "
        "on one tracepoint for all system calls and looks at the number, bpftrace's on the tracepoint of this one. "
        "*latency* is `self->ts = timestamp` on entry and `quantize(timestamp - self->ts)` on return, a run's mean."
    )
    return Table("Cost of a clause", text, heading, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description="Cost of clauses in the kernel")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    with statistics():
        tables = [predicates(arguments.runs), clauses(arguments.runs)]
    show(tables, arguments.json)


if __name__ == "__main__":
    main()
