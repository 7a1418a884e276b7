"""Remarks on what compiles or runs but may mean something else than its writer thinks; none changes the status."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sonde.frontends.d.programs.compiling import Given
from sonde.typed import NamedTuple

_OF_SHELLS = frozenset(("|", "||", "&", "&&", ";", "<", ">", ">>", "2>", "2>&1", "2>/dev/null", ">/dev/null"))


_MAY_BE_0 = r"\$target\s*(?:[=!]=\s*0|\?|&&|\|\|)|!\s*\$target|\b0\s*[=!]=\s*\$target"
"""Who asks whether there is a process knows that there may be none."""

_QUOTED = r"\\(?s:.)|'[^']*'|\"(?:[^\"\\]|\\(?s:.))*\""
_WORD = rf"(?:{_QUOTED}|[^\s'\"\\])+"
"""As shlex has words, which takes the quotes off."""

_NO_USE = r"(?s:/\*.*?\*/)|\bprogenyof\s*\(\s*\$target\s*\)|\"(?s:[^\"\\]|\\.)*\""
"""Comments and texts, and a predicate that holds for all processes where there is none."""


class Remark(NamedTuple):
    """One line, and what helps."""

    text: str
    hint: str


def characters(given: Sequence[Given]) -> Iterator[Remark]:
    """Constants of several characters between single quotes, which are numbers."""
    for each in given:
        if each.source.text == each.original and "'" in each.original:
            yield from _characters(each)


def _characters(given: Given) -> Iterator[Remark]:
    # Most programs have no single quotes.
    from sonde.frontends.d.advice.layout import Layout
    from sonde.frontends.d.advice.words import CHARACTER

    layout = Layout(given.original)
    for word in layout.words:
        inner = word.text[1:-1]
        if word.kind == CHARACTER and len(inner) > 1 and "\\" not in inner:
            line, column = layout.place(word.start)
            where = f"{given.source.file or 'command line'}:{line}:{column}"
            what = f"{where}: {word.text} is a number made of {len(inner)} characters"
            yield Remark(what, f'a text stands between double quotes: "{inner}"')


def targets(given: Sequence[Given]) -> Iterator[Remark]:
    """Programs about $target where there is none."""
    for each in given:
        text = re.sub(_NO_USE, "", each.original)
        if "$target" in text and not re.search(_MAY_BE_0, text):
            where = each.source.file or "command line"
            what = f"{where}: $target is 0, as there is neither -c nor -p"
            yield Remark(what, "start a command with -c, or give a process with -p")


def shells(command: str) -> Iterator[Remark]:
    """Signs of shells in a command of -c, which no shell reads."""
    if not set(command) & set("|&;<>"):
        return
    from shlex import quote

    words = [word.group() for word in re.finditer(_WORD, command)]
    bare = [(re.sub(_QUOTED, "_", word), word) for word in words]
    sign = next((word for rest, word in bare if rest in _OF_SHELLS or rest.endswith(";")), "")
    if not sign:
        return
    plain = not set(command) & set("'\"$`\\")
    line = f"\"sh -c '{command}'\"" if plain else quote(f"sh -c {quote(command)}")
    what = f"-c starts no shell: {words[0]} is given {sign} as a word"
    yield Remark(what, f"with a shell: -c {line}\nand progenyof($target) for the shell's children")
