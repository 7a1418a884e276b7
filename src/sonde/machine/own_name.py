"""The name of this process, as ps(1), pidof(8) and other programs have it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

_ARGUMENTS = 45
"""arg_start and arg_end in /proc/PID/stat (proc(5)), counted behind the name."""


def take_name(name: str, words: Sequence[str]) -> None:
    """Call this thread so, and have the process's command line begin with the name in the place of what comes before
    its last words, which these are. What cannot be is left as it is."""
    with suppress(OSError), open("/proc/self/comm", "w") as file:
        file.write(name)
    with suppress(OSError):
        _write_command_line(b"".join(each.encode(errors="surrogateescape") + b"\0" for each in (name, *words)))


def _write_command_line(text: bytes) -> None:
    """Raises OSError."""
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    start, end = map(int, fields[_ARGUMENTS : _ARGUMENTS + 2])
    if not start or len(text) > end - start:
        return
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        memory.seek(start)
        memory.write(text.ljust(end - start, b"\0"))
