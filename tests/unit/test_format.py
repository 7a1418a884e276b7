"""Formats: conversions, their flags and sizes, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.frontends.d.errors import DError
from sonde.frontends.d.format import parse_format
from sonde.model.conversions import Conversion
from sonde.model.errors import Position


def test_text_goes_with_the_conversion_after_it() -> None:
    assert parse_format(b"a %d b %s c", "printf") == (
        Conversion("a ", letters="d", offset=2),
        Conversion(" b ", letters="s", offset=7),
        Conversion(" c", offset=11),
    )


def test_percent_signs_are_text() -> None:
    assert parse_format("100%% of %d%%", "printf") == (
        Conversion("100% of ", letters="d", offset=9),
        Conversion("%", offset=13),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%-8d", Conversion("", "-", 8, None, "d")),
        ("%08.3lld", Conversion("", "0", 8, 3, "lld")),
        ("%*.*s", Conversion("", "", "*", "*", "s")),
        ("%.s", Conversion("", "", None, 0, "s")),
        ("%.05s", Conversion("", "", None, 5, "s")),
        ("% 3d", Conversion("", " ", 3, None, "d")),
        ("%?d", Conversion("", "?", None, None, "d")),
        ("%9@x", Conversion("", "@", 9, None, "x")),
        ("%@10d", Conversion("", "@", 10, None, "d")),
        ("%#'+x", Conversion("", "#'+", None, None, "x")),
        ("%wc", Conversion("", letters="wc")),
        ("%Y", Conversion("", letters="Y")),
        ("%I", Conversion("", letters="I")),
        ("%0000000001048576.01d", Conversion("", "0", 1048576, 1, "d")),
    ],
)
def test_flags_width_and_precision(text: str, expected: Conversion) -> None:
    assert parse_format(text, "printf") == (expected,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%.*.*d", "format conversion #1 has more than one '.' specified"),
        ("%**d", "format conversion #1 has more than one '*' specified for the output width"),
        ("%.**d", "format conversion #1 has more than one '*' specified for the output precision"),
        ("%*1$d", "format conversion #1 uses unsupported positional format (%n$)"),
        ("%.*1$d", "format conversion #1 uses unsupported positional format (%n$)"),
        ("%d %3$d", "format conversion #2 uses unsupported positional format (%n$)"),
        ("%*5d", "format conversion #1 is undefined: %*5"),
        ("%*", "format conversion #1 name expected before end of format string"),
        ("%%%3", "format conversion #2 name expected before end of format string"),
        ("%ll", "format conversion #1 name expected before end of format string"),
        ("%z", "format conversion #1 is undefined: %z"),
        ("%hhd", "format conversion #1 is undefined: %hhd"),
        ("%5%", "format conversion #1 cannot be combined with other format flags: %%"),
    ],
)
def test_refused(text: str, message: str) -> None:
    position = Position(None, 3, 4)
    with pytest.raises(DError) as caught:
        parse_format(text, "printf", position)
    assert (caught.value.tag, caught.value.text, caught.value.position) == ("D_SYNTAX", message, position)


@pytest.mark.parametrize("size", ["16777217", "999999999", "9" * 5000, "000016777217"])
@pytest.mark.parametrize(
    ("form", "which"), [("%{}d", "width"), ("%-{}s", "width"), ("%.{}d", "precision"), ("%9.{}s", "precision")]
)
def test_no_width_or_precision_fills_the_memory(form: str, which: str, size: str) -> None:
    with pytest.raises(DError, match=f"format conversion #1 has a {which} of more than 16777216: %"):
        parse_format(form.format(size), "printf")


def test_an_empty_format_is_refused() -> None:
    with pytest.raises(DError, match=r"printa\( \) format string is empty") as caught:
        parse_format(b"", "printa")
    assert caught.value.tag == "D_PRINTF_FMT_EMPTY"


@given(st.text(alphabet="%*.$0123 -#@dslhxY"))
def test_any_text_is_a_format_or_an_error(text: str) -> None:
    try:
        conversions = parse_format(text, "printf")
    except DError:
        return
    assert all(conversion.letters for conversion in conversions[:-1])
    assert conversions
