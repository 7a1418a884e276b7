"""How the commands of -c have ended: told, and with -xexit=command sonde's own exit status."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from signal import Signals

from sonde.cli.messages import FatalError, Messages
from sonde.library.settings import OptionTable

_BY_SIGNAL = 128
"""What shells add to the number of the signal that has ended a command."""


def require_command(commands: Sequence[str], options: OptionTable) -> None:
    """Raises FatalError where the status is to be that of a command and there is none."""
    if options.text("exit") == "command" and not commands:
        raise FatalError("option exit=command without a command", hint="start one with -c")


def status_of(status: int, ended: Mapping[int, int | None], options: OptionTable, messages: Messages) -> int:
    """The exit status: `status`, that of the program, or with -xexit=command the first command's, if it has ended.
    `ended` are the statuses of processes by their numbers, None for those that go on.

    A command that has failed is told of, unless quietly.
    """
    for pid, found in ended.items():
        if found and not options.on("quiet"):
            # DTrace's words, but for commands that have ended as they should.
            messages.aside(f"pid {pid} {_ending(found)}")
    if options.text("exit") != "command":
        return status
    first = next(iter(ended.values()), None)
    if first is None:
        return status
    return _BY_SIGNAL + os.WTERMSIG(first) if os.WIFSIGNALED(first) else os.WEXITSTATUS(first)


def _ending(status: int) -> str:
    if os.WIFSIGNALED(status):
        # Most commands are not ended by signals.

        number = os.WTERMSIG(status)
        known = {each.value: each.name for each in Signals}
        return f"terminated by {known.get(number, f'signal {number}')}" + (
            " (core dumped)" if os.WCOREDUMP(status) else ""
        )
    return f"exited with status {os.WEXITSTATUS(status)}"
