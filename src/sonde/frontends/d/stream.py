"""The tokens as the parsing functions see them: one current token, a few ahead, and what every function needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sonde.frontends.d import gnu
from sonde.frontends.d.errors import DError
from sonde.frontends.d.lexer import END, KEYWORDS, NAME, NUMBER, Lexer, Token
from sonde.frontends.d.syntax import Expr, TypeWord
from sonde.model.errors import Position
from sonde.model.types import BUILTIN_TYPEDEFS

QUALIFIERS = frozenset({"const", "restrict", "volatile"})
BASE_WORDS = frozenset(
    {"char", "double", "float", "int", "long", "short", "signed", "string", "unsigned", "void", "_Complex", "__int128"}
)
TAG_WORDS = frozenset({"enum", "struct", "union"})
TYPE_WORDS = QUALIFIERS | BASE_WORDS | TAG_WORDS

# Types that have names which are no keywords and that no catalog needs to declare.
_KNOWN_TYPES = frozenset(BUILTIN_TYPEDEFS) | {"_Bool", "stack", "_symaddr", "_text", "_usymaddr"}

# How deep brackets, operands and types may nest in the source, and how high a tree may be: the parser calls itself up
# to seven times a level, whoever walks the tree at least once, and Python allows a thousand calls.
MAX_NESTING = 100
MAX_HEIGHT = 200

_BEGIN_STATEMENTS = ("@", "for", "if", "self", "this", "while")
_NOT_IN_D = ("case", "default", "do", "goto", "return", "switch")
"""Words of C that are kept for nothing."""


class TokenStream:
    """The current token and the way on.

    `expression` parses an expression from the stream; declarations need it for their constants, and expressions need
    declarations for their types. `attributes` are the words in the GNU C attributes passed over; who wants them takes
    them out.
    """

    def __init__(
        self, lexer: Lexer, is_type_name: Callable[[str], bool], expression: Callable[[TokenStream], Expr],
        is_known: Callable[[str], bool] = lambda _name: True,
    ) -> None:  # fmt: skip
        self.lexer = lexer
        self.expression = expression
        self.typedefs: set[str] = set()
        self.attributes: set[str] = set()
        self.token = Token(END, "", lexer.position(), 0)
        self.count = 0
        self._ahead: list[Token] = []
        self._is_type_name = is_type_name
        self._is_known = is_known
        self._depth = 0

    def advance(self) -> None:
        """Make the next token the current one."""
        self.count += 1
        self.token = self._ahead.pop(0) if self._ahead else self._read()

    def peek(self, distance: int = 1) -> Token:
        """A token after the current one."""
        while len(self._ahead) < distance:
            self._ahead.append(self._read())
        return self._ahead[distance - 1]

    def _read(self) -> Token:
        """The next token, what D has no word for translated or passed over."""
        token = self.lexer.next()
        while token.kind == NAME and token.text in gnu.WORDS:
            if token.text in gnu.SPELLINGS:
                return token._replace(kind=gnu.SPELLINGS[token.text])
            following = self.lexer.next()
            if token.text in gnu.WITH_PARENTHESES:
                self._pass_parentheses(following)
                following = self.lexer.next()
            token = following
        return token

    def take_attributes(self) -> set[str]:
        """The words of the attributes passed over since this was last asked."""
        taken, self.attributes = self.attributes, set()
        return taken

    def _pass_parentheses(self, token: Token) -> None:
        """Pass over everything from `token`, which must open a parenthesis, to where it is closed."""
        if token.kind != "(":
            raise self.error(token)
        depth = 1
        while depth:
            token = self.lexer.next()
            if token.kind == END:
                raise self.error(token)
            depth += {"(": 1, ")": -1}.get(token.kind, 0)
            self.attributes.add(token.text)

    def at(self, kind: str) -> bool:
        return self.token.kind == kind

    def accept(self, kind: str) -> bool:
        """Pass over the current token if it is of that kind."""
        if self.token.kind != kind:
            return False
        self.advance()
        return True

    def expect(self, kind: str) -> Token:
        """Pass over the current token, which must be of that kind."""
        token = self.token
        if token.kind != kind:
            raise self.error()
        self.advance()
        return token

    def expect_last(self, kind: str) -> None:
        """The current token must be of that kind and ends an item: what follows is not read as C."""
        if self.token.kind != kind:
            raise self.error()

    def expect_member_name(self) -> str:
        """Pass over the name of a member, for which keywords are as good as any word."""
        token = self.token
        if token.kind != NAME and token.kind not in KEYWORDS:
            raise self.error()
        self.advance()
        return token.text

    def word(self) -> TypeWord:
        """Pass over a keyword."""
        token = self.token
        self.advance()
        return TypeWord(token.position, token.kind)

    def place(self, position: Position) -> Position:
        """Where to report what ends before the current token: at `position`, unless that is on an earlier line.

        DTrace has read one token more when it counts lines, and its messages name that token's line.
        """
        following = self.token.position
        return position if following.line == position.line else following

    def is_type(self, name: str) -> bool:
        return name in self.typedefs or name in _KNOWN_TYPES or self._is_type_name(name)

    def starts_type(self, token: Token) -> bool:
        return token.kind in TYPE_WORDS or (token.kind == NAME and self.is_type(token.text))

    def error(self, token: Token | None = None) -> DError:
        """The error that says where the parser stumbled: at the current token, unless told otherwise."""
        token = token or self.token
        return DError("D_SYNTAX", f"syntax error near {self._near(token)}", token.position, self._what_helps(token))

    def _near(self, token: Token) -> str:
        """The token as DTrace shows it: an unknown name, behind which it has read on, with the rest of the line."""
        if token.kind == END:
            return "end-of-input" if self._ends_with_unknown_name() else "end of input"
        if token.kind == NUMBER and token.text.startswith("'"):
            return f'"{token.text[:-1]}"'
        is_name = token.kind == NAME and self.lexer.text.startswith(token.text, token.offset)
        if is_name and not self._is_known(token.text) and not self._seems_assigned(token.text, token.offset):
            return f'"{self.lexer.rest_of_line(token)}"'
        return f'"{token.text}"'

    def _ends_with_unknown_name(self) -> bool:
        """Whether DTrace has met the end of the text when it read on behind a name."""
        text = self.lexer.text.rstrip()
        last = re.search(r"(?<![\w`$@])[a-zA-Z_]\w*$", text)
        if last is None or last[0] in KEYWORDS or text[: last.start()].rstrip().endswith(("->", ".")):
            return False
        return not self._is_known(last[0]) and not self._seems_assigned(last[0], last.start())

    def _seems_assigned(self, name: str, offset: int) -> bool:
        """Whether the name has been used before as a variable is that is assigned to."""
        used = re.compile(rf"(?<![\w`>.]){re.escape(name)}\s*(?:\+\+|--|=(?!=)|[\[;,])")
        return used.search(self.lexer.text, 0, offset) is not None

    def _what_helps(self, token: Token) -> str:
        """A hint for the commonest slips, "" for others."""
        text, before = self.lexer.text, self.lexer.text[: token.offset].rstrip()
        if text.startswith("//", token.offset):
            return "comments are written /* ... */"
        if self.lexer.in_predicate and token.kind == "{":
            return "the predicate before it has no / at its end"
        if token.kind in _NOT_IN_D:
            return f"D has no {token.text}"
        if self.lexer.open["{"] and before.endswith(("{", ";", "}")) and self.starts_type(token):
            return "variables are declared outside of clauses"
        if re.search(r"[\w)\]\"']$", before) and (token.kind == NAME or token.text in _BEGIN_STATEMENTS):
            return "is a semicolon missing before it?"
        return ""

    @contextmanager
    def nested(self) -> Iterator[None]:
        """A level of nesting, for the rarer constructs; expressions count with `enter` and `leave`."""
        self.enter()
        yield
        self.leave()

    def enter(self) -> None:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise too_deep(self.token.position)

    def leave(self) -> None:
        self._depth -= 1


def too_deep(position: Position) -> DError:
    return DError("D_SYNTAX", "nested too deeply", position)


def split_scope(text: str) -> tuple[str, str | None]:
    """A name and what stands before its last backquote, None without one."""
    module, backquote, name = text.rpartition("`")
    return name, module if backquote else None
