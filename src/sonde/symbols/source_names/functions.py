"""Functions by the names that the source of C++ and Rust has for them, of which their symbols are made.

`ns::Class::method` means every function of that name: overloads, and all instances of a template. Scopes on the left,
namespaces without a name and those of the implementation (`std::__cxx11`) may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from sonde.symbols.source_names.demangle import Demangler
from sonde.symbols.source_names.nested_names import SEPARATOR, scopes

ANONYMOUS = "(anonymous namespace)"
_MANGLED = ("_Z", "_R")
_NO_FUNCTIONS = ("non-virtual thunk ", "virtual thunk ", "covariant return thunk ", "transaction clone ", "guard ")
_PARTS = re.compile(r"\[clone \.(cold|part)\b")
"""What the compiler has moved out of a function does not begin where the function does."""

_OPERATOR = re.compile(
    r"operator(\(\)|\[\]|<=>|<<=?|>>=?|->\*?|[<>]=?|[^\w\s(<]+| (?:new|delete)(?:\[\])?|\"\" ?\w+| [^(]+)(?![\w])"
)
_ABBREVIATED = frozenset(
    ("std", "allocator", "basic_string", "string", "basic_istream", "basic_ostream", "basic_iostream")
)
"""Names for which there are abbreviations (Itanium C++ ABI, 5.1.10)."""

_ARGUMENTS = re.compile(r"<([^<>]*)>")
_PLAIN = frozenset(("bool", "char", "double", "float", "int", "long", "short"))
"""Types that are spelled in one way."""

_WORD = re.compile(r"[A-Za-z_]\w*")
_GENERIC, _AS = "$LT$", " as "
_CLOSING = {"(": ")", "<": ">", "{": "}", "[": "]"}


def candidates(symbols: Iterable[str], name: str) -> Iterator[str]:
    """Those that can be of a function with the name, as far as their characters tell: identifiers have their lengths
    before them."""
    words = _identifiers(name)
    identifiers = [f"{len(each.encode())}{each}" for each in words]
    for symbol in symbols:
        if not symbol.startswith(_MANGLED):
            continue
        # Rust's older scheme has types that are generic, or of an implementation, as text.
        if all(each in symbol for each in (words if _GENERIC in symbol else identifiers)):
            yield symbol


def _identifiers(name: str) -> list[str]:
    return [each for each in name.split(SEPARATOR) if _WORD.fullmatch(each) and each not in _ABBREVIATED]


def named(symbols: Iterable[str], name: str) -> Iterator[str]:
    """Those of some symbols that are functions of the name. A template's instances are all meant, or only that with
    the arguments which the name has, if there is one that is spelled so."""
    wanted = [each.partition("<")[0] if not each.startswith("operator") else each for each in components(name)]
    found = _those(symbols, lambda parts: _is_called(parts, wanted))
    arguments = [] if "operator" in name else _ARGUMENTS.findall(name)
    if not arguments:
        return found
    instances = [*found]
    exact = _spelled_so(instances, name)
    # Types that have other names as well may be spelled in another way.
    return iter(exact if exact or _PLAIN.issuperset(_WORD.findall(" ".join(arguments))) else instances)


def _spelled_so(symbols: Iterable[str], name: str) -> list[str]:
    """Those of the symbols that have the name with these arguments of templates."""
    demangler = Demangler()
    try:
        end = f"{name}(".replace(" ", "")
        return [each for each in symbols if end in demangler.name(each).replace(" ", "")]
    finally:
        demangler.close()


def matching(symbols: Iterable[str], test: Callable[[str], bool]) -> Iterator[str]:
    """Those whose names, with all scopes, pass a test."""
    return _those(symbols, lambda parts: test(SEPARATOR.join(parts)))


def _those(symbols: Iterable[str], test: Callable[[list[str]], bool]) -> Iterator[str]:
    demangler = Demangler()
    try:
        for symbol in symbols:
            parts = scopes(symbol) or _parts(demangler, symbol)
            if parts and (test(parts) or any(map(test, of_implementation(parts)))):
                yield symbol
    finally:
        demangler.close()


def of_implementation(parts: list[str]) -> list[list[str]]:
    """The other names of a function of Rust that implements something: `<Token as Score>::score` is `Token::score`, and
    `Score::score`; `<Token>::new` is `Token::new`."""
    if not parts[0].startswith("<"):
        return []
    type_, _, trait = _halves(parts[0][1:-1])
    return [[*components(each), *parts[1:]] for each in (type_.lstrip("&*"), trait) if each]


def _halves(text: str) -> tuple[str, str, str]:
    """What is before and behind the ` as ` outside of brackets."""
    depth = 0
    for at, each in enumerate(text):
        depth += (each in "<([") - (each in ">)]" and text[at - 1] != "-")
        if not depth and text.startswith(_AS, at):
            return text[:at], _AS, text[at + len(_AS) :]
    return text, "", ""


def _parts(demangler: Demangler, symbol: str) -> list[str]:
    return components(demangler.name(symbol)) if symbol.startswith(_MANGLED) else []


def _is_called(parts: list[str], wanted: list[str]) -> bool:
    """Whether a name ends in the wanted one, but for scopes that may be left out."""
    at = len(parts)
    for each in reversed(wanted):
        at -= 1
        while at >= 0 and parts[at] != each and at < len(parts) - 1 and _may_be_left_out(parts[at]):
            at -= 1
        if at < 0 or parts[at] != each:
            return False
    return True


def _may_be_left_out(scope: str) -> bool:
    return scope == ANONYMOUS or scope.startswith("__")


def components(text: str) -> list[str]:
    """The scopes and the name in what a symbol means, without the arguments of templates, parameters and the type of
    the result; none if it is no function's start.

    What is in a function, as lambdas are, has its name as a scope: `f(int)::{lambda()#1}::operator()() const`.
    """
    if text.startswith(_NO_FUNCTIONS) or _PARTS.search(text):
        return []
    found, current, at = [], "", 0
    while at < len(text):
        each = text[at]
        operator = _OPERATOR.match(text, at) if not current else None
        if operator is not None:
            # A space keeps the arguments of a template apart from it.
            current, at = operator[0], operator.end() + text.startswith(" <", operator.end())
        elif text.startswith(SEPARATOR, at):
            found.append(current)
            current, at = "", at + len(SEPARATOR)
        elif text.startswith(ANONYMOUS, at):
            current, at = ANONYMOUS, at + len(ANONYMOUS)
        elif each in _CLOSING:
            end = _closing(text, at)
            if each == "{" or (each == "<" and not current):
                current += text[at:end]
            elif (
                each == "("
                and current not in ("", "decltype")
                and not text.startswith(SEPARATOR, _behind_qualifiers(text, end))
            ):
                break
            at = _behind_qualifiers(text, end) if each == "(" and current else end
        elif each == " ":
            # What was before was the type of the result.
            found, current, at = [], "", at + 1
        else:
            current, at = current + each, at + 1
    return [*found, current] if current else []


def _closing(text: str, start: int) -> int:
    """Behind the bracket that closes the one at `start`."""
    waiting = [_CLOSING[text[start]]]
    at = start + 1
    while at < len(text) and waiting:
        each = text[at]
        operator = _OPERATOR.match(text, at) if each == "o" else None
        if operator is not None and operator[1][0] in "<>-(":
            at = operator.end()
            continue
        if text.startswith("->", at):
            at += 2
            continue
        if each == waiting[-1]:
            waiting.pop()
        elif each in _CLOSING:
            waiting.append(_CLOSING[each])
        at += 1
    return at


def _behind_qualifiers(text: str, at: int) -> int:
    """Behind what a function's parameters may be followed by before `::`."""
    for each in (" const", " volatile", " &", " &&"):
        if text.startswith(each + SEPARATOR, at):
            return at + len(each)
    return at
