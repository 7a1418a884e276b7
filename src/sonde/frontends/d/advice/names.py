"""Names that are not known: misspelt ones, and those that other tracers and languages have."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sonde.arch import languages
from sonde.frontends.d.advice.finding import Case, Edit, Remedy, cause, insert, of_word, swap
from sonde.frontends.d.advice.foreign import FUNCTIONS, MEMBERS, VARIABLES
from sonde.frontends.d.advice.spans import arguments
from sonde.frontends.d.advice.words import AGGREGATION, MACRO, NAME, Span, Word

_QUOTED = re.compile(r'["\'](.*)["\']')


def own(case: Case) -> Iterator[Remedy]:
    """Names of the program itself, written with another scope."""
    word = case.word
    if word is None or word.kind != NAME:
        return
    is_called = _is_called(case)
    if any(each.kind == AGGREGATION and each.text == f"@{word.text}" for each in case.layout.words):
        yield Remedy(f"write @{word.text}", swap(of_word(word), f"@{word.text}"), "an aggregation's name begins with @")
    before = case.at(-1)
    scopes = [scope for scope in ("self", "this") if re.search(rf"\b{scope}->{word.text}\b", case.text)]
    if before is None or before.text not in ("->", "."):
        for scope in scopes if not is_called else ():
            yield Remedy(f"write {scope}->{word.text}", swap(of_word(word), f"{scope}->{word.text}"))
    yield from _other_scope(case, word)


def _other_scope(case: Case, word: Word) -> Iterator[Remedy]:
    """`this->x` where the program has `self->x` or x."""
    if word.text in ("self", "this") and case.at(1) is not None:
        dot = case.at(1)
        if dot is not None and dot.text == ".":
            label = f"a variable of that scope is written {word.text}->NAME"
            # Each of them is written so.
            edits = tuple(Edit(Span(dot.start, dot.end), "->") for dot in _dots_behind(case, word.text))
            yield Remedy(f"write {word.text}->", edits, label)
    arrow, name = case.at(1), case.at(2)
    if word.text in ("self", "this") and arrow is not None and arrow.text == "->" and name is not None:
        span = Span(word.start, name.end)
        if word.text == "self":
            yield from _longer(case, name, span)
        for other in {"self": ("this", ""), "this": ("self", "")}[word.text]:
            written = f"{other}->{name.text}" if other else name.text
            if re.search(rf"(?<![\w>@]){re.escape(written)}\s*(?:\[[^]]*\]\s*)?=(?!=)", case.text):
                yield Remedy(f"write {written}", swap(span, written), f"nothing sets {case.layout.of(span)}", span)
        for near in case.error.names:
            written = f"{word.text}->{near}"
            yield Remedy(f"did you mean {written}?", swap(span, written), "", span)


def _longer(case: Case, name: Word, span: Span) -> Iterator[Remedy]:
    """`self->x` where another probe's clause sets `this->x`, which does not last so long."""
    item = case.item
    same = [
        first
        for first, arrow, each in zip(case.layout.words, case.layout.words[1:], case.layout.words[2:], strict=False)
        if (first.text, arrow.text, each.text) == ("this", "->", name.text)
    ]
    here = [word for word in same if item is None or item.span.start <= word.start < item.span.end]
    if same and not here:
        edits = tuple(Edit(of_word(word), "self") for word in same)
        yield Remedy(f"write self->{name.text} where it is set", edits, "this-> lasts one firing only", span)


def _dots_behind(case: Case, scope: str) -> Iterator[Word]:
    for first, second in zip(case.layout.words, case.layout.words[1:], strict=False):
        if first.text == scope and second.text == ".":
            yield second


def variables(case: Case) -> Iterator[Remedy]:
    """Variables of other tracers and languages."""
    word = case.word
    if word is None or _is_called(case):
        return
    for written in VARIABLES.get(word.text, ()):
        yield Remedy(f"write {written}", swap(of_word(word), written), f"D has {written} for {word.text}")
    for template in FUNCTIONS.get(word.text, ()):
        name = re.match(r"\w+", template)
        if name and word.text != name[0]:
            called = f"{name[0]}({'' if name[0] in ('stack', 'ustack', 'count') else 'arg0'})"
            yield Remedy(f"write {called}", swap(of_word(word), called), f"D has {name[0]} for {word.text}")


def functions(case: Case) -> Iterator[Remedy]:
    """Functions of other tracers and languages, and variables that are called."""
    word = case.word
    if word is None or not _is_called(case):
        return
    given = [case.layout.of(each) for each in arguments(case.layout, case.number)]
    partner = case.layout.brackets.partner.get(case.number + 1)
    if partner is None:
        return
    span = Span(word.start, case.layout.words[partner].end)
    yield from _comparison_of_strings(case, word, given, span)
    by_name = re.fullmatch(r"args(?:\.|->)(\w+)", given[0]) if given else None
    if word.text in ("str", "copyinstr") and by_name:
        typed = f"stringof(args->{by_name[1]})"
        yield Remedy(f"write {typed}", swap(span, typed), "D has stringof for a typed argument")
    is_statement = word.start == case.part.start
    for template in FUNCTIONS.get(word.text, ()):
        if template.startswith("printf") and not is_statement:
            continue
        written = _filled(template, given)
        if written is not None:
            short = written if len(written) < 40 else written.partition("(")[0]
            name = template.partition("(")[0] if template[0] not in "({" else written
            yield Remedy(f"write {short}", swap(span, written), f"D has {name} for {word.text}()", of_word(word))
    if not given:
        for written in VARIABLES.get(word.text, (word.text,)):
            yield Remedy(f"write {written}", swap(span, written), "this is a variable, not a function")
    if given and "%" in given[0] and given[0].startswith('"') and is_statement:
        yield Remedy("write printf", swap(of_word(word), "printf"), "D has printf for this")


