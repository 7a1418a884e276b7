"""Mistakes with the lines they stand in: marks under the words, labels behind the marks, and what helps."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from textwrap import wrap

from sonde.frontends.d.advice.finding import Finding, Label
from sonde.frontends.d.advice.findings import Findings
from sonde.frontends.d.advice.words import Span
from sonde.frontends.d.errors import DError
from sonde.frontends.d.source import INPUT
from sonde.model.errors import Position
from sonde.visible import single_line, visible

_WIDTH = 96
"""Longer lines are cut around the mark."""

_SHOWN = 76
"""Columns of sonde's own sentences, which stand behind two blanks or more."""

_TAB = "    "
_FROM_COMMAND_LINE = "command line"


class _Lines:
    """The lines of a text, by offsets."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def number(self, offset: int) -> int:
        """The line that an offset is in, from 0."""
        return min(bisect_right(self.starts, offset), len(self.lines)) - 1


class _Row:
    """One line as it is shown, cut around a column, and what is written under its parts."""

    def __init__(self, lines: _Lines, number: int, around: int) -> None:
        line = lines.lines[number]
        self._start = lines.starts[number]
        first = max(min(around - self._start - _WIDTH // 2, len(line) - _WIDTH), 0) if len(line) > _WIDTH else 0
        self._first = first
        shown = [_shown(each) for each in line[first : first + _WIDTH]]
        self.text = "".join(shown)
        self._columns = [0]
        for each in shown:
            self._columns.append(self._columns[-1] + len(each))

    def column(self, offset: int) -> int:
        """Where a place of the text is in the row; the end of the row for what is behind it."""
        index = min(max(offset - self._start - self._first, 0), len(self._columns))
        return self._columns[index] if index < len(self._columns) else self._columns[-1] + 1

    def marks(self, labels: Sequence[tuple[str, Label]]) -> str:
        """A sign under each part, and behind the last what is said of it."""
        row = [" "] * (self._columns[-1] + 1)
        for sign, label in labels:
            start = min(self.column(label.span.start), len(row) - 1)
            end = max(min(self.column(label.span.end), len(row)), start + 1)
            row[start:end] = sign * (end - start)
        text = labels[-1][1].text
        signs = "".join(row).rstrip(" ")
        if text and len(signs) + len(text) >= _SHOWN:
            # The label stands below its marks, where the line has no room for it.
            return f"{signs}\n  {text}"
        return signs + (f" {text}" if text else "")


def _shown(character: str) -> str:
    """What is no text could do anything to a terminal."""
    return _TAB if character == "\t" else character if character.isprintable() else "?"


def _printable(line: str) -> str:
    return "".join(map(_shown, line))


def shown(found: Findings, text: str, file: str | None, hint: str) -> str:
    """All mistakes of one text; `hint` belongs to the first."""
    lines = _Lines(text)
    parts: list[str] = []
    for number, finding in enumerate(found.listed):
        if number:
            parts += ["", f"{_place(finding, lines, file)} {_first_line(finding.error)}"]
        elif finding.span is not None:
            parts.append(_place(finding, lines, file))
        parts += _excerpt(finding, lines)
        parts += _help(finding, hint if number == 0 else finding.error.hint)
    return "\n".join([*parts, *_repaired(found, text)])


def placed(error: DError, text: str, hint: str, script: str | None) -> str:
    """One mistake with the line it stands in, where nothing else is known of it. `script` is the file of a text that
    the preprocessor may have read; it calls it by its own name."""
    position = error.position
    if position is None or is_elsewhere(position) or not 0 < position.line <= text.count("\n") + 1:
        return hint
    lines = _Lines(text)
    start = lines.starts[position.line - 1] + max(position.column, 1) - 1
    start = min(start, lines.starts[position.line] - 1)
    finding = Finding(error, Span(start, start + 1))
    file = position.file if position.file != INPUT else script
    return "\n".join([_place(finding, lines, file), *_excerpt(finding, lines), *(hint.split("\n") if hint else [])])


def is_elsewhere(position: Position) -> bool:
    """Whether the line is one of an included file."""
    return position.line_directive and position.file not in (None, INPUT)


def _first_line(error: DError) -> str:
    return error.text.split("\n")[0].rstrip(":")


def _place(finding: Finding, lines: _Lines, file: str | None) -> str:
    start = finding.span.start if finding.span else 0
    number = lines.number(start)
    return f"{single_line(file or _FROM_COMMAND_LINE)}:{number + 1}:{start - lines.starts[number] + 1}:"


def _excerpt(finding: Finding, lines: _Lines) -> Iterator[str]:
    """The line with its marks; other parts that belong to the mistake before it, or below if they are in the line."""
    if finding.span is None:
        return
    main = Label(finding.span, finding.label)
    number = lines.number(main.span.start)
    here = [each for each in finding.also if lines.number(each.span.start) == number]
    elsewhere = [each for each in finding.also if each not in here]
    for other in elsewhere:
        at = lines.number(other.span.start)
        row = _Row(lines, at, other.span.start)
        yield f"{at + 1:>4} | {row.text}"
        yield f"     | {row.marks([('-', other)])}"
    row = _Row(lines, number, main.span.start)
    yield f"{number + 1:>4} | {row.text}" if elsewhere else f"  {row.text}"
    below = "     | " if elsewhere else "  "
    yield below + row.marks([*(("-", each) for each in here), ("^", main)])
    for each in here:
        yield f"{below}{' ' * row.column(each.span.start)}{each.text}"


def _help(finding: Finding, hint: str) -> list[str]:
    """What the compiler itself knows of the mistake, which may know more than its text tells, then a change."""
    if finding.remedy is not None:
        known = finding.error.hint.split("\n") if finding.error.hint else []
        return [
            *(line for line in known if not _is_said(line, finding.label, finding.remedy.words)),
            f"help: {visible(finding.remedy.words)}",
        ]
    said = finding.advice or hint
    if not said:
        return []
    if "\n" in said:
        return [each for line in said.split("\n") for each in _wrapped(line)]
    return _wrapped(f"help: {said}" if finding.advice else said)


def _is_said(line: str, label: str, words: str) -> bool:
    """Whether the label behind the mark, or the change, says as much as a line."""
    return line == words or bool(label and line.startswith(label))


def _wrapped(line: str) -> list[str]:
    """A sentence in lines that a terminal shows whole; a command stays in one, to be pasted."""
    if len(line) <= _SHOWN or line.startswith("sonde "):
        return [line]

    return wrap(line, _SHOWN, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _repaired(found: Findings, text: str) -> list[str]:
    """The program with all remedies: the whole of one line, the changed lines of more."""
    if found.repaired is None:
        return []
    head = "this compiles:" if len(found.listed) == 1 else "with these changes it compiles:"
    old, new = text.split("\n"), found.repaired.split("\n")
    if len(old) == len(new) == 1:
        return [head, f"  {_printable(found.repaired)}"]
    changed: list[str] = []
    for kind, _, _, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind in ("replace", "insert"):
            changed += [f"{number + 1:>4} | {_printable(new[number])}" for number in range(start, end)]
    return [head, *changed] if changed else []
