"""Assertions of test files over aggregations."""

import contextlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sonde
from sonde.library.testing.expressions import LONGEST, Evaluation, ExpressionError, parsed

SIZES = sonde.LinearQuantize((0, 3, 1, 0), parameters=(0, 20, 10))
TABLES = {
    "calls": {
        ("cat", "read"): sonde.Count((7,)),
        ("cat", "write"): sonde.Count((2,)),
        ("ls", "read"): sonde.Count((1,)),
    },
    "_": {(): sonde.Sum((11,))},
    "sizes": {("read",): SIZES},
    "mean": {(4711,): sonde.Average((4, 10))},
    "none": {},
}


def holds(text):
    return Evaluation(TABLES).holds(parsed(text))


@pytest.mark.parametrize(
    "text",
    [
        '@calls["cat", "read"] == 7',
        '@calls["cat", "read"] >= 3 and @calls["ls", "read"] < 2',
        '@calls["cat", "read"] >= 30 || @calls["ls", "read"] < 2',
        '@calls["cat", "read"] >= 3 && not @calls["ls", "read"] != 1',
        '5 < @calls["cat", "read"] <= 7',
        '@calls["ls", *] == 1',
        '@calls[*, "write"] == 2',
        "@ == 11",
        "@ / 2 == 5.5 and @ // 2 == 5 and @ % 3 == 2 and -@ == 0 - 11",
        "len(@calls) == 3",
        'len(@calls["cat", *]) == 2',
        'sum(@calls["cat", *]) == 9',
        "sum(@calls) == sum(@calls[*, *])",
        "min(@calls) == 1 and max(@calls) == 7",
        '("cat", "read") in @calls',
        '("cat", *) in @calls',
        '("dog", *) not in @calls',
        '"read" in @sizes',
        "len(@none) == 0",
        "sum(@none) == 0",
        'count(@sizes["read"]) == 4',
        'buckets(@sizes["read"]) == {0: 3, 10: 1}',
        'bucket(@sizes["read"], 19) == 1',
        'bucket(@sizes["read"], 500) == 0',
        'percentile(@sizes["read"], 50) < 10',
        "@mean[4711] == 2.5 and count(@mean[*]) == 4",
        "abs(0 - @mean[4711]) > 2",
    ],
)
def test_what_holds(text):
    assert holds(text)


@pytest.mark.parametrize("text", ['@calls["cat", "read"] == 8', "@ > 11", "len(@calls) == 2", '"x" in @sizes'])
def test_what_does_not(text):
    assert not holds(text)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('@calls["dog", "read"] == 0', '@calls["dog", "read"] is not there; there are ["cat", "read"]'),
        ('@calls["cat"] == 0', "is not there"),
        ('@call["cat"] == 0', "no aggregation @call was shown; there are: @calls, @, @sizes"),
        ("@calls > 3", "@calls has 3 keys: sum(), min(), max() and len()"),
        ("max(@none) > 3", "@none has nothing"),
        ('@sizes["read"] > 3', "a histogram is compared by buckets()"),
        ('@calls["cat", "read"]', "it compares nothing"),
        ("len(@calls) + 1", "it compares nothing"),
        ('@calls["cat", "read"] and True', "neither true nor false"),
        ("@ / 0 == 1", "division by zero"),
        ("@ + 'a' == 1", "is no number"),
        ("@ < 'a'", "not supported"),
        ("count(@) == 1", "count() is of"),
        ("percentile(@sizes['read'], 400) == 1", "percentage"),
        ("1 in 2", "behind `in`"),
    ],
)
def test_why_there_is_no_answer(text, what):
    with pytest.raises(ExpressionError, match=re.escape(what)):
        holds(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "@a[", "@a = 3", "open('x')", "@a.words == 1", "@a['x']['y'] == 1", "__import__('os')", "exit()",
        "(lambda: 1)() == 1", "[x for x in @a]", "@a ** 2 == 1", "1 << 99999999 == 1", "f'{1}' == 1", "len() == 1",
        "len(@a, @b) == 1", "len(*@a) == 1", "_aggregation_ == 1", "@a if @b else @c", "sum(x=1) == 1", "b'x' == 1",
        "@a == None", "@a == ...", "(yield) == 1", "await @a", "@a := 3", "{**@a} == 1", "not " * 500 + "@a == 1",
        "(" * 300 + "1" + ")" * 300, "1" * (LONGEST + 1), "9" * 1900 + "j == 1", "@a[1:2] == 1", "@é.x == 1",
    ],
)  # fmt: skip
def test_nothing_else_is_an_assertion(text):
    with pytest.raises(ExpressionError):
        holds(text)


@pytest.mark.long
@given(
    st.lists(
        st.sampled_from(
            [
                "@",
                "calls",
                '["cat"',
                ", ",
                "*",
                "]",
                "==",
                " 1",
                "(",
                ")",
                "not ",
                " in ",
                "len",
                "-",
                "{",
                ":",
                "}",
                '"',
            ]
        )
    )
)
@settings(max_examples=600, derandomize=True)
def test_whatever_is_written_is_an_answer_or_an_error(pieces):
    with contextlib.suppress(ExpressionError):
        assert holds("".join(pieces)) in (True, False)


def test_what_was_looked_at_is_told():
    evaluation = Evaluation(TABLES)
    evaluation.holds(parsed('@calls["cat", "read"] == 8 or len(@calls["cat", *]) > @'))
    assert evaluation.found == ['@calls["cat", "read"] is 7', '@calls["cat", *] has 2 keys', "@ is 11"]
