"""Aggregations: whether their counts are exact while they are printed and cleared, and what an update costs.

    python bench/aggregation.py [--seconds N] [--json FILE]

Needs root and a C compiler. First 100,000 increments a second with printa and clear (or trunc) ten times a second:
the sum of all that was printed must be the number of calls. Then the time of one run of the program, as the kernel
measures it with kernel.bpf_stats_enabled.
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

from common import SONDE, Table, environment, has, show, workload

PACE = 100_000
STATISTICS = "/proc/sys/kernel/bpf_stats_enabled"

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

COSTS = {
    "count": ("@ = count();", "@ = count();"),
    "count by process": ("@[execname] = count();", "@[comm] = count();"),
    "count by pid": ("@[pid] = count();", "@[pid] = count();"),
    "quantize": ("@ = quantize(arg0);", "@ = hist(args->pid);"),
    "max": ("@ = max(arg0);", "@ = max(args->pid);"),
}
"""The clause's body in D and in bpftrace's language."""


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


def cost(command: list[str]) -> float:
    """Nanoseconds a run, from one second of calls at full speed."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
    try:
        time.sleep(1.5)
        before = programs_of(child.pid)
        subprocess.run([workload(), "0", "1"], stdout=subprocess.DEVNULL, check=True)
        after = programs_of(child.pid)
    finally:
        child.send_signal(signal.SIGINT)
        child.wait()
    runs = after[1] - before[1]
    if not runs:
        raise SystemExit(f"no run of a program of {' '.join(command)} was measured")
    return (after[0] - before[0]) / runs


def costs() -> Table:
    rows = []
    with statistics():
        for name, (body, peer) in COSTS.items():
            own = min(cost([SONDE, "-q", "-n", f"syscall::getpgid:entry {{ {body} }}"]) for _ in range(3))
            row = [name, f"{own:.0f} ns"]
            if has("bpftrace"):
                program = f"tracepoint:syscalls:sys_enter_getpgid {{ {peer} }}"
                other = min(cost(["bpftrace", "-e", program]) for _ in range(3))
                row += [f"{other:.0f} ns", f"{other / own:.2f}"]
            rows.append(tuple(row))
    heading = ("aggregation", "sonde", "bpftrace", "to sonde's") if has("bpftrace") else ("aggregation", "sonde")
    text = (
        "One run of the program, as `kernel.bpf_stats_enabled` measures it (which adds some ten nanoseconds to each), "
        "on getpgid called at full speed; the least of three. sonde's program stands on one tracepoint for all system "
        "calls and looks at the number, bpftrace's on the tracepoint of this one."
    )
    return Table("Cost of an update", text, heading, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description="Exactness and cost of aggregations")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    show([exactness(arguments.seconds), costs()], arguments.json)


if __name__ == "__main__":
    main()
