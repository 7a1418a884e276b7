"""The mistakes of a program, the first and those behind it: each is changed away, or taken out, before the next."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sonde.frontends.d.advice.finding import Case, Edit, Finding, Trial
from sonde.frontends.d.advice.layout import ProgramLayout
from sonde.frontends.d.advice.rules import advice, remedies
from sonde.frontends.d.advice.spans import control_line, span_of
from sonde.frontends.d.advice.trials import Tried, first_that_helps, is_invented
from sonde.frontends.d.advice.words import AGGREGATION, NAME, Span, words
from sonde.frontends.d.errors import DError
from sonde.typed import NamedTuple

MOST = 5
"""So many mistakes are told at once."""

_ALWAYS_THERE = "BEGIN"
"""The description that stands for one that matches nothing."""

_ROUNDS = 4 * MOST
_LARGE = 8 * 1024
"""Of a longer text, which takes long to compile, only the first mistake is looked at, and nothing is tried."""

_OF_THE_WHOLE = ("D_EMPTY", "D_MACRO_UNUSED", "D_PRAG_UNUSED")
"""Mistakes that a program can have because a part of it was taken out."""

_BY_PROBE = frozenset(("locals", "globals", "pktlen"))
"""What there is depends on the probe."""

_OF_NAMES = ("D_IDENT_UNDEF", "D_FUNC_UNDEF", "D_MACRO_UNDEF", "D_PRAG")

_ASSIGNED = re.compile(r"\s*(?:\[[^\]]*\]\s*)?(?:[-+*/%&|^]|<<|>>)?=(?!=)|\s*(?:\[[^\]]*\]\s*)?(?:\+\+|--)")


class _Draft:
    """A text on the way from the user's to one without mistakes, and where each of its characters came from."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._origins = list(range(len(text) + 1))
        self._inserted = [False] * (len(text) + 1)
        self.is_cut = False
        """Whether parts have been taken out."""
        self.missing: set[str] = set()
        """Names that the parts taken out may have brought into being."""
        self.elsewhere: set[int] = set()
        """Where clauses begin in the user's text whose descriptions _ALWAYS_THERE stands for."""

    def original(self, span: Span) -> Span:
        start = self._origins[min(span.start, len(self.text))]
        last = self._origins[min(max(span.end - 1, span.start), len(self.text))]
        return Span(start, max(last + 1, start + (span.end > span.start)))

    def is_inserted(self, span: Span) -> bool:
        """Whether a part has been written by a change."""
        return any(self._inserted[span.start : span.end])

    def change(self, edits: Iterable[Edit], are_blanks: bool = False) -> None:
        for edit in sorted(edits, reverse=True):
            start, end = edit.span
            self.text = self.text[:start] + edit.text + self.text[end:]
            self._origins[start:end] = [self._origins[start]] * len(edit.text)
            self._inserted[start:end] = [not are_blanks] * len(edit.text)

    def take_out(self, span: Span, instead: str = "", is_declaration: bool = False) -> None:
        """Blanks, and what is to stand there: lines stay lines."""
        self.is_cut = True
        part = self.text[span.start : span.end]
        self.missing |= _brought(part, is_declaration)
        blank = re.sub(r"[^\n]", " ", part)
        self.change([Edit(span, instead + blank)], are_blanks=True)


class Findings(NamedTuple):
    """The mistakes of a text, in the order in which the compiler comes to them. `repaired` is the text with all
    remedies, if it compiles."""

    listed: tuple[Finding, ...]
    repaired: str | None = None


def findings(first: DError, text: str, trial: Trial) -> Findings:
    """The first mistake and up to four more. `trial` compiles a text as this one was; the spans are those of `text`."""
    if not _can_be_placed(first):
        return Findings((Finding(first, None),))
    draft = _Draft(text)
    found: list[Finding] = []
    error: DError | None = first
    for _ in range(_ROUNDS):
        if error is None or len(found) == MOST or not _can_be_placed(error):
            break
        case = case_of(error, ProgramLayout(draft.text))
        if found and (_is_consequence(case, draft.missing) or _is_of_other_probe(case, draft)):
            _take_out(draft, case)
        else:
            tried = first_that_helps(case, remedies(case), trial) if len(text) <= _LARGE else Tried()
            told = _told(case, tried, draft)
            if any(told.span == each.span and told.error.text == each.error.text for each in found):
                # What was to repair it did not.
                tried = Tried()
            # The same name again is the same mistake again: its remedy is part of the repaired text.
            is_known = any(_is_alike(told, each) for each in found)
            if not is_known and (tried.remedy or not _is_own(case, draft, text)):
                found.append(told)
            _go_on(draft, case, tried)
        if len(text) > _LARGE:
            break
        error = trial(draft.text, True)
    return Findings(tuple(found), draft.text if error is None and not draft.is_cut else None)


def _is_alike(first: Finding, other: Finding) -> bool:
    same = first.error.tag == other.error.tag and first.error.text == other.error.text
    return same and (first.error.tag.startswith(_OF_NAMES) or first.span == other.span)


