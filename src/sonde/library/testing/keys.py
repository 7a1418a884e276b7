"""The keys of a test file: what each takes."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable

from sonde.library.testing.case import ENGINES
from sonde.typed import Any, NamedTuple

_LONGEST_WAIT = 24 * 60 * 60.0
_LONGEST_SHOWN = 40


class ValueRefusedError(Exception):
    """What the value should have been."""


class Key(NamedTuple):
    """`read` makes a field of `ScriptCase` of a value of TOML, or raises ValueRefusedError."""

    name: str
    read: Callable[[Any], Any]

    @property
    def field(self) -> str:
        return self.name.replace("-", "_")


def shown(value: object) -> str:
    """A value of TOML in a message."""
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueRefusedError("a text")
    # What the system cannot be given, neither in a name nor in a word.
    if "\0" in value:
        raise ValueRefusedError("a text without NUL characters")
    return value


def _full_text(value: Any) -> str:
    if not _text(value).strip():
        raise ValueRefusedError("a text that is not empty")
    return _text(value)


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (_full_text(value),)
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueRefusedError("a text or an array of texts")
    return tuple(map(_full_text, value))


def _words(value: Any) -> tuple[str, ...]:
    """Words as a shell splits them, or an array of them."""
    if isinstance(value, list) and all(_is_word(each) for each in value):
        return tuple(_text(str(each)) for each in value)
    if not isinstance(value, str):
        raise ValueRefusedError("a text or an array of words")
    try:
        return tuple(shlex.split(_text(value)))
    except ValueError as error:
        raise ValueRefusedError(f"words as a shell has them ({str(error).lower()})") from None


def _is_word(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _command(value: Any) -> str:
    """As -c takes it."""
    words = _words(value)
    if not words:
        raise ValueRefusedError("a command")
    return value if isinstance(value, str) else shlex.join(words)


def _engine(value: Any) -> str:
    if value not in ENGINES:
        raise ValueRefusedError(" or ".join(f'"{each}"' for each in ENGINES))
    return str(value)


def _seconds(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not 0 < value <= _LONGEST_WAIT:
        raise ValueRefusedError("a number of seconds greater than 0")
    return float(value)


def _status(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 255:
        raise ValueRefusedError("a number from 0 to 255")
    return value


def _yes_or_no(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueRefusedError("true or false")
    return value


def _environment(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise ValueRefusedError("a table of names and texts")
    for name, text in value.items():
        if not name or "=" in _text(name):
            raise ValueRefusedError("a table whose names are those of variables")
        _text(text)
    return value


KEYS = {
    each.name: each
    for each in (
        Key("script", _full_text), Key("program", _full_text), Key("object", _full_text), Key("command", _command),
        Key("before", _full_text), Key("recording", _full_text), Key("packets", _full_text), Key("engine", _engine),
        Key("options", _words), Key("arguments", _words), Key("environment", _environment), Key("input", _text),
        Key("interrupt-after", _seconds), Key("timeout", _seconds), Key("needs", _texts), Key("status", _status),
        Key("output", _text), Key("output-file", _full_text), Key("output-contains", _texts),
        Key("output-lacks", _texts), Key("command-output", _text), Key("stderr", _text),
        Key("stderr-contains", _texts), Key("stderr-lacks", _texts), Key("losses", _yes_or_no),
        Key("aggregations", _texts),
    )
}  # fmt: skip
"""By their names."""
