#!/usr/bin/env python3
"""Kill sonde at random moments while it writes data: what is on the disk is readable, and has all up to its last row.

    killed_tables.py [RUNS [SEED]]

Each run counts the calls of one thread, `n++`, into a file of lines of JSON, a stream, a stream of a program of
bpftrace's language, a folder of parts, or one Parquet file; that ends by SIGINT, the others by SIGKILL. Then readers of
other projects read it: the numbers are 0, 1, 2 ... without a gap, whatever is missing at the end; what was ended by
SIGINT has its last row, `exit`.
Needs pyarrow and polars. The status is 1 if any of that is not so.
"""

import json
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parent.parent
ENGINES = ["embedded", "kernel"] if not os.geteuid() else ["embedded"]
PROGRAM = 'syscall::getpgid:entry /pid == $target/ { printf("%d %s\\n", n++, probefunc); }'
BPFTRACE = 'tracepoint:syscalls:sys_enter_getpgid /pid == cpid/ { printf("%d %s\\n", @n++, comm); }'
LOAD = """
import os, time
end = time.monotonic() + 4
while time.monotonic() < end:
    for _ in range(300):
        os.getpgid(0)
    time.sleep(0.005)
"""
WAYS = {
    "parts": ("trace.parquet", ("-x", "parquet=parts"), signal.SIGKILL),
    "stream": ("trace.arrow", (), signal.SIGKILL),
    "bpftrace": ("trace.arrow", (), signal.SIGKILL),
    "lines": ("lines", ("-f", "json"), signal.SIGKILL),
    "file": ("trace.parquet", (), signal.SIGINT),
}
START = "import sys; from sonde.cli.start import main; sys.exit(main())"
PATIENCE = 20
LONGEST = 2.5
"""Seconds after the beginning in which the end comes."""


def lines(path):
    """The numbers in the lines that are whole, and the events."""
    found = [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
    return [each["values"]["n++"] for each in found if each["type"] == "record"], [each["type"] for each in found]


def stream(path):
    table = pa.ipc.open_stream(path).read_all()
    assert polars.read_ipc_stream(path).height == table.num_rows
    return columns(table)


def parts(path):
    names = sorted(path.glob("part-*.parquet"))
    assert len([*path.iterdir()]) <= len(names) + 1, "more than the open part is not whole"
    if not names:
        return [], []
    table = pq.read_table(path)
    assert polars.read_parquet(path / "*.parquet").height == table.num_rows
    return columns(table)


def file(path):
    table = pq.read_table(path)
    assert polars.read_parquet(path).height == table.num_rows
    return columns(table)


def columns(table):
    name = "n++" if "n++" in table.column_names else "@n++"
    return table.column(name).drop_null().to_pylist(), table.column("event").to_pylist()


READ = {"lines": lines, "stream": stream, "bpftrace": stream, "parts": parts, "file": file}


def is_begun(way, path):
    """Whether sonde is tracing."""
    return path.exists() and (way == "file" or path.stat().st_size > 0)


def run(way, engine, moment, folder):
    """Trace until that moment, in seconds after the beginning, and end it; how many numbers were found. Raises
    AssertionError, and whatever a reader raises."""
    name, words, how = WAYS[way]
    path = Path(folder) / name
    language, program = (("bt",), ("-e", BPFTRACE)) if way == "bpftrace" else ((), ("-n", PROGRAM))
    command = [
        sys.executable, "-c", START, *language, "-q", "--engine", engine, "-o", str(path), *words, *program,
        "-c", shlex.join((sys.executable, "-c", LOAD)),
    ]  # fmt: skip
    done = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": f"{ROOT}/src"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + PATIENCE
    while not is_begun(way, path) and done.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(moment)
    done.send_signal(how)
    told = done.communicate(timeout=PATIENCE)[1].decode()
    expected = (-how,) if how == signal.SIGKILL else (0, -how)
    assert done.returncode in expected, f"status {done.returncode}: {told}"
    numbers, events = READ[way](path)
    assert numbers == [*range(len(numbers))], "there is a gap"
    assert how == signal.SIGKILL or events[-1] == "exit", "the last row is missing"
    assert not {*events} - {"record", "exit"}, f"there are { ({*events}) }"
    return len(numbers)


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(10**6)
    pick = random.Random(seed)
    failures, found = 0, dict.fromkeys(WAYS, 0)
    for number in range(runs):
        way, engine = [*WAYS][number % len(WAYS)], pick.choice(ENGINES)
        moment = pick.uniform(0, LONGEST)
        with tempfile.TemporaryDirectory() as folder:
            try:
                found[way] += run(way, engine, moment, folder)
            except Exception as error:  # of readers, too
                failures += 1
                print(f"{way}, {engine}, after {moment:.3f} s: {type(error).__name__}: {error}")
    shown = ", ".join(f"{count:,} in {way}" for way, count in found.items())
    print(f"{runs} runs, seed {seed}: {failures} failures; records: {shown}")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
