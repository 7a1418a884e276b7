"""Probe descriptions: how fields are filled and what globs match."""

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.providers.pattern import is_word, matcher, matches, plain


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        ("", ["", "x"], []),
        ("open", ["open"], ["opena", "ope", "Open"]),
        ("open*", ["open", "openat"], ["reopen"]),
        ("?pen", ["open"], ["pen", "oopen"]),
        ("[ab]x", ["ax", "bx"], ["cx", "x", "[ab]x"]),
        ("[a-c]1", ["a1", "b1"], ["d1", "-1"]),
        ("[!a-c]1", ["d1", "!1"], ["a1"]),
        ("[]a]", ["]", "a"], ["b"]),
        ("[^a]", ["^", "a"], ["b"]),
        ("[a\\]]", ["a", "]"], ["\\"]),
        ("[z-a]", [], ["a", "z", "m"]),
        ("\\*", ["*"], ["x"]),
        ("a.b", ["a.b"], ["axb"]),
        ("[ab", [], ["a", "[ab"]),
        ("a\\", [], ["a", "a\\"]),
        ("*", ["", "anything\nat all"], []),
    ],
)
def test_glob(glob, yes, no):
    test = matcher(glob)
    assert [name for name in yes + no if test(name)] == yes
    assert [name for name in yes + no if matches(glob, name)] == yes


def test_plain_names():
    assert plain("openat") == "openat"
    assert plain("tick-1s") == "tick-1s"
    assert [plain(field) for field in ("", "*", "a?", "[x]", "a\\b")] == [None] * 5


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=8))
def test_stars_and_marks_match_as_the_shell_has_them(glob, name):
    assert matches(glob, name) == (not glob or fnmatch.fnmatchcase(name, glob))


@given(st.text(max_size=10), st.text(max_size=10))
def test_no_text_is_too_odd_for_a_glob(glob, name):
    assert matches(glob, name) in (True, False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sched_switch", True),
        ("9p_client_req", True),
        ("", False),
        ("../x", False),
        ("tick-1s", False),
        ("\u00e4", False),
    ],
)
def test_words(text, expected):
    assert is_word(text) == expected
