"""Random functions with what lasts longer than a firing: variables of the thread and of all, arrays. And with calls by
name, defaults, `:=`, `match`, loops over tuples: probes and Python come to the same values."""

import importlib.util
import os
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.python.python_programs import EDGES, MODEL, Functions, Word
from support.python.python_programs import HELPERS as OTHERS
from support.suite.example_counts import count_of

import sonde

pytestmark = pytest.mark.examples

EXAMPLES = count_of(3)
ENGINE = os.environ.get("SONDE_ENGINE", "embedded")

HELPERS = (
    OTHERS
    + """

STEP, ITEMS, PAIRS = 3, (2, -5, 7), ((1, 10), (2, -20), (-1, 30))
total, other = 0, 5
table, pairs = {}, {}


def shared(n):
    global other
    other ^= n
    return other


def scaled(n, by=STEP, *, less=0):
    return n * by - less


def first_above(n, most=4):
    for place, item in enumerate(ITEMS, 1):
        if item > n:
            return place
        if place >= most:
            break
    return -1


def paired(n):
    for key, value in PAIRS:
        if key == n & 3:
            return value
    return n


def named(n):
    match n & 7:
        case 0 | 1:
            return 100
        case 2:
            n += 1
        case other:
            n = other - 9
    return n
"""
)

PROBES = """

from sonde import exit, i8, i16, i32, i64, probe, thread, u8, u16, u32


def asking(function, first, second, third):
    @probe("BEGIN")
    def asked(p):
        global total
        thread.a = first
        thread.b = second
        thread.c = third
        print(function(thread.a, thread.b, thread.c), thread.x, thread.y, table[1], pairs[1, 2], total)

    return asked


@probe("END")
def declared(p):
    thread.x = i64(0)
    thread.y = i64(0)
    table[1] = i64(0)
    pairs[1, 2] = i64(0)


@probe("BEGIN")
def done(p):
    exit(0)
"""


class States(Functions):
    """Makes functions that change what lasts."""

    def function(self, name, statements=6):
        head, *body = super().function(name, statements).split("\n")
        return "\n".join([head, "    global total", *body])

    def _place(self):
        keys = f"({self.number(1)}) & 3", str(self.random.randrange(4))
        return self.random.choice((
            "thread.x", "thread.y", "total", "table[1]", f"table[{self.random.choice(keys)}]", "pairs[1, 2]",
            f"pairs[{keys[0]}, 2]",
        ))  # fmt: skip

    def leaf(self):
        return self._place() if self.random.random() < 0.2 and self.names else super().leaf()

    def number(self, depth):
        made = self.random.random()
        if depth == 0 or made < 0.8:
            return super().number(depth)
        one, other = super().number(depth - 1), super().number(depth - 1)
        return self.random.choice((
            f"shared({one})", f"scaled({one})", f"scaled({one}, less={other})", f"scaled(by={one}, n={other})",
            f"first_above({one})", f"first_above({one}, most=2)", f"paired({one})", f"named({one})",
            f"(d := {one})", f"({one} ** {self.random.randrange(5)})", f"max({one}, {other}, 3)", f"abs({one})",
            f"({one} in range({other}, 9))", f"(True + ({one} < {other}))", f"bool({one})",
            f"({one} < {other} <= 5 != {one})", f"({one}, {other})[{self.random.randrange(-2, 2)}]",
        ))  # fmt: skip

    def _set(self, indent, depth):
        if self.random.random() < 0.5:
            return super()._set(indent, depth)
        # What is set to a narrow number alone has its type.
        return [f"{indent}{self._place()} = {self.number(2)} + 0"]

    def _changed(self, indent, depth):
        found = super()._changed(indent, depth)
        if self.random.random() < 0.5:
            return found
        (line,) = found
        return [f"{indent}{self._place()} {line.strip().split(' ', 1)[1]}"]

    def _swapped(self, indent, depth):
        if self.random.random() < 0.4:
            return [f"{indent}a = b = {self.number(1)}"]
        if self.random.random() < 0.5:
            return [f"{indent}for m in (1, {self.number(1)}, -3):", *self._block(indent, depth)]
        one = self._place()
        return [f"{indent}{one}, d = d, {self._place()}"]


class Thread:
    """Has all variables of a thread."""

    def __getattr__(self, name):
        return Word(0)


class Table(defaultdict):
    """An array by numbers, which are 0 at first."""

    def __missing__(self, key):
        return Word(0)


def expected(source, name, calls):
    """What Python gives: the results, and what is left behind each call."""
    names = dict(MODEL)
    thread = Thread()
    exec(compile(HELPERS + source, "<model>", "exec"), names)
    names.update(thread=thread, table=Table(), pairs=Table(), total=Word(0), other=Word(5))
    for each in calls:
        made = names[name](*map(Word, each))
        last = made, thread.x, thread.y, names["table"][1], names["pairs"][1, 2], names["total"]
        yield tuple(int(value) for value in last)


NUMBERS = st.one_of(st.sampled_from(EDGES), st.integers(-(2**63), 2**63 - 1), st.integers(-20, 20))
CALLS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=3, max_size=3)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 2**32), CALLS)
def test_random_states(tmp_path_factory, seed, calls):
    source = f"\n\n{States(seed).function('asked_for')}\n"
    path = tmp_path_factory.mktemp("states") / "random_states.py"
    path.write_text(HELPERS + source + PROBES)
    spec = importlib.util.spec_from_file_location("random_states", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    probes = [module.asking(module.asked_for, *each) for each in calls]
    with sonde.run(module.declared, *probes, module.done, engine=ENGINE, duration=60) as run:
        events = [event for event in run if not isinstance(event, sonde.Exit)]
    assert all(isinstance(event, sonde.Record) for event in events), (source, events)
    assert [event.values for event in events] == list(expected(source, "asked_for", calls)), source
