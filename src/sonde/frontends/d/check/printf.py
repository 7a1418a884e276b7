"""The arguments of printf, system, freopen and printa against the conversions of their format."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sonde.frontends.d.check.conversions import convert, convert_to_string
from sonde.frontends.d.check.operands import Operand, is_dynamic, value_of
from sonde.frontends.d.errors import DError
from sonde.frontends.d.format import parse_format
from sonde.model.conversions import Conversion
from sonde.model.errors import Position
from sonde.model.kinds import (
    is_array,
    is_float,
    is_integer,
    is_pointer,
    is_recordable_opaque,
    is_string,
    is_string_like,
    pointed_to,
    spell,
)
from sonde.model.program import Expr, StringConst
from sonde.model.types import INT, STACK, TEXT, Enum, Int, Type, resolve, size_of


def _is_any_integer(kind: Type) -> bool:
    return is_integer(kind) or isinstance(resolve(kind), Int)


def _is_small_integer(kind: Type) -> bool:
    return is_integer(kind) and size_of(kind) <= 4


def _is_text(kind: Type) -> bool:
    return is_string(kind) or (is_array(kind) and is_string_like(kind))


def _is_address(kind: Type) -> bool:
    return is_integer(kind) or is_pointer(kind) or (is_recordable_opaque(kind) and kind not in (STACK, TEXT))


def _is_time(kind: Type) -> bool:
    return is_integer(kind) and size_of(kind) == 8


def _is_stack(kind: Type) -> bool:
    return resolve(kind) == STACK


def _is_shown_text(kind: Type) -> bool:
    return _is_text(kind) or resolve(kind) == TEXT


_INTEGER = (_is_any_integer, "char, short, int, long, or long long")
_FLOATING = (is_float, "float, double, or long double")
_TEXT = (_is_shown_text, "char [] or string (or use stringof)")
_CHARACTER = (_is_small_integer, "char, short, or int")
_ADDRESS = (_is_address, "pointer or integer")
_USER_ADDRESS = (_is_address, "pointer or integer (with -p/-c) or _usymaddr (without -p/-c)")

_BY_LAST_LETTER: dict[str, tuple[Callable[[Type], bool], str]] = {
    **dict.fromkeys("diouxX", _INTEGER),
    **dict.fromkeys("eEfgG", _FLOATING),
    **dict.fromkeys("sSI", _TEXT),
    **dict.fromkeys("cC", _CHARACTER),
    **dict.fromkeys("ap", _ADDRESS),
    "A": _USER_ADDRESS,
    "k": (_is_stack, "stack"),
    **dict.fromkeys("YT", (_is_time, "int64_t")),
}


def _holds(size: int, signed: bool | None) -> Callable[[Type], bool]:
    """Whether a type is an integer of so many bytes and that sign, None for either; an enumeration passes for one of
    known sign, as with DTrace."""

    def accepts(kind: Type) -> bool:
        base = resolve(kind)
        if isinstance(base, Enum):
            return signed is not None
        return isinstance(base, Int) and base.size == size and signed in (None, base.signed)

    return accepts


def _is_wide_text(kind: Type) -> bool:
    to = pointed_to(kind) if is_array(kind) else None
    return to is not None and is_integer(to) and size_of(to) == 4


def _with_sizes() -> Iterator[tuple[str, tuple[Callable[[Type], bool], str]]]:
    for prefix, size, name in (("h", 2, "short"), ("l", 8, "long"), ("ll", 8, "long long")):
        for letter in "dixXou":
            signed = {"d": True, "i": True, "o": False, "u": False}.get(letter)
            yield prefix + letter, (_holds(size, signed), name if signed is not False else f"unsigned {name}")
    for letter in "eEfgG":
        yield f"L{letter}", (_is_long_double, "long double")
    for letters in ("lc", "wc"):
        yield letters, (_holds(4, True), "int")
    for letters in ("ls", "ws"):
        yield letters, (_is_wide_text, "wchar_t []")


def _is_long_double(kind: Type) -> bool:
    return is_float(kind) and size_of(kind) == 16


_WITH_SIZE = dict(_with_sizes())
"""What a conversion with a size takes. DTrace goes by the type's name with `x` and `X`, where `unsigned long` has
another one in the kernel's BTF; here its size will do."""


def _rule_of(conversion: Conversion) -> tuple[Callable[[Type], bool], str]:
    """What a conversion takes, and what messages call that."""
    return _WITH_SIZE.get(conversion.letters) or _BY_LAST_LETTER[conversion.letters[-1]]


