"""Times of whole commands under the embedded engine, beside `strace -c -f` in the same run.

    python bench/whole_commands.py [--runs N] [--only NAME ...] [--json FILE]

Needs a C compiler, git, tar, sqlite3, redis and strace, and no privilege. The tools take turns, so that whatever else
the machine does meets all of them; figures are medians.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from common import SONDE, Table, has, median, milliseconds, ratio, show

COUNT = "syscall:::entry { @[probefunc] = count(); }"
SUMS = """
syscall:::entry { self->begin = timestamp; }
syscall:::return /self->begin/ {
    @calls[probefunc] = count();
    @elapsed[probefunc] = sum(timestamp - self->begin);
    self->begin = 0;
}
syscall:::return /errno/ { @errors[probefunc] = count(); }
"""
"""strace's table: calls, time and errors by name."""

STRACE = ["strace", "-c", "-f", "-o", "/dev/null"]
EMBEDDED = [SONDE, "--engine", "embedded", "-q"]

UNITS = 40
"""Files of the compile."""

UNIT = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int unit_{number}(int value) {{ printf("%d\\n", value); return value + {number}; }}
"""

FORKS = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    for (int n = 0; n < 2000; n++) {
        pid_t child = fork();
        if (!child) _exit(0);
        waitpid(child, 0, 0);
    }
    return 0;
}
"""

PORT = 16399


def compile_script(place: Path) -> str:
    lines = []
    for number in range(UNITS):
        (place / f"unit_{number}.c").write_text(UNIT.format(number=number))
        lines.append(f"cc -O1 -c unit_{number}.c")
    (place / "main.c").write_text("int main(void) { return 0; }\n")
    return "\n".join([*lines, "cc -o whole main.c unit_*.o"])


def collect_script(place: Path) -> str:
    """Collecting a repository of 3,000 commits, which are made before."""
    made = place / "repository"
    commits = "\n".join(
        f"commit refs/heads/main\nmark :{n}\ncommitter A <a@b> {10**9 + n} +0000\ndata 4\nstep\n"
        + (f"from :{n - 1}\n" if n > 1 else "")
        + f"M 100644 inline file_{n % 40}\ndata {len(text)}\n{text}\n"
        for n in range(1, 3001)
        for text in [f"text of {n}\n" * 200]
    )
    subprocess.run(["git", "init", "-q", "-b", "main", made], check=True)
    subprocess.run(["git", "fast-import", "--quiet"], cwd=made, input=commits.encode(), check=True)
    return f"rm -rf copy; cp -r {made} copy; git -C copy gc -q --prune=now"


def tar_script(place: Path) -> str:
    return "tar cf sources.tar -C /usr/include linux; rm -rf out; mkdir out; tar xf sources.tar -C out"


def sqlite_script(place: Path) -> str:
    (place / "inserts.sql").write_text(
        "pragma synchronous = off;\ncreate table t (a integer primary key, b text);\n"
        + "".join(f"insert into t values ({n}, 'text of row {n}');\n" for n in range(1000))
        + "select count(*), max(b) from t;\n"
    )
    return "rm -f base; sqlite3 base < inserts.sql"


def redis_script(place: Path) -> str:
    return (
        f"redis-server --port {PORT} --save '' --logfile log --daemonize no & \n"
        f"until redis-cli -p {PORT} ping; do sleep 0.02; done\n"
        f"redis-benchmark -p {PORT} -q -n 3000 -t set,get\n"
        f"redis-cli -p {PORT} shutdown nosave; wait"
    )


def shells_script(place: Path) -> str:
    return 'for n in $(seq 40); do sh -c "for m in $(seq -s " " 25); do /bin/true; done"; done'


def forks_script(place: Path) -> str:
    (place / "forks.c").write_text(FORKS)
    subprocess.run(["cc", "-O2", "-o", place / "forks", place / "forks.c"], check=True)
    return "exec ./forks"


class Workload(NamedTuple):
    """Its name, the tools it needs, and the maker of a shell's text."""

    name: str
    needs: tuple[str, ...]
    script: Callable[[Path], str]


WORKLOADS = (
    Workload("compile", ("cc",), compile_script),
    Workload("git gc", ("git",), collect_script),
    Workload("tar", ("tar",), tar_script),
    Workload("sqlite", ("sqlite3",), sqlite_script),
    Workload("redis", ("redis-server", "redis-benchmark", "redis-cli"), redis_script),
    Workload("40 shells, 25 execs each", ("sh",), shells_script),
    Workload("2,000 forks", ("cc",), forks_script),
)


class Bed(NamedTuple):
    """A script in a directory of its own: as a command, and as one that waits for a line first."""

    directory: str
    command: str

    @property
    def waiting(self) -> list[str]:
        """A shell that starts the command when it has read a line."""
        return ["sh", "-c", f"read line; {self.command}; exit 0"]


