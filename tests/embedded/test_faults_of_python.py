"""A fault of a probe in Python is told by its file, line and function: in events, in text, and of what was saved."""

import subprocess
import sys
from pathlib import Path

import pytest

import sonde
from sonde import cast, copyinstr, probe


def position(p):
    return cast("struct file *", p.arg0 - p.arg0 + 16).f_pos


def share(n):
    return (
        5
        // n
    )  # fmt: skip


@probe("BEGIN")
def follows(p):
    print(p.pid)
    print(position(p))


@probe("BEGIN")
def divides(p):
    nothing = p.arg0 - p.arg0
    print(share(nothing))


@probe("BEGIN")
def reads(p):
    if p.pid:
        print(copyinstr(5))


@probe("END")
def ends(p):
    print(7 // (p.arg0 - p.arg0))


FUNCTIONS = [follows, divides, reads, ends]
EXPECTED = [
    ("position", "invalid address", ".f_pos"), ("share", "divide-by-zero", "5"),
    ("reads", "invalid address", "copyinstr(5)"), ("ends", "divide-by-zero", "7 //"),
]  # fmt: skip


def places():
    """The file, line and function of each."""
    lines = Path(__file__).read_text().split("\n")
    for name, reason, text in EXPECTED:
        first = lines.index(next(line for line in lines if line.startswith(f"def {name}(")))
        line = next(number for number in range(first, len(lines)) if text in lines[number])
        yield __file__, line + 1, name, reason


@pytest.fixture(scope="module")
def script():
    return sonde.compile(FUNCTIONS, engine="embedded")


def test_events_have_the_place(script):
    with script.run(engine="embedded", duration=0.1) as run:
        found = [each for each in run if isinstance(each, sonde.ProbeError)]
    assert [(each.file, each.line, each.function, each.reason) for each in found] == [*places()]
    for each in found:
        assert each.text.startswith(f"error at {each.file}:{each.line} in {each.function} for probe ID ")
        assert "BPF pc" not in each.text


@pytest.mark.parametrize("words", [[], pytest.param(["-f", "json"], marks=pytest.mark.long)])
def test_saved_programs_and_recordings_know_it(script, tmp_path, words):
    script.save(tmp_path / "s")
    command = [sys.executable, "-m", "sonde", "--engine", "embedded", *words]
    run = [*command, "-q", "--raw", "r", "-c", "true", "--spec", "s"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    told = done.stdout if words else done.stderr
    assert done.returncode == 0
    for file, line, function, reason in places():
        assert f"error at {file}:{line} in {function} for probe ID" in told
        assert reason in told
        assert not words or f'"line":{line},"function":"{function}"' in told
    kept = [each for each in sonde.read(tmp_path / "r") if isinstance(each, sonde.ProbeError)]
    assert [(each.file, each.line, each.function, each.reason) for each in kept] == [*places()]


def test_programs_in_d_have_the_words_of_dtrace():
    with sonde.trace("BEGIN { trace(1 / (arg0 - arg0)); exit(0); }", engine="embedded", duration=0.1) as run:
        (found,) = [each for each in run if isinstance(each, sonde.ProbeError)]
    assert found.text.startswith("error in dt_clause_0 for probe ID")
    assert (found.file, found.line, found.function) == ("", 0, "")
