"""Calls: how many arguments, of which types, formats of printf, functions that are named and not called."""

from __future__ import annotations

import re
from collections.abc import Iterator
from signal import Signals

from sonde.frontends.d.advice.finding import Case, Edit, Remedy, insert, of_word, swap
from sonde.frontends.d.advice.spans import arguments, call
from sonde.frontends.d.advice.words import NAME, STRING, Span

_CONVERSION = re.compile(r"%(?!%)[-+ #0'@]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|j|z|t|L)?([a-zA-Z])")
_NUMBER = re.compile(r"argument #(\d+) is incompatible with conversion #(\d+)")
_ADDRESSES = re.compile(r"arg\d|args\[\d+\]|args->\w+|uregs\[\w+\]")
_NUMBERS = re.compile(r"arg\d|args\[\d+\]|uregs\[\w+\]")
"""What has no type of its own: a number that may be an address."""
_OF_PROCESSES = ("syscall:", "pid", "uprobe:", "usdt:")
_IN_PROCESSES = re.compile(r"syscall:.*:entry\s*$|pid|uprobe:|usdt:|\w+(?:\$target|\d|\*):")
_IN_THE_KERNEL = re.compile(r"(?:raw)?fbt:|rawtp:")
"""Probes whose numbers are often addresses, of processes and of the kernel."""


SCRATCH = "-xscratchsize=N gives more, or #pragma D option scratchsize=N"


def formats(case: Case) -> Iterator[Remedy]:
    """Conversions that are not for the argument."""
    match = _NUMBER.search(case.error.text)
    given = arguments(case.layout, case.number)
    if match is None or case.error.tag != "D_PRINTF_ARG_TYPE" or int(match[1]) > len(given):
        return
    argument = given[int(match[1]) - 1]
    text = case.layout.of(argument)
    conversion = _conversion(case, given[0], int(match[2]))
    kind = case.error.text.rpartition("argument: ")[2]
    if conversion is None:
        return
    letter = case.text[conversion.end - 1]
    sized = re.search(r"(?:hh|h|ll|l|j|z|t|L|w)[a-zA-Z]$", case.layout.of(conversion))
    if sized:
        label = f"this is of type {kind}: %{letter} is for all sizes"
        yield Remedy(
            f"write %{letter}", swap(Span(conversion.end - len(sized[0]), conversion.end), letter), label, argument
        )
    if letter in "sS":
        yield from _as_text(case, argument, text, kind, conversion)
    if text == "walltimestamp":
        label = "this is a time"
        yield Remedy("write %Y", swap(Span(conversion.end - 1, conversion.end), "Y"), label, argument)
    wanted = "s" if kind == "string" or "char [" in kind else "k" if kind == "stack" else "d"
    for other in dict.fromkeys((wanted, "d", "s", "a", "k", "p")):
        swapped = swap(Span(conversion.end - 1, conversion.end), other)
        label = f"this is {_article(kind)}"
        also: tuple[Edit, ...] = swapped
        yield Remedy(f"write %{other}", also, label, argument)


def _article(kind: str) -> str:
    return "a text" if kind == "string" else f"of type {kind}"


def _as_text(case: Case, argument: Span, text: str, kind: str, conversion: Span) -> Iterator[Remedy]:
    """What turns the argument into a text: which address space it is of follows from the probe."""
    if "*" not in kind:
        if kind != "int64_t" or not _NUMBERS.fullmatch(text):
            return
        if not _IN_PROCESSES.match(case.description) and not (
            text.startswith("arg") and _IN_THE_KERNEL.match(case.description)
        ):
            return
    elif "char" not in kind and kind != "void *":
        return
    in_process = bool(_IN_PROCESSES.match(case.description)) and text.startswith(("arg", "uregs"))
    wrapped = (f"copyinstr({text})", f"stringof({text})")
    if not in_process:
        wrapped = (f"stringof((char *){text})" if kind == "int64_t" else wrapped[1], wrapped[0])
    where = "in the process" if in_process else "in the kernel"
    for written in wrapped:
        yield Remedy(f"write {written}", swap(argument, written), f"this is the address of a text {where}", argument)


def _conversion(case: Case, format_: Span, number: int) -> Span | None:
    """Where a conversion is, counted from 1."""
    found = list(_CONVERSION.finditer(case.text, format_.start, format_.end))
    return Span(found[number - 1].start(), found[number - 1].end()) if 0 < number <= len(found) else None


def counts(case: Case) -> Iterator[Remedy]:
    """More or fewer arguments than there are conversions or parameters."""
    word = case.word
    if word is None or word.kind != NAME:
        return
    given = arguments(case.layout, case.number)
    if case.error.tag == "D_PRINTF_ARG_EXTRA" and given:
        yield from _more_conversions(case, given)
    if case.error.tag == "D_PROTO_LEN":
        yield from _wrong_count(case, given)


