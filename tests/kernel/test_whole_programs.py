"""Whole programs, on both engines, against the evaluator of D's reference."""

import random
import re
import shlex
import sys

import pytest
from support.command.command import sonde
from support.d.whole_programs import program
from support.suite.example_counts import count_of

pytestmark = pytest.mark.examples

COUNT = 40
STRSIZE = 256

SCRIPT = """
import ctypes, queue, threading
libc = ctypes.CDLL(None)
libc.syscall.argtypes = [ctypes.c_long] * 4 + [ctypes.c_char_p]
waiting, done = queue.SimpleQueue(), queue.SimpleQueue()

def call(arguments, text):
    libc.syscall(121, *arguments, text)

def serve():
    while True:
        call(*waiting.get())
        done.put(None)

threading.Thread(target=serve, daemon=True).start()
for thread, *given in CALLS:
    if thread == "main":
        call(*given)
    else:
        waiting.put(given)
        done.get()
"""


def command(directory, calls):
    """The words for -c of a process that makes these calls of getpgid(), in this order."""
    script = directory / "calls.py"
    script.write_text(f"CALLS = {calls!r}\n{SCRIPT}")
    return shlex.join([sys.executable, "-S", "-E", str(script)])


def outcome(engine, text, words):
    done = sonde("--engine", engine, "-q", "-n", text, "-c", words)
    return done.stdout, done.stderr


ROW = re.compile(r"^ *((?:< |>= )?-?\d+) [@ ]*\|[@ ]*(-?\d+) *$")


def shown(output):
    """The lines that the clauses printed, and the rows of the aggregations: of histograms what is not 0."""
    lines, rows, faults = [], {}, 0
    for line in output.splitlines():
        if found := re.match(r"^(a\d+) (.*)$", line):
            name, rest = found.groups()
            key, _, value = rest.rpartition(" ")
            last = rows.setdefault((name, key.strip()), {} if not value.lstrip("-").isdigit() else int(value))
        elif found := ROW.match(line):
            if int(found[2]):
                last[found[1]] = int(found[2])
        elif line.startswith("faults "):
            faults = int(line.split()[1])
        elif line.strip() and "Distribution" not in line:
            lines.append(line)
    return lines, rows, faults


def expected(made):
    state = made.expected(STRSIZE)
    rows = {}
    for name, keys in state.aggregations.items():
        function, _ = made.aggregations[name]
        for key, values in keys.items():
            text = "".join(f"<{part.decode() if isinstance(part, bytes) else part}>" for part in key)
            rows[name, text] = function.shown(values)
    return state.lines, rows, state.faults


@pytest.mark.share(1, 12)
@pytest.mark.parametrize("seed", range(count_of(COUNT)))
def test_programs_do_what_the_reference_says(seed, tmp_path):
    made = program(random.Random(seed))
    words = command(tmp_path, made.calls)
    wanted = expected(made)
    for engine in ("kernel", "embedded"):
        output, messages = outcome(engine, made.text, words)
        if "drops" in messages:
            output, messages = outcome(engine, made.text, words)
        assert shown(output) == wanted, f"{engine}: {made.text}\n{made.calls}\n{output}\n{messages}"
