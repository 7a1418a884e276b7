"""Control lines: `#pragma D`, `#line` and the markers of the C preprocessor, `#error`, `#ident`, `#!`."""

from __future__ import annotations

import re

from sonde.frontends.d.errors import DError
from sonde.frontends.d.syntax import Pragma
from sonde.model.errors import Position
from sonde.typed import NamedTuple

_WORD = r'\s+|/\*.*?\*/|("(?:[^"\\]|\\.)*(?:"|\\?$)|(?:(?!/\*)[^\s"])+|.)'

_OF_C = ("define", "elif", "else", "endif", "if", "ifdef", "ifndef", "include", "undef")


class LineMarker(NamedTuple):
    """The next line has this number, in this file (None: the file stays)."""

    line: int
    file: str | None


def directive(text: str, position: Position) -> Pragma | LineMarker | None:
    """What the control line `text` (from its `#` on, without the newline) says; None if it is to be ignored."""
    if text.startswith("#!"):
        return None
    words = [word for word in re.findall(_WORD, text[1:]) if word]
    if not words:
        return None
    name = words[0]
    if name[0].isdigit():
        return _line_marker("line", words, position)
    if name == "line":
        return _line_marker(name, words[1:], position)
    if name == "error":
        return Pragma(position, name, tuple(words[1:]))
    if name == "pragma":
        if words[1:2] in (["error"], ["line"], ["ident"]):
            return directive("#" + text[1:].partition("pragma")[2], position)
        # Pragmas of other languages' compilers are none of ours.
        if words[1:2] != ["D"]:
            return None
        return Pragma(position, words[2], tuple(words[3:])) if len(words) > 2 else None
    if name == "ident":
        return None
    text = "invalid control directive"
    hint = "-C runs the C preprocessor" if name in _OF_C else ""
    raise DError("D_PRAGCTL_INVAL", text if name[0] == '"' else f"{text}: #{name}", position, hint)


def _line_marker(name: str, words: list[str], position: Position) -> LineMarker:
    number, file = words[0] if words else "", words[1] if len(words) > 1 else None
    # int() would take other digits too, and any length.
    is_number = number.isascii() and number.isdigit() and len(number) < 10
    if not is_number or (file is not None and (len(file) < 2 or file[0] != '"')):
        raise DError("D_PRAGMA_MALFORM", f'malformed #{name} <line> [ ["file"] state ]', position)
    return LineMarker(int(number), None if file is None else file[1:-1])
