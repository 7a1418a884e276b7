"""The preprocessor of C (C17, 6.10): conditions, included files and macros."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from sonde.frontends.bpftrace.check.definitions.constants import constant
from sonde.frontends.bpftrace.check.definitions.expansion import CMacro, Expansion
from sonde.frontends.bpftrace.check.definitions.reader import TokenReader
from sonde.frontends.bpftrace.check.definitions.tokens import PROGRAM, CTextError, CToken, tokens

_DEEPEST = 100
_MOST_EXPANDED = 200_000
_MOST_TOKENS = 400_000

Headers = Callable[[str, bool, str], "tuple[str, str] | None"]
"""Finds an included file by its name, whether that stands in quotes, and the file that includes it: path and text, or
None."""


class Condition:
    """An #if: whether its lines are read, whether some of its have been, and whether they all are left out."""

    def __init__(self, is_read: bool, is_within: bool) -> None:
        self.is_read = is_within and is_read
        self.was_read = is_read
        self.is_within = is_within


class Preprocessor:
    """What has been read is in `found`; `expansion` has the macros."""

    def __init__(self, headers: Headers, defined: Mapping[str, str]) -> None:
        self.expansion = Expansion(_MOST_EXPANDED)
        self.found: list[CToken] = []
        self._headers = headers
        self._once: set[str] = set()
        self._depth = 0
        for name, value in defined.items():
            self.expansion.macros[name] = CMacro(name, tuple(tokens(value, PROGRAM)), None)

    def include(self, name: str) -> None:
        """As by the option --include."""
        self._include(name, True, PROGRAM, CToken("string", name, "<built-in>", 1, 10))

    def read(self, text: str, file: str, line: int = 1) -> None:
        """A whole text. Raises CTextError."""
        conditions: list[Condition] = []
        plain: list[CToken] = []
        for each in _lines(tokens(text, file, line)):
            if each and each[0].text == "#":
                self._take(plain)
                plain = []
                self._directive(each, conditions)
            elif not conditions or conditions[-1].is_read:
                plain += each
        self._take(plain)

    def _take(self, plain: list[CToken]) -> None:
        self.found += self.expansion.expanded(plain)
        if len(self.found) > _MOST_TOKENS:
            raise CTextError("there is too much C text", self.found[-1], "fatal error")

    def _directive(self, line: list[CToken], conditions: list[Condition]) -> None:
        if len(line) < 2:
            return
        name, rest = line[1].text, line[2:]
        is_within = not conditions or conditions[-1].is_read
        if name in ("if", "ifdef", "ifndef"):
            conditions.append(Condition(is_within and self._holds(name, line), is_within))
        elif name in ("elif", "else", "endif"):
            self._else(name, line, conditions)
        elif not is_within:
            return
        elif name in ("include", "include_next"):
            self._included(line)
        elif name == "define":
            self._define(line)
        elif name == "undef" and rest:
            self.expansion.macros.pop(rest[0].text, None)
        elif name == "error":
            raise CTextError(" ".join(each.text for each in rest), line[0])
        elif name == "pragma":
            self._pragma(line)

    def _pragma(self, line: list[CToken]) -> None:
        if len(line) > 2 and line[2].text == "once":
            self._once.add(line[0].file)
        elif len(line) > 2 and line[2].text == "pack":
            raise CTextError("#pragma pack is not supported; use __attribute__((packed))", line[2])

    def _holds(self, name: str, line: list[CToken]) -> bool:
        if len(line) < 3:
            raise CTextError(f"#{name} without a condition", line[1])
        if name != "if":
            return (line[2].text in self.expansion.macros) == (name == "ifdef")
        return self._is_true(line[2:])

    def _is_true(self, condition: list[CToken]) -> bool:
        plain: list[CToken] = []
        reader = TokenReader(condition)
        while reader.token.kind:
            token = reader.next()
            if token.text == "defined":
                has_parenthesis = reader.accept("(")
                is_defined = reader.name().text in self.expansion.macros
                if has_parenthesis:
                    reader.expect(")")
                token = token._replace(kind="number", text=str(int(is_defined)))
            plain.append(token)
        reader = TokenReader(self.expansion.expanded(plain))
        value = constant(reader, _unknown)
        if reader.token.kind:
            raise CTextError(f"unexpected '{reader.token.text}' behind a condition", reader.token)
        return bool(value)

    def _else(self, name: str, line: list[CToken], conditions: list[Condition]) -> None:
        if not conditions:
            raise CTextError(f"#{name} without #if", line[1])
        last = conditions[-1]
        if name == "endif":
            conditions.pop()
            return
        holds = last.is_within and not last.was_read and (name == "else" or self._is_true(line[2:]))
        last.is_read = holds
        last.was_read |= holds

    def _define(self, line: list[CToken]) -> None:
        if len(line) < 3 or line[2].kind != "name":
            raise CTextError("macro name missing", line[-1])
        name, rest = line[2], line[3:]
        parameters: tuple[str, ...] | None = None
        if rest and rest[0].text == "(" and not rest[0].is_apart:
            closing = next((at for at, each in enumerate(rest) if each.text == ")"), len(rest))
            parameters = tuple(each.text for each in rest[1:closing] if each.text != ",")
            rest = rest[closing + 1 :]
        self.expansion.macros[name.text] = CMacro(name.text, tuple(rest), parameters)

    def _included(self, line: list[CToken]) -> None:
        rest = line[2:]
        if rest and rest[0].kind == "name":
            rest = self.expansion.expanded(rest)
        if rest and rest[0].kind == "string":
            self._include(rest[0].text[1:-1], True, line[0].file, rest[0])
        elif rest and rest[0].text == "<":
            name = "".join(each.text for each in rest[1:]).partition(">")[0]
            self._include(name, False, line[0].file, rest[0])
        else:
            raise CTextError('expected "FILENAME" or <FILENAME>', line[-1])

    def _include(self, name: str, is_quoted: bool, file: str, at: CToken) -> None:
        found = self._headers(name, is_quoted, file)
        if found is None:
            raise CTextError(f"'{name}' file not found", at, "fatal error")
        path, text = found
        if path in self._once:
            return
        self._depth += 1
        if self._depth > _DEEPEST:
            raise CTextError("#include nested too deeply", at)
        self.read(text, path)
        self._depth -= 1


def _unknown(reader: TokenReader) -> int:
    """A name that no macro has is 0 in a condition; so is what asks for a feature of the compiler."""
    reader.next()
    if reader.token.text == "(":
        reader.skip_parenthesized()
    return 0


def _lines(all_tokens: Iterable[CToken]) -> Iterable[list[CToken]]:
    line: list[CToken] = []
    for each in all_tokens:
        if each.kind == "newline":
            yield line
            line = []
        else:
            line.append(each)
    yield line
