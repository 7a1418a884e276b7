"""How the memory of a session grows while more and more processes come and go, or events are counted and cleared: each
interval's resident set, and the slope of a line through them. The status is 1 where that is above the limit, or where
what was counted is not what has happened.

    python3 tools/memory_slope.py --processes 200000
    python3 tools/memory_slope.py --processes 200000 --own
    python3 tools/memory_slope.py --processes 20000 --engine embedded
    python3 tools/memory_slope.py --events 200000 --minutes 30

All but the last print and truncate stacks of all system calls each second; the kernel engine does so of all processes,
as root, the embedded one of those that are started, as anybody. What is kept of files that processes have mapped has a
bound that a machine on which others compile and run programs reaches late: with `--own` the stacks are those of the
processes that are started, though all are followed. The last counts calls of getppid(2) of one process,
which makes so many a second, prints and clears them each second, and compares their sum with the number of the calls.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

_STACKS = "syscall:::entry { @s[ustack(6)] = count(); } tick-1s { printa(@s); trunc(@s); }"
_OWN = _STACKS.replace("{", '/execname == "true"/ {', 1)
_COUNTS = """syscall::getppid:entry /pid == $target/ { @c[probefunc, tid] = count(); }
tick-1s { printa("%s %d %@d\\n", @c); clear(@c); }
END { printa("%s %d %@d\\n", @c); }"""

_SPAWN = """import os, sys
for _ in range(int(sys.argv[1])):
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
"""
_CALL = """import os, sys, time
rate, seconds, path = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
began, made, step = time.monotonic(), 0, max(rate // 100, 1)
while time.monotonic() < began + seconds:
    for _ in range(step):
        os.getppid()
    made += step
    time.sleep(max(began + made / rate - time.monotonic(), 0))
with open(path, "w") as file:
    print(made, file=file)
"""


def main() -> int:
    given = _arguments()
    with TemporaryDirectory() as folder:
        shown, calls = Path(folder, "shown"), Path(folder, "calls")
        if given.events:
            workload = [sys.executable, "-c", _CALL, str(given.events), str(60 * given.minutes), str(calls)]
        else:
            workload = [sys.executable, "-c", _SPAWN, str(given.processes)]
        samples = _measured(given, workload, shown)
        grown = _slope([each for each in samples if each[0] >= given.settle])
        print(f"slope after {given.settle:.0f} s: {grown:+.2f} MiB a minute; the limit is {given.limit}")
        is_exact = not given.events or _is_exact(shown, calls)
    return 0 if grown <= given.limit and is_exact else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="how the memory of a session grows")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--processes", type=int, default=0, help="so many short processes")
    parser.add_argument("--own", action="store_true", help="stacks of the processes that are started alone")
    what.add_argument("--events", type=int, default=0, help="so many events a second")
    parser.add_argument("--minutes", type=float, default=30.0, help="of events (default: 30)")
    parser.add_argument("--engine", choices=("kernel", "embedded"), default="kernel")
    parser.add_argument("--interval", type=float, default=5.0, help="seconds between two looks (default: 5)")
    parser.add_argument("--settle", type=float, default=120.0, help="seconds that do not count (default: 120)")
    parser.add_argument("--limit", type=float, default=1.0, help="MiB a minute (default: 1)")
    return parser.parse_args()


def _measured(given: argparse.Namespace, workload: Sequence[str], shown: Path) -> list[tuple[float, float]]:
    """Seconds since the beginning and MiB, each interval, while the workload runs below the session or beside it."""
    is_beside = bool(given.processes) and given.engine == "kernel"
    command = [
        sys.executable,
        "-m",
        "sonde",
        "-q",
        "--engine",
        given.engine,
        "-o",
        str(shown) if given.events else "/dev/null",
    ]
    command += ["-n", _COUNTS if given.events else _OWN if given.own else _STACKS]
    if not is_beside:
        command += ["-c", _quoted(workload)]
    session = subprocess.Popen(command)
    beside = subprocess.Popen(workload) if is_beside else None
    began = time.monotonic()
    found: list[tuple[float, float]] = []
    try:
        while (beside or session).poll() is None and session.poll() is None:
            time.sleep(given.interval)
            size, others = _resident(session.pid)
            if size:
                found.append((time.monotonic() - began, size))
                print(f"{found[-1][0]:6.0f} s  {size:7.1f} MiB  (processes of its own: {others:.1f} MiB)", flush=True)
        if session.poll() is not None and (beside is not None or session.returncode):
            sys.exit(f"the session has ended by itself, with status {session.returncode}")
    finally:
        if beside is not None:
            beside.terminate()
            beside.wait()
            session.terminate()
        session.wait()
    return found


def _quoted(words: Sequence[str]) -> str:
    import shlex

    return shlex.join(words)


def _resident(pid: int) -> tuple[float, float]:
    """MiB of the session, and of the processes that it has forked without executing anything."""
    own = _command_line(pid)
    others = sum(_size(each) for each in _descendants(pid) if own and _command_line(each) == own)
    return _size(pid), others


def _descendants(pid: int) -> Iterator[int]:
    parents: dict[int, list[int]] = {}
    for each in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path("/proc", each, "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(each))
    waiting = [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        yield from children
        waiting += children


def _command_line(pid: int) -> bytes:
    try:
        return Path("/proc", str(pid), "cmdline").read_bytes()
    except OSError:
        return b""


def _size(pid: int) -> float:
    """MiB of a process's resident set, 0 if it is gone."""
    try:
        return int(Path("/proc", str(pid), "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
    except (OSError, IndexError):
        return 0.0


def _slope(samples: Sequence[tuple[float, float]]) -> float:
    """MiB a minute of the line through them (least squares), 0 where there are too few."""
    if len(samples) < 2:
        print("too short a run: nothing is behind the seconds that do not count")
        return 0.0
    count = len(samples)
    middle, mean = sum(time for time, _ in samples) / count, sum(size for _, size in samples) / count
    spread = sum((time - middle) ** 2 for time, _ in samples)
    return 60 * sum((time - middle) * (size - mean) for time, size in samples) / spread


def _is_exact(shown: Path, calls: Path) -> bool:
    """Whether as many calls were counted as were made."""
    counted = sum(int(words[2]) for line in shown.read_text().splitlines() if len(words := line.split()) == 3)
    made = int(calls.read_text())
    print(f"counted {counted:,} of {made:,} calls")
    return counted == made


if __name__ == "__main__":
    sys.exit(main())
