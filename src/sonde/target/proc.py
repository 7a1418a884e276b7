"""What /proc tells of a process (proc(5))."""

from __future__ import annotations

import os
import struct

_AT_ENTRY = 9


def is_own() -> bool:
    """Whether /proc is of this pid namespace: in another's the numbers are other processes'."""
    return os.readlink("/proc/self") == str(os.getpid())


def entry_point(pid: int) -> int | None:
    """AT_ENTRY of the auxiliary vector: where the program itself begins, behind its dynamic linker; None if unknown."""
    if not is_own():
        return None
    with open(f"/proc/{pid}/auxv", "rb") as file:
        data = file.read()
    for key, value in struct.iter_unpack("=QQ", data[: len(data) // 16 * 16]):
        if key == _AT_ENTRY:
            return int(value)
    return None
