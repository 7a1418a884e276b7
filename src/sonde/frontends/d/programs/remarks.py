"""Remarks on the letters of programs that compile but may mean something else than their writer thinks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sonde.frontends.d.advice import layout as advice_layout
from sonde.frontends.d.advice import words
from sonde.frontends.d.programs.compiling import Given
from sonde.frontends.languages import Remark

_MAY_BE_0 = r"\$target\s*(?:[=!]=\s*0|\?|&&|\|\|)|!\s*\$target|\b0\s*[=!]=\s*\$target"
"""Who asks whether there is a process knows that there may be none."""

_NO_USE = r"(?s:/\*.*?\*/)|\bprogenyof\s*\(\s*\$target\s*\)|\"(?s:[^\"\\]|\\.)*\""
"""Comments and texts, and a predicate that holds for all processes where there is none."""


def characters(given: Sequence[Given]) -> Iterator[Remark]:
    """Constants of several characters between single quotes, which are numbers."""
    for each in given:
        if each.source.text == each.original and "'" in each.original:
            yield from _characters(each)


def _characters(given: Given) -> Iterator[Remark]:
    # Most programs have no single quotes.

    layout = advice_layout.ProgramLayout(given.original)
    for word in layout.words:
        inner = word.text[1:-1]
        if word.kind == words.CHARACTER and len(inner) > 1 and "\\" not in inner:
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
