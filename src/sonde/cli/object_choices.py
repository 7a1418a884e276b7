"""The options that choose something of an object: -D, --map, --program, --attach and --record."""

from __future__ import annotations

from sonde.cli.arguments import Arguments
from sonde.cli.messages import UsageError
from sonde.model.options import OptionTable
from sonde.objects.choices import Choices, Words, given_choices


def choices(arguments: Arguments, options: OptionTable, target: int | None) -> Choices:
    """What is chosen; `target` is the process that $target stands for. Raises ObjectError."""
    chosen = [arguments.chosen(each) for each in ("map", "program", "attach", "record")]
    return given_choices(Words(options.texts("define"), *chosen), target)


def refuse_choices(arguments: Arguments) -> None:
    """Where there is no object. Raises UsageError."""
    for name, _ in arguments.choices:
        raise UsageError(f"--{name} is about the programs of an object: it needs --object FILE")
