"""Names and types of C++ as trees, in which one type has one form however it is spelled.

`const std::string&`, `std::string const &` and `std::__cxx11::basic_string<char, std::char_traits<char>,
std::allocator<char> > const&` are the same tree: qualifiers stand behind what they qualify, words of integers in one
order (dcl.type.simple), names of the standard library are what they abbreviate, and arguments of its templates that are
the defaults are not there.
"""

from __future__ import annotations

import re

from sonde.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    Node: TypeAlias = "str | ScopedName | Group"
    Element: TypeAlias = tuple[Node, ...]

ANONYMOUS = "(anonymous namespace)"
LONGEST = 16_384
"""Longer texts are no name that somebody would write."""

_DEEPEST = 60
_SYMBOLIC = r"\(\s*\)|\[\s*\]|<=>|<<=|>>=|<<|>>|->\*|->|<=|>=|&&|\|\||\+\+|--|[-+*/%^&|=!<>]=?|~|,"
_TOKEN = re.compile(
    rf"""\s*(?:
      (?P<anonymous>\(anonymous\ namespace\)|\{{anonymous\}})
    | (?P<tag>\[abi:[^\]]*\])
    | (?P<clone>\[clone\ [^\]]*\])
    | (?P<operator>operator(?![\w$])
        (?:\s*(?:{_SYMBOLIC})|\s*(?:new|delete)\b\s*(?:\[\s*\])?|\s*""\s*\w+|\s*co_await\b|))
    | (?P<word>~?\s*(?:[^\W\d]|\$)[\w$]*)
    | (?P<number>\d[\w.]*)
    | (?P<text>'[^']*')
    | (?P<sign>::|->|\.\.\.|&&|[^\s])
    )\s*""",
    re.VERBOSE,
)
_NULL = "decltype(nullptr)"
_NAMING = frozenset(("word", "anonymous", "operator", "braces", "text"))
_SUFFIX = re.compile(r"(\d+)[uUlL]+")
_LENGTHS = frozenset(("unsigned", "signed", "int", "long", "short"))
_SIMPLE = _LENGTHS.union(
    ("char", "bool", "float", "double", "void", "wchar_t", "char8_t", "char16_t", "char32_t", "__int128")
)
"""Words that types of the language are made of."""

_QUALIFIERS = frozenset(("const", "volatile"))
_KEYS = frozenset(("struct", "class", "union", "enum", "typename"))
"""Words before the name of a type that say nothing more."""

_ALIASES = {
    "size_t": "unsigned long", "ssize_t": "long", "ptrdiff_t": "long", "intptr_t": "long", "uintptr_t": "unsigned long",
    "int8_t": "signed char", "int16_t": "short", "int32_t": "int", "int64_t": "long",
    "uint8_t": "unsigned char", "uint16_t": "unsigned short", "uint32_t": "unsigned int", "uint64_t": "unsigned long",
}  # fmt: skip
"""Types of <cstddef> and <cstdint> where a long has 64 bits, with or without `std::`."""

_CHARACTERS = {"": "char", "w": "wchar_t", "u8": "char8_t", "u16": "char16_t", "u32": "char32_t"}
_STREAMS = ("ios", "istream", "ostream", "iostream", "streambuf", "filebuf", "ifstream", "ofstream", "fstream")
_OF_STRINGS = ("stringbuf", "istringstream", "ostringstream", "stringstream")
STRINGS = {
    f"{prefix}{name}": (f"basic_{name}", character)
    for prefix, character in _CHARACTERS.items()
    for name in ("string", "string_view", *((*_STREAMS, *_OF_STRINGS, "regex") if prefix in ("", "w") else ()))
}
"""Names of `std` for instances of templates."""

_ALLOCATOR = "std::allocator<{0}>"
_PAIRS = "std::allocator<std::pair<{0} const,{1}>>"
_TRAITS = "std::char_traits<{0}>"
_HASHED = ("std::hash<{0}>", "std::equal_to<{0}>")
_DEFAULTS = {
    (1, (_TRAITS,)): ("basic_string_view", *(f"basic_{name}" for name in _STREAMS)),
    (1, (_TRAITS, _ALLOCATOR)): ("basic_string", *(f"basic_{name}" for name in _OF_STRINGS)),
    (1, ("std::regex_traits<{0}>",)): ("basic_regex",),
    (1, (_ALLOCATOR,)): ("vector", "deque", "list", "forward_list"),
    (1, ("std::less<{0}>", _ALLOCATOR)): ("set", "multiset"),
    (2, ("std::less<{0}>", _PAIRS)): ("map", "multimap"),
    (1, (*_HASHED, _ALLOCATOR)): ("unordered_set", "unordered_multiset"),
    (2, (*_HASHED, _PAIRS)): ("unordered_map", "unordered_multimap"),
    (1, ("std::default_delete<{0}>",)): ("unique_ptr",),
    (1, ("std::deque<{0}>",)): ("stack", "queue"),
    (1, ("std::vector<{0}>", "std::less<{0}>")): ("priority_queue",),
}
"""How many arguments templates of `std` need, and what the others are where nothing is said."""

