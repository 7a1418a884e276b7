"""What the embedded engine costs what it traces, and itself, beside strace in the same run.

    python bench/embedded.py [--runs N] [--json FILE]

Needs a C compiler and strace, and no privilege. The tools take turns, so that whatever else the machine does meets all
of them; figures are medians.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from common import HERE, SONDE, Table, has, median, milliseconds, ratio, show, timed

EMBEDDED = [SONDE, "--engine", "embedded", "-q", "-o", "/dev/null"]
COUNT = "syscall:::entry { @[probefunc] = count(); }"
OPENED = "syscall::openat:entry { @[copyinstr(arg1)] = count(); }"

PR_SET_CHILD_SUBREAPER = 36
"""prctl(2): processes whose parents have ended become children of this one."""


def by_turns(measures: dict[str, Callable[[], float]], runs: int) -> dict[str, float]:
    """The median of each measure, after one run that does not count."""
    for measure in measures.values():
        measure()
    values: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(runs):
        for name, measure in measures.items():
            values[name].append(measure())
    return {name: median(each) for name, each in values.items()}


def wall(*command: str) -> Callable[[], float]:
    return lambda: timed(command).wall


def opening(runs: int) -> Table:
    find = ["find", "/usr"]
    values = by_turns(
        {
            "untraced": wall(*find),
            "strace -c -e openat": wall("strace", "-c", "-e", "openat", "-o", "/dev/null", *find),
            "sonde -c": wall(*EMBEDDED, "-n", OPENED, "-c", " ".join(find)),
        },
        runs,
    )
    bare = values["untraced"]
    added = {name: value - bare for name, value in values.items()}
    rows = [
        (name, milliseconds(value), milliseconds(added[name]), ratio(added[name], added["strace -c -e openat"]))
        for name, value in values.items()
    ]
    text = f"`{OPENED}` over `find /usr`. strace counts without looking at the names."
    return Table("The files that a command opens", text, ("", "wall", "added", "to strace's"), rows)


def used_by(command: Sequence[str]) -> float:
    """User seconds of the command and of all that it leaves behind."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


STOPS = {
    "count by name": (COUNT, 1),
    "entry and return": ("syscall:::entry { self->n = 1; } syscall:::return /self->n/ { @ = count(); }", 2),
    "a string of the process": ("syscall::getpgid:entry { @[copyinstr(arg1)] = count(); }", 1),
}
"""Programs, and how many stops a call is."""

CALLS = """
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char **words) {
    for (long n = atol(words[1]); n > 0; n--) syscall(SYS_getpgid, 0, "a string");
    return 0;
}
"""


def own_time(runs: int, calls: int = 50_000) -> Table:
    """Needs to be the reaper of what sonde leaves behind."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        program = f"{directory}/calls"
        source = Path(f"{program}.c")
        source.write_text(CALLS)
        subprocess.run(["cc", "-O2", "-w", "-o", program, source], check=True)
        for name, (text, stops) in STOPS.items():
            values = by_turns(
                {
                    str(number): lambda text=text, number=number: used_by(
                        [*EMBEDDED, "-n", text, "-c", f"{program} {number}"]
                    )
                    for number in (0, calls)
                },
                runs,
            )
            each = (values[str(calls)] - values["0"]) / (calls * stops)
            rows.append((name, str(calls * stops), f"{1e6 * each:.1f} µs"))
    text = (
        "User CPU of sonde, of its guardian and of the traced process, which does nothing but call getpgid, for each "
        "stop; what starting and ending takes is subtracted."
    )
    return Table("sonde's own time for each stop", text, ("program", "stops", "user CPU each"), rows)


def verifying() -> Table:
    """The verifier's time for the programs of each example."""
    times = {path.name: verification(path) for path in sorted((HERE.parent / "examples").glob("*.d"))}
    slowest = sorted(times, key=lambda name: -times[name])[:5]
    rows = [(f"`{name}`", milliseconds(times[name])) for name in slowest]
    text = (
        "All programs of an example script, verified as `sonde verify` does it, without compiling them; the least of "
        f"three, for the five that take longest of {len(times)}."
    )
    return Table("Verifier", text, ("example", "time"), rows)


MEASURE_VERIFIER = """
import sys, time
from sonde.library import verdicts as proofs
from sonde.cli.main import main
taken = 0
def timed(verify):
    def measured(*arguments, **named):
        global taken
        begin = time.perf_counter()
        try:
            return verify(*arguments, **named)
        finally:
            taken += time.perf_counter() - begin
    return measured
proofs.verify, proofs.verify_here = timed(proofs.verify), timed(proofs.verify_here)
sys.argv = sys.argv[1:]
try:
    main()
finally:
    print(taken, file=sys.stderr)
"""


def verification(path: Path) -> float:
    """Seconds in the verifier when `sonde verify` is given the script."""
    command = [sys.executable, "-c", MEASURE_VERIFIER, SONDE, "verify", str(path)]
    return min(float(_measured(command)) for _ in range(3))


def _measured(command: Sequence[str]) -> str:
    """The last line of what the command says on the standard error. Raises CalledProcessError."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr.splitlines()[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description="The embedded engine beside strace")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", action="append", choices=("open", "own", "verify"))
    parser.add_argument("--json")
    arguments = parser.parse_args()
    if not has("strace"):
        raise SystemExit("this is a comparison with strace, which is not installed")
    parts: dict[str, Callable[[], Table]] = {
        "open": lambda: opening(arguments.runs),
        "own": lambda: own_time(arguments.runs),
        "verify": verifying,
    }
    wanted: Iterable[str] = arguments.only or parts
    show([parts[name]() for name in wanted], arguments.json)


if __name__ == "__main__":
    main()