def laid_out(workload: Workload, directory: str) -> Bed:
    place = Path(directory)
    script = place / "run.sh"
    script.write_text(f"cd {directory}\n{workload.script(place)}\n")
    return Bed(directory, f"sh {script}")


def whole(words: Sequence[str]) -> float:
    begin = time.monotonic()
    subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.monotonic() - begin


def grabbed(bed: Bed, tracer: Callable[[int], Sequence[str]], sign: str) -> float:
    """Seconds from the moment the tracer says its sign, when the shell is let go, to the tracer's end."""
    with subprocess.Popen(
        bed.waiting, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as shell:
        assert shell.stdin is not None
        tool = subprocess.Popen(tracer(shell.pid), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert tool.stdout is not None
        for line in tool.stdout:
            if sign in line:
                break
        begin = time.monotonic()
        shell.stdin.write(b"\n")
        shell.stdin.close()
        tool.stdout.read()
        tool.wait()
        return time.monotonic() - begin


def with_strace(pid: int) -> list[str]:
    return ["strace", "-c", "-f", "-p", str(pid)]


def with_sonde(text: str) -> Callable[[int], list[str]]:
    return lambda pid: [*EMBEDDED, "-n", f'BEGIN {{ printf("attached\\n"); }} {text}', "-p", str(pid)]


def ways(bed: Bed) -> dict[str, Callable[[], float]]:
    return {
        "untraced": lambda: whole(shlex.split(bed.command)),
        "strace": lambda: whole([*STRACE, *shlex.split(bed.command)]),
        "count -c": lambda: whole([*EMBEDDED, "-o", "/dev/null", "-n", COUNT, "-c", bed.command]),
        "sums -c": lambda: whole([*EMBEDDED, "-o", "/dev/null", "-n", SUMS, "-c", bed.command]),
        "strace -p": lambda: grabbed(bed, with_strace, "attached"),
        "count -p": lambda: grabbed(bed, with_sonde(COUNT), "attached"),
        "sums -p": lambda: grabbed(bed, with_sonde(SUMS), "attached"),
    }


HEADING = ("", "untraced", "strace -c -f", "count -c", "sums -c", "count -p", "sums -p")


def row(workload: Workload, runs: int) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory() as directory:
        measures = ways(laid_out(workload, directory))
        values: dict[str, list[float]] = {name: [] for name in measures}
        for _ in range(runs):
            for name, measure in measures.items():
                values[name].append(measure())
    found = {name: median(each) for name, each in values.items()}
    return (
        workload.name,
        milliseconds(found["untraced"]),
        milliseconds(found["strace"]),
        *(ratio(found[name], found["strace"]) for name in ("count -c", "sums -c")),
        *(ratio(found[name], found["strace -p"]) for name in ("count -p", "sums -p")),
    )


def rows(names: Sequence[str], runs: int) -> Iterator[tuple[str, ...]]:
    for workload in WORKLOADS:
        if names and workload.name not in names:
            continue
        missing = [tool for tool in workload.needs if not has(tool)]
        if missing:
            print(f"{workload.name} is left out: no {', '.join(missing)}")
            continue
        print(f"{workload.name} ...", flush=True)
        yield row(workload, runs)


def starting(runs: int) -> Table:
    """Milliseconds of commands that do nothing, so of sonde's own start and end."""
    ways = {"`@[probefunc] = count()`": COUNT, "calls, errors, elapsed time": SUMS}
    values: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(runs):
        for name, text in ways.items():
            values[name].append(whole([*EMBEDDED, "-o", "/dev/null", "-n", text, "-c", "true"]))
    rows = [(name, milliseconds(min(each)), milliseconds(median(each))) for name, each in values.items()]
    text = "All system calls of `true`, from the start of sonde to its end, by the two programs of the table above."
    return Table("Start and end", text, ("", "least", "median"), rows)


TEXT = (
    "Whole commands: all calls counted by name, and strace's own table (calls, errors and elapsed time by name), as a "
    "ratio to `strace -c -f`, or to `strace -c -f -p` where a shell is attached to and then starts the command."
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Whole commands beside strace")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", action="append", choices=[each.name for each in WORKLOADS])
    parser.add_argument("--json")
    arguments = parser.parse_args()
    if not has("strace"):
        raise SystemExit("this is a comparison with strace, which is not installed")
    os.environ["LC_ALL"] = "C"
    table = Table("Whole commands beside strace", TEXT, HEADING, list(rows(arguments.only or (), arguments.runs)))
    show([table, starting(4 * arguments.runs + 1)], arguments.json)


if __name__ == "__main__":
    main()
