"""Functions by the names that the source of C++ and Rust has for them, of which their symbols are made.

`ns::Class::method` means every function of that name: overloads, and all instances of a template;
`ns::Class::method(int)` and `ns::largest<int>` the one. Scopes on the left may be left out where no function has just
those that are there, namespaces without a name and those of the implementation (`std::__cxx11`) anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import cache

from sonde.symbols.source_names.demangle import Demangler
from sonde.symbols.source_names.full_names import PARTIAL, FullName, full_name, is_implied
from sonde.symbols.source_names.full_names import closeness as how_close
from sonde.symbols.source_names.nested_names import SEPARATOR, scopes
from sonde.symbols.source_names.type_names import ANONYMOUS, STRINGS
from sonde.typed import TypeAlias

_MANGLED = ("_Z", "_R")
_NO_FUNCTIONS = ("non-virtual thunk ", "virtual thunk ", "covariant return thunk ", "transaction clone ", "guard ")
_PARTS = re.compile(r"\[clone \.(cold|part)\b")
"""What the compiler has moved out of a function does not begin where the function does."""

_OPERATOR = re.compile(
    r"operator(\(\)|\[\]|<=>|<<=?|>>=?|->\*?|[<>]=?|[^\w\s(<]+| (?:new|delete)(?:\[\])?|\"\" ?\w+| [^(]+)(?![\w])"
)
_ABBREVIATED = frozenset(("std", "allocator", "basic_iostream", *STRINGS, *(name for name, _ in STRINGS.values())))
"""Names for which there are abbreviations (Itanium C++ ABI, 5.1.10), and such of the library for other names."""

_ARGUMENTS = re.compile(r"<([^<>]*)>")
_PLAIN = frozenset(("bool", "char", "double", "float", "int", "long", "short", "signed", "unsigned", "std", "const"))
"""Words of types that are spelled in one way, or in ways that are known."""

_WORD = re.compile(r"[A-Za-z_]\w*")
_WRITTEN = re.compile(r"(?<!operator)[(<]")
"""Where in a pattern its scopes end."""

_GENERIC, _AS = "$LT$", " as "
_CLOSING = {"(": ")", "<": ">", "{": "}", "[": "]"}


def candidates(symbols: Iterable[str], name: str) -> Iterator[str]:
    """Those that can be of a function with the name, as far as their characters tell: identifiers have their lengths
    before them. A name that begins with `::` is that of a function of C as well."""
    words = _identifiers(name)
    identifiers = [f"{len(each.encode())}{each}" for each in words]
    is_c = name.startswith(SEPARATOR)
    for symbol in symbols:
        if not symbol.startswith(_MANGLED):
            if is_c:
                yield symbol
            continue
        # Rust's older scheme has types that are generic, or of an implementation, as text.
        if all(each in symbol for each in (words if _GENERIC in symbol else identifiers)):
            yield symbol


def _identifiers(name: str) -> list[str]:
    """The identifiers that symbols of a name, or of a pattern of names, have in them."""
    name = name.removeprefix(SEPARATOR)
    parts = components(name)
    if "*" in name or "?" in name:
        written = _WRITTEN.split(name)[0]
        # Before a blank is the type of the result, behind the word `operator` a type or a word.
        parts = (written if "operator" in written else written.rpartition(" ")[2]).split(SEPARATOR)
    return [each for each in parts if _WORD.fullmatch(each) and each not in _ABBREVIATED and each != "operator"]


def named(symbols: Iterable[str], name: str) -> list[str]:
    """Those of some symbols that are functions of the name.

    Of a name with parameters it is the one with just these, else all overloads; of one with the arguments of a template
    that instance, else all. What begins with `::` has no other scopes than these.
    """
    with closing(Demangler()) as demangler:
        return chosen(symbols, name, cache(demangler.name))


Closeness: TypeAlias = "tuple[int, ...] | None"
Meaning: TypeAlias = Callable[[str], str]
"""What a symbol means, itself if it is no mangled one."""


def chosen(symbols: Iterable[str], name: str, meaning: Meaning) -> list[str]:
    """As `named`, by what symbols mean."""
    text = name.removeprefix(SEPARATOR)
    wanted = full_name(text)
    if wanted is None or wanted.is_bare:
        parts = components(text)
        return _closest(symbols, name, lambda symbol: _by_parts(parts, symbol, meaning)) if parts else []
    instances = [*symbols]
    if wanted.parameters is not None:
        exact = [each for each in instances if meaning(each) == text]
        if exact:
            return exact
    found = _closest(instances, name, lambda symbol: _by_full_name(wanted, meaning(symbol)))
    arguments = _ARGUMENTS.findall(text)
    is_known = _PLAIN.issuperset(_WORD.findall(" ".join(arguments)))
    if found or wanted.parameters is not None or not arguments or is_known:
        return found
    # Types that have other names as well may be spelled in another way.
    parts = [each.word for each in wanted.name.parts]
    return _closest(instances, name, lambda symbol: _by_parts(parts, symbol, meaning))


def _closest(symbols: Iterable[str], name: str, closeness: Callable[[str], Closeness]) -> list[str]:
    """Those that agree most closely with a name; where it begins with `::` without further scopes."""
    found: dict[tuple[int, ...], list[str]] = {}
    for symbol in symbols:
        how = closeness(symbol)
        if how is not None:
            found.setdefault(how, []).append(symbol)
    closest = min(found, default=None)
    if closest is None or (name.startswith(SEPARATOR) and closest[0] >= PARTIAL):
        return []
    return found[closest]


def _by_parts(wanted: list[str], symbol: str, meaning: Meaning) -> Closeness:
    """How closely a symbol agrees with a name that has scopes alone."""
    parts = scopes(symbol) or _parts(symbol, meaning)
    ways = [each for each in (parts, *of_implementation(parts)) if _is_called(each, wanted)] if parts else []
    if not ways:
        return None
    return (0 if any(len(_written(each)) <= len(_written(wanted)) for each in ways) else PARTIAL,)


def _written(parts: list[str]) -> list[str]:
    return [each for each in parts if not is_implied(each)]


def _by_full_name(wanted: FullName, text: str) -> Closeness:
    if text.startswith(_NO_FUNCTIONS) or _PARTS.search(text):
        return None
    meant = full_name(text)
    return None if meant is None else how_close(wanted, meant)


def meanings(symbols: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Symbols and what they mean."""
    with closing(Demangler()) as demangler:
        for symbol in symbols:
            yield symbol, demangler.name(symbol)


