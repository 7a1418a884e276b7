"""Text that test files expect: placeholders, gaps, and what is shown of a difference."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonde.library.testing import placeholders
from sonde.library.testing.matching import ADDED, KEPT, LACKING, alignment, contains, difference, matches
from sonde.library.testing.patience import TooSlowError, bounded
from sonde.library.testing.placeholders import GAP, KINDS, PlaceholderError, lines_of, literal, plain_lines


@pytest.mark.parametrize(
    ("expected", "text", "fits"),
    [
        ("pid {{pid}}", "pid 4711", True),
        ("pid {{pid}}", "pid -4711", False),
        ("{{number}} of {{number}}", "-3 of 12", True),
        ("at {{time}} s", "at 12:31:07.25 s", True),
        ("{{address}} {{word}}", "0xffff81 main+0x3", True),
        ("{{address}}", "main", False),
        ("a{{any}}c", "abbc", True),
        ("a{{any}}c", "ac", True),
        ("{{/[ab]+|x/}}{{/(?:y)/}}", "abbay", True),
        ("{{/(a|b)+/}}", "abab", True),
        ("{{/a}}b/}}", "a}}b", True),
        ("text (with) [all] of .*", "text (with) [all] of .*", True),
        ("text.", "texts", False),
        ("   trailing  ", "   trailing", True),
        ("{ }", "{ }", True),
    ],
)
def test_a_line_and_its_placeholders(expected, text, fits):
    assert matches(lines_of(expected), [text]) is fits


@pytest.mark.parametrize("kind", KINDS)
def test_a_named_placeholder_is_the_same_everywhere(kind):
    expected = lines_of(f"{{{{{kind} one}}}} and {{{{{kind} one}}}}\n{{{{...}}}}\nlast {{{{{kind} one}}}}\n")
    assert matches(expected, ["7 and 7", "last 8", "last 7"])
    assert not matches(expected, ["7 and 8", "last 7"])
    assert not matches(expected, ["7 and 7", "last 8"])


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{{pids}}", "no placeholder"),
        ("{{}}", "no placeholder"),
        ("{{/[/}}", "unterminated character set"),
        ("{{//}}", "empty"),
        ("{{/(?P<a>b)/}}", "named groups"),
        (r"{{/(a)\1/}}", "references"),
        ("{{/(?i)a/}}", "flags"),
        ("{{word}}" * 200, "at most"),
        ("{{/" + "(" * 500 + "/}}", "maximum recursion depth"),
    ],
)
def test_a_wrong_placeholder_is_told(text, what):
    with pytest.raises(PlaceholderError, match=re.escape(what)):
        lines_of(text)


def test_white_space_that_nobody_sees_makes_no_difference():
    assert plain_lines("a  \n\n b\t\n\n\n") == ["a", "", " b"]


def test_parts_are_found_in_lines_that_follow_each_other():
    shown = ["one 1", "two 2", "three 3"]
    assert contains(lines_of("wo {{number}}"), shown)
    assert contains(lines_of("ne 1\ntwo"), shown)
    assert not contains(lines_of("one\nthree"), shown)
    assert not contains(lines_of("four"), shown)
    assert not contains(lines_of("a\nb\nc\nd"), shown)


PIECES = ["a", "b", "7", "{{number}}", "{{word}}", "{{/a|b/}}", "{{any}}", ""]
EXPECTED = st.lists(st.one_of(st.just(GAP), st.lists(st.sampled_from(PIECES), max_size=3).map("".join)), max_size=7)
SHOWN = st.lists(st.text("ab7", max_size=3), max_size=7)


@pytest.mark.long
@given(EXPECTED, SHOWN)
@settings(max_examples=400, derandomize=True)
def test_lines_match_as_one_regular_expression_would(expected, shown):
    shown = plain_lines("\n".join(shown))
    lines = lines_of("\n".join(expected))
    whole = "".join(
        "(?:.*\n)*"
        if line.is_gap
        else "".join(f"(?:{part.expression})" if part.expression else re.escape(part.text) for part in line.parts)
        + "\n"
        for line in lines
    )
    wanted = re.fullmatch(whole, "".join(f"{each}\n" for each in shown)) is not None
    assert matches(lines, shown) is wanted
    assert all(step.sign == KEPT for step in alignment(lines, shown)) is wanted


@pytest.mark.long
@given(EXPECTED, SHOWN)
@settings(max_examples=400, derandomize=True)
def test_an_alignment_loses_no_line(expected, shown):
    lines = lines_of("\n".join(expected))
    steps = alignment(lines, shown)
    assert [step.text for step in steps if step.text is not None] == shown
    assert [step.expected for step in steps if step.expected is not None] == lines
    for step in steps:
        if step.sign == KEPT and step.expected and not step.expected.is_gap:
            assert step.expected.match(step.text, {}) is not None
        assert step.sign != LACKING or step.text is None
        assert step.sign != ADDED or step.expected is None


def test_a_difference_has_both_sides_and_what_is_around():
    expected = lines_of("\n".join(f"line {number}" for number in range(100)).replace("line 50", "row 50"))
    shown = [f"line {number}" for number in range(100)]
    assert difference(expected, shown) == [
        "  ...", "  line 48", "  line 49", "- row 50", "+ line 50", "  line 51", "  line 52", "  ...",
    ]  # fmt: skip


def test_a_difference_is_bounded():
    assert len(difference(lines_of("a"), [str(number) for number in range(10_000)])) < 70
    assert len(difference([literal("x")] * 3000, ["y"] * 3000)) < 70


def test_what_is_shown_steers_no_terminal():
    assert "\x1b" not in "".join(difference(lines_of("a"), ["\x1b[2J"]))


def test_an_expression_that_takes_for_ever_is_ended():
    with pytest.raises(TooSlowError), bounded(0.2):
        matches(lines_of("{{/(?:a|a)*b/}}"), ["a" * 60])


@given(st.text(alphabet="{}/ab", max_size=40))
def test_placeholders_are_where_a_regular_expression_finds_them(text):
    """Which takes quadratic time."""
    model = [found.span() for found in re.finditer(r"\{\{(/.*?/|[^{}]*)\}\}", text)]
    assert list(placeholders._places(text)) == model