def format_of(name: str, argument: Operand, position: Position) -> tuple[Conversion, ...]:
    """The conversions of the format, which must be a string constant."""
    if not isinstance(argument, StringConst):
        text = f"{name}( ) argument #1 is incompatible with prototype:\n\tprototype: string constant\n"
        raise DError("D_PRINTF_ARG_FMT", f"{text}\t argument: {spell(argument.type)}", position)
    return parse_format(argument.value, name, position)


class FormatArguments:
    """Hands the arguments of `name` to the conversions one after another."""

    def __init__(self, name: str, arguments: tuple[Operand, ...], position: Position) -> None:
        self.values: list[Expr] = []
        self._name = name
        self._arguments = arguments
        self._next = 0
        self._position = position

    def match(self, conversions: tuple[Conversion, ...], aggregated: Type | None = None) -> None:
        """Take an argument for each conversion but those with `@`, which show values of the type `aggregated`."""
        for number, conversion in enumerate((c for c in conversions if c.letters), 1):
            for size, star in ((conversion.width, "*"), (conversion.precision, ".*")):
                if size == "*":
                    self._size(conversion, number, star)
            if aggregated is not None and "@" in conversion.flags:
                self._check_aggregated(conversion, number, aggregated)
            else:
                self._value(conversion, number)

    def require_end(self) -> None:
        """Every argument must have been asked for."""
        if self._next < len(self._arguments):
            wanted = f"only {self._next} arguments required by this format string"
            raise DError("D_PRINTF_ARG_EXTRA", f"{self._name}( ) prototype mismatch: {wanted}", self._position)

    def _size(self, conversion: Conversion, number: int, star: str) -> None:
        argument = self._take("D_PRINTF_DYN_PROTO", conversion, number, f'"{star}"')
        if not is_integer(argument.type):
            self._refuse("D_PRINTF_DYN_TYPE", number, f"% {star} {conversion.letters}", "int", argument)
        self.values.append(convert(value_of(argument), INT))

    def _value(self, conversion: Conversion, number: int) -> None:
        argument = self._take("D_PRINTF_ARG_PROTO", conversion, number, "value")
        accepted, wanted = _rule_of(conversion)
        if is_dynamic(argument) or not accepted(argument.type):
            self._refuse("D_PRINTF_ARG_TYPE", number, f"%{conversion.letters}", wanted, argument)
        value = value_of(argument)
        self.values.append(convert_to_string(value) if _is_text(value.type) else value)

    def _check_aggregated(self, conversion: Conversion, number: int, aggregated: Type) -> None:
        accepted, wanted = _rule_of(conversion)
        if not accepted(aggregated):
            text = (
                f"{self._name}( ) aggregating action is incompatible with conversion #{number} prototype:\n"
                f"\tconversion: %{conversion.letters}\n\t prototype: {wanted}\n\t  argument: {spell(aggregated)}"
            )
            raise DError("D_PRINTF_ARG_TYPE", text, self._position)

    def _take(self, tag: str, conversion: Conversion, number: int, what: str) -> Operand:
        if self._next >= len(self._arguments):
            missing = f"conversion #{number} (%{conversion.letters}) is missing a corresponding {what} argument"
            raise DError(tag, f"{self._name}( ) prototype mismatch: {missing}", self._position)
        self._next += 1
        return self._arguments[self._next - 1]

    def _refuse(self, tag: str, number: int, conversion: str, wanted: str, argument: Operand) -> None:
        """Arguments are counted from the format, which is #1."""
        text = (
            f"{self._name}( ) argument #{self._next + 1} is incompatible with conversion #{number} prototype:\n"
            f"\tconversion: {conversion}\n\t prototype: {wanted}\n\t  argument: {spell(argument.type)}"
        )
        raise DError(tag, text, self._position)


def match_format(
    name: str, arguments: tuple[Operand, ...], position: Position
) -> tuple[tuple[Conversion, ...], tuple[Expr, ...]]:
    """The conversions and values of `name(format, ...)`."""
    conversions = format_of(name, arguments[0], position)
    if any("@" in c.flags for c in conversions):
        text = f"%@ conversion requires an aggregation and is not for use with {name}( )"
        raise DError("D_PRINTF_AGG_CONV", text, position)
    matched = FormatArguments(name, arguments[1:], position)
    matched.match(conversions)
    matched.require_end()
    return conversions, tuple(matched.values)
