"""A recording that comes through a pipe (`--replay -`, `--replay <(command)`): it is looked at more than once, so it is
kept in a file that has no name, up to its end."""

from __future__ import annotations

import os
import signal
import stat

from sonde.library.errors import Error
from sonde.model.options import OptionTable
from sonde.session.replay_inputs import INPUT, PIPE
from sonde.untrusted import open_named
from sonde.written_files import unnamed_file

_INPUT = "/dev/stdin"
_AT_ONCE = 1 << 20


def keep_piped(options: OptionTable) -> None:
    """Where the option's file can be read once only: make it a regular one, which is there until the command ends.
    Raises Error."""
    path = options.text("replay")
    if not _is_piped(path):
        return
    try:
        # It stays open.
        target = unnamed_file()
        _copy(open_named(_INPUT if path == "-" else path), target)
    except OSError as error:
        name = "the standard input" if path == "-" else f"recording '{path}'"
        raise Error(f"failed to read {name}: {error.strerror}") from None
    options.set("replay", f"{INPUT if path == '-' else PIPE}{target}")


def _is_piped(path: str) -> bool:
    if path == "-":
        return True
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        # Who opens it says why.
        return False


def _copy(source: int, target: int) -> None:
    """To the end. An interrupt is for who writes, as for perf: what it writes then is part of the recording."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        while data := os.read(source, _AT_ONCE):
            while data:
                data = data[os.write(target, data) :]
    finally:
        signal.signal(signal.SIGINT, before)
        os.close(source)
