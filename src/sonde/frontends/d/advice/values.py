"""Values that D writes otherwise: numbers with fractions, parts of texts, conditions without the other value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from sonde.frontends.d.advice.finding import Case, Remedy, insert, swap
from sonde.frontends.d.advice.words import Span

_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fFlL]?")
_SLICE = re.compile(r"([A-Za-z_][\w>.-]*)\[\s*(\d*)\s*:\s*(\d*)\s*\]")
_LONGEST = 12


def numbers(case: Case) -> Iterator[Remedy]:
    """`1e6`, and `x * 1.5` as a fraction of whole numbers."""
    match = _NUMBER.match(case.text, case.offset)
    if match is None or len(match[0]) > _LONGEST or match[0].isdigit():
        return
    span = Span(match.start(), match.end())
    value = Fraction(match[0].rstrip("fFlL"))
    label = "D has whole numbers only"
    if value.denominator == 1:
        yield Remedy(f"write {value.numerator}", swap(span, str(value.numerator)), label, span)
        return
    before = case.text[: span.start].rstrip()
    if before.endswith("*"):
        fraction = f"{value.numerator} / {value.denominator}"
        yield Remedy(f"write {fraction}", swap(span, fraction), label, span)
    if before.endswith("/"):
        fraction = f"{value.numerator} * {value.denominator}"
        words = f"multiply by {value.denominator}, then divide by {value.numerator}"
        operand = re.search(r"[\w\]\)>.-]+\s*/\Z", before)
        if operand:
            whole = Span(operand.start(), span.end)
            written = f"{operand[0][:-1].rstrip()} * {value.denominator} / {value.numerator}"
            yield Remedy(words, swap(whole, written), label, span)
    yield Remedy(f"write {round(value)}", swap(span, str(round(value))), label, span)


def slices(case: Case) -> Iterator[Remedy]:
    """`text[1:3]`, as Python has it."""
    for match in _SLICE.finditer(case.text, case.part.start, case.part.end):
        first = int(match[2] or 0)
        count = f", {int(match[3]) - first}" if match[3] else ""
        written = f"substr({match[1]}, {first}{count})"
        span = Span(match.start(), match.end())
        yield Remedy(f"write {written}", swap(span, written), "parts of a text are taken by substr()", span)


def conditional(case: Case) -> Iterator[Remedy]:
    """`test ? value` without the other value."""
    text = case.layout.of(case.part)
    if "?" not in text or case.word is None or case.word.text not in (")", ";", "}", ",", "]"):
        return
    before = case.at(-1)
    if before is not None:
        for other in ("0", '""'):
            words = f"give the other value, as : {other}"
            yield Remedy(words, insert(before.end, f" : {other}"), "expected : and the other value")