def _more_conversions(case: Case, given: list[Span]) -> Iterator[Remedy]:
    used = len(list(_CONVERSION.finditer(case.text, given[0].start, given[0].end)))
    extra = given[used + 1 :]
    if not extra:
        return
    end = given[0].end - 1
    end -= 2 if case.text[:end].endswith("\\n") else 0
    gap = "" if case.text[:end].endswith(('"', " ")) else " "
    for letter in ("d", "s"):
        more = " ".join([f"%{letter}"] * len(extra))
        label = "the format has no conversion for this"
        yield Remedy(f"add {more} to the format", insert(end, gap + more), label, Span(extra[0].start, extra[-1].end))
    for mixed in ("%s %d", "%d %s"):
        yield Remedy(f"add {mixed} to the format", insert(end, gap + mixed), "the format has no conversion for this")


def _wrong_count(case: Case, given: list[Span]) -> Iterator[Remedy]:
    word = case.word
    assert word is not None
    whole = call(case.layout, case.number)
    if word.text == "exit":
        yield Remedy("write exit(0)", swap(whole, "exit(0)"), "exit() takes the status")
    if word.text == "trace" and len(given) > 1:
        each = "; ".join(f"trace({case.layout.of(span)})" for span in given)
        yield Remedy(f"write {each}", swap(whole, each), "trace() takes one value")
    if len(given) > 1:
        last = Span(given[-2].end, given[-1].end)
        yield Remedy("leave the last argument out", swap(last, ""), "there is one argument too many", given[-1])
    if len(given) == 1:
        empty = Span(given[0].start, given[0].end)
        yield Remedy(f"write {word.text}()", swap(empty, ""), f"{word.text}() takes no argument", given[0])
        if word.text == "lquantize":
            words = "give the range: lquantize(value, low, high, step)"
            yield Remedy(words, insert(given[0].end, ", 0, 100, 10"), "the range is missing")
        if word.text in ("strjoin", "strstr", "index"):
            return
        if word.text in ("copyin", "tracemem"):
            yield Remedy("give the size, as 64", insert(given[0].end, ", 64"), "the size is missing")
        if word.text == "substr":
            yield Remedy("give the first character, as 0", insert(given[0].end, ", 0"), "the place is missing")
        if word.text == "normalize":
            yield Remedy("give the divisor, as 1000", insert(given[0].end, ", 1000"), "the divisor is missing")
    if not given and "(" in case.layout.of(whole):
        for argument in ("arg0", "execname", "0"):
            words = f"give the value, as {word.text}({argument})"
            yield Remedy(words, swap(whole, f"{word.text}({argument})"), f"{word.text}() needs a value")


def strings(case: Case) -> Iterator[Remedy]:
    """Addresses where texts are wanted, and texts where addresses are."""
    match = re.search(
        r"argument #(\d+) is incompatible with prototype:\n\tprototype: (.*)\n\t argument: (.*)", case.error.text
    )
    if match is None:
        return
    given = arguments(case.layout, case.number)
    if int(match[1]) > len(given):
        return
    argument = given[int(match[1]) - 1]
    text = case.layout.of(argument)
    if int(match[1]) == 1:
        yield from _format_for(case, given)
    if match[2] in ("char *", "string"):
        in_process = case.description.startswith(_OF_PROCESSES)
        wrapped = [f"copyinstr({text})", f"stringof({text})"]
        if not in_process:
            wrapped.reverse()
        if not _ADDRESSES.fullmatch(text) and "*" not in match[3]:
            wrapped = [f"lltostr({text})", *wrapped]
        for written in wrapped:
            yield Remedy(f"write {written}", swap(argument, written), "a text is wanted here", argument)
    if match[3] in ("string", "char *"):
        quoted = re.fullmatch(r'"(\d+)"', text)
        if quoted:
            yield Remedy(f"write {quoted[1]}", swap(argument, quoted[1]), "a number is wanted here", argument)
        inner = re.fullmatch(r"(?:copyinstr|stringof)\((.*)\)", text)
        if inner:
            yield Remedy(f"write {inner[1]}", swap(argument, inner[1]), "an address is wanted here", argument)
        if case.word and case.word.text in ("copyinstr", "stringof"):
            whole = call(case.layout, case.number)
            yield Remedy(f"write {text}", swap(whole, text), "this is a text already", argument)
        yield from _signal(text, argument)
    name = case.word.text if case.word else ""
    if match[2] == "uintptr_t" and match[3].endswith("*"):
        whole = call(case.layout, case.number)
        label = f"this is a typed pointer, {match[3]}"
        if name == "copyinstr" and "char" in match[3]:
            yield Remedy(f"write stringof({text})", swap(whole, f"stringof({text})"), label, argument)
        yield Remedy(f"write (uintptr_t){text}", insert(argument.start, "(uintptr_t)"), label, argument)
    if name == "print":
        yield Remedy("write trace", swap(of_word(case.word), "trace") if case.word else (), "print() shows structures")


