"""Texts: methods of strings, formats joined by %, single characters, and arguments that are put in as words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sonde.frontends.d.advice.finding import Case, Edit, Remedy, cause, of_word, swap
from sonde.frontends.d.advice.spans import arguments, left_operand, right_operand
from sonde.frontends.d.advice.words import AGGREGATION, MACRO, STRING, Span

_METHODS: dict[str, str] = {
    "startswith": "index({text}, {0}) == 0", "hasprefix": "index({text}, {0}) == 0",
    "endswith": "substr({text}, strlen({text}) - strlen({0})) == {0}",
    "hassuffix": "substr({text}, strlen({text}) - strlen({0})) == {0}",
    "contains": "index({text}, {0}) >= 0", "includes": "index({text}, {0}) >= 0",
    "find": "index({text}, {0})", "index": "index({text}, {0})", "indexof": "index({text}, {0})",
    "rfind": "rindex({text}, {0})", "rindex": "rindex({text}, {0})", "lastindexof": "rindex({text}, {0})",
    "len": "strlen({text})", "length": "strlen({text})", "size": "strlen({text})", "strlen": "strlen({text})",
    "substr": "substr({text}, {all})", "charat": "substr({text}, {0}, 1)", "concat": "strjoin({text}, {0})",
    "equals": "{text} == {0}", "split": "strtok({text}, {0})", "basename": "basename({text})",
    "__contains__": "index({text}, {0}) >= 0", "tostring": "{text}",
}  # fmt: skip
"""Methods of Python, JavaScript, Java and Go, in small letters without _, and what D has."""

_OF_AGGREGATIONS = {"print": "printa", "printa": "printa", "clear": "clear", "zero": "clear", "trunc": "trunc"}
_LOOSE = re.compile(r"==|>=")


def methods(case: Case) -> Iterator[Remedy]:
    """`execname.startswith("ba")`: a text has functions, not methods."""
    word, name = case.word, case.at(1)
    if word is None or word.text != "." or name is None or case.error.tag not in ("D_FUNC_IDENT", "D_OP_SOU"):
        return
    receiver = left_operand(case.layout, case.number)
    first = case.at(-1)
    text = case.layout.of(receiver).lstrip("!")
    receiver = Span(receiver.end - len(text), receiver.end)
    partner = case.layout.brackets.partner.get(case.number + 2)
    following = case.at(2)
    is_called = following is not None and following.text == "(" and partner is not None
    if not is_called and 'type "char [' not in case.error.text:
        return
    given = [case.layout.of(each) for each in arguments(case.layout, case.number + 1)] if is_called else []
    whole = Span(receiver.start, case.layout.words[partner].end if is_called and partner is not None else name.end)
    if text.startswith("@") or (first is not None and first.kind == AGGREGATION):
        label = "an aggregation has no methods"
        written = _OF_AGGREGATIONS.get(name.text)
        if written:
            yield Remedy(f"write {written}({text})", swap(whole, f"{written}({text})"), label, whole)
        yield cause(whole, label, f"printa({text}) prints it, clear({text}) and trunc({text}) empty it")
        return
    label = "a text has no methods, functions take it as an argument"
    meant = _as_function(name.text, text, given)
    if meant:
        before = case.layout.text[: whole.start].rstrip()[-1:]
        meant = f"({meant})" if before == "!" and _LOOSE.search(meant) else meant
        yield Remedy(f"write {meant}", swap(whole, meant), label, whole)
    yield cause(whole, label, "D has strlen, substr, index, rindex, strstr, strtok and strjoin")


def _as_function(name: str, text: str, given: list[str]) -> str:
    """The call of a function for that of a method, "" where there is none."""
    plain = name.lower().replace("_", "") if not name.startswith("__") else name
    if plain in ("substring", "slice") and given:
        if len(given) == 1:
            return f"substr({text}, {given[0]})"
        numbers = all(each.isdigit() for each in given[:2])
        count = int(given[1]) - int(given[0]) if numbers else f"{given[1]} - {given[0]}"
        return f"substr({text}, {given[0]}, {count})"
    template = _METHODS.get(plain, "")
    if "{0}" in template and len(given) != 1:
        return ""
    quoted = re.fullmatch(r'"([^"\\]*)"', given[0]) if given else None
    if quoted:
        template = template.replace("strlen({0})", str(len(quoted[1])))
    return template.format(*given, text=text, all=", ".join(given))


def formatted(case: Case) -> Iterator[Remedy]:
    """`printf("%s\\n" % x)`: the arguments of a format stand behind a comma."""
    word, before = case.word, case.at(-1)
    if word is None or word.text != "%" or before is None or before.kind != STRING:
        return
    label = "arguments stand behind a comma"
    call, bracket = case.at(-3), case.at(-2)
    given = right_operand(case.layout, case.number)
    listed = case.layout.of(given)
    inner = listed[1:-1].strip().rstrip(",") if listed.startswith("(") and listed.endswith(")") else listed
    if bracket is not None and bracket.text == "(" and call is not None and call.text in ("printf", "print", "trace"):
        edits: tuple[Edit, ...] = (Edit(Span(before.end, given.end), f", {inner}"),)
        if call.text != "printf":
            edits = (Edit(of_word(call), "printf"), *edits)
        yield Remedy(f"write printf({before.text}, {inner})", edits, label, of_word(word))
    yield cause(
        of_word(word), label, "printf(FORMAT, ...) writes a text; strjoin(A, B) joins two, lltostr(N) makes one"
    )


def characters(case: Case) -> Iterator[Remedy]:
    """`execname[0] == "b"`: one character of a text is a number, written between single quotes."""
    word = case.word
    if word is None or case.error.tag != "D_OP_INCOMPAT" or word.text not in ("==", "!=", "<", ">", "<=", ">="):
        return
    kinds = re.search(r'"([^"]*)" \S+ "([^"]*)"', case.error.text)
    if kinds is None or "string" not in kinds.groups():
        return
    sides = (left_operand(case.layout, case.number), right_operand(case.layout, case.number))
    of_text = kinds.groups().index("string")
    other = kinds[2 - of_text]
    text, value = case.layout.of(sides[of_text]), case.layout.of(sides[1 - of_text])
    if re.fullmatch(r"(?:u?n?signed )?char", other):
        label = "this is one character, the other a text"
        if re.fullmatch(r'"(?:[^"\\\']|\\[^x0-9])"', text):
            written = f"'{text[1:-1]}'"
            yield Remedy(f"write {written}", swap(sides[of_text], written), label, sides[of_text])
        yield cause(sides[of_text], label, "characters stand between single quotes; substr() gives a part of a text")
    elif value in ("pid", "ppid", "tid", "pgid", "sid") and text.startswith('"') and not text.strip('"').isdigit():
        label = f"{value} is a number, the other a text"
        if value in ("pid", "tid"):
            yield Remedy("write execname, the name of the program", swap(sides[1 - of_text], "execname"), label)
        yield cause(case.span, label, "execname is the name of the program that runs")


def puts_in_words(case: Case) -> Iterator[Remedy]:
    """`execname == $1`: $1 is the word of the command line as it stands, $$1 a text of it."""
    word = case.word
    if word is None or word.kind != MACRO or not re.fullmatch(r"\$\d+", word.text):
        return
    named = re.search(r"failed to resolve ([^:]+):", case.error.text)
    if named is None:
        return
    label = f"this is put in as the word {named[1]}"
    written = f"${word.text}"
    yield Remedy(f"write {written}, the argument as a text", swap(of_word(word), written), label, of_word(word))


def is_in(case: Case) -> Iterator[Remedy]:
    """`"a" in execname`, `pid in (1, 2)`: D has no operator for it."""
    found = next((n for n in case.layout.within(case.part) if case.layout.words[n].text == "in"), None)
    if found is None or re.match(r"\s*(?:for|foreach)\b", case.layout.of(case.part)):
        return
    word = case.layout.words[found]
    label = "D has no operator in"
    left, right = _beside(case, found)
    if left is None or right is None:
        return
    negated = case.layout.words[found - 1].text == "not"
    value = case.layout.of(left)
    text = case.layout.of(right)
    whole = Span(left.start, right.end)
    listed = re.fullmatch(r"[(\[{](.*)[)\]}]", text, re.DOTALL)
    if listed and listed[1].strip():
        joined, sign = (" && ", "!=") if negated else (" || ", "==")
        written = joined.join(f"{value} {sign} {each.strip()}" for each in listed[1].strip(", ").split(","))
        yield Remedy("compare with each", swap(whole, f"({written})"), label, of_word(word))
    else:
        written = f"index({text}, {value}) {'<' if negated else '>='} 0"
        yield Remedy(f"write {written}", swap(whole, written), label, of_word(word))
    yield cause(of_word(word), label, "index(TEXT, PART) >= 0 looks for a part; values are compared with == and ||")


def _beside(case: Case, number: int) -> tuple[Span | None, Span | None]:
    """The operands of `in`, or of `not in`."""
    words, partner = case.layout.words, case.layout.brackets.partner
    last = number - 1 - (words[number - 1].text == "not")
    first = partner.get(last, last)
    while first > 1 and words[first - 1].text in ("->", "."):
        first = partner.get(first - 2, first - 2)
    if words[first].text == "[" or (words[first].text == "(" and words[first - 1].kind == "name"):
        first -= 1
    start = number + 1
    if last < 0 or start >= len(words) or words[last].text in ("(", "/", ","):
        return None, None
    end = partner.get(start, start)
    while end + 2 < len(words) and words[end + 1].text in ("->", "."):
        end += 2
    if end + 1 < len(words) and words[end + 1].text in ("(", "["):
        end = partner.get(end + 1, end)
    return Span(words[first].start, words[last].end), Span(words[start].start, words[end].end)
