"""A program laid out: a statement a line, two spaces for each block, blank lines and breaks in parentheses as they
were, at most one of the former."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.frontends.bpftrace.formatting.words import C_TEXT, COMMENT, DESCRIPTION, FormattedWord, words
from sonde.frontends.bpftrace.syntax.types import BUILTIN, TAGGED

_INDENT = "  "
_VALUES = ("number", "map", "scratch", "positional", "name", "string")
_OPENING, _CLOSING = ("(", "["), (")", "]")
_TIGHT = (".", "->", "..", "++", "--")
_UNARY = ("-", "+", "*", "&", "~", "!", "++", "--")
_SPACED_WORDS = ("if", "while", "for", "unroll", "return", "else", "comptime")


def laid_out(text: str) -> str:
    """Raises BtError for what is no word of the language."""
    found = _Layout(list(words(text))).laid()
    return "\n".join(found).rstrip() + "\n" if found else ""


class _Layout:
    def __init__(self, given: Sequence[FormattedWord]) -> None:
        self.given = given
        self.lines: list[str] = []
        self.line = ""
        self.depth = 0
        self.brackets: list[int] = []
        """The columns behind brackets that are open, and -1 for each brace in them."""
        self.at = 0
        self.is_predicate = self.after_points = False

    def laid(self) -> list[str]:
        for at, word in enumerate(self.given):
            self.at = at
            self._blank(word)
            self._one(word)
        self._end()
        return self.lines

    def _one(self, word: FormattedWord) -> None:
        if word.kind == COMMENT:
            self._comment(word)
        elif word.kind == C_TEXT:
            self._end()
            self.lines += word.text.split("\n")
        elif word.kind == DESCRIPTION:
            self._end()
            self.line, self.after_points = " ".join(word.text.split()), True
        elif self.brackets and self.brackets[-1] >= 0 and word.text in ("{", "}"):
            self._inner_brace(word)
        elif word.text == "{":
            self._open()
        elif word.text == "}":
            self._close()
        else:
            self._plain(word)

    def _blank(self, word: FormattedWord) -> None:
        """A blank line stays, but before the end of a block; between items of the program there is one."""
        if self.brackets or word.text in ("}", "else", "{"):
            return
        before = self.given[self.at - 1] if self.at else None
        item_ends = before is not None and not self.depth and before.text == "}" and word.lines > 0
        if (word.lines > 1 or item_ends) and before is not None:
            self._end()
            if self.lines and self.lines[-1]:
                self.lines.append("")

    def _comment(self, word: FormattedWord) -> None:
        if word.lines or not (self.line or self.lines):
            self._end()
            self.line = self._margin() + word.text
        elif self.line:
            self.line += " " + word.text
        else:
            self.lines[-1] += " " + word.text
            return
        if word.text.startswith("//") or not self.brackets:
            self._end()

    def _open(self) -> None:
        """Blocks of what stands at the top of a program begin on a line of their own."""
        is_setting = self.line.lstrip().startswith("config")
        if not self.depth and not is_setting:
            self._end()
            self.line = "{"
        else:
            self.line = f"{self.line or self._margin().rstrip(' ') or ''}"
            self.line = f"{self.line} {{" if self.line.strip() else f"{self._margin()}{{"
        self.after_points = False
        self._end()
        self.depth += 1

    def _close(self) -> None:
        self._end()
        self.depth = max(self.depth - 1, 0)
        self.line = f"{self._margin()}}}"
        behind = self.given[self.at + 1] if self.at + 1 < len(self.given) else None
        if behind is None or behind.text not in ("else", ";", ")", ","):
            self._end()

    def _inner_brace(self, word: FormattedWord) -> None:
        """Of a block that is a value within brackets, which stays on its line."""
        self._add(word)

    def _plain(self, word: FormattedWord) -> None:
        if word.text == "/" and not self.depth and not self.is_predicate and self.after_points:
            self._end()
            self.line, self.is_predicate = "/", True
            return
        word = word._replace(lines=0) if self.line == "/" else word
        if word.text == "/" and self.is_predicate and self._ends_predicate():
            self.line += "/"
            self.is_predicate = False
            self._end()
            return
        if word.text == "," and self.after_points and not self.depth and not self.is_predicate:
            self.line += ","
            self._end()
            return
        column = self.brackets[-1] if self.brackets else 1 if self.is_predicate else -1
        if column >= 0 and word.lines and word.text not in _CLOSING:
            self.lines.append(self.line.rstrip())
            self.line = " " * column + word.text
        else:
            self._add(word)
        if word.text in _OPENING:
            self.brackets.append(len(self.line))
        elif word.text in _CLOSING and self.brackets:
            self.brackets.pop()
        if word.text == ";" and not self.brackets:
            self._end()

    def _add(self, word: FormattedWord) -> None:
        if not self.line.strip():
            self.line = self._margin() + word.text
        else:
            self.line += (" " if self._is_spaced(word) else "") + word.text

    def _ends_predicate(self) -> bool:
        rest = (each for each in self.given[self.at + 1 :] if each.kind != COMMENT)
        return next(rest, FormattedWord("", "", 0)).text == "{"

    def _end(self) -> None:
        if self.line.strip():
            self.lines.append(self.line.rstrip())
        self.line = ""

    def _margin(self) -> str:
        return _INDENT * self.depth

    def _is_spaced(self, word: FormattedWord) -> bool:
        """Whether a blank stands before a word."""
        before = self.given[self.at - 1]
        if self.is_predicate and before.text == "/" and self._begins_predicate(self.at - 1):
            return False
        if word.text in (",", ";", *_CLOSING) or before.text in _OPENING or self._is_prefix(self.at - 1):
            return False
        if word.text == ":" and before.text == "?":
            return False
        if word.text in _TIGHT or before.text in (".", "->", ".."):
            return word.text in ("++", "--") and not _is_value(before)
        if word.text in _OPENING:
            is_called = before.kind in ("name", "map") and before.text not in _SPACED_WORDS
            is_called |= before.text in _CLOSING and self._is_cast_end(self.at - 1)
            return not (is_called or (word.text == "[" and (_is_value(before) or before.text == "*")))
        if word.text == ":" and self._is_in_type(self.at):
            return False
        if word.text == "*" and self._is_type_star(self.at):
            return False
        return not (before.text in _CLOSING and self._is_cast_end(self.at - 1))

    def _begins_predicate(self, at: int) -> bool:
        return self.given[at - 1].kind in (DESCRIPTION, COMMENT) if at else False

    def _is_prefix(self, at: int) -> bool:
        """Whether a sign belongs to what follows it alone."""
        word = self.given[at]
        if word.text in ("++", "--"):
            return at == 0 or not _is_value(self.given[at - 1])
        if word.text not in _UNARY or self._is_type_star(at):
            return False
        before = self.given[at - 1] if at else None
        return before is None or not _is_value(before) or self._is_cast_end(at - 1)

    def _is_in_type(self, at: int) -> bool:
        """Whether a colon stands before a type: `let $x: uint8`, `fn f($x: uint8): uint8`, `for ($x : 0..5)` not."""
        start = at
        while start and self.given[start - 1].text not in ("{", "}", ";", "?"):
            start -= 1
        return self.given[start].text in ("let", "fn")

    def _is_type_star(self, at: int) -> bool:
        """Whether a star makes a pointer of a type."""
        if self.given[at].text != "*" or not at:
            return False
        before = self.given[at - 1]
        if before.text == "*":
            return self._is_type_star(at - 1)
        if before.kind != "name":
            return False
        if at >= 2 and self.given[at - 2].text in TAGGED:
            return True
        behind = self.given[at + 1].text if at + 1 < len(self.given) else ""
        return (before.text in BUILTIN or before.text.endswith("_t") or behind in (")", "*", ",")) and behind != "("

    def _is_cast_end(self, at: int) -> bool:
        """Whether a closing parenthesis ends the type of a cast."""
        if self.given[at].text != ")":
            return False
        start = at - 1
        while start >= 0 and (
            self.given[start].kind in ("name", "number") or self.given[start].text in ("*", "[", "]")
        ):
            start -= 1
        if start < 0 or self.given[start].text != "(" or start == at - 1:
            return self._is_typeof(at)
        if start and (self.given[start - 1].kind == "name" and self.given[start - 1].text not in _SPACED_WORDS):
            return self._is_typeof(at)
        first, last = self.given[start + 1], self.given[at - 1]
        known = first.text in TAGGED or first.text in BUILTIN or first.text.endswith("_t") or last.text == "*"
        behind = self.given[at + 1] if at + 1 < len(self.given) else None
        return known or (
            behind is not None
            and behind.kind in _VALUES
            and behind.text not in _SPACED_WORDS
            and start > 0
            and self.given[start - 1].text not in ("if", "while", "unroll")
        )

    def _is_typeof(self, at: int) -> bool:
        """`(typeof(x))`, whose last parenthesis this is."""
        depth = 0
        for start in range(at, -1, -1):
            depth += {")": 1, "(": -1}.get(self.given[start].text, 0)
            if not depth:
                return self.given[start + 1].text == "typeof"
        return False


def _is_value(word: FormattedWord) -> bool:
    """Whether an operand may end there."""
    return (
        (word.kind in _VALUES and word.text not in _SPACED_WORDS) or word.text in _CLOSING or word.text in ("++", "--")
    )
