"""Paths of control groups by their numbers, as they are mounted where the report is made."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase

from sonde.untrusted import kernel_start, lines

_MOUNTS = "/proc/self/mounts"
_LARGEST = 1 << 20
"""Bytes of the list of mounts that are read."""
_MOST = 1 << 16
"""Groups of a hierarchy that are looked at."""


def group_paths(number: int, glob: str) -> str:
    """`hierarchy:path`, one behind the other, of all hierarchies whose names fit the glob and that have the group. The
    hierarchy of version 2 is called unified."""
    found = []
    for name, root in _hierarchies():
        path = _path(number, root) if fnmatchcase(name, glob) else None
        if path is not None:
            found.append(f"{name}:{path}")
    return ";".join(found)


def _hierarchies() -> list[tuple[str, str]]:
    """The names of those that are mounted, and where."""
    try:
        rows = [line.split(" ") for line in lines(os.fsdecode(kernel_start(_MOUNTS, _LARGEST)))]
    except OSError:
        return []
    mounted = [(row[2], row[1]) for row in rows if len(row) > 2]
    first = [(os.path.basename(root), root) for kind, root in mounted if kind == "cgroup"]
    return first + [("unified", root) for kind, root in mounted if kind == "cgroup2"]


def _path(number: int, root: str) -> str | None:
    """Where the group is in a hierarchy: its number is its directory's inode."""
    for count, (directory, _, _) in enumerate(os.walk(root)):
        if count == _MOST:
            return None
        try:
            if os.stat(directory).st_ino == number:
                return directory[len(root) :] or "/"
        except OSError:
            # It has gone since its parent was read.
            continue
    return None
