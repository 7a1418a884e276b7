"""Signs: brackets that are not closed, semicolons and quotes that are missing, and what other languages write."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sonde.frontends.d.advice.finding import Case, Edit, Label, Remedy, cause, insert, of_word, swap
from sonde.frontends.d.advice.foreign import OPERATORS, SIGNS
from sonde.frontends.d.advice.words import CHARACTER, MACRO, NAME, NUMBER, STRING, Span, closing

_OPERANDS = (NAME, NUMBER, STRING, CHARACTER, MACRO)


def foreign_signs(case: Case) -> Iterator[Remedy]:
    """Signs that D has none of; one that is wrong everywhere is changed everywhere."""
    for sign, written in SIGNS.items():
        near = case.text.find(sign, max(case.offset - len(sign), 0), case.offset + len(sign))
        if near < 0:
            continue
        places = [match.start() for match in re.finditer(re.escape(sign), case.text)]
        span = Span(near, near + len(sign))
        shown = sign if sign.isascii() else f"{sign.strip()} (U+{ord(sign[0]):04X})"
        words = f"write {written}" if written.strip() else "take it out"
        all_of_them = tuple(Edit(Span(place, place + len(sign)), written) for place in places)
        yield Remedy(words, all_of_them, f"D has no {shown}", span)
        if not sign.isascii():
            yield Remedy("write ASCII quotes, dashes and spaces", _ascii(case.text), f"D has no {shown}", span)


def _ascii(text: str) -> tuple[Edit, ...]:
    """All signs of word processors replaced."""
    return tuple(
        Edit(Span(index, index + 1), SIGNS[character]) for index, character in enumerate(text) if character in SIGNS
    )


def foreign_operators(case: Case) -> Iterator[Remedy]:
    """`and`, `or`, `not`, `:=` and words before statements."""
    near = [case.at(0), case.at(-1), *(case.layout.words[number] for number in case.layout.within(case.part))]
    for word in near:
        if word is None or word.text not in OPERATORS:
            continue
        written = OPERATORS[word.text]
        words = f"write {written}" if written else f"leave {word.text} out"
        same = [each for each in case.layout.words if each.text == word.text]
        every = tuple(Edit(of_word(each), written) for each in same)
        label = f"{word.text} is no word of D" if word.text.isalpha() else f"D has no {word.text}"
        yield Remedy(words, every, label, of_word(word))
        yield Remedy(words, swap(of_word(word), written), label, of_word(word))


def comments(case: Case) -> Iterator[Remedy]:
    """`//`, `--` and `#` to the end of the line."""
    start = case.offset
    if case.error.tag.startswith("D_PRAG"):
        start = case.text.rfind("\n", 0, case.offset) + 1
    if case.text[start - 1 : start + 1] == "//":
        start -= 1
    match = re.match(r"[ \t]*(//|#|--)[ \t]*([^\n]*)", case.text[start:])
    if match is None or (match[1] == "#" and re.match(r"(?:pragma|include|define|if|endif)\b", match[2])):
        return
    span = Span(start + match.start(1), start + match.end())
    words = "comments are written /* ... */"
    every = [
        Edit(Span(found.start(1), found.end()), f"/* {found[2].strip()} */")
        for found in re.finditer(r"(?m)(?:^|[\s;{}])(//)([^\n\"]*)", case.text)
    ]
    if match[1] == "//" and every:
        yield Remedy(words, tuple(every), "", span, is_certain=True)
    yield Remedy(words, swap(span, f"/* {match[2].strip()} */"), "", span, is_certain=True)
    behind = re.search(r"[;})][^;})]*$", match[2])
    if behind:
        # Line breaks lost: the comment takes the rest of the program with it.
        yield Remedy("leave the comment out", swap(span, match[2][behind.start() :]), "", span)


def quotes(case: Case) -> Iterator[Remedy]:
    """A text whose closing quote is missing."""
    start = case.offset
    if case.error.tag in ("D_STR_NL", "D_CHR_NL"):
        # The compiler names the line behind the one that the text begins in.
        line_end = case.text.rfind("\n", 0, case.offset)
        line_start = case.text.rfind("\n", 0, line_end) + 1
        start = _unclosed_quote(case.text, line_start, line_end)
    if case.text[start : start + 1] not in ('"', "'") or start < 0:
        return
    begun = case.layout.word(start)
    if begun is not None and len(begun.text) > 1 and begun.text.endswith(begun.text[0]):
        return
    end = len(case.text) if case.text.find("\n", start) < 0 else case.text.find("\n", start)
    rest = case.text[start + 1 : end]
    quote = case.text[start]
    label, span = "the text that begins here does not end", Span(start, start + 1)
    for offset in _ends_of_text(rest):
        place = start + 1 + offset
        yield Remedy(f"close it: {quote}", insert(place, quote), label, span)
    opened = re.search(r"[(,]\s*([^\s\"(),;][^\"(),;]*)$", case.text[:start])
    if opened and re.match(r"\s*[,)]", rest):
        here = Span(opened.start(1), opened.end(1))
        yield Remedy(f"open it: {quote}", insert(here.start, quote), "the text that ends here does not begin", here)
    yield cause(span, label, f"a text ends with {quote} in the line that it begins in")


def _ends_of_text(rest: str) -> list[int]:
    """Where the text of a call or a predicate may end, the likeliest first; nothing behind that part."""
    end = re.search(r"(\)+)\s*(?:;|\}|$)|\s*/\s*\{", rest)
    if end is None:
        return [match.start() for match in re.finditer(r"\s*(?:;|$)", rest)][:1]
    if end[1] is None:
        return [end.start()]
    closings = range(end.end(1) - 1, end.start() - 1, -1)
    return [*closings, *(match.start() for match in re.finditer(",", rest[: end.start()]))]


def _unclosed_quote(text: str, start: int, end: int) -> int:
    """Where a quote is opened and not closed in a line, -1 if nowhere."""
    for match in re.finditer(r'"(?:[^"\\\n]|\\.)*("?)|\'(?:[^\'\\\n]|\\.)*(\'?)', text[start:end]):
        if not (match[1] or match[2]):
            return start + match.start()
    return -1


def torn(case: Case) -> Iterator[Remedy]:
    """An operator with a blank in it, and a format without quotes."""
    for number in range(max(case.number - 2, 0), min(case.number + 1, len(case.layout.words) - 1)):
        first, second = case.layout.words[number : number + 2]
        joined = first.text + second.text
        if joined in ("==", "!=", "<=", ">=", "&&", "||", "->", "++", "--", "+=", "-=") and first.end < second.start:
            span = Span(first.start, second.end)
            yield Remedy(f"write {joined}", swap(span, joined), "this is one operator", span)
    bare = re.compile(r"\bprintf\(\s*(%[^,()\"]*)").search(case.text, case.part.start)
    if bare:
        span = Span(bare.start(1), bare.end(1))
        yield Remedy(f'write "{bare[1]}"', swap(span, f'"{bare[1]}"'), "a format stands between quotes", span)


def brackets(case: Case) -> Iterator[Remedy]:
    """A bracket that is not closed, or is closed by another."""
    layout = case.layout
    unclosed = [index for index in layout.brackets.unclosed if layout.starts[index] <= case.offset]
    yield from _wrong_closing(case, unclosed)
    for index in reversed(unclosed):
        opening = layout.words[index]
        sign = closing(opening.text)
        also = (Label(of_word(opening), "opened here"),)
        for place in _places(case, index):
            text = f" {sign}" if sign == "}" and not case.text[:place].endswith((" ", "\n")) else sign
            yield Remedy(f"insert {sign}", insert(place, text), f"expected {sign}", _mark(case, place), also)
    word = case.word
    if word is not None and word.text in (")", "]", "}") and _is_extra(case.error.text):
        yield Remedy(f"take {word.text} out", swap(of_word(word), ""), f"nothing opens this {word.text}", of_word(word))


def _wrong_closing(case: Case, unclosed: list[int]) -> Iterator[Remedy]:
    """`@["a"}`: the last bracket that is open is closed by another's."""
    word = case.word
    if word is None or word.text not in (")", "]", "}") or not unclosed:
        return
    opening = case.layout.words[unclosed[-1]]
    sign = closing(opening.text)
    if sign != word.text:
        also = (Label(of_word(opening), "opened here"),)
        yield Remedy(f"write {sign}", swap(of_word(word), sign), f"expected {sign}", of_word(word), also)


