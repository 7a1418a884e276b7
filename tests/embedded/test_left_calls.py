"""Functions left in all ways, on all kinds of stacks: the returns told are those that the program counts itself."""

import re

import pytest
from support.command.targets import program
from support.command.unprivileged import sonde
from support.places import PROGRAMS
from support.suite.example_counts import count_of

pytestmark = pytest.mark.examples

LEFT_CALLS = (PROGRAMS / "left_calls.cpp").read_text()
SEEDS = count_of(2)
FUNCTIONS = range(8)
PROBES = [f"pid$target:a.out:f{number}:{side}" for number in FUNCTIONS for side in ("entry", "return")]
TEXT = f"{', '.join(PROBES)} {{ @[probefunc, probename] = count(); }}"


@pytest.mark.share(1)
@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
def test_returns_are_those_that_the_program_counts(level, seed):
    """By return, longjmp and exceptions; in threads, in coroutines that other threads go on with, in handlers."""
    binary = program(LEFT_CALLS, level, "-lstdc++", language="c++")
    done = sonde("--engine", "embedded", "-qn", TEXT, "-c", f"{binary} {seed} {1 + seed % 3}")
    told = {
        (name, kind): int(count)
        for name, kind, count in re.findall(r"^ +(f\d) +(\w+) +(\d+)$", done.stdout, re.MULTILINE)
    }
    own = re.findall(r"^(f\d) (\d+) (\d+)$", done.stdout, re.MULTILINE)
    assert len(own) == len(FUNCTIONS)
    assert sum(int(returns) < int(entries) for _, entries, returns in own) == len(own), "all have been left"
    assert told == {
        key: count
        for name, entries, returns in own
        for key, count in (((name, "entry"), int(entries)), ((name, "return"), int(returns)))
    }
