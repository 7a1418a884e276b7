"""The options that choose something of an object: -D, --map, --program, --attach and --record."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.cli.arguments import Arguments
from sonde.cli.messages import UsageError
from sonde.library.settings import OptionTable

KINDS = ("map", "program", "attach", "record")


def chosen(arguments: Arguments, options: OptionTable) -> list[Sequence[str]]:
    """The values of -D and of the options of these kinds, in their order."""
    return [options.texts("define"), *(arguments.chosen(each) for each in KINDS)]


def refuse_choices(arguments: Arguments) -> None:
    """Where there is no object. Raises UsageError."""
    for name, _ in arguments.choices:
        raise UsageError(f"--{name} is about the programs of an object: it needs --object FILE")
