"""Whether functions of Python get their shares of a profile, and what they cost.

    python bench/python_stacks.py [--most POINTS] [--seconds N] [--json FILE] [PYTHON ...]

Needs root. For each interpreter, /usr/bin/python3 and those of ~/.pyenv unless some are named: a program of 40
functions measures by its own clock what each takes, and is sampled meanwhile. The cost is that of a run of the BPF
program for each of the process's samples, with -xpython=yes and =no by turns, also of a program whose stacks have 25
calls between each two of C. The status is 1 if a function's share is more than POINTS from what it takes.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from common import SONDE, Table, environment, median, ratio, show
from cost import programs_of, statistics

CLAUSE = "profile-997 /pid == $target/ { @[ustack()] = count(); } tick-1s /++seconds == %d/ { exit(0); }"

SHARES = """
import json, sys, time
COUNT = 40
for number in range(COUNT):
    exec(f"def f{number}(n):\\n    x = 0\\n    for _ in range(n): x = x * 3 & 1048575\\n    return x")
functions = [globals()[f"f{number}"] for number in range(COUNT)]
def between(function, n):
    return function(n)
def main(seconds):
    spent, clock, end = [0] * COUNT, time.thread_time_ns, time.time() + seconds
    while time.time() < end:
        for number, function in enumerate(functions):
            start = clock()
            between(function, 200 * (number + 1))
            spent[number] += clock() - start
    print(json.dumps({f"f{number}": each / sum(spent) for number, each in enumerate(spent)}))
main(float(sys.argv[1]))
"""

DEEP = """
import sys, time
def recursing(n):
    return recursing(n - 1) if n else sum(range(300))
def key(n):
    return recursing(25)
end = time.time() + float(sys.argv[1])
while time.time() < end:
    sorted([1, 2, 3], key=key)
"""

_MORE = 6
"""Seconds that the program runs longer than it is sampled, as sonde begins late on a busy machine."""


def interpreters() -> list[str]:
    return ["/usr/bin/python3", *sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")))]


def sampled(python: str, program: Path, seconds: int, shows: str, to_its_end: bool = False) -> tuple[str, str, float]:
    """The table that is printed, what the program says at its end, and nanoseconds for each sample."""
    words = [python, program, str(seconds + _MORE)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child, statistics():
        time.sleep(0.5)
        options = ["-q", "-x", f"python={shows}", "-x", "aggsize=64m", "-p", str(child.pid)]
        # A file takes the output, since nobody would read a pipe while the cost is asked for.
        with tempfile.TemporaryFile("w+") as output:
            traced = subprocess.Popen([SONDE, *options, "-n", CLAUSE % seconds], stdout=output, env=environment())
            used = 0
            while traced.poll() is None:
                with suppress(OSError):
                    used = max(used, programs_of(traced.pid)[0])
                time.sleep(0.05)
            output.seek(0)
            text = output.read()
        if not to_its_end:
            child.kill()
        told = child.communicate()[0]
    samples = sum(int(block.split()[-1]) for block in blocks(text))
    return text, told, used / max(samples, 1)


def blocks(text: str) -> list[str]:
    return [each for each in re.split(r"\n\s*\n", text) if each.strip()]


def furthest(text: str, truth: dict[str, float]) -> tuple[int, float]:
    """How many samples there were, and by how many points a function's share is wrong at most."""
    counts: Counter[str] = Counter()
    for block in blocks(text):
        name = re.search(r"^ *__main__\.(\w+)", block, re.MULTILINE)
        counts[name[1] if name else ""] += int(block.split()[-1])
    total = sum(counts.values())
    of_functions = sum(counts[each] for each in truth)
    return total, max(100 * abs(counts[each] / max(of_functions, 1) - truth[each]) for each in truth)


def main() -> None:
    parser = argparse.ArgumentParser(description="Sample programs of Python")
    parser.add_argument("interpreters", nargs="*")
    parser.add_argument("--most", type=float, default=2, help="points that a share may be wrong")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--json", help="file for the tables, for report.py")
    arguments = parser.parse_args()
    rows, worst = [], 0.0
    with tempfile.TemporaryDirectory() as directory:
        shares, deep = Path(directory) / "shares.py", Path(directory) / "deep.py"
        shares.write_text(SHARES)
        deep.write_text(DEEP)
        for python in arguments.interpreters or interpreters():
            version = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
            if int(version.split(".")[1]) < 9:
                continue
            text, told, _ = sampled(python, shares, arguments.seconds, "yes", True)
            samples, wrong = furthest(text, json.loads(told))
            worst = max(worst, wrong)
            costs = []
            for program in (shares, deep):
                found: dict[str, list[float]] = {"yes": [], "no": []}
                for _ in range(3):
                    for shows, each in found.items():
                        each.append(sampled(python, program, 2, shows)[2])
                costs += [median(found["yes"]), median(found["no"])]
            rows.append((
                version, str(samples), f"{wrong:.2f}", *(f"{each / 1000:.1f} µs" for each in costs[:2]),
                ratio(costs[0], costs[1]), *(f"{each / 1000:.1f} µs" for each in costs[2:]),
                ratio(costs[2], costs[3]),
            ))  # fmt: skip
    text = (
        f"`{CLAUSE % arguments.seconds}` over a program of 40 functions. *Points*: by how many a function's share is "
        "wrong at most. *Cost*: of the BPF program for each sample, those of other processes included, with functions "
        "of Python and with `-xpython=no`; *deep* with 25 calls of Python between each two of C."
    )
    heads = ("Python", "samples", "points", "cost", "without", "to that", "deep", "without", "to that")
    show([Table("Functions of Python", text, heads, rows)], arguments.json)
    sys.exit(worst > arguments.most)


if __name__ == "__main__":
    main()
