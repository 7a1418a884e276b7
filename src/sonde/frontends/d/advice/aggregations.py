"""Aggregations: functions without brackets, maps of bpftrace, and uses that aggregations do not have."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sonde.frontends.d.advice.finding import Case, Edit, Remedy, cause, insert, of_word, swap
from sonde.frontends.d.advice.foreign import FUNCTIONS
from sonde.frontends.d.advice.words import AGGREGATION, NAME, Span, Word
from sonde.frontends.d.check import alike
from sonde.frontends.d.check.prototypes import AGGREGATING

FILLED = "a clause has to fill it before, as in @name = count();"

_STATEMENT = re.compile(r"(@\w*)\s*(\[.*\])?\s*(\+\+|--|[-+]?=)\s*(.*)", re.DOTALL)


_UNDEFINED = re.compile(r"(?:undefined aggregation:|failed to resolve) (@\w*)")


def functions(case: Case) -> Iterator[Remedy]:
    """`@ = count;` and counting with ++ or +=."""
    statement = _STATEMENT.fullmatch(case.layout.of(case.part))
    if statement is None:
        return
    target = statement[1] + (statement[2] or "")
    value = statement[4].strip()
    label = f"an aggregation is assigned one of {', '.join(sorted(AGGREGATING)[:4])} ..."
    if statement[3] in ("++", "--"):
        value = "count()" if statement[3] == "++" else "sum(-1)"
        yield _assigned(case, target, value, label)
    elif statement[3] == "+=" and value:
        yield _assigned(case, target, "count()" if value == "1" else f"sum({value})", label)
        yield _assigned(case, target, f"sum({value})", label)
    elif statement[3] == "=" and (added := re.fullmatch(rf"{re.escape(target)}\s*([-+])\s*(.+)", value)):
        amount = added[2] if added[1] == "+" else f"-({added[2]})"
        yield _assigned(case, target, "count()" if amount == "1" else f"sum({amount})", label)
    elif statement[3] == "-=" and value:
        yield _assigned(case, target, f"sum(-({value}))", label)
    elif value in AGGREGATING or value in FUNCTIONS:
        name = value if value in AGGREGATING else FUNCTIONS[value][0].partition("(")[0]
        span = Span(case.part.end - len(value), case.part.end)
        takes = AGGREGATING.get(name)
        called = f"{name}()" if takes is not None and takes.prototype == "void()" else f"{name}(arg0)"
        yield Remedy(f"write {called}", swap(span, called), "a function is called with brackets", span)


def _assigned(case: Case, target: str, value: str, label: str) -> Remedy:
    written = f"{target} = {value}"
    return Remedy(f"write {written}", swap(case.part, written), label, case.part)


def maps(case: Case) -> Iterator[Remedy]:
    """`@start[tid] = nsecs`: what keeps a value is a variable, not an aggregation."""
    if case.error.tag not in ("D_AGG_FUNC", "D_AGG_NULL", "D_PROTO_ARG", "D_OP_SCALAR", "D_OP_INCOMPAT", "D_OP_ARITH"):
        yield from _second_subscripts(case)
        return
    statement = re.match(r"(@\w+)\s*(?:\[([^\]]*)\])?\s*=(?!=)", case.layout.of(case.part))
    if statement is None:
        return
    same = [word for word in case.layout.words if word.text == statement[1]]
    label = "an aggregation cannot hold a value that is set"
    if statement[2] == "tid":
        edits = tuple(_of_thread(case, word) for word in same)
        yield Remedy(f"write self->{statement[1][1:]}, a variable of the thread", edits, label)


def set_values(case: Case) -> Iterator[Remedy]:
    """`@x = 5`: whether a variable or a sum is meant nobody knows."""
    statement = re.match(r"@(\w+)\s*=(?!=)", case.layout.of(case.part))
    if statement is not None and case.error.tag in ("D_AGG_FUNC", "D_AGG_NULL"):
        words = f"a value is kept in a variable, {statement[1]} without @; sums are @{statement[1]} = sum(...)"
        yield cause(case.part, "an aggregation cannot hold a value that is set", words)


def _of_thread(case: Case, word: Word) -> Edit:
    """`@start[tid]` as `self->start`."""
    index = case.layout.index(word.start)
    partner = case.layout.brackets.partner.get(index + 1)
    following = case.layout.words[index + 1].text if index + 1 < len(case.layout.words) else ""
    end = case.layout.words[partner].end if partner is not None and following == "[" else word.end
    return Edit(Span(word.start, end), f"self->{word.text[1:]}")


def _second_subscripts(case: Case) -> Iterator[Remedy]:
    """`@[a][b]` for `@[a, b]`."""
    for index in case.layout.within(case.part):
        first, second = case.layout.words[index], case.layout.words[index + 1 : index + 2]
        if first.text == "]" and second and second[0].text == "[" and index in case.layout.brackets.partner:
            span = Span(first.start, second[0].end)
            yield Remedy("write [..., ...]", swap(span, ", "), "keys are divided by commas", span)


def keys(case: Case) -> Iterator[Remedy]:
    """`@("a")` and `@{"a"}`: keys stand between square brackets."""
    for number in case.layout.within(case.part):
        word = case.layout.words[number]
        partner = case.layout.brackets.partner.get(number + 1)
        is_named = word.kind == AGGREGATION or (word.kind == NAME and case.text[word.end : word.end + 1] == "{")
        if partner is None or not is_named or case.layout.words[number + 1].text not in ("(", "{"):
            continue
        opening, end = case.layout.words[number + 1], case.layout.words[partner]
        edits = (Edit(of_word(opening), "["), Edit(of_word(end), "]"))
        yield Remedy("write [...]", edits, "keys stand between square brackets", Span(opening.start, end.end))


def uses(case: Case) -> Iterator[Remedy]:
    """Aggregations where values or functions of other names are wanted."""
    word = case.word
    if word is None:
        return
    statement = case.layout.of(case.part)
    call = re.match(r"(print|trace|printf|print_map|clear|zero|tracemem)\s*\((.*)\)\s*$", statement, re.DOTALL)
    named = [w for w in case.layout.words if w.kind == AGGREGATION and case.part.start <= w.start < case.part.end]
    if call and named:
        name = Span(case.part.start, case.part.start + call.end(1))
        label = "aggregations are printed by printa()"
        yield Remedy("write printa", swap(name, "printa"), label, name)
        only = f"printa({named[0].text})"
        yield Remedy(f"write {only}", swap(case.part, only), label, case.part)
        changed = re.sub(r"%[-\d.]*l*[dius]", "%@d", statement, count=0)
        if "%" in statement:
            last = "%@d".join(re.sub(r"%(?=[-\d.]*l*[diu])", "%@", call[2]).split("%@@d"))
            yield Remedy("write printa and %@d", swap(case.part, f"printa({last})"), label, case.part)
            yield Remedy(
                "write printa and %@d", swap(case.part, changed.replace(call[1], "printa", 1)), label, case.part
            )
    if is_undefined(case):
        yield from _alike(case)
    redefined = re.search(r"aggregation redefined: (@\w*)\n\t current: @\w* = (\w+)", case.error.text)
    if redefined:
        other = next((w for w in case.layout.words if w.text == redefined[1] and case.part.start <= w.start), None)
        if other is not None:
            name_ = f"{redefined[1]}{'_' if len(redefined[1]) > 1 else ''}{redefined[2]}"
            words = f"give it a name of its own, as {name_}"
            yield Remedy(words, swap(of_word(other), name_), "an aggregation has one function", of_word(other))
    other_keys = re.search(r"(@\w*)\[ \] (?:key #|prototype mismatch)", case.error.text)
    if other_keys:
        same = next((w for w in case.layout.words if w.text == other_keys[1] and case.part.start <= w.start), None)
        if same is not None:
            label = f"{other_keys[1]} has other keys elsewhere"
            words = f"give it a name of its own, as {other_keys[1]}_2"
            yield Remedy(words, insert(same.end, "_2"), label, of_word(same))
    value = re.match(r"[\w>-]+\s*=\s*(\w+)\s*\(", statement)
    if value and value[1] in AGGREGATING:
        yield Remedy("write @ before the name", insert(case.part.start, "@"), f"{value[1]}() is for aggregations")
    alone = re.match(r"(\w+)\s*\(", statement)
    if alone and alone[1] in AGGREGATING:
        yield Remedy("write @ = before it", insert(case.part.start, "@ = "), f"{alone[1]}() is for aggregations")


TAKING = ("printa", "clear", "trunc", "normalize", "denormalize")
"""Actions of which one argument is an aggregation."""


def left_out(case: Case) -> Iterator[Remedy]:
    """`printa("%d\\n")`, which says of no aggregation that it is printed, and `clear(a)`."""
    word = case.layout.word(case.part.start)
    if word is None or word.text not in TAKING or AGGREGATION in _kinds(case):
        return
    known = sorted({each.text for each in case.layout.words if each.kind == AGGREGATION})
    call = re.match(r"printa\s*\(\s*(\"[^\"]*\")\s*\)", case.layout.of(case.part))
    label = f"{word.text}() takes an aggregation"
    if call:
        span = Span(case.part.start, case.part.start + call.end())
        for name in known:
            for text in (call[1], re.sub(r"%(?=[-\d]*[diu])(?!.*%[-\d]*[diu])", "%@", call[1])):
                yield Remedy(f"write printa({text}, {name})", swap(span, f"printa({text}, {name})"), label, span)
    is_named = case.word is not None and f"@{case.word.text}" in known
    if not is_named:
        yield cause(case.span, label, f"its name begins with @; {FILLED}")


def _kinds(case: Case) -> set[str]:
    return {case.layout.words[index].kind for index in case.layout.within(case.part)}


def is_undefined(case: Case) -> bool:
    """Whether the mistake is that nothing is aggregated there."""
    return _UNDEFINED.search(case.error.text) is not None


def _alike(case: Case) -> Iterator[Remedy]:
    wrong = _UNDEFINED.search(case.error.text)
    if wrong is None:
        return
    known = {word.text for word in case.layout.words if word.kind == AGGREGATION} - {wrong[1]}
    span = next((of_word(w) for w in case.layout.words if w.text == wrong[1] and w.start >= case.part.start), case.span)
    for name in [*alike.alike(wrong[1], known), *sorted(known)[:1]]:
        yield Remedy(f"did you mean {name}?", swap(span, name), "nothing is aggregated there", span)