def case_of(error: DError, layout: ProgramLayout) -> Case:
    assert error.position is not None
    offset = layout.offset(error.position)
    index = layout.index(offset)
    word = layout.words[index] if index < len(layout.words) else None
    return Case(
        error, layout, offset, index, word, layout.item(offset), layout.statement(offset), span_of(error, layout)
    )


def _can_be_placed(error: DError) -> bool:
    """Whether the mistake is in the text, and not in one that it includes, or in all of it."""
    return error.position is not None and not error.position.line_directive and error.tag not in _OF_THE_WHOLE


def _told(case: Case, tried: Tried, draft: _Draft) -> Finding:
    """The finding with the places of the user's text."""
    remedy = tried.remedy
    if tried.known is not None:
        known = tried.known
        return Finding(case.error, draft.original(known.span or case.span), known.label, (), None, known.words)
    if remedy is None:
        label, also, words = advice(case)
        words = tried.refused or words
        shown = tuple(each._replace(span=draft.original(each.span)) for each in also)
        return Finding(case.error, draft.original(case.span), label, shown, None, words)
    also = tuple(each._replace(span=draft.original(each.span)) for each in remedy.also)
    span = draft.original(remedy.span or case.span)
    edits = tuple(Edit(_origin_of_edit(draft, each.span), each.text) for each in remedy.edits)
    return Finding(case.error, span, remedy.label, also, remedy._replace(edits=edits), "")


def _origin_of_edit(draft: _Draft, span: Span) -> Span:
    return (
        draft.original(span)
        if span.end > span.start
        else Span(*[draft.original(Span(span.start, span.start + 1)).start] * 2)
    )


def _go_on(draft: _Draft, case: Case, tried: Tried) -> None:
    if tried.remedy is not None:
        draft.change(tried.remedy.edits)
    else:
        _take_out(draft, case)


def _is_own(case: Case, draft: _Draft, text: str) -> bool:
    """Whether a mistake is only one because of changes that were made: what it is about is not the user's."""
    is_new = draft.is_inserted(case.span) and not _is_written(case.layout.of(case.span), text)
    return is_new or is_invented(case.error, case.layout, text)


def _is_written(part: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(part)}(?!\w)", text) is not None


def _take_out(draft: _Draft, case: Case) -> None:
    """Take the part with the mistake out: a description becomes one that is always there, a clause that cannot be
    read goes away whole, as a line that begins with # does."""
    item = case.item
    line = control_line(case.layout, case.offset)
    if line is not None:
        # What it would have defined is not missing elsewhere.
        draft.missing |= set(re.findall(r"[A-Za-z_]\w*", case.layout.of(line))) - {"BEGIN"}
        draft.take_out(line)
    elif item is None:
        draft.take_out(Span(0, len(draft.text)))
    elif any(case.is_in(each) for each in item.descriptions) and case.description != _ALWAYS_THERE:
        draft.missing |= {"args", _ALWAYS_THERE, *(f"arg{number}" for number in range(10))}
        draft.elsewhere.add(draft.original(item.span).start)
        draft.take_out(Span(item.descriptions[0].start, item.descriptions[-1].end), _ALWAYS_THERE)
    elif case.error.tag == "D_SYNTAX" or item.body is None or not _stands_alone(case):
        end = max(item.span.end, min(case.offset + 1, len(draft.text)))
        draft.take_out(Span(item.span.start, end), is_declaration=not item.descriptions or item.body is None)
    else:
        draft.take_out(case.part)


def _stands_alone(case: Case) -> bool:
    """Whether a statement can be taken out without another losing its head."""
    following = case.text[case.part.end :].lstrip()[:1]
    return case.part.end > case.part.start and following in (";", "}", "/", "")


def _brought(part: str, is_declaration: bool) -> set[str]:
    """The names in a part of a text that may be assigned to or declared there."""
    listed = words(part)
    found = {word.text for word in listed if word.kind == AGGREGATION}
    return found | {
        word.text for word in listed if word.kind == NAME and (is_declaration or _ASSIGNED.match(part, word.end))
    }


def _is_consequence(case: Case, missing: set[str]) -> bool:
    """Whether a mistake may come from what was taken out alone."""
    inside = case.layout.within(Span(case.part.start, max(case.part.end, case.span.end)))
    return any(case.layout.words[index].text in missing for index in inside)


def _is_of_other_probe(case: Case, draft: _Draft) -> bool:
    """Whether what is wrong is so at the probe alone that stands for one that matches nothing."""
    item = case.item
    if item is None or draft.original(item.span).start not in draft.elsewhere:
        return False
    inside = {case.layout.words[index].text for index in case.layout.within(Span(case.part.start, case.span.end))}
    return f":{_ALWAYS_THERE}" in f"{case.error.text}\n{case.error.hint}" or bool(inside & _BY_PROBE)
