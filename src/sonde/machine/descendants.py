"""Which threads descend from a process at this moment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from sonde.machine import proc


def descendants(pid: int, root: str = "/proc") -> Iterator[int]:
    """The threads of all processes that the process has started, or these in turn, and that have not lost their
    ancestors; a process's first thread before its others. Not the process's own."""
    children: dict[int, list[int]] = {}
    for name in os.listdir(root):
        if name.isdigit():
            with suppress(FileNotFoundError, ProcessLookupError):
                children.setdefault(proc.stat(int(name), root).ppid, []).append(int(name))
    waiting = children.pop(pid, [])
    while waiting:
        found = waiting.pop()
        # What is popped is not met again, whatever /proc says while processes come and go.
        waiting += children.pop(found, [])
        with suppress(FileNotFoundError, ProcessLookupError):
            yield from proc.threads(found, root)
