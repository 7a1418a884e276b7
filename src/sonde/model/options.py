"""The options of -x, `#pragma D option`, setopt() and DTRACE_OPT_*: names, values, and when they may be set.

Values are kept as Python ones: sizes and counts as int, rates in nanoseconds, switches as bool, the rest as str.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_SIZE, _COUNT, _RATE, _SWITCH, _TEXT = "size", "count", "rate", "switch", "text"

_REGISTERS = 8
"""Registers the code generator needs; iregs can ask for no other number."""

_COMPILE = {
    "aggpercpu": _SWITCH, "amin": _TEXT, "argref": _SWITCH, "core": _SWITCH, "cpp": _SWITCH, "cppargs": _TEXT,
    "cpphdrs": _SWITCH, "cpppath": _TEXT, "ctfpath": _TEXT, "ctypes": _TEXT, "debug": _SWITCH, "debugassert": _TEXT,
    "defaultargs": _SWITCH, "define": _TEXT, "disasm": _COUNT, "dofstashpath": _TEXT, "droptags": _SWITCH,
    "dtypes": _TEXT, "empty": _SWITCH, "engine": _TEXT, "errtags": _SWITCH, "evaltime": _TEXT,
    "exit": _TEXT, "follow": _TEXT, "incdir": _TEXT,
    "iregs": _COUNT,
    "kdefs": _SWITCH, "knodefs": _SWITCH, "late": _TEXT, "lazyload": _SWITCH, "ldpath": _TEXT, "libdir": _TEXT,
    "linkmode": _TEXT, "linktype": _TEXT, "linknommap": _SWITCH, "modpath": _TEXT, "nolibs": _SWITCH,
    "pgmax": _COUNT, "preallocate": _SIZE, "procfspath": _TEXT, "pspec": _SWITCH, "seccomp": _SWITCH, "stdc": _TEXT,
    "strip": _SWITCH,
    "syslibdir": _TEXT, "sysslice": _TEXT, "tree": _COUNT, "tregs": _COUNT, "udefs": _SWITCH, "undef": _TEXT,
    "unodefs": _SWITCH, "useruid": _COUNT, "verbose": _SWITCH, "version": _TEXT, "warn": _SWITCH,
    "zdefs": _SWITCH,
}  # fmt: skip
"""Settled before compilation."""

_RUN = {
    "aggsize": _SIZE, "bpflog": _SWITCH, "bpflogsize": _SIZE, "bufpolicy": _TEXT, "bufresize": _TEXT,
    "bufsize": _SIZE, "cleanrate": _RATE, "cpu": _COUNT, "demangle": _SWITCH, "destructive": _SWITCH,
    "dynvarsize": _SIZE,
    "grabanon": _SWITCH, "heatrate": _RATE, "inlines": _SWITCH, "jstackframes": _COUNT, "jstackstrsize": _SIZE,
    "lockmem": _TEXT, "callchain": _SWITCH, "maxframes": _COUNT,
    "maxloop": _COUNT, "noresolve": _SWITCH, "nspec": _COUNT, "output": _TEXT,
    "pcapsize": _SIZE, "rings": _TEXT, "samplesize": _SIZE, "scope": _TEXT, "scratchsize": _SIZE,
    "specsize": _SIZE, "stackframes": _COUNT, "statusrate": _RATE, "strsize": _SIZE, "unwind": _TEXT,
    "ustackframes": _COUNT, "xdp": _TEXT,
}  # fmt: skip
"""Settled before tracing; a D program may set them by pragma."""

_DYNAMIC = {
    "agghist": _SWITCH, "aggpack": _SWITCH, "aggzoom": _SWITCH,
    "aggrate": _RATE, "aggsortkey": _SWITCH, "aggsortkeypos": _COUNT, "aggsortpos": _COUNT, "aggsortrev": _SWITCH,
    "flowindent": _SWITCH, "printsize": _SIZE, "quiet": _SWITCH, "quietresize": _SWITCH, "rawbytes": _SWITCH,
    "stackindent": _COUNT, "switchrate": _RATE,
}  # fmt: skip
"""May also be set while tracing, by setopt()."""

_AFTER_COMPILING = frozenset(
    (
        "aggpercpu", "bpflog", "bpflogsize", "demangle", "destructive", "droptags", "engine", "evaltime", "exit",
        "follow", "heatrate",
        "inlines", "noresolve", "seccomp", "statusrate",
    )
)  # fmt: skip
"""Options besides the dynamic ones that are not compiled in."""

_ONLY_OUTSIDE = frozenset((
    "cpp", "cppargs", "cpphdrs", "cpppath", "ctfpath", "define", "engine", "incdir", "ldpath", "lockmem", "modpath",
    "procfspath", "stdc", "undef",
))  # fmt: skip
"""Options that a pragma comes too late for."""

_WITHOUT_VALUE = frozenset((
    "aggpercpu", "argref", "core", "cpp", "cpphdrs", "debug", "defaultargs", "empty", "errtags", "kdefs", "knodefs",
    "nolibs", "pspec", "strip", "udefs", "unodefs", "verbose", "zdefs",
))  # fmt: skip
"""Options that are switched on by being named; DTrace has no way to switch them off."""

_REPEATED = frozenset(("cppargs", "define", "incdir", "libdir", "undef"))
"""Options of which every setting counts."""

_TRUE = ("yes", "enable", "enabled", "true", "on", "set")
_FALSE = ("no", "disable", "disabled", "false", "off", "unset")
_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_TIMES = {
    "ns": 1, "nsec": 1, "us": 10**3, "usec": 10**3, "ms": 10**6, "msec": 10**6, "s": 10**9, "sec": 10**9,
    "m": 60 * 10**9, "min": 60 * 10**9, "h": 3600 * 10**9, "hour": 3600 * 10**9, "d": 86400 * 10**9,
    "day": 86400 * 10**9,
}  # fmt: skip

BAD_NAME = "Invalid option name"
BAD_VALUE = "Invalid value for specified option"
BAD_CONTEXT = "Option cannot be used from within a D program"
TOO_LATE = "Operation illegal when tracing is active"
NO_VERSION = "Version is not properly formatted or is too large"
BAD_VERSION = "Requested version is not supported by compiler"
TOO_FEW_REGISTERS = "Insufficient registers to generate code"

LANGUAGE_VERSION = (2, 0)
"""The version of DTrace's D that this one is compatible with."""

