#!/usr/bin/env python3
"""Count the calls of one function by many threads, on the embedded engine. `called_functions.py [CALLS [SEED]]`.

CALLS calls in all (a million), by 8 threads at once: alone; while threads start and end; while processes are forked;
with a signal each millisecond; with all of that. Each time entries and returns are counted exactly, and the program
prints what it prints alone. The seed chooses how often threads and children are made. The status is 1 if anything
differs.
"""

import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src")]

THREADS = 8
PROGRAM = "{0}:step:entry, {0}:step:return {{ @[probename] = count(); }}"


def ways(pick, calls):
    """Name, the words behind the number of threads, and whether what is forked is traced."""
    each = calls // THREADS
    often, rarely = max(each // pick.randrange(40, 60), 1), max(each // pick.randrange(10, 20), 1)
    yield "threads", (each, 0, 0, 0), False
    yield "threads that start and end", (each, 0, often, 0), False
    yield "forks", (each, rarely, 0, 0), False
    yield "a signal each millisecond", (each, 0, 0, 1), False
    yield "all of it", (each // 4, rarely, often, 1), True


def expected(words, follows):
    """How often step() is called, as tests/programs/called.c says."""
    each, forks, brief, _ = words
    threads = bool(brief) and -(-each // brief)
    children = bool(forks) and -(-each // forks)
    return THREADS * (each + threads + follows * 10 * children)


def run(binary, words, follows):
    """What is wrong, "" if nothing is."""
    command = [str(binary), str(THREADS), *map(str, words)]
    plain = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    text = PROGRAM.format(f"uprobe:{binary}" if follows else "pid$target:a.out")
    start = "import sys; from sonde.cli.main import main; sys.exit(main())"
    sonde = [sys.executable, "-c", start, "--engine", "embedded", "-q", "-n", text, "-c", " ".join(command)]
    done = subprocess.run(
        sonde, capture_output=True, text=True, env={"PYTHONPATH": f"{ROOT}/src", "PATH": "/usr/bin:/bin"}
    )
    counts = dict(re.findall(r"^ +(entry|return) +(\d+)$", done.stdout, re.MULTILINE))
    wanted = dict.fromkeys(("entry", "return"), str(expected(words, follows)))
    if counts != wanted:
        return f"{counts}, not {wanted}: {done.stderr}"
    return "" if plain.stdout in done.stdout else f"it printed {done.stdout!r}, not {plain.stdout!r}"


def main():
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder) / "called"
        source = ROOT / "tests" / "embedded" / "called.c"
        subprocess.run(["gcc", "-O1", "-o", binary, source, "-pthread"], check=True)
        for name, words, follows in ways(random.Random(seed), calls):
            start = time.monotonic()
            problem = run(binary, words, follows)
            failed += bool(problem)
            print(
                f"{name}: {expected(words, follows)} calls, {time.monotonic() - start:.0f} s: {problem or 'exact'}",
                flush=True,
            )
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
