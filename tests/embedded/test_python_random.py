"""Random functions give in a probe what Python gives for them with numbers that wrap around at 64 bits."""

import importlib.util

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.python.python_programs import EDGES, HELPERS, Expressions, Functions, SmallFunctions, evaluated
from support.suite.example_counts import count_of

import sonde

pytestmark = pytest.mark.examples

EXAMPLES = count_of(3)
"""Each has several functions, each with several arguments."""

PROBES = """

from sonde import i8, i16, i32, i64, probe, thread, u8, u16, u32, u64


def asking(function, first, second, third):
    @probe("BEGIN")
    def asked(p):
        thread.a = first
        thread.b = second
        thread.c = third
        print(function(thread.a, thread.b, thread.c))

    return asked


def asking_unsigned(function, first, second, third):
    @probe("BEGIN")
    def asked(p):
        # Unsigned, though the program does not say that they are to stay so.
        thread.d = u64(first) + 0
        thread.e = u64(second) + 0
        thread.f = third
        print(function(thread.d, thread.e, thread.f))

    return asked


@probe("BEGIN")
def done():
    exit(0)
"""

NUMBERS = st.one_of(st.sampled_from(EDGES), st.integers(-(2**63), 2**63 - 1), st.integers(-20, 20))
ARGUMENTS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=3, max_size=3)


def given_by_probes(directory, source, names, arguments, asking):
    """The results of each function for each of the arguments."""
    path = directory / "random_functions.py"
    path.write_text(HELPERS + source + PROBES)
    spec = importlib.util.spec_from_file_location("random_functions", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    probes = [getattr(module, asking)(getattr(module, name), *each) for name in names for each in arguments]
    with sonde.run(*probes, module.done, engine="embedded") as run:
        events = [*run]
    assert not [each for each in events if isinstance(each, (sonde.ProbeError, sonde.Loss))]
    return [event[0] for event in events if isinstance(event, sonde.Record)]


def require_equal(directory, source, names, arguments, asking="asking"):
    expected = [evaluated(source, name, each) for name in names for each in arguments]
    found = given_by_probes(directory, source, names, arguments, asking)
    wrong = [
        (name, each, one, other)
        for (name, each), one, other in zip(
            ((name, each) for name in names for each in arguments), found, expected, strict=True
        )
        if one != other
    ]
    assert not wrong, source


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("functions")


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 2**32), ARGUMENTS)
def test_random_expressions(directory, seed, arguments):
    made = Expressions(seed)
    names = [f"f{number}" for number in range(10)]
    source = "".join(f"\n\ndef {name}(a, b, c):\n    return {made.number(3)}\n" for name in names)
    require_equal(directory, source, names, arguments)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 2**32), ARGUMENTS)
def test_random_functions(directory, seed, arguments):
    names = ["f0", "f1"]
    made = Functions(seed)
    source = "".join(f"\n\n{made.function(name)}\n" for name in names)
    require_equal(directory, source, names, arguments)


@pytest.mark.long
@settings(max_examples=EXAMPLES, deadline=None)
@given(
    st.integers(0, 2**32),
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9999), st.integers(-999, 999)), min_size=3, max_size=3),
)
def test_signs_beside_unsigned_numbers(directory, seed, arguments):
    names = ["f0", "f1", "f2"]
    made = SmallFunctions(seed)
    source = "".join(f"\n\n{made.function(name, 4)}\n" for name in names)
    require_equal(directory, source, names, arguments, "asking_unsigned")
