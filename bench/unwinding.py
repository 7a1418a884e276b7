"""Whether user stacks of programs as a distribution ships them are whole, and what they cost, by tables and by frame
pointers.

    python bench/unwinding.py [--least PERCENT] [--runs N] [--json FILE] [PROGRAM ...]

Needs root. Each program (python3, git, gcc, redis, nginx with ab: those that are installed) is sampled with
-xunwind=auto and -xunwind=frames, each time as if it were the first. A stack reaches its bottom if its last address is
at an object's entry, or in code of which the object's own tables say that it has no caller (readelf prints them):
`_start`, or where threads begin. The status is 1 if fewer than PERCENT of the stacks that `ustackframes` does not cut
do so by tables.
"""

from __future__ import annotations

import argparse
import glob
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from common import HERE, SONDE, Table, Usage, environment, median, milliseconds, ratio, show, timed
from cost import programs_of, statistics

FRAMES = 100
"""The default of ustackframes."""

WAYS = ("auto", "frames")
CLAUSE = "profile-997 /progenyof($target)/ { @[ustack()] = count(); }"

PYTHON = """
import json, random, re, zlib
random.seed(1)
for turn in range(60):
    data = {str(n): [random.random() for _ in range(30)] for n in range(300)}
    text = json.dumps(data, indent=1)
    assert json.loads(text) == data
    sorted(re.findall(r"[0-9]+\\\\.[0-9]+", text), key=float)
    zlib.compress(text.encode())
"""

SERVER = """
server=$(mktemp -d)/redis-server; ln -s "$(command -v redis-check-rdb)" "$server"
"$server" --port 0 --unixsocket "$server.sock" --save "" --daemonize no >/dev/null & pid=$!
until [ -S "$server.sock" ]; do sleep 0.05; done
redis-benchmark -s "$server.sock" -n 40000 -q -t set,get,lpush,sort,zadd >/dev/null; kill $pid; wait $pid
rm -r "$(dirname "$server")"
"""

NGINX = """
place=$(mktemp -d); mkdir "$place/www"; seq 2000 >"$place/www/index.html"
printf 'daemon off; worker_processes 1; pid %s/pid; error_log %s/errors;
events { } http { access_log off; client_body_temp_path %s; proxy_temp_path %s; fastcgi_temp_path %s;
uwsgi_temp_path %s; scgi_temp_path %s; gzip on; gzip_types text/plain text/html;
server { listen 127.0.0.1:PORT; root %s/www; } }' $(yes "$place" | head -8) >"$place/conf"
nginx -c "$place/conf" -e "$place/errors" & pid=$!
until [ -s "$place/pid" ]; do sleep 0.05; done
ab -q -c 4 -n 20000 -H 'Accept-Encoding: gzip' http://127.0.0.1:PORT/ >/dev/null; kill $pid; wait $pid
rm -r "$place"
"""

