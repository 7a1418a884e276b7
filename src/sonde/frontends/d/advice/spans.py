"""How much of a text a mistake is about: the name, the argument or the operation, from where it was noticed."""

from __future__ import annotations

import re

from sonde.frontends.d.advice.layout import ProgramLayout
from sonde.frontends.d.advice.words import NAME, Span
from sonde.frontends.d.errors import DError
from sonde.frontends.d.expressions import PRECEDENCE

_ARGUMENT = re.compile(r"\( \) (?:argument|key) #(\d+) ")
_OF_CALLS = (
    "D_PROTO_LEN",
    "D_PRINTF_",
    "D_PRINTA_",
    "D_STACK_",
    "D_USTACK_",
    "D_ALLOCA_",
    "D_AGG_",
    "D_CG_EXPR",
    "D_LQUANT",
    "D_QUANT",
)
_LOOSE = frozenset({",", ";", "{", "}", "&&", "||", "^^", "?", ":"})
"""Words that end an operand of an operator that binds more closely."""

_BINARY = frozenset({
    "=", "==", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "+=", "-=", "*=", "/=",
    "%=", "&=", "|=", "^=",
})  # fmt: skip


_ASSIGNING = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="})
_CLOSEST = 99


def span_of(error: DError, layout: ProgramLayout) -> Span:
    """The part of the text that the mistake is about."""
    assert error.position is not None
    offset = layout.offset(error.position)
    line = control_line(layout, offset)
    if line is not None:
        return _in_control_line(error, layout, line)
    index = layout.index(offset)
    if index >= len(layout.words):
        return Span(len(layout.text.rstrip()), len(layout.text.rstrip()) + 1)
    item = layout.item(offset)
    for description in item.descriptions if item else ():
        if description.start <= offset < description.end:
            return description
    word = layout.words[index]
    if word.text in ("->", ".") and index + 1 < len(layout.words):
        following = layout.words[index + 1]
        if error.tag in ("D_TYPE_MEMBER", "D_IDENT_UNDEF"):
            return Span(following.start, following.end)
        return operation(layout, index)
    if error.tag == "D_SYNTAX" or not error.tag.startswith("D_"):
        return Span(word.start, word.end)
    argument = _ARGUMENT.search(error.text)
    if argument and word.kind == NAME:
        found = arguments(layout, index)
        number = int(argument[1])
        if 0 < number <= len(found):
            return found[number - 1]
    if word.kind == NAME and error.tag.startswith(_OF_CALLS):
        return call(layout, index)
    if word.text in _BINARY:
        return operation(layout, index)
    return Span(word.start, word.end)


def control_line(layout: ProgramLayout, offset: int) -> Span | None:
    """The line around an offset if it is one that begins with #."""
    start = layout.text.rfind("\n", 0, offset) + 1
    end = layout.text.find("\n", offset)
    line = Span(start, end if end >= 0 else len(layout.text))
    return line if layout.of(line).lstrip().startswith("#") else None


def _in_control_line(error: DError, layout: ProgramLayout, line: Span) -> Span:
    """The word of a control line that a message names, or its directive."""
    text = layout.of(line)
    named = re.search(r"'([^']+)'|#(\w+)|pragma (\w+)$", error.text)
    name = named and next(filter(None, named.groups()), "")
    place = text.rfind(name) if name else -1
    if name and place >= 0:
        if named and named[2]:
            start = line.start + text.index("#")
            return Span(start, line.start + place + len(name))
        return Span(line.start + place, line.start + place + len(name))
    return Span(line.start + len(text) - len(text.lstrip()), line.start + len(text.rstrip()))


def call(layout: ProgramLayout, index: int) -> Span:
    """A function's name with its arguments."""
    word = layout.words[index]
    partner = layout.brackets.partner.get(index + 1)
    follows = index + 1 < len(layout.words) and layout.words[index + 1].text == "("
    return Span(word.start, layout.words[partner].end if partner is not None and follows else word.end)


def arguments(layout: ProgramLayout, index: int) -> list[Span]:
    """What stands between the commas of the call, or the subscripts, whose bracket follows the word."""
    partner = layout.brackets.partner.get(index + 1)
    if partner is None or layout.words[index + 1].text not in ("(", "["):
        return []
    found: list[Span] = []
    start = index + 2
    for each in separators(layout, index + 1, partner):
        if each > start:
            found.append(Span(layout.words[start].start, layout.words[each - 1].end))
        start = each + 1
    return found


def separators(layout: ProgramLayout, opening: int, partner: int) -> list[int]:
    """The commas between two brackets, but not within inner ones, and the closing bracket."""
    found, each = [], opening + 1
    while each < partner:
        if layout.words[each].text == ",":
            found.append(each)
        each = layout.brackets.partner.get(each, each) + 1
    return [*found, partner]


def operation(layout: ProgramLayout, index: int) -> Span:
    """The operator with both of its operands."""
    return Span(left_operand(layout, index).start, right_operand(layout, index).end)


def left_operand(layout: ProgramLayout, index: int) -> Span:
    """What stands before an operator, back to a bracket or an operator that binds less."""
    first = index
    while first > 0 and _belongs(layout, first - 1, ")]", layout.words[index].text):
        first = min(first - 1, layout.brackets.partner.get(first - 1, first - 1))
    return Span(layout.words[first].start, layout.words[max(index - 1, first)].end)


def right_operand(layout: ProgramLayout, index: int) -> Span:
    last = index
    while last + 1 < len(layout.words) and _belongs(layout, last + 1, "([", layout.words[index].text):
        last = max(last + 1, layout.brackets.partner.get(last + 1, last + 1))
    return Span(layout.words[min(index + 1, last)].start, layout.words[last].end)


def _belongs(layout: ProgramLayout, index: int, passable: str, operator: str) -> bool:
    """Whether a word is part of an operand; a bracket is if its pair is."""
    word = layout.words[index]
    if word.text in passable:
        return index in layout.brackets.partner
    if word.text in ("(", "[", ")", "]") or word.text in _LOOSE:
        return False
    if word.text in _ASSIGNING and passable == ")]":
        return False
    if PRECEDENCE.get(operator, 0) > PRECEDENCE.get(word.text, _CLOSEST) and word.text != "/":
        return False
    if word.text == "/":
        item = layout.item(word.start)
        edges = (item.predicate.start, item.predicate.end - 1) if item and item.predicate else ()
        return word.start not in edges
    return True
