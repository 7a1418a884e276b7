"""What shows the manual: --help, `help` and `completion`."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import dedent

from sonde.cli.manual import completion, text
from sonde.cli.manual.commands import ALL, OTHERS, command
from sonde.cli.manual.tracing import TRACING
from sonde.cli.messages import UsageError
from sonde.cli.output import show
from sonde.library.settings import names


def show_manual(words: Sequence[str], program: str) -> int:
    """`help [COMMAND]`. Raises UsageError for one that there is not."""
    wanted = command(words[0]) if words else TRACING
    if wanted is None or len(words) > 1:
        raise UsageError(f"there is no command {' '.join(words)}")
    show(text.manual(wanted, OTHERS if wanted is TRACING else (), program))
    return 0


def show_completion(words: Sequence[str]) -> int:
    """`completion bash`. Raises UsageError for other shells."""
    if list(words) != ["bash"]:
        raise UsageError("completion is for one shell: bash")

    show(completion.bash(ALL, names()))
    return 0


def what_it_takes(option: str) -> str:
    """The manual's lines about an option of tracing, "" for another command's."""
    found = (each for section in TRACING.sections for each in section.options if option in each.names)
    # A hint is indented as these lines are.
    return dedent("".join(map(text.entry, found))).strip()


def usage(words: Sequence[str], program: str) -> str:
    """How the command that the words began with is written, and what tells more."""
    of = (command(words[0]) if words else None) or TRACING
    return text.usage(of, program) + f"`{text.command_name(of, program)} --help` tells more.\n"
