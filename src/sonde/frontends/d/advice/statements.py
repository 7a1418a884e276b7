"""Statements as other languages write them: declarations in clauses, conditions without brackets, loops, heads."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sonde.frontends.d.advice.finding import Case, Edit, Remedy, cause, insert, of_word, swap
from sonde.frontends.d.advice.foreign import OF_CALLS, TYPES
from sonde.frontends.d.advice.words import NAME, OPERATOR, Span
from sonde.frontends.d.check import alike, prototypes
from sonde.model import types as model_types

_DECLARED = re.compile(
    r"(?P<type>(?:(?:const|unsigned|signed|static|struct|auto)\s+)*[A-Za-z_]\w*(?:\s+(?:int|long|char|short))*"
    r"(?:\s*\*+\s*|\s+))(?P<name>[A-Za-z_]\w*)\s*(?P<array>\[\d*\])?\s*(?P<value>=[^=][^;]*)?;?"
)
_UNROLL = re.compile(r"unroll\s*\(\s*(\w+)\s*\)\s*\{")
_FOR = re.compile(r"for\s*\(\s*(?:[A-Za-z_]\w*\s+)+([A-Za-z_]\w*)\s*=")
_RANGE = re.compile(
    r"for\s*\(?\s*\$?([A-Za-z_]\w*)\s*(?:in\s+range\s*\(|:\s*|in\s+)(?:(\w+)\s*(?:\.\.|,)\s*)?(\w+)\s*\)*\s*(?=\{)"
)
_KEYWORD = re.compile(r"(?:let|var|my|local|auto|declare|set)\s+\$?([A-Za-z_]\w*)")
_FIRST_WORDS = ("probe", "on", "when", "trace")


_NO_TYPES = frozenset((
    "return", "else", "goto", "case", "print", "trace", "printf", "delete", "if", "for", "while", "elif", "switch",
    "do", "unless", "foreach", "echo", "say", "puts", "exit", "count", "in", "let", "var",
))  # fmt: skip


def variables(case: Case) -> Iterator[Remedy]:
    """A variable declared in a clause: one that is assigned needs no declaration, one that is not stands outside."""
    if case.item is None or case.item.body is None or case.offset < case.item.body.start:
        return
    keyword = _KEYWORD.match(case.text, case.part.start)
    if keyword:
        words = f"write this->{keyword[1]}"
        edits = _renamed(case, keyword[1], Span(keyword.start(), keyword.end()))
        yield Remedy(words, edits, "a variable is there when it is first assigned to")
    declared = _DECLARED.match(case.text, case.part.start)
    if declared is None or declared["type"].split()[0].strip("*") in _NO_TYPES:
        return
    name, kind = declared["name"], declared["type"].strip()
    label, span = "variables are declared outside of clauses", Span(declared.start("type"), declared.end("name"))
    if declared["value"]:
        edits = _renamed(case, name, span)
        words = f"write this->{name} = ...: a variable is there when it is first assigned to"
        yield Remedy(words, edits, label, span)
        yield Remedy("leave the type out", swap(span, name), label, span)
    else:
        outside = f"{kind} {name}{declared['array'] or ''}; "
        edits = (Edit(Span(declared.start(), declared.end()), ""), *insert(case.item.span.start, outside))
        yield Remedy(f"declare it before the clause: {outside.strip()}", edits, label, span)


def _renamed(case: Case, name: str, declaration: Span) -> tuple[Edit, ...]:
    """The declaration and every use in the clause as a variable of the clause."""
    assert case.item is not None
    assert case.item.body is not None
    edits = [Edit(declaration, f"this->{name}")]
    for index in case.layout.within(case.item.body):
        word = case.layout.words[index]
        before = case.layout.words[index - 1].text
        is_use = word.text in (name, f"${name}") and before not in ("->", ".") and word.start >= declaration.end
        if is_use:
            edits.append(Edit(of_word(word), f"this->{name}"))
    return tuple(edits)


def types(case: Case) -> Iterator[Remedy]:
    """A cast to a type that is not there: names of types in other languages, `struct` left out, misspelt ones."""
    for index in range(case.number, max(case.number - 6, -1), -1):
        word = case.layout.words[index] if index < len(case.layout.words) else None
        before = case.layout.words[index - 1].text if index else ""
        after = case.layout.words[index + 1].text if index + 1 < len(case.layout.words) else ""
        if word is None or word.kind != NAME or before not in ("(", "struct", "<") or after not in (")", "*", ">", ","):
            continue
        span = of_word(word)
        label = f"there is no type {word.text}"
        if word.text in TYPES:
            yield Remedy(f"write {TYPES[word.text]}", swap(span, TYPES[word.text]), label, span)
        for name in _alike_types(word.text):
            yield Remedy(f"did you mean {name}?", swap(span, name), label, span)
        if before != "struct":
            for kind in ("struct", "union"):
                edits = swap(span, f"{kind} {word.text}")
                needs = (_asking(case, f"sizeof ({kind} {word.text})"), *edits)
                yield Remedy(f"write {kind} {word.text}", edits, label, span, needs=needs)
            if _is_cast(case, index):
                declared = "struct { ... }" if after == "*" else "int"
                words = f"the kernel has no such type; declare it: typedef {declared} {word.text};"
                yield cause(span, label, words)
        return


def _asking(case: Case, expression: str) -> Edit:
    """The expression where the compiler comes to it before the mistake."""
    start = case.part.start
    if case.text.startswith("/", start):
        return Edit(Span(start + 1, start + 1), f"{expression} && ")
    return Edit(Span(start, start), f"{expression}; ")


def _is_cast(case: Case, index: int) -> bool:
    """Whether the name stands as a type does before an operand, and as nothing else in the program."""
    words = case.layout.words
    name, behind = words[index].text, index + 1
    while behind < len(words) and words[behind].text == "*":
        behind += 1
    if behind + 1 >= len(words) or words[behind].text != ")":
        return False
    operand = words[behind + 1]
    is_operand = operand.kind != OPERATOR or operand.text in ("(", "*", "&")
    is_type = name.endswith("_t") or behind > index + 1
    return is_operand and is_type and not re.search(rf"\b{re.escape(name)}\b\s*(=|\+\+|--|\[|->|\.)", case.text)


def _alike_types(name: str) -> list[str]:
    return alike.alike(
        name, [*model_types.BUILTIN_TYPEDEFS, "uintptr_t", "int", "long", "char", "short", "unsigned", "string"]
    )


def heads(case: Case) -> Iterator[Remedy]:
    """What stands before or behind a description and belongs to another language."""
    item = case.item
    if item is None or item.body is None:
        return
    head = case.text[item.span.start : item.body.start]
    yield from _of_systemtap(item.span.start, head)
    timer = re.match(r"(tick|profile)[\s:]+(\d+\w*)", head)
    if timer:
        whole = Span(item.span.start, item.span.start + timer.end())
        written = f"{timer[1]}-{timer[2]}"
        yield Remedy(f"write {written}", swap(whole, written), "a timer is tick-N or profile-N", whole)
    word = re.match(r"(\w+)\s+", head)
    if word and word[1] in _FIRST_WORDS:
        span = Span(item.span.start, item.span.start + word.end(1))
        yield Remedy(f"leave {word[1]} out", swap(span, ""), "a clause begins with its probe", span)
    whole = Span(item.span.start, item.span.start + len(head.rstrip()))
    called = re.fullmatch(r"\s*(\S+?)\s*\(\s*\)\s*", head)
    if called:
        yield Remedy(f"write {called[1]}", swap(whole, called[1]), "a description has no arguments", whole)


def _of_systemtap(start: int, head: str) -> Iterator[Remedy]:
    """`probe syscall.open`, `probe kernel.function("f").return`, `probe timer.s(1)`."""
    whole = Span(start, start + len(head.rstrip()))
    written: list[str] = []
    call = re.fullmatch(r"(?:probe\s+)?syscall\.(\w+)(\.return)?\s*", head)
    if call:
        written.append(f"syscall::{call[1]}:{'return' if call[2] else 'entry'}")
    function = re.fullmatch(r'(?:probe\s+)?kernel\.function\("([\w*]+)(?:@[^"]*)?"\)(?:\.call)?(\.return)?\s*', head)
    if function:
        side = "return" if function[2] else "entry"
        written += [f"fbt::{function[1]}:{side}", f"syscall::{re.sub(OF_CALLS, '', function[1])}:{side}"]
    timer = re.fullmatch(r"(?:probe\s+)?timer\.(s|sec|ms|msec|us|hz)\((\d+)\)\s*", head)
    if timer:
        written.append(f"tick-{timer[2]}{timer[1]}")
    for each in written:
        yield Remedy(f"write {each}", swap(whole, each), "this is a probe of SystemTap", whole, is_certain=True)


def lists(case: Case) -> Iterator[Remedy]:
    """Several descriptions with something else than commas between them."""
    word, item = case.word, case.item
    if word is None or item is None or not item.descriptions or word.text not in ("&&", "||", "|", ";", "and", "or"):
        return
    if case.offset >= item.descriptions[-1].end and not (item.body and case.offset > item.body.start):
        span = Span(item.descriptions[-1].end, word.end)
        yield Remedy("write a comma", swap(span, ","), "descriptions are divided by commas", of_word(word))


def loops(case: Case) -> Iterator[Remedy]:
    """Loops of C, bpftrace and Python, and conditions without brackets."""
    part = case.text[case.part.start :]
    unroll = _UNROLL.match(part)
    if unroll:
        written = f"for (this->i = 0; this->i < {unroll[1]}; this->i++) {{"
        span = Span(case.part.start, case.part.start + unroll.end())
        yield Remedy(f"write {written} ... }}", swap(span, written), "D has for and while", span)
    counted = _FOR.match(part)
    if counted and case.item and case.item.body:
        declared = re.compile(r"(?:[A-Za-z_]\w*\s+)+([A-Za-z_]\w*)\b").match(part, part.index("(") + 1)
        assert declared is not None
        span = Span(case.part.start + declared.start(), case.part.start + declared.end())
        label = "no variable can be declared in a loop"
        yield Remedy(f"write this->{counted[1]}", _renamed(case, counted[1], span), label, span)
    ranged = _RANGE.match(part)
    if ranged and case.item and case.item.body:
        name = ranged[1]
        span = Span(case.part.start, case.part.start + ranged.end())
        written = f"for (this->{name} = {ranged[2] or 0}; this->{name} < {ranged[3]}; this->{name}++) "
        edits = (Edit(span, written), *_renamed(case, name, span)[1:])
        yield Remedy(f"write {written.strip()} {{ ... }}", edits, "D has the loops of C", span)
    condition = re.match(r"(?:else\s+)?(if|while)\b\s*([^(\s][^{;]*?)\s*:?\s*(\{)", part)
    if condition:
        span = Span(case.part.start + condition.start(2), case.part.start + condition.end(2))
        inner = condition[2]
        yield Remedy(f"write ({inner})", swap(span, f"({inner})"), "the condition stands between brackets", span)


def braces(case: Case) -> Iterator[Remedy]:
    """Actions without braces around them."""
    item = case.item
    if item is None or not item.descriptions or item.body is not None or case.is_in(item.descriptions[0]):
        return
    if case.error.text.startswith("expected predicate") or case.offset >= item.descriptions[-1].end:
        start = item.predicate.end if item.predicate else item.descriptions[-1].end
        head = re.match(r"\s*(?:/(?:[^/\"]|\"[^\"]*\")*/)?\s*", case.text[start : item.span.end])
        start += head.end() if head else 0
        end = len(case.text[: item.span.end].rstrip())
        if start < end:
            edits = (*insert(start, "{ "), *insert(end, " }"))
            yield Remedy("put the actions between braces", edits, "actions stand between { and }", Span(start, end))
    if case.error.text.startswith("expected actions"):
        end = len(case.text[: item.span.end].rstrip())
        yield Remedy("add { }", insert(end, " { }"), "the actions are missing", Span(end - 1, end))


def calls_without_brackets(case: Case) -> Iterator[Remedy]:
    """`print x` and `printf "..."`, as awk, Perl and shells have them."""
    match = re.compile(r"(\w+)\s+([^;}(=][^;}=]*?)\s*(?=[;}]|$)").match(case.text, case.part.start)
    if match is None:
        return

    if match[1] not in prototypes.NAMES and match[1] not in ("echo", "puts", "say", "delete"):
        return
    span = Span(match.start(), match.end())
    known = {"print": "trace", "echo": "trace", "puts": "trace", "say": "trace", "delete": ""}
    name = known.get(match[1], match[1])
    if name:
        written = f"{name}({match[2]})"
        yield Remedy(f"write {written}", swap(span, written), "arguments stand between brackets", span)
    deleted = re.fullmatch(r"@?(\w+\s*\[.*\])", match[2])
    if match[1] == "delete" and deleted:
        yield Remedy(
            f"write {deleted[1]} = 0", swap(span, f"{deleted[1]} = 0"), "an element that is 0 is not kept", span
        )


def leaving(case: Case) -> Iterator[Remedy]:
    """`return`: what follows it goes into a condition, or there is nothing to leave."""
    word, body = case.word, case.item.body if case.item else None
    if word is None or word.text != "return" or body is None:
        return
    rest = case.text[word.end : body.end - 1]
    if not rest.strip(" \t\n;{}01"):
        end = word.end + len(rest) - len(rest.lstrip("; \t\n01"))
        yield Remedy("leave it out", swap(Span(word.start, end), ""), "a clause ends at its brace", of_word(word))
    guard = re.compile(r"if\s*\(").search(case.text, body.start, word.start)
    while guard and (following := re.compile(r"if\s*\(").search(case.text, guard.end(), word.start)):
        guard = following
    partner = case.layout.brackets.partner.get(case.layout.index(guard.end() - 1)) if guard else None
    if guard is None or partner is None:
        return
    condition = case.text[guard.end() : case.layout.words[partner].start]
    behind = re.compile(r"return\s*[^;}]*;?\s*\}?").match(case.text, word.start)
    if behind is None or case.text[case.layout.words[partner].end : word.start].strip() not in ("", "{"):
        return
    written = f"if (!({condition})) {{"
    edits = (Edit(Span(guard.start(), behind.end()), written), *insert(body.end - 1, "} "))
    yield Remedy(f"write {written} ... }}", edits, "D has no return", of_word(word))