NEWEST_VERSION = (2, 1)
"""The version that programs have unless they ask for an earlier one: with branches and loops."""

Value = int | bool | str


class OptionError(ValueError):
    """The option does not exist, cannot have this value or cannot be set now, in DTrace's words. `names` are options
    spelled nearly so, `hint` what helps, where somebody has looked for that."""

    names: tuple[str, ...] = ()
    hint: str = ""


class OptionTable:
    """The options of one session; those never set have DTrace's defaults."""

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
        if name in _REPEATED:
            self._repeated.setdefault(name, []).append(str(value))

    def set_in_program(self, name: str, text: str | None) -> None:
        """Set by a pragma."""
        if name == "lockmem":
            # DTrace looks at the place before it looks at the value with this one alone.
            raise OptionError(BAD_CONTEXT)
        parse(name, text)
        if name in _ONLY_OUTSIDE:
            raise OptionError(BAD_CONTEXT)
        self.set(name, text)

    def set_while_tracing(self, name: str, text: str | None) -> None:
        """Set by setopt()."""
        value = parse(name, text)
        if name not in _DYNAMIC:
            raise OptionError(TOO_LATE)
        self._values[name] = value

    def number(self, name: str, default: int) -> int:
        return int(self._values.get(name, default))

    def on(self, name: str) -> bool:
        return bool(self._values.get(name, False))

    def text(self, name: str, default: str = "") -> str:
        return str(self._values.get(name, default))

    def texts(self, name: str) -> tuple[str, ...]:
        """All values of an option that may be set more than once, in order."""
        return tuple(self._repeated.get(name, ()))

    def is_set(self, name: str) -> bool:
        return name in self._values

    def kept(self) -> dict[str, Value]:
        """The values that go with a compiled program: those that matter after compiling, but for the permission to be
        destructive, which only whoever runs it can give."""
        return {name: value for name, value in self._values.items() if self.is_kept(name)}

    @staticmethod
    def is_kept(name: str) -> bool:
        """Whether the option goes with a compiled program."""
        is_wanted = name in _RUN or name in _DYNAMIC or name in _AFTER_COMPILING
        return is_wanted and name != "destructive"

    def restore(self, kept: Mapping[str, Value]) -> None:
        """Set what `kept` gave, unless it has been set already."""
        self._values = {**kept, **self._values}

    def may_change(self, name: str) -> bool:
        """Whether an option still has a meaning when a program has been compiled."""
        return name in _DYNAMIC or name in _AFTER_COMPILING

    def value(self, name: str) -> Value | None:
        """The value as it was parsed, None if the option was never set."""
        return self._values.get(name)


def kind_of(name: str) -> str:
    for table in (_COMPILE, _RUN, _DYNAMIC):
        if name in table:
            return table[name]
    raise OptionError(BAD_NAME)


def parse(name: str, text: str | None) -> Value:
    """The value of an option's text; None and "" stand for a switch without value."""
    kind = kind_of(name)
    if name in _WITHOUT_VALUE and text is not None:
        raise OptionError(BAD_VALUE)
    if kind == _SWITCH:
        return _parse_switch(text)
    if not text:
        raise OptionError(BAD_VALUE)
    if kind == _SIZE:
        return _checked(name, _parse_size(text))
    if kind == _RATE:
        return _checked(name, _parse_rate(text))
    if kind == _COUNT:
        return _checked(name, _parse_count(text))
    if text not in _CHOICES.get(name, (text,)):
        raise OptionError(BAD_VALUE)
    if name == "version":
        _check_version(text)
    elif name == "lockmem" and text != "unlimited":
        _parse_size(text)
    return text


