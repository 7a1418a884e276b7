"""The words of a program with what the parser leaves out: comments, lines of C, and where lines ended."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sonde.frontends.bpftrace.syntax.lexer import SourceText, token_at
from sonde.typed import NamedTuple

COMMENT, C_TEXT, DESCRIPTION = "comment", "c text", "description"
"""Kinds of words besides those of the lexer: `// ...` and `/* ... */`, preprocessor lines and C types, which stay as
they are, and descriptions of probes, which are no expressions."""

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DIRECTIVE = re.compile(r"#(?:[^\n]*\\\n)*[^\n]*")
_C_TYPE = re.compile(r"(struct|union|enum)\b")
_ITEM = re.compile(r"(config|import|let|macro|fn)\b")
_PATHS = ("uprobe", "uretprobe", "usdt", "u", "ur", "U", "iter", "it")


class FormattedWord(NamedTuple):
    """`lines` are how many ends of lines stand before it."""

    kind: str
    text: str
    lines: int


def words(text: str) -> Iterator[FormattedWord]:
    """Raises BtError for what is no word."""
    reader = _Reader(text)
    while (word := reader.next()) is not None:
        yield word


class _Reader:
    def __init__(self, text: str) -> None:
        self.source = SourceText(text)
        self.text = text
        self.offset = 0
        self.depth = 0
        self.is_item = True
        """At the beginning of something at the top of the program."""
        self.in_points = False

    def next(self) -> FormattedWord | None:
        start = self.offset
        while self.offset < len(self.text) and self.text[self.offset].isspace():
            self.offset += 1
        if self.offset == len(self.text):
            return None
        lines = self.text.count("\n", start, self.offset)
        kind, end = self._one()
        word = FormattedWord(kind, self.text[self.offset : end].rstrip(), lines)
        self.offset = end
        return word

    def _one(self) -> tuple[str, int]:
        at, text = self.offset, self.text
        if found := _COMMENT.match(text, at):
            return COMMENT, found.end()
        if not self.depth and text[at] == "#" and (found := _DIRECTIVE.match(text, at)):
            return C_TEXT, found.end()
        if self.is_item and not self.depth and _C_TYPE.match(text, at):
            return C_TEXT, self._end_of_type(at)
        if not self.depth and not self.in_points and self.is_item and not _ITEM.match(text, at):
            self.in_points = True
        if self.in_points and text[at] not in ",{/":
            return DESCRIPTION, self._end_of_description(at)
        token = token_at(self.source, at)
        self._follow(token.text)
        return token.kind, token.end

    def _follow(self, text: str) -> None:
        self.is_item = False
        if text == "{":
            self.depth += 1
            self.in_points = False
        elif text == "}":
            self.depth -= 1
            self.is_item = not self.depth
        elif text == "/":
            self.in_points = False
        elif text == ";" and not self.depth:
            self.is_item = True

    def _end_of_type(self, at: int) -> int:
        """Behind a definition in C, with its semicolon."""
        depth = 0
        while at < len(self.text):
            if found := _COMMENT.match(self.text, at):
                at = found.end()
                continue
            depth += {"{": 1, "}": -1}.get(self.text[at], 0)
            if self.text[at] == ";" and not depth:
                return at + 1
            at += 1
            if self.text[at - 1] == "}" and not depth:
                rest = re.compile(r"\s*(?:__attribute__\s*\(\(.*?\)\)\s*)?;?", re.DOTALL).match(self.text, at)
                return rest.end() if rest is not None and rest[0].strip() else at
        return at

    def _end_of_description(self, at: int) -> int:
        start = at
        has_path = self.text[at : at + 9].partition(":")[0] in _PATHS
        while at < len(self.text) and self.text[at] not in ",{":
            if self.text[at] == '"':
                at = max(self.text.find('"', at + 1), at)
            elif self.text[at] == "/" and (not has_path or self.text[at - 1].isspace()) and at > start:
                break
            at += 1
        return at
