"""An index out of bounds is a fault, or refused, wherever it becomes a constant; nothing beside the array changes."""

import random
import re

import pytest
from support.command.command import sonde
from support.d.array_programs import early, program
from support.machine.access import needs

pytestmark = needs("CAP_BPF", "CAP_PERFMON")

ENGINES = ("kernel", "embedded")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_random_programs_stay_within_their_arrays(seed):
    """Both engines print what the model says, and report each index outside in the order of the clauses."""
    text, lines, faults = program(random.Random(seed), 60)
    for engine in ENGINES:
        done = sonde("--engine", engine, "-qn", text)
        assert done.stdout.rstrip().splitlines() == lines
        found = re.findall(r"(?:index out of bounds \((-?\d+)\)|(invalid address))", done.stderr)
        assert len(found) == len(faults), done.stderr
        for (index, address), (name, wanted) in zip(found, faults, strict=True):
            assert bool(address) == (name == "scratch"), done.stderr
            assert address or int(index) & (1 << 64) - 1 == wanted & (1 << 64) - 1


@pytest.mark.share(1)
@pytest.mark.parametrize("seed", range(12))
def test_what_the_checker_folds_is_refused(seed):
    chance = random.Random(seed)
    index = early(chance, chance.choice((-1, 5, 6, 1 << 20)))
    place = chance.choice(("g[{}]", "s.m[{}]", "self->a[{}]", "this->a[{}]", "e[1].m[{}]")).format(index)
    declared = "int g[5]; struct r { int m[5]; }; struct r s; struct r e[int]; self int a[5]; this int a[5];"
    done = sonde("-n", f"{declared} BEGIN {{ {place} = 1; }}", status=1)
    assert "index outside array bounds" in done.stderr


LATE = {
    'trace(1 / strlen(""));': "divide-by-zero",
    'trace(1 % strlen(""));': "divide-by-zero",
    f'trace((long)alloca(strlen("{"s" * 200}") * 2));': "out of scratch space",
    'trace((long)alloca(strlen("") - 1));': "out of scratch space",
    f'copyin(0x1000, strlen("{"s" * 200}") * 2);': "out of scratch space",
    'this->p = alloca(8); bcopy("abcdefghijkl", this->p, strlen("abcdefghi"));': "invalid size",
    'this->p = (char *)alloca(8); trace(this->p[strlen("abcdefgh")]);': "invalid address",
    'this->p = (long *)alloca(16); *(this->p + strlen("ab")) = 1;': "invalid address",
}
"""Statements with an operand that is a constant only while code is generated, and the fault."""


@pytest.mark.share(1)
@pytest.mark.parametrize("statement", LATE)
@pytest.mark.parametrize("engine", ENGINES)
def test_other_checks_of_late_constants(engine, statement):
    done = sonde("--engine", engine, "-qn", f"BEGIN {{ {statement} }} BEGIN {{ trace(9); exit(0); }}")
    assert LATE[statement] in done.stderr
    assert done.stdout.split() == ["9"]