_BOUNDS = {
    "iregs": (1, _REGISTERS),
    "maxloop": (1, (1 << 23) - 1),
    "nspec": (0, 1024),
    "pcapsize": (1, 65535),
    "printsize": (1, 65536),
    "samplesize": (1, 1 << 30),
    "stackindent": (0, 1024),
    "strsize": (2, 1 << 24),
}
_CHOICES = {
    "bufpolicy": ("ring", "fill", "switch"), "bufresize": ("auto", "manual"), "rings": ("cpu", "one"),
    "output": ("ringbuf", "perf", "auto"), "scope": ("processes", "system"),
    "unwind": ("auto", "dwarf", "frames"), "xdp": ("native", "generic"),
    "stdc": ("a", "c", "t", "s"), "evaltime": ("exec", "preinit", "postinit", "main"),
    "engine": ("auto", "kernel", "embedded"), "exit": ("program", "command"),
    "follow": ("command", "all"),
    "debugassert": ("mutexes",),
    "linkmode": ("kernel", "dynamic", "static"), "linktype": ("elf", "dof"), "late": ("static", "dynamic"),
}  # fmt: skip


def _checked(name: str, value: int) -> int:
    low, high = _BOUNDS.get(name, (0, 1 << 62))
    if not low <= value <= high:
        raise OptionError(BAD_VALUE)
    if name == "printsize":
        return (value + 7) & ~7
    if name == "iregs" and value < _REGISTERS:
        raise OptionError(TOO_FEW_REGISTERS)
    return value


def _check_version(text: str) -> None:
    parts = text.split(".")
    if len(parts) > 3 or not all(part.isascii() and part.isdigit() for part in parts):
        raise OptionError(NO_VERSION)
    if tuple(map(int, parts)) > NEWEST_VERSION:
        raise OptionError(BAD_VERSION)


def _parse_switch(text: str | None) -> bool:
    if text is None or text.lower() in _TRUE:
        return True
    if text == "" or text.lower() in _FALSE:
        return False
    if text.isdigit():
        return text != "0"
    raise OptionError(BAD_VALUE)


def _parse_count(text: str) -> int:
    """A number as C writes it: hexadecimal behind 0x, octal behind 0."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isalnum()):
        raise OptionError(BAD_VALUE)
    base = 8 if len(digits) > 1 and digits.isdigit() and digits[0] == "0" else 0
    try:
        return int(text, base)
    except ValueError:
        raise OptionError(BAD_VALUE) from None


def _parse_size(text: str) -> int:
    factor = _UNITS.get(text[-1:].lower(), 1)
    digits = text[:-1] if factor > 1 else text
    value = _parse_count(digits) * factor
    if value < 0:
        raise OptionError(BAD_VALUE)
    return value


def _parse_rate(text: str) -> int:
    """Nanoseconds; a number alone is in nanoseconds, `hz` is a frequency."""
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    unit = text[len(digits) :].lower()
    value = _parse_count(digits)
    if value < 0 or (unit and unit != "hz" and unit not in _TIMES):
        raise OptionError(BAD_VALUE)
    if unit == "hz":
        return 10**9 // value if value else 0
    return value * _TIMES.get(unit, 1)


def version_of(options: OptionTable) -> tuple[int, ...]:
    """The version of the language that programs are written in."""
    text = options.text("version")
    return tuple(map(int, text.split("."))) if text else NEWEST_VERSION


def from_environment(environment: Mapping[str, str]) -> dict[str, str | None]:
    """The options that DTRACE_OPT_NAME=value sets, the weakest of all ways to set an option."""
    prefix = "DTRACE_OPT_"
    return {key[len(prefix) :].lower(): text or None for key, text in environment.items() if key.startswith(prefix)}


def names() -> tuple[str, ...]:
    """Of all options."""
    return tuple(sorted((*_COMPILE, *_RUN, *_DYNAMIC)))


_WANTED = {
    _SIZE: "it takes a number of bytes, or with k, m, g or t",
    _COUNT: "it takes a number",
    _RATE: "it takes a time, with ns, us, ms, s, m, h or d, or a rate, with hz",
    _SWITCH: "it takes yes or no, or nothing",
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
    kind = kind_of(name)
    choices = _CHOICES.get(name)
    if choices:
        from difflib import get_close_matches

        near = get_close_matches(text, choices, 1)
        return f"it takes {', '.join(choices)}", tuple(near)
    low, high = _BOUNDS.get(name, (0, 1 << 62))
    wanted = _WANTED.get(kind, "") + (f", {low:,} to {high:,}" if name in _BOUNDS else "")
    parts = re.fullmatch(r"\s*(\d+)\s*([a-zA-Z]*)\s*", text)
    if parts is None:
        return wanted, ()
    unit = parts[2].lower()
    units = [_UNIT_WORDS.get(unit, unit)]
    candidates = [parts[1] + each for each in (*units, *("k", "m") * (kind == _SIZE), *("ms", "s") * (kind == _RATE))]
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
    names = (*_COMPILE, *_RUN, *_DYNAMIC)
    if name in names:
        return ()
    # Only needed to help with a mistake.
    from difflib import get_close_matches

    return tuple(get_close_matches(name, names, 2))
