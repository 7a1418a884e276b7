"""Text from outside: what may reach a terminal, and what may stand in a row (sonde/visible.py)."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.visible import (
    Remembered,
    single_line,
    single_line_bytes,
    visible,
    visible_bytes,
    visible_json,
    visible_lines,
)

HARMLESS = ["", "sh", "a b", "C:\\n", "日本語", "café", "e\u0301", "Ελλάδα", "a\u00a0b", "\u3000", "👍", "%s %n"]

ESCAPED = {
    "\033[2J": "\\x1b[2J",
    "\n\r\t": "\\n\\r\\t",
    "\0\a\b\v\f": "\\0\\a\\b\\v\\f",
    "\x7f": "\\x7f",
    "\x9b31m": "\\u009b31m",
    "\x85": "\\u0085",
    "\u2028\u2029": "\\u2028\\u2029",
    "\u202egpj.exe": "\\u202egpj.exe",
    "a\u200bb": "a\\u200bb",
    "\ufeff": "\\ufeff",
    "\U000e0041": "\\U000e0041",
    "\ue000": "\\ue000",
    chr(0xDC9B): "\\x9b",
    chr(0xD800): "\\ud800",
}

TERMINAL_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@pytest.mark.parametrize("text", HARMLESS)
def test_what_has_a_shape_is_shown_as_it_is(text):
    assert visible(text) == single_line(text) == visible_lines(text) == text
    assert visible_bytes(text.encode()) == single_line_bytes(text.encode()) == text.encode()


@pytest.mark.parametrize("text", ESCAPED)
def test_what_has_none_is_an_escape_of_c(text):
    assert visible(text) == ESCAPED[text]
    assert visible("ab" + text + "é") == "ab" + ESCAPED[text] + "é"


def test_bytes_that_are_no_utf_8_are_escaped_for_people_and_kept_in_rows():
    text = b"caf\xe9 \x9b2J \xc2"
    assert visible_bytes(text) == b"caf\\xe9 \\x9b2J \\xc2"
    assert single_line_bytes(text) == text
    assert single_line_bytes(text + b"\n\xc2\x9b\xe2\x80\xa8\xe9") == text + b"\\n\\u009b\\u2028\xe9"


@given(st.text(st.characters(exclude_categories=())))
def test_nothing_that_a_terminal_could_obey_is_left(text):
    """By Unicode's own categories, of any characters at all."""
    assert not {unicodedata.category(each) for each in visible(text)} & TERMINAL_CATEGORIES
    left = visible_lines(text).replace("\n", "").replace("\t", "")
    assert not {unicodedata.category(each) for each in left} & TERMINAL_CATEGORIES
    assert visible(visible(text)) == visible(text)


@given(st.binary())
def test_bytes_become_one_line_of_utf_8(text):
    shown = visible_bytes(text).decode()
    assert not {unicodedata.category(each) for each in shown} & TERMINAL_CATEGORIES
    assert len(shown.splitlines()) <= 1


@given(st.binary())
def test_a_row_stays_one_line_and_keeps_every_byte_that_ends_none(text):
    shown = single_line_bytes(text)
    assert len(shown.decode(errors="replace").splitlines()) <= 1
    assert not any((byte < 0x20 and byte != 9) or byte == 0x7F for byte in shown)
    if not any((byte < 0x20 and byte != 9) or byte in (0x7F, 0xC2, 0xE2) for byte in text):
        assert shown == text


def test_what_is_remembered_is_the_same_and_bounded():
    kept = Remembered(visible_bytes)
    assert kept[b"a\n"] == kept[b"a\n"] == b"a\\n"
    for number in range(40_000):
        assert kept[b"%d\t" % number] == b"%d\\t" % number
    assert len(kept) <= 1 << 14
    assert kept[b"\n" * 10_000] == b"\\n" * 10_000
    assert b"\n" * 10_000 not in kept


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_json_says_by_escapes_what_a_terminal_would_obey(text):
    line = visible_json(json.dumps(text, ensure_ascii=False))
    assert not {unicodedata.category(each) for each in line} & TERMINAL_CATEGORIES
    assert json.loads(line) == text
