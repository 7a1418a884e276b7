"""Lines as a test file expects them: text with placeholders for what differs from run to run."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping

from sonde.typed import NamedTuple

KINDS = {
    "number": r"-?\d+",
    "pid": r"\d+",
    "time": r"\d+(?:[.:]\d+)*",
    "address": r"(?:0x)?[0-9a-fA-F]+",
    "word": r"\S+",
    "any": r".*",
}
"""What a placeholder can stand for."""

GAP = "{{...}}"
"""A line that stands for any number of lines, also none."""

_OPEN, _CLOSE, _OPEN_EXPRESSION, _CLOSE_EXPRESSION = "{{", "}}", "{{/", "/}}"
_BRACE = re.compile(r"[{}]")
_NAMED = re.compile(r"(\w+)(?: +([A-Za-z]\w*))?")
_MOST_GROUPS = 90
_LONGEST_QUOTED = 60
_LONGEST_EXPRESSION = 4096
_OF_THE_WHOLE = re.compile(r"\\[1-9]|\(\?[aiLmsux]+\)|\(\?\(")
"""References to groups, flags and conditions of a regular expression."""

Bound = Mapping[str, str]
"""What named placeholders have stood for so far."""


class PlaceholderError(Exception):
    """What is wrong with a placeholder."""


class _Part(NamedTuple):
    """Text, or with `name` or `expression` a placeholder."""

    text: str = ""
    expression: str = ""
    name: str = ""


class Line(NamedTuple):
    """One line. `source` is as the file has it."""

    source: str
    parts: tuple[_Part, ...]

    @property
    def is_gap(self) -> bool:
        return not self.parts and self.source.strip() == GAP

    def match(self, text: str, bound: Bound) -> dict[str, str] | None:
        """What its named placeholders stand for, if it is the text; else None."""
        return self._found(re.fullmatch(self._expression(bound), text))

    def search(self, text: str) -> bool:
        """Whether it is part of the text."""
        return re.search(self._expression({}), text) is not None

    def _found(self, match: re.Match[str] | None) -> dict[str, str] | None:
        return None if match is None else {name: text for name, text in match.groupdict().items() if text is not None}

    def _expression(self, bound: Bound) -> str:
        seen: set[str] = set()
        made = []
        for part in self.parts:
            if not part.expression:
                made.append(re.escape(part.text))
            elif part.name in bound:
                made.append(re.escape(bound[part.name]))
            elif part.name in seen:
                made.append(f"(?P={part.name})")
            else:
                made.append(f"(?P<{part.name}>{part.expression})" if part.name else f"(?:{part.expression})")
                seen.update([part.name] if part.name else ())
        return "".join(made)


def line_of(text: str) -> Line:
    """A line of a test file. Raises PlaceholderError."""
    if text.strip() == GAP:
        return Line(text, ())
    parts: list[_Part] = []
    end = 0
    for start, stop in _places(text):
        parts += [_Part(text[end:start])] if start > end else []
        parts.append(_placeholder(text[start + len(_OPEN) : stop - len(_CLOSE)]))
        end = stop
        if len(parts) > 2 * _MOST_GROUPS + 1:
            break
    parts += [_Part(text[end:])] if end < len(text) else []
    line = Line(text, tuple(parts))
    if sum(bool(part.expression) for part in parts) > _MOST_GROUPS:
        raise PlaceholderError(f"a line has {_MOST_GROUPS} placeholders at most")
    return line


def _places(text: str) -> Iterator[tuple[int, int]]:
    """The start and end of each placeholder, in one pass over the text."""
    start, has_expressions = text.find(_OPEN), True
    while start >= 0:
        stop = -1
        if has_expressions and text.startswith(_OPEN_EXPRESSION, start):
            stop = text.find(_CLOSE_EXPRESSION, start + len(_OPEN_EXPRESSION))
            has_expressions = stop >= 0
            stop += len(_CLOSE_EXPRESSION) if has_expressions else 0
        if stop < 0:
            brace = _BRACE.search(text, start + len(_OPEN))
            is_whole = brace is not None and text.startswith(_CLOSE, brace.start())
            stop = brace.start() + len(_CLOSE) if brace is not None and is_whole else -1
        if stop >= 0:
            yield start, stop
        start = text.find(_OPEN, stop if stop >= 0 else start + 1)


def literal(text: str) -> Line:
    """A line without placeholders, whatever it has."""
    return Line(text, (_Part(text),))


def lines_of(text: str) -> list[Line]:
    """The lines of an expected text, those at its end that are empty left out. Raises PlaceholderError."""
    return [line_of(each) for each in plain_lines(text)]


def plain_lines(text: str) -> list[str]:
    """Lines without the white space at their ends, which nobody sees, and without empty ones at the end."""
    found = [each.rstrip() for each in text.split("\n")]
    while found and not found[-1]:
        del found[-1]
    return found


def _placeholder(inside: str) -> _Part:
    if inside.startswith("/") and inside.endswith("/") and len(inside) > 1:
        return _Part(expression=_checked(inside[1:-1]))
    found = _NAMED.fullmatch(inside.strip())
    if found is None or found[1] not in KINDS:
        known = ", ".join(f"{{{{{each}}}}}" for each in KINDS)
        raise PlaceholderError(
            f"{{{{{brief(inside)}}}}} is no placeholder: there are {known}, {{{{/REGEX/}}}} and {GAP}"
        )
    return _Part(expression=KINDS[found[1]], name=found[2] or "")


def _checked(expression: str) -> str:
    """A regular expression that can stand beside others. Raises PlaceholderError."""
    shown = f"{{{{/{brief(expression)}/}}}}"
    if len(expression) > _LONGEST_EXPRESSION:
        raise PlaceholderError(f"{shown}: it is longer than {_LONGEST_EXPRESSION} characters")
    try:
        with warnings.catch_warnings(action="ignore"):
            compiled = re.compile(expression)
    except (re.error, RecursionError, OverflowError) as error:
        raise PlaceholderError(f"{shown}: {error}") from None
    if not expression:
        raise PlaceholderError(f"{shown} is empty")
    # It becomes a part of a longer one, where groups have other numbers and flags another place.
    if compiled.groupindex or _OF_THE_WHOLE.search(expression):
        raise PlaceholderError(f"{shown}: named groups, references to groups and flags are refused")
    return expression


def brief(text: str) -> str:
    """What a message quotes of a text that may be long."""
    return text if len(text) <= _LONGEST_QUOTED else f"{text[:_LONGEST_QUOTED]}..."
