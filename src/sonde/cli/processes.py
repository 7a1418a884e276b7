"""The processes that -c and -p name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from sonde.cli.arguments import Arguments
from sonde.cli.engines import EMBEDDED, has_filter
from sonde.cli.messages import FatalError, Messages, ValueOfOptionError
from sonde.options import OptionTable
from sonde.traced import Traced


@contextmanager
def processes(
    arguments: Arguments, options: OptionTable, engine: str, messages: Messages | None = None
) -> Iterator[Sequence[Traced]]:
    """Those of -c, started and held, before those of -p; given up at the end. `messages` tells of those that are not
    traced as one would expect. Raises FatalError."""
    if not arguments.commands and not arguments.pids:
        yield ()
        return
    if engine == EMBEDDED:
        with _followed(arguments, options, messages) as members:
            yield members
        return
    if options.text("follow") == "all":
        hint = "it sees all processes: leave -c out, and end by exit() in a clause of proc:::exit"
        raise FatalError("option follow=all is for the embedded engine", hint=hint)
    # Not needed for a system-wide trace.
    from sonde.target.command import Command, CommandError, Process

    evaluation = options.text("evaltime", "postinit")
    found: list[Traced] = []
    with ExitStack() as stack:
        try:
            for command in arguments.commands:
                found.append(Command(command, evaluation))
                stack.callback(found[-1].close)
            for pid in arguments.pids:
                found.append(Process(_number(pid)))
                stack.callback(found[-1].close)
        except CommandError as error:
            raise FatalError(str(error)) from None
        except OSError as error:
            raise FatalError(f"failed to control the process: {error.strerror}", hint=_PTRACE) from None
        yield found


@contextmanager
def _followed(arguments: Arguments, options: OptionTable, messages: Messages | None) -> Iterator[Sequence[Traced]]:
    from sonde.engines.embedded.followed import FollowedGroup
    from sonde.target.launch import CommandError, GuardianError

    evaluation = options.text("evaltime", "postinit")
    pids = [_number(pid) for pid in arguments.pids]
    try:
        group = FollowedGroup(
            arguments.commands, pids, evaluation, has_filter(options), options.text("follow") == "all"
        )
    except (CommandError, GuardianError) as error:
        raise FatalError(str(error)) from None
    except OSError as error:
        raise FatalError(f"failed to control the process: {error.strerror}", hint=_PTRACE) from None
    try:
        yield group.members
    finally:
        group.close()
        if messages is not None:
            for text in group.remarks.texts:
                messages.error(text)


_PTRACE = "kernel.yama.ptrace_scope or a container may forbid ptrace(2); `sonde doctor` tells more"


def _of_name(text: str) -> str:
    """What -p takes, and how a program that runs is found by its name."""
    if not text or text.lstrip("-").isdigit():
        return "-p takes the number of a process that runs"
    # A mistake may take its time.
    from shlex import quote

    name = text.rpartition("/")[2]
    return f'-p takes a number: -p $(pgrep -n {quote(name)}), or all of that name:\n/execname == "{name}"/'


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ValueOfOptionError(f"invalid pid: {text}", _of_name(text))
    return int(text)
