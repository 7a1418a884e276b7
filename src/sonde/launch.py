"""Starting a command: what both ways of holding it until tracing has begun have in common."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from sonde import children
from sonde.inherited import environment


class CommandError(Exception):
    """The command cannot be started, or the process is not there."""


class GuardianError(Exception):
    """The guardian (guardian.py), which traces the processes, has failed or was killed; what it says of it."""


def words(text: str) -> list[str]:
    """A command's arguments. Raises CommandError."""
    import shlex  # a start that runs no command does without

    try:
        arguments = shlex.split(text)
    except ValueError as error:
        raise CommandError(f"failed to run {text}: {str(error).lower()}") from None
    if not arguments:
        raise CommandError("failed to run: the command is empty")
    return arguments


def executable(name: str) -> str:
    """The file that a command's name means: by its path, or in PATH, where the first that may be run counts. What is
    not there is tried by its name, which fails as it should."""
    if "/" in name:
        return name
    places = [os.path.join(each, name) for each in os.get_exec_path(environment())]
    return next((each for each in places if os.path.isfile(each) and os.access(each, os.X_OK)), name)


def fork(arguments: list[str], prepare: Callable[[], object]) -> tuple[int, int]:
    """A child that calls `prepare` and then execs; and a pipe with what went wrong before, which exec closes."""
    reader, writer = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        _become(arguments, prepare, writer)
    os.close(writer)
    return pid, reader


_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
"""What the interpreter ignores from its start, and what a command would go on ignoring behind exec."""


def problem(pipe: int) -> str:
    """What went wrong, "" if nothing; waits for exec or the child's end, and closes the pipe."""
    with os.fdopen(pipe, "rb") as file:
        return file.read().decode(errors="replace")


def _become(arguments: list[str], prepare: Callable[[], object], writer: int) -> None:
    """In the child: never returns."""
    try:
        children.forget_handlers()
        for number in _IGNORED_BY_PYTHON:
            signal.signal(number, signal.SIG_DFL)
        path, given = executable(arguments[0]), environment()
        prepare()
        os.execve(path, arguments, given)
    except Exception as error:
        os.write(writer, (getattr(error, "strerror", None) or str(error)).encode())
    finally:
        os._exit(127)
