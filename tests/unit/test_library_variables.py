"""Points, variables and structures of programs as values; `tests/unit/test_vars_command.py` has them as text."""

import pickle
import re

import pytest
from support.symbols.compiled_objects import C_SOURCE, compiled, needs_gcc

import sonde

pytestmark = needs_gcc

FLAGS = [("-O0",), ("-O2",)]
FUNCTIONS = ["eight", "loop", "twice", "chained", "main"]


def line_of(text):
    return f"program.c@{C_SOURCE[: C_SOURCE.index(text)].count(chr(10)) + 1}"


def within(inner, outer):
    return all(any(low <= start and end <= high for low, high in outer) for start, end in inner)


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("place", [*FUNCTIONS, line_of("    sink += doubled"), line_of("        int square")])
def test_points_are_whole_and_consistent(flags, place):
    """What is said of each variable agrees with what is said of the point and of its ranges."""
    found = sonde.points(compiled(*flags), place)
    for point in found:
        assert point.start <= point.address
        assert point.functions
        assert {each.address for each in (*point.variables, *point.others)} <= {point.address}
        assert {each.state for each in point.others} <= {"elsewhere"}
        for each in point.variables:
            assert each.state in ("here", "in parts", "not here")
            assert bool(each.reason) == (each.state == "not here")
        for each in (*point.variables, *point.others):
            assert within(each.live, each.scope)
            assert all(low < high for low, high in each.live)
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize("flags", FLAGS)
def test_variables_are_those_of_all_points(flags):
    for place in ("loop", line_of("    sink += doubled")):
        points = sonde.points(compiled(*flags), place)
        assert sonde.variables(compiled(*flags), place) == tuple(each for point in points for each in point.variables)


def test_a_variable_that_is_here_is_live_at_the_address():
    place = line_of("        total += square")
    for point in sonde.points(compiled("-O2"), place):
        for each in point.variables:
            covers = any(low <= point.address < high for low, high in each.live)
            assert covers or each.state == "not here", each


def test_without_optimisation_all_live_in_all_of_their_scope():
    (point,) = sonde.points(compiled("-O0"), "loop")
    named = {each.name: each for each in point.variables}
    assert {name: each.is_parameter for name, each in named.items()} == {
        "request": True,
        "count": True,
        "total": False,
    }
    assert {each.name for each in point.others} == {"i", "square", "total"}
    assert all(each.live == each.scope for each in (*point.variables, *point.others))


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("place", ["eight", "loop", "main", line_of("        int square")])
def test_a_structure_belongs_to_each_point(flags, place):
    found = sonde.structures(compiled(*flags), place)
    points = sonde.points(compiled(*flags), place)
    assert [each[:2] for each in found] == [each[:2] for each in points]
    assert [each.functions for each in found] == [each.functions for each in points]
    for structure, point in zip(found, points, strict=True):
        gone = {each.name for each in point.variables if each.state == "not here"}
        assert gone <= set(re.findall(r"/\* (\w+): ", structure.declaration))


def test_declarations_are_of_the_chosen_variables_alone():
    (text,) = sonde.declarations(compiled("-O0"), "loop", ["count", "request->at.y"])
    assert text == "struct variables_of_loop {\n    int count;\n    int request_at_y;\n};\n"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda path: sonde.points(path, "program.c@x"), "is no function and no FILE@LINE"),
        (lambda path: sonde.points(path, "@3"), "is no function and no FILE@LINE"),
        (lambda path: sonde.variables(path, "nothing"), "has no function nothing"),
        (lambda path: sonde.structures(path, "other.c@1"), "has no source file other.c"),
        (lambda path: sonde.points(path + "x", "main"), "No such file or directory"),
        (lambda path: sonde.declarations(path, "loop", ["nothing"]), "loop has no variable nothing"),
        (lambda path: sonde.declarations(path, "a;b=c", ["d"]), "a;b=c is no place"),
        (lambda path: sonde.declarations(path, "loop", ["a;b=c"]), "a;b=c is no variable"),
        (lambda path: sonde.kernel_function("a;b=c"), "a;b=c is no place"),
        (lambda path: sonde.kernel_function(""), "names no function"),
    ],
)  # fmt: skip
def test_mistakes_are_errors(call, said):
    with pytest.raises(sonde.Error, match=re.escape(said)):
        call(compiled("-O0"))
