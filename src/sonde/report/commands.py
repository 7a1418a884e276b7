"""The actions system(), freopen() and ftruncate(), which reach outside the report."""

from __future__ import annotations

import os

from sonde.report.output import Output


def run_command(command: bytes, output: Output) -> str | None:
    """Let /bin/sh run the command and wait for it; its output goes where the report goes, in order.

    Returns what went wrong if it could not be started; its exit status is its own business.
    """
    output.flush()
    arguments = [b"sh", b"-c", command]
    actions = [(os.POSIX_SPAWN_DUP2, output.descriptor, 1)] if output.descriptor != 1 else []
    try:
        process = os.posix_spawn(b"/bin/sh", arguments, os.environ, file_actions=actions)
    except OSError as error:
        return f"failed to run /bin/sh: {error.strerror}"
    os.waitpid(process, 0)
    return None


def reopen(path: bytes, output: Output) -> str | None:
    """Send the output to another file; returns what went wrong."""
    try:
        output.switch(path)
    except OSError as error:
        return f'failed to freopen: couldn\'t open "{path.decode(errors="replace")}": {error.strerror}'
    return None
