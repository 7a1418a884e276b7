"""C text cut into tokens (C17, 6.4)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sonde.frontends.bpftrace.errors import BtError, SourceSpan
from sonde.typed import NamedTuple

PROGRAM = "definitions.h"
"""What messages call the C text of a program, as bpftrace does."""

_TOKEN = re.compile(
    r"""(?P<space>(?:[ \t\r\f\v]|\\\r?\n|/\*.*?(?:\*/|\Z)|//(?:\\\n|[^\n])*)+)
    |(?P<newline>\n)
    |(?P<number>\.?[0-9](?:[eEpP][+-]|[\w.])*)
    |(?P<string>(?:L|u8|u|U)?"(?:[^"\\\n]|\\.)*")
    |(?P<character>(?:L|u|U)?'(?:[^'\\\n]|\\.)*')
    |(?P<name>[A-Za-z_$]\w*)
    |(?P<sign>\.\.\.|<<=|>>=|\#\#|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||.)
    """,
    re.VERBOSE | re.DOTALL,
)


class CToken(NamedTuple):
    """`kind` is a group of `_TOKEN`, or "" at the end; `file` is a path, or `PROGRAM`. `is_apart`: a blank comes before
    it. `hidden` are the macros that it comes from, which are not expanded in it (6.10.3.4)."""

    kind: str
    text: str
    file: str
    line: int
    column: int
    is_apart: bool = False
    hidden: frozenset[str] = frozenset()


class DefinitionError(BtError):
    """A mistake in C text: `told` is what a C compiler says of it, place included."""

    def __init__(self, kind: str, text: str, token: CToken, span: SourceSpan) -> None:
        super().__init__("these C definitions cannot be read", span)
        self.told = f"{token.file}:{token.line}:{token.column}: {kind}: {text}"


class CTextError(Exception):
    """The same before it is known which definition of the program it belongs to."""

    def __init__(self, text: str, token: CToken, kind: str = "error") -> None:
        super().__init__(text)
        self.text = text
        self.token = token
        self.kind = kind


def tokens(text: str, file: str, line: int = 1) -> Iterator[CToken]:
    """All of a text, ends of lines included."""
    start, apart = 0, False
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup or ""
        if kind == "space":
            apart = True
        else:
            yield CToken(kind, found[0], file, line, found.start() - start + 1, apart)
            apart = False
        ends = found[0].count("\n")
        if ends:
            line += ends
            start = found.start() + found[0].rindex("\n") + 1
