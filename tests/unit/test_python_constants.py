"""Expressions of constants are what Python makes of them, or a mistake where that does not fit 64 bits."""

import linecache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.suite.example_counts import count_of

import sonde

pytestmark = pytest.mark.examples

EXAMPLES = count_of(40)

EDGES = [0, 1, 2, 63, 64, 255, (1 << 31) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 64]
LEAVES = st.one_of(st.sampled_from(EDGES), st.integers(0, 70)).map(str) | st.sampled_from(["BIG", "SMALL"])
BIG, SMALL = (1 << 64) - 3, -(1 << 63)
CONSTANTS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from("-~+"), inner).map(lambda each: f"{each[0]}({each[1]})"),
        st.tuples(inner, st.sampled_from(["+", "-", "*", "&", "|", "^", "<<", ">>", "//", "%", "**"]), inner).map(
            lambda each: f"({each[0]}) {each[1]} ({each[2]})"
        ),
    ),
    max_leaves=4,
)


def probe_of(text):
    """A probe that prints the expression; its source is found where Python keeps lines."""
    source = f"def f(p):\n    print({text})\n"
    name = "<constants>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    found = {"BIG": BIG, "SMALL": SMALL}
    exec(compile(source, name, "exec"), found)
    return sonde.probe("BEGIN")(found["f"])


def value_of(text):
    """What Python makes of it, None where it is nothing or has too many digits to be tried."""
    try:
        return eval(text, {"BIG": BIG, "SMALL": SMALL})
    except (ZeroDivisionError, ValueError, OverflowError, MemoryError):
        return None


def is_small(text):
    """Python computes it at once."""
    return text.count("**") + text.count("<<") < 2


@settings(max_examples=EXAMPLES, deadline=None)
@given(CONSTANTS.filter(is_small))
@example("(2) ** (64)")
@example("((2) ** (64)) - (1)")
@example("(1) << (64)")
@example("((1) << (70)) >> (60)")
@example("(-(9223372036854775808)) - (1)")
def test_constants_are_pythons_or_a_mistake(text):
    value = value_of(text)
    if not isinstance(value, int) or not -(1 << 63) <= value < 1 << 64:
        with pytest.raises(sonde.CompileError) as raised:
            sonde.compile(probe_of(text), engine="embedded")
        assert raised.value.line == 2
        return
    with sonde.run(probe_of(text), engine="embedded", duration=0.02) as run:
        records = [each for each in run if isinstance(each, sonde.Record)]
    assert [each[0] for each in records] == [value]
