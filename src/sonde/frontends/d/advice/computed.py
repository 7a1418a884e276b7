"""Aggregations where values are wanted: D keeps them on each processor, and a program cannot read them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sonde.frontends.d.advice.finding import Case, Remedy, cause, swap
from sonde.frontends.d.advice.spans import arguments, call, operation
from sonde.frontends.d.advice.words import AGGREGATION, Span
from sonde.frontends.d.check.prototypes import AGGREGATING

_BETWEEN = frozenset({
    "+", "-", "*", "/", "%", "<", ">", "<=", ">=", "==", "!=", "&&", "||", "^^", "&", "|", "^", "<<", ">>", "?", "!",
})  # fmt: skip
_FUNCTIONS = f"(?:{'|'.join(sorted(AGGREGATING))})"


def arithmetic(case: Case) -> Iterator[Remedy]:
    """`@r / @w`, `@a > 5`, `@a = count() / 2`: no operator takes an aggregation."""
    if not case.error.tag.startswith(("D_OP_", "D_AGG_")) or case.word is None:
        return
    words = case.layout.words
    inside = case.layout.within(case.part)
    statement = case.layout.of(case.part)
    assigned = re.match(rf"@\w*\s*(?:\[.*?\])?\s*=\s*({_FUNCTIONS})\s*\(", statement, re.DOTALL)
    if assigned and case.word.text in _BETWEEN and _behind_call(case, inside):
        span = operation(case.layout, case.number)
        words_ = "compute inside the brackets, as in sum(arg0 / 2), or divide for printing: normalize(@a, 2)"
        yield cause(span, "an aggregating function stands alone", words_)
        return
    if re.match(r"(@\w*\s*(?:\[.*?\])?)\s*=\s*\1\s*[-+]", statement, re.DOTALL):
        return
    places = [n for n in inside if words[n].kind == AGGREGATION and _operator_beside(case, n, inside)]
    if not places or case.word.text not in _BETWEEN:
        return
    span = operation(case.layout, case.number)
    named = list(dict.fromkeys(words[n].text for n in places))
    shown = " ".join(["%@d"] * len(named))
    help_ = f'count in variables, as reads++, or print the values: printa("{shown}\\n", {", ".join(named)})'
    yield cause(span, "D cannot compute with aggregations", help_)


def _behind_call(case: Case, inside: range) -> bool:
    """Whether the operator stands behind the bracket of the function."""
    opened = next((n for n in inside if case.layout.words[n].text == "(" and n in case.layout.brackets.partner), None)
    return opened is not None and case.number > case.layout.brackets.partner[opened]


def _operator_beside(case: Case, number: int, inside: range) -> bool:
    words = case.layout.words
    before = words[number - 1].text if number > inside.start or number else ""
    end = number
    if number + 1 < len(words) and words[number + 1].text == "[":
        end = case.layout.brackets.partner.get(number + 1, number)
    after = words[end + 1].text if end + 1 < len(words) else ""
    return before in _BETWEEN or after in _BETWEEN


def values(case: Case) -> Iterator[Remedy]:
    """`x = @a`, `@b = @a`: an aggregation's value goes nowhere but to the output."""
    statement = case.layout.of(case.part)
    match = re.fullmatch(r"[\w@>\[\], -]+=\s*(@\w*)\s*(?:\[.*\])?", statement, re.DOTALL)
    if match is None or case.error.tag not in ("D_AGG_FUNC", "D_AGG_NULL", "D_OP_INCOMPAT"):
        return
    span = Span(case.part.start + match.start(1), case.part.end)
    help_ = f"printa({match[1]}) prints it; a value that is needed again is kept in a variable"
    yield cause(span, "a program cannot read the value of an aggregation", help_)


def conversions(case: Case) -> Iterator[Remedy]:
    """`printa("%s %d\\n", @a)`: the value of the aggregation is written %@d."""
    word = case.word
    if word is None or word.text != "printa" or case.error.tag not in ("D_PRINTF_ARG_PROTO", "D_PRINTF_ARG_TYPE"):
        return
    given = arguments(case.layout, case.number)
    if not given or not case.layout.of(given[0]).startswith('"'):
        return
    places = list(re.finditer(r"%[-+ 0#]*\d*(?:h|l|ll)?[diuxX]", case.layout.of(given[0])))
    label = "the value of the aggregation is written %@d"
    for place in reversed(places):
        span = Span(given[0].start + place.start(), given[0].start + place.end())
        yield Remedy("write %@d", swap(span, "%@" + place[0][1:]), label, span)
    yield cause(given[0], label, "the others are for the keys, in their order: one conversion for each key")


def elements(case: Case) -> Iterator[Remedy]:
    """`delete(@a[key])`: single keys of an aggregation stay."""
    word = case.word
    if word is None or word.text not in ("delete", "del", "remove", "unset"):
        return
    following = case.at(1)
    named = case.at(2) if following is not None and following.text == "(" else following
    if named is None or named.kind != AGGREGATION:
        return
    help_ = f"clear({named.text}) sets all values to 0, trunc({named.text}) takes out all keys"
    whole = call(case.layout, case.number) if named is not following else case.part
    yield cause(whole, "no key of an aggregation can be taken out alone", help_)


def missing_values(case: Case) -> Iterator[Remedy]:
    """A conversion of printf() without its argument: which value was meant nobody knows."""
    word = case.word
    if word is None or case.error.tag not in ("D_PRINTF_ARG_PROTO", "D_PRINTF_DYN_PROTO"):
        return
    given = arguments(case.layout, case.number)
    number = re.search(r"conversion #(\d+)", case.error.text)
    text = given[0] if given else None
    if number is None or text is None or not case.layout.of(text).startswith('"'):
        return
    found = re.finditer(r"%(?!%)[-+ #0'@]*(?:\d+|\*)?(?:\.(?:\d+|\*))?[hlLjzt]*[a-zA-Z]", case.layout.of(text))
    places = list(found)
    if int(number[1]) > len(places):
        return
    place = places[int(number[1]) - 1]
    span = Span(text.start + place.start(), text.start + place.end())
    percent = re.compile(r"\d%\s").search(case.text, text.start, span.end)
    if percent and percent.end() - 2 == span.start:
        yield Remedy("write %%", swap(Span(span.start, span.start + 1), "%%"), "a percent sign is written %%", span)
    words = f"give a value for {place[0]} behind the format; a percent sign is written %%"
    yield cause(span, "no argument is for this", words)