def _mark(case: Case, place: int) -> Span:
    """The end of a line is marked behind it."""
    return (
        case.span
        if case.span.start >= place and case.text[place : case.span.start].strip() == ""
        else Span(place, place + 1)
    )


def _places(case: Case, opening: int) -> list[int]:
    """Where a bracket may have to be closed: before what the compiler stumbled over, and before ends of statements."""
    layout = case.layout
    sign = layout.words[opening].text
    before = layout.words[min(case.number, len(layout.words)) - 1].end if case.number else 0
    places = [before]
    if sign == "{":
        following = [start for start in layout.clause_starts if start > layout.words[opening].start]
        places = [layout.words[layout.index(start) - 1].end for start in following[:1]]
        places += [len(case.text.rstrip()), before]
        return places
    for index in range(opening + 1, len(layout.words)):
        word = layout.words[index]
        if word.text in ("==", "!=", "<", ">", "<=", ">=", "&&", "||", ",", "+", "-"):
            places.append(layout.words[index - 1].end)
        if word.text in (";", "{", "}", "="):
            places.append(layout.words[index - 1].end)
            break
    if case.is_in(case.item.predicate if case.item else None) and case.item and case.item.predicate:
        places.append(len(case.text[: case.item.predicate.end - 1].rstrip()))
    return places


