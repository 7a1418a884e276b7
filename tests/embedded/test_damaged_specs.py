"""Spec files of which any value is another one: refused in words, or run to their end, and no traceback.

A longer run: SONDE_EXAMPLES=5000 pytest tests/embedded/test_damaged_specs.py
"""

import copy
import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

import pytest
from support.suite.example_counts import count_of

from sonde.cli.main import main
from sonde.model.specfile import signed

pytestmark = pytest.mark.examples

SONDE = str(Path(sys.executable).parent / "sonde")
PROGRAM = """
    #pragma D option nspec=2
    struct shown { int a[3]; struct { short s; char c[4]; } i[2]; string t; enum { ONE = 1 } e; } o;
    BEGIN { o.a[1] = 7; o.t = "text"; print(o); printf("%d %-10.3s|%*d %Y\\n", pid, "abc", 7, 3, walltimestamp); }
    BEGIN { @["k", 1] = sum(2); @q = quantize(9); @l[1] = lquantize(4, 0, 9, 2); @u[ustack()] = count(); printa(@q); }
    BEGIN { self->s = speculation(); speculate(self->s); trace(timestamp); } BEGIN { commit(self->s); a[1, "x"] = 3; }
    BEGIN { setopt("quiet"); tracemem(o.a, 12); trunc(@l, 1); clear(@q); x = *(int *)0; } ERROR { printf("fault"); }
    tick-1s { exit(1); } BEGIN { exit(3); } END { printf("end %d\\n", a[1, "x"]); printa(@); }
"""
VALUES = (0, 1, -1, 7, 255, 1 << 31, (1 << 64) - 1, 1 << 80, 1.5, "", "s", "x" * 300, "00" * 8, None, True, [], {},
          [[]], "../../../etc", "state", "counters", "ring")  # fmt: skip
SECONDS = 8

CRASHED = 99
"""The status of a child that ends with a traceback."""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("spec") / "program.spec"
    subprocess.run([SONDE, "--engine", "embedded", "--save", path, "-qn", PROGRAM], check=True, capture_output=True)
    return json.loads(path.read_text())


def places(data, path=()):
    """The ways to all values, those of lists and objects too."""
    for name in data if isinstance(data, dict) else range(len(data)):
        yield (*path, name)
        if isinstance(data[name], (dict, list)):
            yield from places(data[name], (*path, name))


def changed(data, chance, ways):
    """One or two values replaced, by another of the file or of any kind, or taken away."""
    made = copy.deepcopy(data)
    for _ in range(chance.randint(1, 2)):
        way = chance.choice(ways)
        holder = made
        try:
            for name in way[:-1]:
                holder = holder[name]
            if chance.random() < 0.1:
                del holder[way[-1]]
            elif isinstance(holder[way[-1]], int) and chance.random() < 0.5:
                holder[way[-1]] += chance.choice((-1, 1, 8, -8, 1 << 20))
            else:
                holder[way[-1]] = copy.deepcopy(chance.choice(VALUES))
        except (KeyError, IndexError, TypeError):
            continue
    return made


def ways_of(data):
    """Of code there are so many words that hardly anything else would be changed."""
    found = list(places(data["spec"], ("spec",)))
    code = [each for each in found if "code" in each]
    return [each for each in found if "code" not in each] * 4 + code[:: max(len(code) // 300, 1)]


def ended(words):
    """The status of the command in a child, and the seconds of CPU that it took. Whoever waits is interrupted as by a
    user: a second later, and every other that it has not taken any notice."""
    pid = os.fork()
    if pid == 0:
        status = CRASHED
        try:
            status = main(words)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status & 0xFF)
    interrupted = time.monotonic() + 1
    while not (found := os.wait4(pid, os.WNOHANG))[0]:
        time.sleep(0.005)
        if time.monotonic() >= interrupted:
            os.kill(pid, signal.SIGINT)
            interrupted += 1
    return os.waitstatus_to_exitcode(found[1]), found[2].ru_utime + found[2].ru_stime


@pytest.mark.long
def test_any_value_may_be_wrong(saved, tmp_path, capfd):
    chance, ways = random.Random(3), ways_of(saved)
    refused = 0
    for number in range(count_of(75)):
        path = tmp_path / "changed.spec"
        path.write_text(json.dumps(signed(changed(saved, chance, ways))))
        capfd.readouterr()
        status, taken = ended([SONDE, "--engine", "embedded", "-q", "--spec", str(path)])
        messages = capfd.readouterr().err
        assert status != CRASHED, (number, messages)
        assert taken < SECONDS, number
        complaints = [line for line in messages.splitlines() if line.startswith("sonde: ")]
        refused += status == 1 and bool(complaints)
    assert refused > count_of(75) / 4


@pytest.mark.long
def test_the_file_itself_runs(saved, tmp_path):
    (tmp_path / "same.spec").write_text(json.dumps(signed(saved)))
    done = subprocess.run([SONDE, "-q", "--spec", tmp_path / "same.spec"], capture_output=True, text=True, check=False)
    assert (done.returncode, "end 3" in done.stdout) == (3, True), done.stderr
