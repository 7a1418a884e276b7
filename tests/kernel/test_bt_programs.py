"""Random programs of bpftrace's language print the same on both engines, and what an evaluator in Python makes of them.

`tools/bt_programs.py agree --count N` tries N of them.
"""

import pytest
from support.bpftrace.bt_programs import made, shown
from support.command.command import sonde

FIRST, COUNT = 4000, 13


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_random_programs_print_what_the_evaluator_does(engine):
    programs = made(FIRST, COUNT)
    assert len(programs.lines) > 3 * COUNT
    done = sonde("bt", "-q", "--engine", engine, "-e", programs.text, "-c", "true")
    assert shown(done.stdout) == (programs.lines, programs.maps)
