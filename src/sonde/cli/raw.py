"""`raw FILE`: what --raw has recorded, shown as it would have been at the time."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.cli.arguments import parse
from sonde.cli.messages import FatalError, Messages, UsageError


def show_file(words: Sequence[str], messages: Messages) -> int:
    """Print a raw file; takes -q, -F, -o and -x besides its name. Returns exit()'s argument."""
    arguments = parse(words)
    if len(arguments.operands) != 1 or arguments.programs or arguments.commands or arguments.pids:
        raise UsageError("raw takes one file and the options -q, -F, -o and -x")
    from sonde.cli.names import Names
    from sonde.cli.run import opened
    from sonde.cli.settings import option_table
    from sonde.consume.raw import RawFileError
    from sonde.session import show_recorded

    path = arguments.operands[0]
    options = option_table(arguments)
    try:
        with open(path, "rb") as file, opened(arguments.output, "output file ") as output:
            return show_recorded(file, options, output, messages.program, Names())
    except RawFileError as error:
        raise FatalError(f"{path}: {error}") from None
    except OSError as error:
        raise FatalError(f"failed to open {path}: {error.strerror}") from None
