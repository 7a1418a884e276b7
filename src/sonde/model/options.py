"""The options of one session, as -x, `#pragma D option`, setopt() and DTRACE_OPT_* set them, and mistakes in them.

Values are kept as Python ones: sizes and counts as int, rates in nanoseconds, switches as bool, the rest as str.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from sonde.model.known_options import (
    COMPILING,
    COUNT,
    OPTIONS,
    RATE,
    SIZE,
    SWITCH,
    TEXT,
    TRACING,
    Option,
    value_of,
)
from sonde.model.known_options import Value as Value

BAD_NAME = "Invalid option name"
BAD_CONTEXT = "Option cannot be used from within a D program"
TOO_LATE = "Operation illegal when tracing is active"

STANDARD_OUTPUT = "-"
"""What stands for it where the name of a file to write is expected."""

LANGUAGE_VERSION = (2, 0)
"""The version of DTrace's D that this one is compatible with."""


class OptionError(ValueError):
    """The option does not exist, cannot have this value or cannot be set now, in DTrace's words. `names` are options
    spelled nearly so, `hint` what helps, where somebody has looked for that."""

    names: tuple[str, ...] = ()
    hint: str = ""


class OptionTable:
    """The options of one session; those never set have their defaults."""

    def __init__(self) -> None:
        self._values: dict[str, Value] = {}
        self._repeated: dict[str, list[str]] = {}

    def copy(self) -> OptionTable:
        """Another table with the same values, to be changed on its own."""
        made = OptionTable()
        made._values = dict(self._values)
        made._repeated = {name: list(values) for name, values in self._repeated.items()}
        return made

    def set(self, name: str, text: str | None) -> None:
        """Set from the command line or the environment. Raises OptionError."""
        value = self._values[name] = parse(name, text)
        if OPTIONS[name].is_repeated:
            self._repeated.setdefault(name, []).append(str(value))

    def set_in_program(self, name: str, text: str | None) -> None:
        """Set by a pragma."""
        option = known(name)
        if not option.place_first:
            parse(name, text)
        if option.is_outside:
            raise OptionError(BAD_CONTEXT)
        self.set(name, text)

    def set_while_tracing(self, name: str, text: str | None) -> None:
        """Set by setopt()."""
        value = parse(name, text)
        if OPTIONS[name].settled != TRACING:
            raise OptionError(TOO_LATE)
        self._values[name] = value

    def number(self, name: str, default: int | None = None) -> int:
        """A number; `default` is for where it is not the option's own."""
        own = OPTIONS[name].default
        return int(self._values.get(name, own if default is None else default) or 0)

    def on(self, name: str) -> bool:
        """A switch."""
        return bool(self._values.get(name, OPTIONS[name].default))

    def text(self, name: str, default: str = "") -> str:
        """A text, "" where there is none."""
        return str(self._values.get(name, default or OPTIONS[name].default or ""))

    def texts(self, name: str) -> tuple[str, ...]:
        """All values of an option that may be set more than once, in order."""
        return tuple(self._repeated.get(name, ()))

    @staticmethod
    def is_repeated(name: str) -> bool:
        """Whether the option may be set more than once, and each value counts."""
        return OPTIONS[name].is_repeated

    def is_set(self, name: str) -> bool:
        return name in self._values

    def kept(self) -> dict[str, Value]:
        """The values that go with a compiled program: those that matter after compiling, but for the permission to be
        destructive, which only whoever runs it can give."""
        return {name: value for name, value in self._values.items() if self.is_kept(name)}

    @staticmethod
    def is_kept(name: str) -> bool:
        """Whether the option goes with a compiled program."""
        option = OPTIONS.get(name)
        return option is not None and (option.is_late or option.settled != COMPILING) and not option.is_permission

    def restore(self, kept: Mapping[str, Value]) -> None:
        """Set what `kept` gave, unless it has been set already."""
        self._values = {**kept, **self._values}

    def may_change(self, name: str) -> bool:
        """Whether an option still has a meaning when a program has been compiled."""
        return name in OPTIONS and (OPTIONS[name].is_late or OPTIONS[name].settled == TRACING)

    def value(self, name: str) -> Value | None:
        """The value as it was parsed, None if the option was never set."""
        return self._values.get(name)


