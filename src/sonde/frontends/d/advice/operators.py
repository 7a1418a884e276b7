"""Operators: = for ==, the dot and the arrow, quotes of the other kind, texts that are added or compared."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sonde.frontends.d.advice.finding import Case, Edit, Remedy, of_word, swap
from sonde.frontends.d.advice.spans import left_operand, right_operand
from sonde.frontends.d.advice.words import CHARACTER, Span


def comparison(case: Case) -> Iterator[Remedy]:
    """= where values are compared."""
    word = case.word
    if word is None or word.text != "=":
        return
    inside = case.is_in(case.item.predicate if case.item else None) or re.match(
        r"\s*(?:else\s+)?(?:if|while)\b", case.layout.of(case.part)
    )
    if not inside and "writable" not in case.error.text:
        return
    left = case.layout.of(left_operand(case.layout, case.number))
    label = "= assigns, == compares" if inside else f"{left} is built in, and cannot be set"
    if inside:
        yield Remedy("write ==", swap(of_word(word), "=="), label)
        every = [
            each for each in case.layout.words if each.text == "=" and case.part.start <= each.start < case.part.end
        ]
        yield Remedy("write ==", tuple(Edit(of_word(each), "==") for each in every), label)
        return
    operand = left_operand(case.layout, case.number)
    words = f"choose another name, as this->{left}"
    if left.isidentifier():
        yield Remedy(words, swap(operand, f"this->{left}"), label)


_SCOPES = ("args", "globals", "locals", "self", "this")
"""Words that have variables behind -> and are no structures."""
_OF_MEMBERS = ("D_TYPE_MEMBER", "D_XLATE_NOCONV")
"""Mistakes in the name behind an operator that is right."""


def member_operator(case: Case) -> Iterator[Remedy]:
    """. and -> mixed up, and members of plain addresses."""
    word = case.word
    if word is not None and word.text in (".", "->") and case.error.tag not in _OF_MEMBERS:
        if word.text == "->" and case.layout.of(left_operand(case.layout, case.number)) in _SCOPES:
            return
        other = "->" if word.text == "." else "."
        label = "this is a pointer" if other == "->" else "this is a structure, not a pointer"
        operand = left_operand(case.layout, case.number)
        yield Remedy(f"write {other}", swap(of_word(word), other), label, operand)
    following = case.at(1)
    if word is not None and word.text == "args" and following is not None and following.text == ".":
        label = "arguments have their names behind ->"
        yield from _copied(case, label)
        yield Remedy("write args->", swap(of_word(following), "->"), label, Span(word.start, following.end))
        name = case.at(2)
        if name is not None:
            number = re.fullmatch(r"arg(\d)", name.text)
            span = Span(word.start, name.end)
            if number:
                yield Remedy(f"write {name.text}", swap(span, name.text), label, span)


def _copied(case: Case, label: str) -> Iterator[Remedy]:
    """`copyinstr(args.name)`: the argument has a type, which says where the text is."""
    name = case.at(2)
    written = re.search(r"\bcopyinstr\(\s*args\.(\w+)\s*\)", case.text[case.part.start : case.part.end])
    if written and name is not None and name.text == written[1]:
        span = Span(case.part.start + written.start(), case.part.start + written.end())
        yield Remedy(f"write stringof(args->{name.text})", swap(span, f"stringof(args->{name.text})"), label, span)


def quotes(case: Case) -> Iterator[Remedy]:
    """A text between single quotes, which are for characters."""
    inside = case.layout.within(case.part)
    single = [case.layout.words[i] for i in inside if case.layout.words[i].kind == CHARACTER]
    if not single:
        return
    edits = tuple(Edit(of_word(each), f'"{each.text.strip(chr(39))}"') for each in single)
    span = of_word(single[0])
    yield Remedy('write "..."', edits, "single quotes are for one character", span)


def strings(case: Case) -> Iterator[Remedy]:
    """Texts that are joined with + or compared with numbers."""
    word = case.word
    if word is None or not case.error.tag.startswith("D_OP_"):
        return
    left, right = left_operand(case.layout, case.number), right_operand(case.layout, case.number)
    texts = case.layout.of(left), case.layout.of(right)
    if word.text == "+":
        written = f"strjoin({texts[0]}, {texts[1]})"
        yield Remedy(f"write {written}", swap(Span(left.start, right.end), written), "texts are joined by strjoin()")
    if word.text in ("==", "!=", "<", ">", "="):
        yield from _both_alike(case, left, right, texts)
    if word.text == "=" and texts[0].isidentifier():
        words = f"choose another name, as {texts[0]}_2: a variable keeps its first type"
        yield Remedy(words, swap(left, f"{texts[0]}_2"), f"{texts[0]} has another type")


def _may_be_address(case: Case, text: str) -> bool:
    """Whether a value may lead to a text: an argument or a pointer, and not a number such as cpu."""
    return bool(re.match(r"args?\b|arg\d|self|this|\(|\w+->", text)) or "*" in case.error.text


def _both_alike(case: Case, left: Span, right: Span, texts: tuple[str, str]) -> Iterator[Remedy]:
    for span, text in ((right, texts[1]), (left, texts[0])):
        quoted = re.fullmatch(r"\"([-+]?(?:0x[0-9a-fA-F]+|\d+))\"", text)
        if quoted:
            yield Remedy(f"write {quoted[1]}", swap(span, quoted[1]), "this is a text, the other a number", span)
        if re.fullmatch(r"[-+]?\d+", text):
            yield Remedy(f'write "{text}"', swap(span, f'"{text}"'), "this is a number, the other a text", span)
        if re.fullmatch(r"arg\d|args\[\d\]|[\w\[\]>().-]+", text) and _may_be_address(case, text):
            for wrapped in (f"copyinstr({text})", f"stringof({text})"):
                yield Remedy(f"write {wrapped}", swap(span, wrapped), "this is an address, the other a text", span)
    if texts[0] == "uid" or texts[1] == "root":
        yield Remedy("write 0", swap(right, "0"), "users are numbers; root is 0", right)
