"""Text from outside, as it may be shown: what a terminal obeys, what would end a line, what nobody sees is escaped.

Who makes a file, a process or a packet chooses its names and its bytes. Escapes are C's: `\\n`, `\\x1b`, `\\u202e`.
Backslashes stay as they are: an escape can be confused with text that looks like one, but never obeyed.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_NAMED = {0: "\\0", 7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"}
_HAS_CONTROLS = rb"[\0-\x08\n-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]"
"""C0 but for tabs, DEL, and in UTF-8 C1 and the ends of lines and paragraphs, U+2028 and U+2029."""
_CONTROLS = "[\0-\x08\n-\x1f\x7f-\x9f\u2028\u2029]"
_LONE_BYTES = range(0xDC80, 0xDD00)
"""The surrogates that stand for bytes which are no UTF-8 (PEP 383)."""
_MOST_KEPT = 1 << 14
_LONGEST_KEPT = 256


def visible(text: str) -> str:
    """For people: also escaped are bytes that are no UTF-8, and characters without a shape of their own or with power
    over others: what Unicode calls control, format (directions, joiners, zero width), unassigned and private."""
    if text.isprintable():
        return text
    return "".join([each if _has_shape(each) else _escape(each) for each in text])


def unicode_text(text: str) -> str:
    """Text as it may stand in UTF-8, for programs: bytes that are none, and surrogates in Python, as
    `\\xff`."""
    return text.encode(errors="surrogateescape").decode(errors="backslashreplace")


def visible_json(text: str) -> str:
    """A line of JSON whose strings say by escapes what `visible` would escape: their values stay the same."""
    if text.isprintable():
        return text
    return "".join([each if _has_shape(each) else _json_escape(each) for each in text])


def visible_bytes(text: bytes) -> bytes:
    """`visible` for bytes that are, or should be, UTF-8."""
    if _is_plain(text):
        return text
    return visible(text.decode(errors="surrogateescape")).encode()


def single_line(text: str) -> str:
    """For rows that programs read: escaped is what ends a line or steers a terminal, all else is kept byte for byte,
    tabs too."""
    return text if text.isprintable() else re.sub(_CONTROLS, lambda found: _escape(found[0]), text)


def single_line_bytes(text: bytes) -> bytes:
    """`single_line` for bytes; those that are no UTF-8 are kept."""
    if _is_plain(text) or not re.search(_HAS_CONTROLS, text):
        return text
    return single_line(text.decode(errors="surrogateescape")).encode(errors="surrogateescape")


def _is_plain(text: bytes) -> bool:
    """Most text is, so this is to be quick."""
    return text.isascii() and text.decode("ascii").isprintable()


def visible_lines(text: str) -> str:
    """`visible` for text of several lines, whose newlines and tabs are its maker's."""
    if text.isprintable():
        return text
    return "".join([each if each in "\n\t" or _has_shape(each) else _escape(each) for each in text])


def visible_lines_bytes(text: bytes) -> bytes:
    """`visible_lines` for bytes that are, or should be, UTF-8."""
    return visible_lines(text.decode(errors="surrogateescape")).encode()


class Remembered(dict[bytes, bytes]):
    """What one of the functions above makes of each text: names come again and again."""

    def __init__(self, escape: Callable[[bytes], bytes]) -> None:
        super().__init__()
        self._escape = escape

    def __missing__(self, text: bytes) -> bytes:
        shown = self._escape(text)
        if len(text) <= _LONGEST_KEPT:
            if len(self) >= _MOST_KEPT:
                self.clear()
            self[text] = shown
        return shown


def _has_shape(character: str) -> bool:
    # Of the blanks, which Python does not call printable, only those that end lines do harm.
    return character.isprintable() or (character.isspace() and character > "\x9f" and character not in "\u2028\u2029")


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _escape(character: str) -> str:
    code = ord(character)
    if code in _LONE_BYTES:
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return _NAMED.get(code) or f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
