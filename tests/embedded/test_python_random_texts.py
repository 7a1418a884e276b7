"""Random texts, their parts and methods, and loops over tuples: a probe gives what Python gives."""

import importlib.util

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.suite.example_counts import count_of

import sonde

pytestmark = pytest.mark.examples

EXAMPLES = count_of(4)

OPERATIONS = (
    "s[i:j]", "s[i:]", "s[:j]", "s[-3:]", "s[:-1]", "s[1:-1]", "s[-4:2]", "s.startswith(t)", "s.endswith(t)",
    "s.startswith(('a', t))", "s.endswith(('b', 'ab', t))", "s.find(t)", "s.rfind(t)", "s.upper()", "s.lower()",
    "t in s", "s + t", "s == t", "s < t", "len(s) - i", "(s, i) == (t, j)", "(s, i) != (s, i)", "i in range(j)",
    "i in range(-2, 3)", "i ** 2 + j ** 3", "max((i, j, 2))", "s[i:j] or t", "kind(s, i)", "looked_up(t, j)",
    "chosen(i)",
)  # fmt: skip

SOURCE = """
PAIRS = (("a", 1), ("ab", 2), ("b", 3))
KNOWN = ["ab", "b"]


def kind(s, i):
    found = 0
    for number, (name, value) in enumerate(PAIRS, 5):
        if value == i:
            continue
        if s.startswith(name):
            found += number * value
        elif s == "bb":
            break
    return found


def looked_up(t, j):
    for name in KNOWN:
        for n in (j, 2, -1):
            if t == name and n < 2:
                return n
    return 100


def chosen(i):
    match i:
        case 1 | 2:
            a = b = i + 1
            return a * b
        case -1:
            return 50
        case other:
            return other - 7
"""

PROBES = """

from sonde import i64, probe, thread


def asked(first, second, third, fourth):
    @probe("BEGIN")
    def answered(p):
        thread.s = first
        thread.t = second
        thread.i = i64(third)
        thread.j = i64(fourth)
        s, t, i, j = thread.s, thread.t, thread.i, thread.j
        print(OPERATION)

    return answered


@probe("BEGIN")
def done():
    exit(0)
"""


def given_by_probes(directory, operations, arguments):
    probes, done = [], None
    for number, operation in enumerate(operations):
        path = directory / f"texts{number}.py"
        path.write_text(SOURCE + PROBES.replace("OPERATION", operation))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        probes += [module.asked(*each) for each in arguments]
        done = module.done
    with sonde.run(*probes, done, engine="embedded") as run:
        events = [*run]
    assert not [each for each in events if isinstance(each, (sonde.ProbeError, sonde.Loss))]
    return [event[0] for event in events if isinstance(event, sonde.Record)]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("texts")


TEXTS = st.one_of(st.sampled_from(("", "a", "ab", "b", "bb", "abab")), st.text("ab", max_size=7))
NUMBERS = st.integers(-9, 9)


@pytest.mark.long
@settings(max_examples=EXAMPLES, deadline=None)
@given(
    st.lists(st.sampled_from(OPERATIONS), min_size=3, max_size=3),
    st.lists(st.tuples(TEXTS, TEXTS, NUMBERS, NUMBERS), min_size=3, max_size=3),
)
def test_random_texts(directory, operations, arguments):
    names = {}
    exec(compile(SOURCE, "<model>", "exec"), names)
    expected = [
        eval(operation, dict(names, s=s, t=t, i=i, j=j)) for operation in operations for s, t, i, j in arguments
    ]
    assert given_by_probes(directory, operations, arguments) == expected, operations