def superfluous(case: Case) -> Iterator[Remedy]:
    """A comma before a bracket, a comma behind the last description, a semicolon between clauses."""
    word, before = case.word, case.at(-1)
    if word is None:
        return
    if before is not None and before.text == "," and (word.text in (")", "]", "{", "/", ";")):
        yield Remedy("take the comma out", swap(of_word(before), ""), "nothing follows this comma", of_word(before))
    is_outside = case.item is None or case.item.body is None or not case.is_in(case.item.body)
    if word.text in (";", ":", ",", ".") and before is not None and is_outside:
        yield Remedy(f"take {word.text} out", swap(of_word(word), ""), f"no {word.text} stands here")
    if before is not None and before.text in (":", ";") and word.text in ("{", "/"):
        yield Remedy(
            f"take {before.text} out", swap(of_word(before), ""), f"no {before.text} stands here", of_word(before)
        )


def missing(case: Case) -> Iterator[Remedy]:
    """A semicolon, a comma, the slash or the brace around a predicate and its actions."""
    word, before = case.word, case.at(-1)
    if word is None or before is None:
        return
    behind = Span(before.end, before.end)
    here = Span(before.end - 1, before.end)
    depth = _depth(case)
    if depth and word.text == ";":
        yield Remedy("write a comma", swap(of_word(word), ","), "arguments are divided by commas", of_word(word))
    if case.layout.text[before.end - 1] in "\"')]" or before.kind in _OPERANDS or before.text in ("++", "--"):
        if depth:
            yield Remedy("insert a comma", swap(behind, ","), "a comma is missing behind this", here)
        yield Remedy("insert a semicolon", swap(behind, ";"), "a semicolon is missing behind this", here)
    if word.text == "{" and case.item and case.item.descriptions:
        yield Remedy("close the predicate: /", insert(before.end, "/"), "the predicate has no / at its end", here)


def _depth(case: Case) -> int:
    """How many round and square brackets are open where the mistake was noticed."""
    listed = [case.layout.words[index].text for index in case.layout.within(Span(case.part.start, case.offset))]
    return sum({"(": 1, "[": 1, ")": -1, "]": -1}.get(text, 0) for text in listed)


def opening_slash(case: Case) -> Iterator[Remedy]:
    """`probe condition/ { ... }` or `probe condition { ... }`."""
    item = case.item
    if item is None or not item.descriptions or item.predicate or item.body is None:
        return
    if case.offset < item.descriptions[-1].end:
        return
    head = item.descriptions[-1]
    condition = case.text[head.end : item.body.start]
    if not condition.strip():
        return
    start = head.end + len(condition) - len(condition.lstrip())
    end = head.end + len(condition.rstrip())
    inner = case.text[start:end].strip("/|").strip()
    if inner.startswith("if"):
        inner = inner[2:].strip()
    span = Span(start, end)
    yield Remedy(f"write /{inner}/", swap(span, f"/{inner}/"), "a predicate stands between slashes", span)


def unclosed_label(case: Case) -> tuple[str, tuple[Label, ...], str]:
    """For a syntax error that nothing helps with: the bracket that is still open."""
    listed = [index for index in case.layout.brackets.unclosed if case.layout.starts[index] < case.offset]
    if not listed:
        return "", (), ""
    opening = case.layout.words[listed[-1]]
    return "", (Label(of_word(opening), f"this {opening.text} is not closed"),), ""


def _is_extra(text: str) -> bool:
    """Whether a mistake is a closing sign that nothing opens; outside of clauses a brace is one that means nothing."""
    return text.startswith("extra ") or text == 'syntax error near "}"'