_DEFAULTS_OF = {name: rule for rule, names in _DEFAULTS.items() for name in names}


class NamePart(NamedTuple):
    """A scope or the last part of a name; `arguments` are those of a template, `parameters` those of a function that
    the rest is in, None where there are none. `tags` are those of the ABI."""

    word: str
    arguments: tuple[Element, ...] | None = None
    parameters: tuple[Element, ...] | None = None
    tags: tuple[str, ...] = ()


class ScopedName(NamedTuple):
    parts: tuple[NamePart, ...]


class Group(NamedTuple):
    """What is in brackets, divided at commas."""

    bracket: str
    elements: tuple[Element, ...]


class _UnreadableError(Exception):
    """A text that has no form of a name."""


def read(text: str) -> Element | None:
    """The tree of a name with all that is around it; None of what is none."""
    if len(text) > LONGEST:
        return None
    reader = _Reader(text.replace(_NULL, "std::nullptr_t"))
    try:
        found = reader.element("")
    except _UnreadableError:
        return None
    return found if reader.at == len(reader.tokens) else None


def parameters_of(elements: Sequence[Element]) -> tuple[Element, ...]:
    """Parameters as functions differ in them: a value may be constant in the function, and `void` is none."""
    found = tuple(_parameter(each) for each in elements)
    return () if found == ((ScopedName((NamePart("void"),)),),) else found


def of_library(name: ScopedName) -> ScopedName:
    """What a name that is written without `std::` is there."""
    return ScopedName(_of_library([NamePart("std"), *name.parts])) if len(name.parts) == 1 else name


def shown(element: Element) -> str:
    """The element as text, without blanks that say nothing."""
    found = ""
    for node in element:
        text = node if isinstance(node, str) else _shown_node(node)
        found += f" {text}" if found and text[0].isalpha() and (found[-1].isalnum() or found[-1] in ">*") else text
    return found


def _shown_node(node: ScopedName | Group) -> str:
    if isinstance(node, Group):
        closing = {"(": ")", "[": "]", "<": ">"}[node.bracket]
        return node.bracket + ",".join(map(shown, node.elements)) + closing
    return "::".join(_shown_part(each) for each in node.parts)


def _shown_part(part: NamePart) -> str:
    arguments = "" if part.arguments is None else f"<{','.join(map(shown, part.arguments))}>"
    parameters = "" if part.parameters is None else f"({','.join(map(shown, part.parameters))})"
    return part.word + arguments + parameters


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens = [*_tokens(text)]
        self.at = 0
        self._depth = 0

    def element(self, closing: str) -> Element:
        """What is up to a comma or the closing bracket."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _UnreadableError
        found: list[Node] = []
        while self.at < len(self.tokens):
            kind, text = self.tokens[self.at]
            if kind == "sign" and (text == closing or (text == "," and closing)):
                break
            found.append(self._node(kind, text))
        self._depth -= 1
        return _one_form(found)

    def _node(self, kind: str, text: str) -> Node:
        if kind in _NAMING or text == "::":
            if text in _QUALIFIERS or text in _KEYS or text == "noexcept":
                self.at += 1
                return text
            return self._name()
        self.at += 1
        if text in ("(", "["):
            return Group(text, self._list(")" if text == "(" else "]"))
        if kind == "number":
            suffixed = _SUFFIX.fullmatch(text)
            return suffixed[1] if suffixed else text
        return text

    def _list(self, closing: str) -> tuple[Element, ...]:
        found = [self.element(closing)]
        while self._takes(","):
            found.append(self.element(closing))
        if not self._takes(closing):
            raise _UnreadableError
        return () if found == [()] else tuple(found)

    def _takes(self, sign: str) -> bool:
        if self.at < len(self.tokens) and self.tokens[self.at] == ("sign", sign):
            self.at += 1
            return True
        return False

    def _name(self) -> ScopedName:
        self._takes("::")
        parts = [self._part()]
        while self._takes("::"):
            parts.append(self._part())
        return ScopedName(_of_library(parts))

    def _part(self) -> NamePart:
        if self.at >= len(self.tokens):
            raise _UnreadableError
        kind, text = self.tokens[self.at]
        if kind not in _NAMING:
            raise _UnreadableError
        self.at += 1
        if kind == "operator":
            text = self._operator(text)
        tags: list[str] = []
        while self.at < len(self.tokens) and self.tokens[self.at][0] == "tag":
            tags.append(self.tokens[self.at][1])
            self.at += 1
        arguments = self._list(">") if self._takes("<") else None
        while self.at < len(self.tokens) and self.tokens[self.at][0] == "tag":
            tags.append(self.tokens[self.at][1])
            self.at += 1
        return NamePart(text, arguments, self._enclosing(), tuple(tags))

    def _operator(self, text: str) -> str:
        """The word of an operator; a conversion's has the type in its one form."""
        if text != "operator":
            return text
        start = self.at
        found: list[Node] = []
        while self.at < len(self.tokens) and self.tokens[self.at] != ("sign", "("):
            found.append(self._node(*self.tokens[self.at]))
        if self.at == start:
            raise _UnreadableError
        return f"operator {shown(_one_form(found))}"

    def _enclosing(self) -> tuple[Element, ...] | None:
        """The parameters of a function that the rest of the name is in: `f(int) const::Local`."""
        start = self.at
        if not self._takes("("):
            return None
        parameters = self._list(")")
        while self.at < len(self.tokens) and self.tokens[self.at][1] in (*_QUALIFIERS, "&", "&&"):
            self.at += 1
        if self.at < len(self.tokens) and self.tokens[self.at] == ("sign", "::"):
            return parameters_of(parameters)
        self.at = start
        return None


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        if text[at] == "{" and not text.startswith("{anonymous}", at):
            end = _behind_braces(text, at)
            found.append(("braces", re.sub(r"\s+", "", text[at:end])))
            at = end
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            break
        kind = match.lastgroup or ""
        token = match[kind]
        if kind == "anonymous":
            token = ANONYMOUS
        elif kind == "operator":
            token = _operator_word(token)
        elif kind == "word":
            token = re.sub(r"\s+", "", token)
        found.append((kind, token))
        at = match.end()
    return found


