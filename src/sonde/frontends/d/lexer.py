"""Source text -> tokens, one at a time, because how a character is read depends on where the parser stands.

Outside clauses a word is everything a probe description may hold (`syscall::read*:entry`, `tick-1`); inside clauses
and declarations tokens are those of C. The parser says which of the two it wants.
"""

from __future__ import annotations

import re

from sonde.frontends.d import constants
from sonde.frontends.d.directives import LineMarker, directive
from sonde.frontends.d.errors import DError
from sonde.frontends.d.source import MACRO_NAMES, Macros, ProgramSource
from sonde.frontends.d.syntax import Integer, Pragma, StringLiteral
from sonde.model.errors import Position
from sonde.typed import NamedTuple

_KEYWORDS = (
    "auto break case char const continue counter default do double else enum extern float for goto if import inline "
    "int long offsetof probe provider register restrict return self short signed sizeof static string stringof struct "
    "switch this translator typedef union unsigned void volatile while xlate"
)
KEYWORDS = frozenset(_KEYWORDS.split())

# Kinds of tokens; that of an operator or a keyword is its text.
NAME = "NAME"
NUMBER = "NUMBER"
STRING = "STRING"
AGGREGATION = "AGGREGATION"
SPEC = "SPEC"
PREDICATE_END = "PREDICATE_END"
END = "END"


MAX_TOKENS = 80_000
"""The most that one source may have: people's programs are far shorter, and more takes over a second to check."""


class Token(NamedTuple):
    """`text` is as written; `offset` where it begins in the source. `value` is set for constants only."""

    kind: str
    text: str
    position: Position
    offset: int
    value: Integer | StringLiteral | None = None


TARGET = "$target"
"""A macro variable, and a name where its value is known only when the program runs."""

_BLANK = re.compile(r"[ \t\r\f\v\n]+")
_AFTER_PREDICATE = r"(?s:[ \t\r\f\v\n]+|/\*.*?\*/)*+(?:[;{]|/(?!\*)|\Z)"
_IDENTIFIER = re.compile(r"[0-9]+")
SLASHES = r"(?<=:)\.{0,2}/[-0-9a-zA-Z_.+@/]+(?=:)|/(?=[-0-9a-zA-Z_.+/]*@[0-9])"
"""What may be in a probe description with a slash that begins no predicate: a field that is the path of a file, and a
directory in a source position, dir/file.c@12."""

_DESTRUCTOR = r"(?<=::)~(?=[a-zA-Z_])"
_PIECE = rf"(?:{SLASHES}|@(?=[0-9])|{_DESTRUCTOR}|[-$:0-9a-zA-Z_.`?*\\\[\]!+])*"
DESCRIPTION = re.compile(rf"[-$:a-zA-Z_.?*\\\[\]!]{_PIECE}")
_OF_FUNCTIONS = r"(?:pid|uprobe)[^:]*:[^:]*:"
_BRACKETS = {"(": ")", "<": ">"}
_NOT_IN_NAMES = frozenset(';{}/"\n')
_BEHIND_PARAMETERS = rf"(?: (?:const|volatile|&&?))*(?=:){_PIECE}|{_PIECE}"
_TOKEN = re.compile(
    r"""
      (?P<name>[a-zA-Z_`][0-9a-zA-Z_`]* | [0-9][0-9a-zA-Z_]*`[0-9a-zA-Z_`]*)
    | (?P<float>(?:[0-9]+\.[0-9]* | \.[0-9]+)(?:[eE][-+]?[0-9]+)?[fFlL]? | [0-9]+[eE][-+]?[0-9]+[fFlL]?)
    | (?P<number>(?:0[xX][0-9a-fA-F]+ | [0-9]+)[uU]?[lL]?[lL]?)
    | (?P<string>"[^"\\\n]*(?:\\.[^"\\\n]*)*")
    | (?P<character>'[^'\\\n]*(?:\\.[^'\\\n]*)*')
    | (?P<aggregation>@(?:[a-zA-Z_][0-9a-zA-Z_]*)?)
    | (?P<macro>\$\$?(?:[0-9]+ | [a-zA-Z_][0-9a-zA-Z_]*))
    | (?P<operator><<= | >>= | \.\.\. | -> | \+\+ | -- | << | >> | && | \|\| | \^\^ | [-+*/%&|^<>=!]= |
                   [-+*/%&|^~!<>=?:;,.()\[\]{}])
    """,
    re.VERBOSE,
)
_PIECE_OF_BODY = r"""[^\s{}"'/#]+|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'|\S"""
_NUMERIC_ARGUMENT = r"([-+]?)((?:0[xX][0-9a-fA-F]+|[0-9]+)[uU]?[lL]?[lL]?)\Z"
_NAME_ARGUMENT = r"[a-zA-Z_`][0-9a-zA-Z_`]*\Z"
_OPENING = {")": "(", "]": "[", "}": "{"}


