"""The actions system(), freopen() and ftruncate(), which reach outside the report: performed, or shown instead.

Who shows a recording has not written its program, and may not even know who has. So what it did when it was recorded is
shown then, as a line that begins with `# ` and has the call as D has it, its argument as a C string.
"""

from __future__ import annotations

import os

from sonde import children
from sonde.inherited import environment
from sonde.report.escape import escaped
from sonde.report.output import Output


def perform(name: str, argument: bytes, output: Output) -> str | None:
    """A `Performer` that does what the program says."""
    if name == "system":
        return _run(argument, output)
    if name == "freopen":
        return _reopen(argument, output)
    output.truncate()
    return None


class ShownActions:
    """A `Performer` that performs nothing: it writes each action as a line, and counts them."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, name: str, argument: bytes, output: Output) -> str | None:
        self.count += 1
        text = b"" if name == "ftruncate" else b'"%s"' % escaped(argument)
        output.write_line(b"# %s(%s)" % (name.encode(), text))
        return None


def _run(command: bytes, output: Output) -> str | None:
    """Let /bin/sh run the command and wait for it; its output goes where the report goes, in order.

    Returns what went wrong if it could not be started; its exit status is its own business.
    """
    descriptor = output.lend()
    try:
        return _start(command, descriptor)
    finally:
        output.take_back(descriptor)


def _start(command: bytes, descriptor: int) -> str | None:
    actions = [(os.POSIX_SPAWN_DUP2, descriptor, 1)] if descriptor != 1 else []
    try:
        process = os.posix_spawn(b"/bin/sh", [b"sh", b"-c", command], environment(), file_actions=actions)
        children.wait_for(process)
    except OSError as error:
        return f"failed to run /bin/sh: {error.strerror}"
    return None


def captured(command: bytes) -> tuple[bytes, str | None]:
    """What a command has written by its end, and what went wrong if it could not be started."""
    with open(os.memfd_create("system"), "rb") as kept:
        reason = _start(command, kept.fileno())
        kept.seek(0)
        return kept.read(), reason


def _reopen(path: bytes, output: Output) -> str | None:
    """Send the output to another file; returns what went wrong."""
    try:
        output.switch(path)
    except OSError as error:
        return f'failed to freopen: couldn\'t open "{path.decode(errors="replace")}": {error.strerror}'
    return None