def _last_argument(case: Case) -> Iterator[Remedy]:
    """`args[7]` where there are fewer."""
    number = re.search(r"index (\d+) is out of range", case.error.text)
    brackets = re.compile(r"args\s*\[\s*(\d+)\s*\]").search(case.text, case.part.start)
    if number is None or brackets is None or int(number[1]) > 16:
        return
    span = Span(brackets.start(1), brackets.end(1))
    for other in range(int(number[1]) - 1, -1, -1):
        yield Remedy(f"write args[{other}], the last there is", swap(span, str(other)), "there are fewer", span)


def _signal(text: str, argument: Span) -> Iterator[Remedy]:
    """The number of a signal that is given by its name."""
    name = text.strip('"').upper()
    known = Signals.__members__.get(name if name.startswith("SIG") else f"SIG{name}")
    if known is not None:
        yield Remedy(f"write {known.value}", swap(argument, str(known.value)), "signals are given by number", argument)


def _format_for(case: Case, given: list[Span]) -> Iterator[Remedy]:
    """`printf(pid)`: the format is missing."""
    if case.word is None or case.word.text not in ("printf", "print") or not given:
        return
    if case.word.text == "print" and len(given) == 1:
        # One that it cannot show has no conversion either.
        return
    for conversion in ("%d", "%s", "%k", "%a"):
        written = " ".join([conversion] * len(given))
        words = f'write printf("{written}\\n", ...)'
        name = swap(of_word(case.word), "printf") if case.word.text == "print" else ()
        yield Remedy(words, (*name, *insert(given[0].start, f'"{written}\\n", ')), "the format is missing", given[0])


def bare_functions(case: Case) -> Iterator[Remedy]:
    """`exit;`, `@[stack]` and the like: a function's name without brackets."""
    for index in case.layout.within(case.part):
        word = case.layout.words[index]
        following = case.layout.words[index + 1].text if index + 1 < len(case.layout.words) else ""
        before = case.layout.words[index - 1].text if index else ""
        if word.kind != NAME or following == "(" or before in ("->", "."):
            continue
        if word.text in ("stack", "ustack", "jstack", "rand", "count", "speculation", "stop", "breakpoint", "exit"):
            written = f"{word.text}({'0' if word.text == 'exit' else ''})"
            yield Remedy(
                f"write {written}", insert(word.end, written[len(word.text) :]), "this is a function", of_word(word)
            )


def conversions(case: Case) -> Iterator[Remedy]:
    """Conversions that printf() has not."""
    match = re.search(r"format conversion #(\d+) is undefined: (%\S*)", case.error.text)
    if match is None:
        return
    alone = re.compile(r"(?<!%)%(?=\\n|\"|\s)").search(case.text, case.part.start, case.part.end)
    if alone:
        span = Span(alone.start(), alone.end())
        yield Remedy("write %%", swap(span, "%%"), "a percent sign is written %%", span)
    for index in case.layout.within(case.part):
        word = case.layout.words[index]
        place = word.text.find(match[2]) if word.kind == STRING else -1
        if place < 0:
            continue
        span = Span(word.start + place, word.start + place + len(match[2]))
        for written in ("%d", "%s", "%k"):
            yield Remedy(f"write {written}", swap(span, written), f"printf() has no {match[2]}", span)
        yield Remedy(f"write %{match[2]}", swap(span, f"%{match[2]}"), "a percent sign is written %%", span)


def forms(case: Case) -> Iterator[Remedy]:
    """Values that must be written otherwise."""
    word = case.word
    if case.error.tag == "D_DEREF_NONPTR" and word is not None and word.text == "*":
        yield Remedy("leave * out", swap(of_word(word), ""), "this is no pointer", case.span)
    if case.error.tag == "D_ADDROF_VAR" and word is not None and word.text == "&":
        yield Remedy("leave & out", swap(of_word(word), ""), "a variable of D has no address", case.span)
    if word is not None and word.text == "," and "operator ," in case.error.text:
        yield Remedy("write ;", swap(of_word(word), ";"), "actions are divided by semicolons", of_word(word))
    if case.error.tag == "D_ARGS_IDX" or " is out of range for " in case.error.text:
        yield from _last_argument(case)
    if case.error.tag == "D_ARR_LOCAL":
        for index in case.layout.within(case.part):
            each = case.layout.words[index]
            if each.text == "this":
                span = Span(each.start, case.layout.words[index + 1].end)
                every = tuple(
                    Edit(Span(match.start(), match.end()), "self->")
                    for match in re.finditer(rf"this->(?={case.layout.words[index + 2].text}\b)", case.text)
                )
                yield Remedy("write self->", every, "arrays are not kept in clauses", span)
    if case.error.tag in ("D_STACK_SIZE", "D_USTACK_FRAMES"):
        given = arguments(case.layout, case.number)
        if given:
            yield Remedy("leave the number out", swap(given[0], ""), "so many frames there cannot be", given[0])