class Lexer:
    """Reads the tokens of one source.

    `pragmas` collects the pragmas passed over; whoever asks for tokens takes them out. `used_arguments` are the
    numbers of the macro arguments named so far. In a predicate (`in_predicate`) a `/` may be its end.
    """

    def __init__(self, source: ProgramSource, macros: Macros) -> None:
        self.text = source.text
        self.pspec = source.pspec
        self.defaultargs = macros.defaultargs
        self.pragmas: list[Pragma] = []
        self.used_arguments: set[int] = set()
        self.in_predicate = False
        self.open = {"(": 0, "[": 0, "{": 0}
        self._macros = macros
        self._file = source.file
        self._offset = 0
        self._count = 0
        self._line = 1
        self._line_start = 0
        self._has_marker = False

    def next(self) -> Token:
        """The next token of C."""
        self._skip()
        match = _TOKEN.match(self.text, self._offset)
        if match is None:
            return self._no_token()
        kind, text, position, offset = match.lastgroup, match[0], self.position(), self._offset
        self._offset = match.end()
        if kind == "name":
            return Token(text if text in KEYWORDS else NAME, text, position, offset)
        if kind == "operator":
            return self._operator(text, position, offset)
        if kind == "number":
            return Token(NUMBER, text, position, offset, constants.integer(text, position))
        if kind == "string":
            return Token(STRING, text, position, offset, constants.string(text, position))
        if kind == "character":
            return Token(NUMBER, text, position, offset, constants.character(text, position))
        if kind == "aggregation":
            return Token(AGGREGATION, text, position, offset)
        if kind == "macro":
            return self._macro(text, position, offset)
        raise DError("D_SYNTAX", "floating-point constants are not permitted", position)

    def next_outer(self) -> Token:
        """The next token between clauses: a word of a probe description, a probe's number, else a token of C."""
        self._skip()
        kind, match = SPEC, DESCRIPTION.match(self.text, self._offset)
        if match is None:
            kind, match = NUMBER, _IDENTIFIER.match(self.text, self._offset)
        if match is None:
            return self._outer_sign()
        end = match.end()
        if self.text[end : end + 1] in _BRACKETS and re.match(_OF_FUNCTIONS, match[0]):
            end = self._behind_name(end)
        token = Token(kind, self.text[self._offset : end], self.position(), self._offset)
        self._offset = end
        return token

    def _behind_name(self, at: int) -> int:
        """Where a description ends whose function has its parameters, or arguments of a template: f(int), largest<int>,
        and what goes on behind these."""
        while self.text[at : at + 1] in _BRACKETS:
            waiting = [_BRACKETS[self.text[at]]]
            end = at + 1
            while waiting and end < len(self.text) and self.text[end] not in _NOT_IN_NAMES:
                if self.text[end] == waiting[-1]:
                    waiting.pop()
                elif self.text[end] in _BRACKETS:
                    waiting.append(_BRACKETS[self.text[end]])
                end += 1
            behind = re.compile(_BEHIND_PARAMETERS).match(self.text, end)
            if waiting or behind is None:
                break
            at = behind.end()
        return at

    def _outer_sign(self) -> Token:
        """What begins a predicate or a body, or separates descriptions; nothing else has a meaning there."""
        if self._offset < len(self.text) and self.text[self._offset] not in "{/,":
            raise DError("D_SYNTAX", f'syntax error near "{self.text[self._offset]}"', self.position())
        return self.next()

    def pass_braces(self) -> None:
        """Pass over a block whose opening brace is the last token returned, and the closing one: the body of a
        function of C, which may hold what D has no tokens for."""
        depth, self.open["{"] = 1, self.open["{"] - 1
        while depth:
            self._skip()
            match = re.compile(_PIECE_OF_BODY).match(self.text, self._offset)
            if match is None:
                raise DError("D_SYNTAX", "syntax error near end-of-input", self.position())
            self._offset = match.end()
            depth += {"{": 1, "}": -1}.get(match[0], 0)

    def back_to(self, token: Token) -> None:
        """Read again from this token, the last one returned."""
        self._offset = token.offset

    def position(self) -> Position:
        return Position(self._file, self._line, self._offset - self._line_start + 1, self._has_marker)

    def argument_if_any(self, digits: str) -> str | None:
        """The macro argument of that number, "" for a missing one that may be missing."""
        # No command line has more arguments, and int() refuses thousands of digits.
        number = int(digits) if len(digits) < 10 else 10**9
        self.used_arguments.add(number)
        arguments = self._macros.arguments
        return arguments[number] if number < len(arguments) else "" if self.defaultargs else None

    def variable(self, name: str) -> int | None:
        """The macro variable of that name (`pid`, `target` ...)."""
        return getattr(self._macros, name) if name in MACRO_NAMES else None

    def rest_of_line(self, token: Token) -> str:
        end = self.text.find("\n", token.offset)
        return self.text[token.offset : end if end >= 0 else None]

    def _skip(self) -> None:
        """Pass over blanks, comments and control lines: what comes before each token."""
        self._count += 1
        if self._count > MAX_TOKENS:
            raise DError("D_UNKNOWN", f"program has more than {MAX_TOKENS:,} words and operators", self.position())
        text = self.text
        while True:
            match = _BLANK.match(text, self._offset)
            if match:
                self._pass_to(match.end())
            if text.startswith("/*", self._offset):
                self._comment()
            elif text.startswith("#", self._offset) and not text[self._line_start : self._offset].strip(" \t\r\f\v"):
                self._control_line()
            else:
                return

    def _pass_to(self, offset: int) -> None:
        newlines = self.text.count("\n", self._offset, offset)
        if newlines:
            self._line += newlines
            self._line_start = self.text.rfind("\n", self._offset, offset) + 1
        self._offset = offset

    def _comment(self) -> None:
        begin = self._offset + 2
        end = self.text.find("*/", begin)
        nested = self.text.find("/*", begin, end + 1 if end >= 0 else len(self.text))
        if nested >= 0:
            self._pass_to(nested)
            raise DError("D_SYNTAX", "/* encountered inside a comment", self.position())
        if end < 0:
            self._pass_to(len(self.text))
            raise DError("D_SYNTAX", "end-of-file encountered before matching */", self.position())
        self._pass_to(end + 2)

    def _control_line(self) -> None:
        end = self.text.find("\n", self._offset)
        position = self.position()
        if end < 0:
            raise DError("D_SYNTAX", "end-of-file encountered before end of control line", position)
        line = self.text[self._offset : end]
        self._pass_to(end + 1)
        result = directive(line, position)
        if isinstance(result, LineMarker):
            self._line = result.line
            self._file = self._file if result.file is None else result.file
            self._has_marker = self._has_marker or result.file is not None
        elif result:
            self.pragmas.append(result)
            if result.name == "option":
                self._option(result.words)

    def _option(self, words: tuple[str, ...]) -> None:
        """Two options change how the rest of this source is read."""
        if words == ("pspec",):
            self.pspec = True
        elif words == ("defaultargs",):
            self.defaultargs = True

    def _no_token(self) -> Token:
        text, position = self.text, self.position()
        if self._offset >= len(text):
            return Token(END, "", position, self._offset)
        character = text[self._offset]
        if character in "\"'" and text.find("\n", self._offset) >= 0:
            # The newline has been read when DTrace notices: it names the line after.
            self._pass_to(text.find("\n", self._offset) + 1)
            tag, what = ("D_STR_NL", "string literal") if character == '"' else ("D_CHR_NL", "character constant")
            raise DError(tag, f"newline encountered in {what}", self.position())
        hint = "the text that begins here does not end" if character in "\"'" else ""
        raise DError("D_SYNTAX", f'syntax error near "{character}"', position, hint)

    def _operator(self, text: str, position: Position, offset: int) -> Token:
        if text in self.open:
            self.open[text] += 1
        elif text in _OPENING:
            if not self.open[_OPENING[text]]:
                raise DError("D_SYNTAX", f"extra {text} in input stream", position)
            self.open[_OPENING[text]] -= 1
        elif self.in_predicate and text[0] == "/" and re.compile(_AFTER_PREDICATE).match(self.text, offset + 1):
            return self._predicate_end(position, offset)
        return Token(text, text, position, offset)

    def _predicate_end(self, position: Position, offset: int) -> Token:
        for opening, closing in (("(", ")"), ("[", "]")):
            if self.open[opening]:
                raise DError("D_SYNTAX", f"closing {closing} expected in predicate before /", position)
        # DTrace has read on to what follows the predicate when it counts lines.
        self._offset = offset + 1
        self._skip()
        return Token(PREDICATE_END, "/", self.position(), offset)

    def _macro(self, text: str, position: Position, offset: int) -> Token:
        as_string = text.startswith("$$")
        name = text.lstrip("$")
        if text == TARGET and self._macros.target is None:
            return Token(NAME, text, position, offset)
        value: str | None
        if name[0].isdigit():
            value, what = self.argument_if_any(name), "argument"
        else:
            number = self.variable(name)
            value, what = None if number is None else str(number), "variable"
        if value is None:
            raise DError("D_MACRO_UNDEF", f"macro {what} {text} is not defined", position)
        if as_string:
            return _string_token(text, value, position, offset)
        return _argument_token(text, value or "0", position, offset)


def _argument_token(text: str, value: str, position: Position, offset: int) -> Token:
    number = re.match(_NUMERIC_ARGUMENT, value)
    if number:
        return Token(NUMBER, text, position, offset, _numeric_argument(text, number[1], number[2], position))
    if re.match(_NAME_ARGUMENT, value):
        return Token(value if value in KEYWORDS else NAME, value, position, offset)
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return _string_token(text, value, position, offset)


def _string_token(text: str, value: str, position: Position, offset: int) -> Token:
    content = value.encode("utf-8", "surrogateescape")
    return Token(STRING, text, position, offset, StringLiteral(position, content))


def _numeric_argument(text: str, sign: str, digits: str, position: Position) -> Integer:
    try:
        constant = constants.integer(digits, position)
    except DError as error:
        if error.tag != "D_INT_OFLOW":
            raise
        message = f"macro argument {text} constant {sign}{digits} results in integer overflow"
        raise DError("D_MACRO_OFLOW", message, position) from None
    return constant._replace(value=-constant.value) if sign == "-" else constant