def _comparison_of_strings(case: Case, word: Word, given: list[str], span: Span) -> Iterator[Remedy]:
    """`strcmp(a, b) == 0`, `!strcmp(a, b)` and bpftrace's strncmp."""
    if word.text not in ("strcmp", "strncmp", "streq", "strequal") or len(given) < 2:
        return
    left = given[0] if len(given) < 3 else f"substr({given[0]}, 0, {given[2]})"
    after = case.layout.words[case.layout.brackets.partner[case.number + 1] + 1 :][:2]
    before = case.at(-1)
    start, end, sign = span.start, span.end, "!="
    if len(after) == 2 and after[0].text in ("==", "!=") and after[1].text == "0":
        sign, end = after[0].text, after[1].end
    elif before is not None and before.text == "!":
        sign, start = "==", before.start
    elif word.text.startswith("stre"):
        sign = "=="
    written = f"{left} {sign} {given[1]}"
    label = f"strings are compared with {sign}"
    yield Remedy(f"write {written}", swap(Span(start, end), written), label)


def _filled(template: str, given: list[str]) -> str | None:
    """The template with the arguments, None if there are too few."""

    def value(match: re.Match[str]) -> str:
        if match[1] == "all":
            return ", ".join(given)
        if match[1] == "rest":
            return ", ".join(given[1:])
        number, _, form = match[1].partition(":")
        text = given[int(number)]
        if not form:
            return text
        quoted = _QUOTED.fullmatch(text)
        inner = quoted[1] if quoted else text
        if form == "variable":
            return text.removeprefix("@")
        return inner if form == "name" else languages.REGISTER_NAMES.get(inner, f"R_R{inner.upper()}")

    try:
        return re.sub(r"\{([\w:]+)\}", value, template)
    except IndexError:
        return None


def members(case: Case) -> Iterator[Remedy]:
    """Members of structures, and arguments by their names."""
    if case.error.tag != "D_TYPE_MEMBER" and "args->" not in case.error.text and " argument " not in case.error.text:
        return
    for pattern, code in MEMBERS:
        for found in re.finditer(pattern, case.text):
            if found.start() <= case.span.start < found.end():
                yield Remedy(f"write {code}", swap(Span(found.start(), found.end()), code), _not_there(case))
                yield cause(case.span, _not_there(case), "curpsinfo and curlwpsinfo tell of the process and the thread")
                return
    for name in case.error.names:
        yield Remedy(f"did you mean {name}?", swap(case.span, name), _not_there(case))


def _not_there(case: Case) -> str:
    of = re.search(r"is not a member of (.*)", case.error.text)
    return f"{of[1]} has no such member" if of else ""


def spelling(case: Case) -> Iterator[Remedy]:
    """Names spelled nearly so."""
    word = case.word
    if word is None:
        return
    span = _member_of_translator(case) or case.span
    for name in case.error.names:
        yield Remedy(f"did you mean {name}?", swap(span, name))


def _member_of_translator(case: Case) -> Span | None:
    """The name behind the operator, if that is the mistake."""
    named = re.fullmatch(r".* for member: (\w+)", case.error.text)
    found = named and re.compile(rf"\b{named[1]}\b").search(case.text, case.offset)
    return Span(found.start(), found.end()) if found else None


def quoted(case: Case) -> Iterator[Remedy]:
    """A word that was to be a text: the quotes forgotten, or taken by the shell."""
    word = case.word
    if word is None or word.kind != NAME or _is_called(case):
        return
    around = {each.text for each in (case.at(-1), case.at(1)) if each}
    if around & {"==", "!="} or re.search(r"\b(?:printf|system)\s*$", _head(case)):
        label = "a text stands between double quotes, and the whole program between single ones"
        yield Remedy(f'write "{word.text}"', swap(of_word(word), f'"{word.text}"'), label)


def _head(case: Case) -> str:
    """The text before the bracket that the word stands behind."""
    before = case.at(-1)
    return case.text[: before.start] if before is not None and before.text == "(" else ""


UNSET = "a variable is there when first assigned to, as in BEGIN { name = 0; }"


def unset_label(case: Case) -> str:
    return f"nothing sets {case.layout.of(case.span)}" if case.span.end - case.span.start < 40 else ""


def undeclared(case: Case) -> Iterator[Remedy]:
    """`y += 1` where nothing has set y."""
    word = case.word
    if word is None or case.error.tag != "D_VAR_UNDEF" or case.item is None or case.at(1) is None:
        return
    before = case.at(-1)
    scoped = before is not None and before.text == "->"
    if not scoped and word.text not in ("self", "this"):
        outside = f"int64_t {word.text}; "
        words = f"declare it before the clause: {outside.strip()}"
        yield Remedy(words, insert(case.item.span.start, outside), "it has no value yet")


def macros(case: Case) -> Iterator[Remedy]:
    """`$x`, which is a variable in bpftrace, awk, Perl and shells."""
    word = case.word
    if word is None or word.kind != MACRO or case.error.tag != "D_MACRO_UNDEF" or word.text[1:2].isdigit():
        return
    same = [each for each in case.layout.words if each.text == word.text]
    written = f"this->{word.text[1:]}"
    label = "$ begins the name of a macro variable"
    edits = tuple(Edit(of_word(each), written) for each in same)
    yield Remedy(f"write {written}, a variable of the clause", edits, label)
    words = f"write {word.text[1:]}, a variable of the program"
    yield Remedy(words, tuple(Edit(of_word(each), word.text[1:]) for each in same), label)


def _is_called(case: Case) -> bool:
    following = case.at(1)
    return following is not None and following.text == "("