def alike(symbols: Iterable[str], name: str) -> list[str]:
    """What the functions of a name are in full, whatever parameters and arguments of templates are written."""
    bare = SEPARATOR.join(components(name.removeprefix(SEPARATOR)))
    found = named(candidates(symbols, bare), bare) if bare else []
    return list(dict.fromkeys(meant for _, meant in meanings(found)))


def matching(symbols: Iterable[str], test: Callable[[str], bool], is_whole: bool = False) -> list[str]:
    """Those whose names, with all scopes, pass a test; with `is_whole` with parameters and all else that names have."""
    found = []
    with closing(Demangler()) as demangler:
        for symbol in symbols:
            if is_whole and test(demangler.name(symbol)):
                found.append(symbol)
                continue
            parts = scopes(symbol) or _parts(symbol, demangler.name)
            if parts and any(test(SEPARATOR.join(each)) for each in (parts, *of_implementation(parts))):
                found.append(symbol)
    return found


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


def _parts(symbol: str, meaning: Meaning) -> list[str]:
    return components(meaning(symbol)) if symbol.startswith(_MANGLED) else [symbol]


def _is_called(parts: list[str], wanted: list[str]) -> bool:
    """Whether a name ends in the wanted one, but for scopes that may be left out."""
    at = len(parts)
    for each in reversed(wanted):
        at -= 1
        while at >= 0 and parts[at] != each and at < len(parts) - 1 and is_implied(parts[at]):
            at -= 1
        if at < 0 or parts[at] != each:
            return False
    return True


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