def known(name: str) -> Option:
    """The option of that name. Raises OptionError."""
    if name not in OPTIONS:
        raise OptionError(BAD_NAME)
    return OPTIONS[name]


def parse(name: str, text: str | None) -> Value:
    """The value of an option's text; None and "" stand for a switch without value. Raises OptionError."""
    try:
        return value_of(known(name), text)
    except ValueError as error:
        raise OptionError(*error.args) from None


def version_of(options: OptionTable) -> tuple[int, ...]:
    """The version of the language that programs are written in."""
    return tuple(map(int, options.text("version").split(".")))


def from_environment(environment: Mapping[str, str]) -> dict[str, str | None]:
    """The options that DTRACE_OPT_NAME=value sets, the weakest of all ways to set an option."""
    prefix = "DTRACE_OPT_"
    return {key[len(prefix) :].lower(): text or None for key, text in environment.items() if key.startswith(prefix)}


def names() -> tuple[str, ...]:
    """Of all options."""
    return tuple(sorted(OPTIONS))


_WANTED = {
    SIZE: "it takes a number of bytes, or with k, m, g or t",
    COUNT: "it takes a number",
    RATE: "it takes a time, with ns, us, ms, s, m, h or d, or a rate, with hz",
    SWITCH: "it takes yes or no, or nothing",
    TEXT: "",
}


_UNIT_WORDS = {
    "b": "", "byte": "", "bytes": "", "kb": "k", "kib": "k", "mb": "m", "mib": "m", "meg": "m", "gb": "g", "gib": "g",
    "tb": "t", "tib": "t", "minute": "m", "minutes": "m", "mins": "m", "second": "s", "seconds": "s", "secs": "s",
    "sek": "s", "millisecond": "ms", "milliseconds": "ms", "msecs": "ms", "millis": "ms", "microseconds": "us",
    "usecs": "us", "nanoseconds": "ns", "nsecs": "ns", "hours": "h", "hrs": "h", "hr": "h", "days": "d", "hertz": "hz",
}  # fmt: skip
"""Units as they are written elsewhere; a word that means no unit for certain is not guessed at."""


def value_wanted(name: str, text: str) -> tuple[str, tuple[str, ...]]:
    """What values an option takes, for people, and those that a wrong text may have meant.

    Raises OptionError for an option that does not exist.
    """
    option = known(name)
    if option.choices:
        return f"it takes {', '.join(option.choices)}", _close(text, option.choices, 1)
    wanted = _WANTED[option.kind] + (f", {option.least:,} to {option.most:,}" if option.is_bounded else "")
    parts = re.fullmatch(r"\s*(\d+)\s*([a-zA-Z]*)\s*", text)
    if parts is None:
        return wanted, ()
    unit = parts[2].lower()
    units = [_UNIT_WORDS.get(unit, unit)]
    units += {SIZE: ["k", "m"], RATE: ["ms", "s"]}.get(option.kind, [])
    candidates = [parts[1] + each for each in units]
    found = [each for each in candidates if each != text and _is_value(name, each)]
    return wanted, tuple(found[:1] if found[:1] == candidates[:1] else found)


def _is_value(name: str, text: str) -> bool:
    try:
        parse(name, text)
    except OptionError:
        return False
    return True


def similar(name: str) -> tuple[str, ...]:
    """Names of options that a mistyped one may have meant; () for one that exists."""
    if name in OPTIONS:
        return ()
    return _close(name, OPTIONS, 2)


def _close(word: str, words: Iterable[str], most: int) -> tuple[str, ...]:
    from difflib import get_close_matches  # mistakes alone need it

    return tuple(get_close_matches(word, words, most))
