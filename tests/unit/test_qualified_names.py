"""Functions and variables by the names that C++ and Rust have for them, whole or without what is on the left."""

import pytest
from support.symbols.compiled_objects import compiled, needs_gcc, needs_rust

from sonde.symbols.dwarf.attributes import name_of
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.information import open_information
from sonde.symbols.dwarf.names import components
from sonde.symbols.dwarf.points import Points

CXX = {
    "outer::inner::Derived::add": ["add"],
    "outer::Derived::add": ["add"],
    "Derived::add": ["add"],
    "add": ["add"],
    "_ZN5outer5inner7Derived3addERKS1_RiOi": ["add"],
    "outer::overloaded": ["overloaded", "overloaded"],
    "_ZN5outer10overloadedEi": ["overloaded"],
    "outer::larger": ["larger<int>", "larger<long int>"],
    "larger<long>": ["larger<long int>"],
    "larger<long int>": ["larger<long int>"],
    "Fixed::sum": ["sum", "sum"],
    "outer::Fixed<double,2>::sum": ["sum"],
    "outer::all<long, char>": ["all<long int, char>"],
    "(anonymous namespace)::anonymous": ["anonymous"],
    "outer::(anonymous namespace)::anonymous": ["anonymous"],
    "outer::anonymous": ["anonymous"],
    "other::add": [],
    "Base::add": [],
    "overloaded<int>": [],
    "outer::": [],
    "::": [],
    "": [],
}


@pytest.mark.share(1)
@needs_gcc
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_functions_of_cxx(level):
    information = open_information(compiled(level, language="c++ variables"))
    for name, expected in CXX.items():
        assert sorted(map(name_of, information.functions(name))) == expected, name


@pytest.mark.share(2)
@needs_gcc
@pytest.mark.parametrize("flags", [("-O0",), ("-O2", "-gdwarf-4"), ("-O2", "-gsplit-dwarf")], ids="_".join)
def test_variables_of_cxx(flags):
    points = Points(open_information(compiled(*flags, language="c++ variables")))
    for name in ("sink", "outer::Mixin::made", "Mixin::made", "outer::inner::Mixin::made", "made", "outer::hidden"):
        (found,) = points.globals_named(name)
        assert (found.fetches[0].kind, found.fetches[0].size) == ("memory", 8), name
    assert points.globals_named("other::made") == ()
    # One of a function belongs to it.
    assert points.globals_named("count") == ()


@pytest.mark.share(1)
@needs_rust
@pytest.mark.parametrize("level", [0, 2])
def test_functions_of_rust(level):
    points = Points(open_information(compiled("-C", f"opt-level={level}", language="rust variables")))
    for name, expected in {
        "variables::many": ["many"],
        "many": ["many"],
        "variables::generic": ["generic<i32>", "generic<i64>"],
        "generic<i64>": ["generic<i64>"],
        "Point::moved": ["moved"],
    }.items():
        assert sorted(name_of(each.function) for each in points.at_function(name)) == expected, name
    with pytest.raises(DebugInfoError, match="has no function other::many"):
        points.at_function("other::many")
    assert points.at_function("variables::closures::{closure#0}")


def test_parts_of_names():
    for name, expected in {
        "a::b": ["a", "b"],
        "a<b::c>::d": ["a<b::c>", "d"],
        "f<g<h::i>, j::k>": ["f<g<h::i>, j::k>"],
        "(anonymous namespace)::x": ["(anonymous namespace)", "x"],
        "a::operator<": ["a", "operator<"],
        "a::operator()": ["a", "operator()"],
        "a::{closure#0}": ["a", "{closure#0}"],
        "::a": ["a"],
    }.items():
        assert components(name) == expected, name
