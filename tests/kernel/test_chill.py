"""chill() keeps a CPU busy for as long as it says, within half a second in each second, on both engines."""

import re

import pytest
from support.command.command import sonde

ENGINES = [[], ["-xengine=embedded", "-c", "true"]]


@pytest.mark.parametrize("engine", ENGINES, ids=["kernel", "embedded"])
def test_it_waits_as_long_as_it_says(engine):
    program = """
        BEGIN { self->t = timestamp; }
        BEGIN { chill(37000000); }
        BEGIN { printf("waited %d ms\\n", (timestamp - self->t) / 1000000); exit(0); }
    """
    done = sonde("-wqn", program, *engine)
    waited = int(re.search(r"waited (\d+) ms", done.stdout)[1])
    # A neighbour may keep the CPU for some time.
    assert 37 <= waited < 400


@pytest.mark.share(1)
@pytest.mark.parametrize("engine", ENGINES, ids=["kernel", "embedded"])
@pytest.mark.parametrize("time", ["500000001", "-1", "((hrtime_t)1 << 63) - 1"])
def test_what_is_too_long_is_a_fault_at_once(engine, time):
    program = f'BEGIN {{ chill({time}); }} ERROR {{ printf("fault %d\\n", arg4); exit(0); }}'
    done = sonde("-wqn", program, *engine)
    assert "fault 3\n" in done.stdout


@pytest.mark.long
def test_a_cpu_waits_half_a_second_in_each():
    """The third is refused within the second, and allowed in the next one."""
    program = """
        BEGIN { chill(230000000); chill(230000000); printf("two\\n"); }
        BEGIN { chill(230000000); printf("three\\n"); }
        ERROR { printf("fault %d\\n", arg4); }
        tick-1300ms { exit(0); }
        END { chill(1000); printf("again\\n"); }
    """
    done = sonde("-wqn", program)
    assert done.stdout.split() == ["two", "fault", "3", "again"]


def test_it_is_destructive():
    done = sonde("-qn", "BEGIN { chill(10); exit(0); }", status=1)
    assert "Destructive actions not allowed" in done.stderr
