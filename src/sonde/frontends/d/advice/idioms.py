"""Statements as Python, awk and shells write them, and what a shell took from a program."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sonde.frontends.d.advice.finding import Case, Remedy, cause, of_word, swap
from sonde.frontends.d.advice.spans import arguments, left_operand
from sonde.frontends.d.advice.words import Span

_WALK = re.compile(
    r"(?:for|foreach)\s*\(?\s*(?:(?:auto|let|var|const|int|string)\s*&?\s+)?[$@\w]+(?:\s*,\s*\w+)*\s*"
    r"(?:\bin\b|\bof\b|:|\bas\b)\s*(?!range\b)(?P<of>[@$A-Za-z_][\w.>-]*(?:\([^()]*\))?)\s*\)?"
)
_COLON = re.compile(r"(?P<word>else\s+if|elif|if|while)\b\s*(?P<condition>[^;{}]*?)\s*(?P<colon>:|\bthen\b;?)(?=\s)")
_BINARY = frozenset({"==", "!=", "<", ">", "<=", ">=", "&&", "||", "^^", "+", "-", "*", "%", "&", "|", "=", "->"})


def directives(case: Case) -> Iterator[Remedy]:
    """Control lines: options that are misspelt, and lines of the C preprocessor."""
    if not case.error.tag.startswith("D_PRAG"):
        return
    named = re.search(r"failed to set option '(\w+)'", case.error.text)
    if named:
        label = f"there is no option {named[1]}" if case.error.names else ""
        for name in case.error.names:
            yield Remedy(f"did you mean {name}?", swap(case.span, name), label, case.span)
    line = re.compile(r"[ \t]*#\s*(\w+)\s*([^\n]*)").match(case.text, case.text.rfind("\n", 0, case.span.start) + 1)
    if line is None:
        return
    if line[1] == "include":
        help_ = "leave it out: the kernel's types are known; -C runs a preprocessor"
        yield cause(case.span, "D has no preprocessor of its own", help_)
    constant = re.match(r"([A-Za-z_]\w*)\s+(\S.*)", line[2])
    if line[1] == "define" and constant:
        help_ = f"write inline int {constant[1]} = {constant[2].strip()}; or let -C run the C preprocessor"
        yield cause(case.span, "D has no preprocessor of its own", help_)


def walks(case: Case) -> Iterator[Remedy]:
    """`for (k in a)`: nothing walks over the keys of an array."""
    match = _WALK.match(case.text, case.part.start)
    if match is None or case.error.tag != "D_SYNTAX":
        return
    span = Span(match.start(), match.end())
    named = match["of"].strip("@$")
    keys = f"@{named}[execname]" if named.isidentifier() else "@[execname]"
    help_ = f"count by key in an aggregation, which is printed with all its keys: {keys} = count()"
    yield cause(span, "D cannot walk over an array", help_)


def colons(case: Case) -> Iterator[Remedy]:
    """`if pid == 1: ...` and `if ...; then`."""
    if case.error.tag != "D_SYNTAX":
        return
    match = _COLON.match(case.text, case.part.start)
    if match is None or "?" in match["condition"]:
        return
    span = Span(match.start("condition"), match.end("colon"))
    inner = match["condition"]
    if inner.startswith("(") and inner.endswith(")"):
        inner = inner[1:-1]
    keyword = "else if" if match["word"] == "elif" else match["word"]
    label = "a condition stands between brackets, without a colon"
    whole = Span(match.start(), match.end("colon"))
    yield Remedy(f"write {keyword} ({inner})", swap(whole, f"{keyword} ({inner})"), label, span)
    yield cause(span, label, f"write {keyword} ({inner}) {{ ... }}")


def empty_operands(case: Case) -> Iterator[Remedy]:
    """`/pid == /`: what stood there may have been taken by the shell."""
    word, before = case.word, case.at(-1)
    if word is None or before is None or case.error.tag != "D_SYNTAX":
        return
    earlier = case.at(-2)
    if word.text == "{" and before.text == "/" and earlier is not None:
        # The predicate's end was read as a division.
        word, before = before, earlier
    if before.text not in _BINARY or word.text not in ("/", ")", ";", "}", "]", ",", "&&", "||"):
        return
    if before.text in ("*", "&") and word.text == ")":
        # A type of a pointer.
        return
    if before.text == "=" and before.end == word.start and word.text == "/":
        return
    span = Span(before.end, max(word.start, before.end + 1))
    help_ = "a shell takes $NAME out of double quotes: put the program in single ones"
    yield cause(span, f"nothing stands behind {before.text}", help_)


def numbers_with_members(case: Case) -> Iterator[Remedy]:
    """`args[0]->fi_pathname` of a system call: its arguments are numbers and addresses."""
    word, name = case.word, case.at(1)
    if word is None or name is None or word.text not in ("->", ".") or not case.error.tag.startswith("D_OP_"):
        return
    operand = left_operand(case.layout, case.number)
    text = case.layout.of(operand)
    number = re.fullmatch(r"args?\s*\[\s*(\d)\s*\]|arg(\d)", text)
    kind = re.search(r'to type "(.*)"', case.error.text)
    if number is None or (kind and "*" in kind[1] and word.text == "."):
        return
    which = number[1] or number[2]
    label = f"{text} is a number here, not a structure"
    whole = Span(operand.start, name.end)
    if name.text.startswith("fi_"):
        written = f"fds[arg{which}].{name.text}"
        yield Remedy(f"write {written}", swap(whole, written), label, operand)
    elif name.text.startswith("pr_"):
        written = f"curpsinfo->{name.text}"
        yield Remedy(f"write {written}", swap(whole, written), label, operand)
    other = "." if word.text == "->" else "->"
    yield Remedy(f"write {other}", swap(of_word(word), other), f"this wants {other}", operand)
    if number[2]:
        return
    help_ = f"`sonde -lvn '{case.description}'` shows the types of the arguments"
    if case.description.startswith("syscall:"):
        help_ = f"fds[arg{which}] describes an open file, copyinstr(arg{which}) is the text at an address"
    yield cause(operand, label, help_)


def limits(case: Case) -> Iterator[Remedy]:
    """`lquantize(x, 1000, 0, 10)`: the lower limit comes first."""
    word = case.word
    if word is None or case.error.tag != "D_LQUANT_MISMATCH":
        return
    given = arguments(case.layout, case.number)
    if len(given) < 3:
        return
    low, high = case.layout.of(given[1]), case.layout.of(given[2])
    span = Span(given[1].start, given[2].end)
    yield Remedy(f"write {high}, {low}", swap(span, f"{high}, {low}"), "the lower limit comes first", span)
    yield cause(span, "the lower limit comes first", f"{word.text}(value, low, high, step)")