PATHS = ("/usr/sbin", "/usr/bin", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib/git-core", "/usr/lib/gcc/**")
_RANGE = re.compile(r"^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)")
_ENTRY = re.compile(r"Entry point address: *0x([0-9a-f]+)")
_START = 64
"""Bytes of code at a program's entry, which the dynamic linker's has no table for."""


class Sampled(NamedTuple):
    """How many stacks there were, were cut at ustackframes, reached their bottoms, and were walked before a table was
    there; nanoseconds for each; and the commonest ends of the others."""

    stacks: int
    cut: int
    whole: int
    early: int
    cost: float
    ends: tuple[str, ...]


def commands(directory: str) -> Iterator[tuple[str, str]]:
    """The programs that are there, and shell commands that keep them busy for some seconds."""
    if shutil.which("/usr/bin/python3"):
        script = Path(directory) / "work.py"
        script.write_text(PYTHON)
        yield "python3", f"/usr/bin/python3 {script}"
    if shutil.which("git"):
        repository = Path(directory) / "repository"
        made = f"git init -q {repository} && cd {repository} && git config user.email a@b && git config user.name a"
        made += f" && cp -r {HERE.parent}/src . && git add . && git commit -qm all"
        made += " && for n in $(seq 20); do echo $n >> src/sonde/cli/main.py; git commit -qam $n; done"
        subprocess.run(["sh", "-c", made], check=True)
        yield "git", f"cd {repository} && for n in $(seq 12); do git log -p --stat >/dev/null; git gc -q; done"
    if shutil.which("gcc"):
        source = Path(directory) / "work.c"
        source.write_text("".join(
            f"double f{n}(double x, int n) {{ double s = 0; for (int i = 0; i < n; i++) {{ s += x * i * {n};"
            f" switch (i % 7) {{ case 0: s += 1; break; case 3: s *= 1.5; break; case 5: s -= n; }} }} return s; }}\n"
            for n in range(500)
        ))  # fmt: skip
        yield "gcc", f"gcc -O2 -c -o {directory}/work.o {source}"
    if shutil.which("redis-check-rdb") and shutil.which("redis-benchmark"):
        yield "redis", SERVER
    if shutil.which("nginx") and shutil.which("ab"):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = str(free.getsockname()[1])
        yield "nginx", NGINX.replace("PORT", port)


def sampled(script: str, way: str, bottoms: Bottoms) -> Sampled:
    words = [
        SONDE,
        "-q",
        "-x",
        f"unwind={way}",
        "-x",
        "python=no",
        "-x",
        "noresolve",
        "-x",
        "aggsize=64m",
        "-n",
        CLAUSE,
    ]
    with (
        tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors, statistics(),
        tempfile.TemporaryDirectory() as directory,
    ):  # fmt: skip
        kept = {"XDG_CACHE_HOME": directory}
        child = subprocess.Popen(
            [*words, "-c", f"sh {script}"], stdout=output, stderr=errors, env={**environment(), **kept}
        )
        used = 0
        while child.poll() is None:
            used = max(used, programs_of(child.pid)[0]) if Path(f"/proc/{child.pid}/fdinfo").exists() else used
            time.sleep(0.05)
        output.seek(0)
        errors.seek(0)
        text, told = output.read(), errors.read()
    if child.returncode:
        raise SystemExit(f"{' '.join(words)}: status {child.returncode}\n{told}")
    early = re.search(r"(\d+) shortened stacks?", told)
    stacks, cut, whole = 0, 0, 0
    ends: dict[str, int] = {}
    for block in filter(str.strip, re.split(r"\n\s*\n", text)):
        *frames, count = block.split()
        number = int(count)
        stacks += number
        if len(frames) >= FRAMES:
            cut += number
        elif frames and bottoms.has(frames[-1]):
            whole += number
        else:
            end = frames[-1] if frames else "(no frame)"
            ends[end] = ends.get(end, 0) + number
    common = sorted(ends, key=lambda end: -ends[end])[:5]
    return Sampled(stacks, cut, whole, int(early[1]) if early else 0, used / max(stacks, 1),
                   tuple(f"{end} {ends[end]}" for end in common))  # fmt: skip


class Bottoms:
    """The code of each object that has no caller, by link-time addresses."""

    def __init__(self) -> None:
        self._known: dict[str, list[tuple[int, int]]] = {}

    def has(self, frame: str) -> bool:
        """A frame as it is shown without names: object:0xaddress."""
        name, _, address = frame.rpartition(":")
        if not name:
            return False
        if name not in self._known:
            self._known[name] = list(_bottoms(name))
        return any(start < int(address, 16) <= end for start, end in self._known[name])


def _bottoms(name: str) -> Iterator[tuple[int, int]]:
    paths = [path for each in PATHS for path in glob.glob(f"{each}/{glob.escape(name)}", recursive=True)]
    if not paths:
        return
    words = ["readelf", "-h", "--debug-dump=frames", paths[0]]
    shown = subprocess.run(words, capture_output=True, text=True, check=False)
    if at := _ENTRY.search(shown.stdout):
        yield int(at[1], 16), int(at[1], 16) + _START
    found = None
    for line in shown.stdout.splitlines():
        if at := _RANGE.match(line):
            found = int(at[1], 16), int(at[2], 16)
        elif "DW_CFA_undefined: r16" in line and found:
            yield found


def share(found: Sampled) -> float:
    return 100 * found.whole / max(found.stacks - found.cut, 1)


def start_up(runs: int) -> Table:
    """From the command's start to its end, where stacks of all processes are wanted."""
    program = "BEGIN { exit(0); } profile-97 { @[ustack()] = count(); }"
    used: dict[str, list[Usage]] = {way: [] for way in WAYS}
    for _ in range(runs):
        for way, found in used.items():
            found.append(timed([SONDE, "-q", "-x", f"unwind={way}", "-n", program]))
    walls = {way: median([each.wall for each in found]) for way, found in used.items()}
    cpus = {way: median([each.cpu for each in found]) for way, found in used.items()}
    rows = [
        (way, milliseconds(walls[way]), ratio(walls[way], walls["frames"]), milliseconds(cpus[way]),
         ratio(cpus[way], cpus["frames"])) for way in WAYS
    ]  # fmt: skip
    text = f"`{program}`: from the command's start to its end."
    return Table("Start-up with user stacks", text, ("unwind", "wall", "to frames", "CPU", "to frames"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description="Count the user stacks that are whole")
    parser.add_argument("programs", nargs="*", help="only these: python3, git, gcc, redis, nginx")
    parser.add_argument("--least", type=float, default=0, help="status 1 below so many per cent")
    parser.add_argument("--runs", type=int, default=11, help="runs at start-up")
    parser.add_argument("--json", help="file for the tables, for report.py")
    arguments = parser.parse_args()
    bottoms, rows, least = Bottoms(), [], 100.0
    with tempfile.TemporaryDirectory() as directory:
        for name, command in commands(directory):
            if arguments.programs and name not in arguments.programs:
                continue
            script = Path(directory) / f"{name}.sh"
            script.write_text(command)
            by_way = {way: sampled(str(script), way, bottoms) for way in WAYS}
            for way, found in by_way.items():
                rows.append((name, way, str(found.stacks), str(found.cut), f"{share(found):.1f} %",
                             str(found.early), f"{found.cost / 1000:.1f} µs"))  # fmt: skip
            least = min(least, share(by_way["auto"]))
            if found := by_way["auto"].ends:
                print(f"{name}: other ends: {', '.join(found)}", file=sys.stderr)
    text = (
        f"`{CLAUSE}` with `-c` and a command that keeps the program busy for some seconds, every one as the "
        "distribution ships it. *At the bottom*: of the stacks that `ustackframes` does not cut, those that reach an "
        "object's entry, or code of which its own tables say that it has no caller. *Early* were those walked before "
        "a table was there. *Cost*: of the BPF program for each stack, samples of other processes included. No table "
        "had been kept by an earlier run."
    )
    heading = ("program", "unwind", "stacks", "cut", "at the bottom", "early", "cost")
    tables = [Table("User stacks by tables and by frame pointers", text, heading, rows)]
    show([*tables, *([] if arguments.programs else [start_up(arguments.runs)])], arguments.json)
    sys.exit(least < arguments.least)


if __name__ == "__main__":
    main()