def _operator_word(token: str) -> str:
    rest = token[len("operator") :].strip()
    return "operator" + (f" {re.sub(' ', '', rest)}" if rest[:1].isalpha() else re.sub(r"\s+", "", rest))


def _behind_braces(text: str, start: int) -> int:
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == "{") - (text[at] == "}")
        if not depth:
            return at + 1
    return len(text)


def _one_form(nodes: Sequence[Node]) -> Element:
    """A type's words before the name, or the words that it consists of, in one order, and the qualifiers behind it."""
    rest = [each for each in nodes if each not in _KEYS]
    words: list[str] = []
    qualifiers: set[str] = set()
    base: Node | None = None
    at = 0
    while at < len(rest):
        node = rest[at]
        word = _plain_word(node)
        if isinstance(node, str) and node in _QUALIFIERS:
            qualifiers.add(node)
        elif word in _SIMPLE and base is None:
            words.append(word)
        elif base is None and not words and isinstance(node, ScopedName):
            base = node
        else:
            break
        at += 1
    if words:
        base = ScopedName((NamePart(_simple(words)),))
    if base is None:
        return tuple(rest)
    return (base, *sorted(qualifiers), *rest[at:])


def _plain_word(node: Node) -> str:
    if not isinstance(node, ScopedName) or len(node.parts) != 1:
        return ""
    part = node.parts[0]
    return part.word if part.arguments is None and part.parameters is None else ""


def _simple(words: list[str]) -> str:
    """`long unsigned int` is `unsigned long`."""
    if not _LENGTHS.issuperset(words):
        # unsigned char, long double, __int128 and what is one word.
        signs = [each for each in words if each in _LENGTHS and (each != "signed" or "char" in words)]
        return " ".join([*sorted(signs, reverse=True), *(each for each in words if each not in _LENGTHS)])
    unsigned = ["unsigned"] if "unsigned" in words else []
    lengths = [each for each in words if each in ("long", "short")]
    return " ".join([*unsigned, *(lengths or ["int"])])


def _of_library(parts: list[NamePart]) -> tuple[NamePart, ...]:
    """A name of the standard library in its one form: without the namespaces of the implementation."""
    if parts[0].word == "std" or not parts[0].word:
        parts = [each for at, each in enumerate(parts) if not (0 < at < len(parts) - 1 and each.word.startswith("__"))]
    words = [each.word for each in parts]
    plain = all(each.arguments is None and each.parameters is None for each in parts)
    if plain and words[-1] in _ALIASES and words[:-1] in ([], ["std"]):
        return (NamePart(_ALIASES[words[-1]]),)
    if words[0] != "std" or len(parts) == 1:
        return tuple(parts)
    full = _unabbreviated(parts[1])
    # Constructors and destructors have the name of the class.
    rest = [each._replace(word=each.word.replace(parts[1].word, full.word)) if each.word.lstrip("~") == parts[1].word
            else each for each in parts[2:]]  # fmt: skip
    return (parts[0], _without_defaults(full), *rest)


def _unabbreviated(part: NamePart) -> NamePart:
    known = STRINGS.get(part.word) if part.arguments is None else None
    if known is None:
        return part
    return part._replace(word=known[0], arguments=((ScopedName((NamePart(known[1]),)),),))


def _without_defaults(part: NamePart) -> NamePart:
    needed, defaults = _DEFAULTS_OF.get(part.word, (0, ()))
    arguments = part.arguments
    if not needed or arguments is None or not needed < len(arguments) <= needed + len(defaults):
        return part
    own = [*map(shown, arguments[:needed])]
    usual = [each.format(*own) for each in defaults[: len(arguments) - needed]]
    return part._replace(arguments=arguments[:needed]) if [*map(shown, arguments[needed:])] == usual else part


def _parameter(element: Element) -> Element:
    """A parameter without qualifiers of the value itself."""
    end = len(element)
    while end > 1 and element[end - 1] in _QUALIFIERS:
        end -= 1
    return element[:end]
