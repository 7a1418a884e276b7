"""Variables by name, through the compiler and both engines, against gdb's values at the same points."""

import pytest
from support.symbols.compiled_objects import compiled, needs_gcc, needs_gdb
from support.symbols.live_points import Subject, compared, in_lists, name_of

pytestmark = [needs_gcc, needs_gdb]
EVERY = 3
"""One of so many instructions is a point."""

CXX_FUNCTIONS = ("_ZNK4shop6Basket5totalEi", "main", "_ZN4shop7largestIiEET_S1_S1_")
PROGRAMS = {
    "c -O0": (("-O0",), "c", ("eight", "loop", "chained", "main")),
    "c -O2": (("-O2",), "c", ("eight", "loop", "chained", "main")),
    "c -O3": (("-O3",), "c", ("eight", "loop", "chained", "main")),
    "c++ -O0": (("-O0",), "c++", CXX_FUNCTIONS),
    "c++ -O2": (("-O2",), "c++", CXX_FUNCTIONS),
}
FEWEST = {"c -O0": (150, 0), "c -O2": (60, 50), "c -O3": (60, 40), "c++ -O0": (30, 0), "c++ -O2": (20, 15)}
"""Pairs of a point and a variable that a program must give, and how many of them in location lists or inlined."""


@pytest.mark.share(0, 2)
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
@pytest.mark.parametrize("which", PROGRAMS)
def test_values_are_those_that_gdb_prints(which, engine, tmp_path):
    flags, language, functions = PROGRAMS[which]
    subject = Subject(compiled(*flags, language=language))
    subject.add_functions(functions, EVERY)
    pairs, refused, errors = compared(subject, tmp_path, engine)
    assert not errors
    assert {each: pair for each, pair in pairs.items() if pair[0] != pair[1]} == {}
    fewest, fewest_in_lists = FEWEST[which]
    assert len({(address, name_of(path)) for address, path in pairs}) >= fewest
    assert len(in_lists(subject, pairs)) >= fewest_in_lists
    assert len(refused) <= 0.03 * (len(refused) + len(pairs)), refused
