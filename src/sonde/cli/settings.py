"""The options of one command, from the environment and from its command line."""

from __future__ import annotations

import os

from sonde.cli.arguments import Arguments
from sonde.cli.messages import FatalError, ValueOfOptionError
from sonde.library.settings import OptionRefusedError, OptionTable, from_environment, set_option

_SHORT = len("-b")
"""Options of one letter are told with their value, those of -x without it, as in DTrace."""


def option_table(arguments: Arguments) -> OptionTable:
    """The options of the environment and, stronger, of the command line. Raises FatalError."""
    options = OptionTable()
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
    return options


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
