"""The options of one command, from the environment and from its command line."""

from __future__ import annotations

import os

from sonde.cli.arguments import Arguments
from sonde.cli.messages import FatalError, ValueOfOptionError, given_twice
from sonde.library.settings import OptionRefusedError, OptionTable, from_environment, set_option

_WEAK = ("record",)
"""What a command sets itself, and an option of the command line overrides."""

_SHORT = len("-b")
"""Options of one letter are told with their value, those of -x without it, as in DTrace."""


def option_table(arguments: Arguments) -> OptionTable:
    """The options of the environment and, stronger, of the command line. Raises FatalError."""
    options = OptionTable()
    seen: dict[str, tuple[str, str]] = {}
    settings = [(f"DTRACE_OPT_{name.upper()}", name, text) for name, text in from_environment(os.environ).items()]
    settings += arguments.settings
    for given, name, text in settings:
        try:
            set_option(options, name, text)
        except OptionRefusedError as error:
            named = f"{given} {text}" if len(given) == _SHORT and text else given
            what, hint = f"failed to set {named}: {error.reason}", _option_hint(given, error)
            if given.startswith("DTRACE_OPT_"):
                raise FatalError(what, hint=hint) from None
            raise ValueOfOptionError(what, hint) from None
        if not arguments.last_counts and given not in _WEAK and not given.startswith("DTRACE_OPT_"):
            _require_once(given, name, text, options, seen)
    return options


def _require_once(
    given: str, name: str, text: str | None, options: OptionTable, seen: dict[str, tuple[str, str]]
) -> None:
    """Raises FatalError for an option that had another value before on the command line, and has one."""
    value = repr(options.value(name))
    first, before = seen.setdefault(name, (_written(given, text), value))
    if value != before and not options.is_repeated(name):
        raise given_twice(name if given.startswith("-x") else given, first, _written(given, text))


def _written(given: str, text: str | None) -> str:
    return given if text is None else f"{given}={text}" if given.startswith("-x") else f"{given} {text}"


def _option_hint(given: str, error: OptionRefusedError) -> str:
    """For a name, those spelled nearly so; for a value, what the option takes, and the value that may be meant."""
    close = error.similar()
    if close:
        value = "" if error.value is None else f"={error.value}"
        return f"did you mean {' or '.join(close)}?\nhelp: write -x {close[0]}{value}"
    wanted, right = error.wanted()
    sign = "=" if given.startswith(("-x", "DTRACE")) else " "
    forms = " or ".join(f"{given}{sign}{each}" for each in right)
    return "\n".join(filter(None, (wanted, f"help: write {forms}" if right else "")))
