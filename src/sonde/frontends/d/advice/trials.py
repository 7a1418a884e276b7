"""Changes are tried before they are told: which of them make a mistake go away without making another."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sonde.frontends.d.advice.finding import Case, Remedy, Trial, replaced
from sonde.frontends.d.advice.layout import ProgramLayout
from sonde.frontends.d.advice.spans import control_line
from sonde.frontends.d.advice.words import MACRO, Span
from sonde.frontends.d.errors import DError
from sonde.typed import NamedTuple

MOST = 16
"""So many changes are tried for one mistake."""

_WHILE_READING = ("D_SYNTAX", "D_STR_NL", "D_CHR_NL", "D_INT_", "D_CHR_", "D_STR_")


class Tried(NamedTuple):
    """`remedy` is the first change after which the mistake is gone, and none is left in the same statement, else the
    first that leaves another in it which was hidden. Where there is none, `refused` are the words of one that is
    meant though it does not compile, and why it does not; `known` is the cause where a rule knows it for certain."""

    remedy: Remedy | None = None
    refused: str = ""
    known: Remedy | None = None


def first_that_helps(case: Case, remedies: Iterable[Remedy], trial: Trial) -> Tried:
    """Try them in their order."""
    hidden: Remedy | None = None
    refused = ""
    seen: set[str] = set()
    for remedy in remedies:
        if remedy.is_cause:
            return Tried(hidden, refused, None if hidden else remedy)
        text = replaced(case.text, remedy.edits)
        if text in seen or text == case.text:
            continue
        if len(seen) == MOST:
            break
        seen.add(text)
        if remedy.needs and _lacks_structure(trial(replaced(case.text, remedy.needs), False)):
            continue
        left = trial(text, False)
        if left is None or _is_elsewhere(case, remedy, text, left):
            return Tried(remedy)
        if remedy.is_certain and not refused:
            reason = left.hint or left.text
            refused = f"{remedy.words}; that fails here: {reason}"
        if hidden is None and _was_hidden(case, remedy, text, left):
            hidden = remedy
    return Tried(hidden, refused)


def _lacks_structure(error: DError | None) -> bool:
    return error is not None and error.tag == "D_SIZEOF_TYPE"


def _is_elsewhere(case: Case, remedy: Remedy, text: str, left: DError) -> bool:
    if left.position is None or left.position.line_directive:
        return left.text != case.error.text
    layout = ProgramLayout(text)
    offset = layout.offset(left.position)
    if control_line(case.layout, case.offset):
        return control_line(layout, offset) is None or left.text != case.error.text
    if left.tag.startswith("D_PDESC") and not _is_description(case, layout, offset):
        return False
    start, end = _changed(case, remedy, layout)
    if left.tag.startswith(_WHILE_READING):
        # Reading stopped there: what comes before has been understood.
        return offset >= end and case.error.tag.startswith(_WHILE_READING)
    return not start <= offset < end


def _is_description(case: Case, layout: ProgramLayout, offset: int) -> bool:
    """Whether a description that matches nothing is one that the user wrote as such."""
    written = {case.layout.of(span) for item in case.layout.items for span in item.descriptions}
    item = layout.item(offset)
    return item is not None and any(layout.of(span) in written for span in item.descriptions if offset in range(*span))


def _changed(case: Case, remedy: Remedy, layout: ProgramLayout) -> Span:
    """The statements of the changed text that changes are in."""
    parts = [layout.statement(max(_moved(each.span.start, remedy), 0)) for each in remedy.edits]
    parts.append(layout.statement(_moved(case.offset, remedy)))
    return Span(min(part.start for part in parts), max(part.end for part in parts))


def _moved(offset: int, remedy: Remedy) -> int:
    """Where a place of the text is after the changes."""
    moved = offset
    for edit in remedy.edits:
        if edit.span.end <= offset:
            moved += len(edit.text) - (edit.span.end - edit.span.start)
    return moved


def _was_hidden(case: Case, remedy: Remedy, text: str, left: DError) -> bool:
    """Whether a mistake in the same statement is one that the first did not let the compiler come to."""
    if left.position is None or left.text == case.error.text:
        return False
    is_read = not left.tag.startswith(_WHILE_READING)
    if case.error.tag.startswith(_WHILE_READING):
        return is_read or remedy.is_certain
    layout = ProgramLayout(text)
    offset = layout.offset(left.position)
    of_probes = ("D_PDESC_", "D_PROC_")
    if case.error.tag.startswith(of_probes) and left.tag.startswith(of_probes):
        return False
    if is_invented(left, layout, case.text) or _name_of(left) == _name_of(case.error) != "":
        return False
    is_other = left.tag != case.error.tag and not (left.tag.startswith("D_OP_") and case.error.tag.startswith("D_OP_"))
    return is_read and (is_other or offset > _moved(case.offset, remedy) or _later(case.error, left))


_QUOTED_NAME = re.compile(r"failed to resolve ([\w`]+):|undefined function name: (\w+)")


def _name_of(error: DError) -> str:
    """The name that is not known, if the mistake is about one."""
    named = _QUOTED_NAME.search(error.text)
    return named[1] or named[2] if named else ""


def is_invented(error: DError, layout: ProgramLayout, written: str) -> bool:
    """Whether a mistake is about a name that the user has not written: a change has brought it."""
    name = _name_of(error)
    if not name or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", written):
        return False
    # A macro variable stands for its value.
    word = layout.word(layout.offset(error.position)) if error.position else None
    return word is None or word.kind != MACRO


def _later(first: DError, left: DError) -> bool:
    """Whether it is about a later argument of the same call."""
    before, after = (re.search(r"argument #(\d+)", each.text) for each in (first, left))
    return before is not None and after is not None and int(after[1]) > int(before[1])
