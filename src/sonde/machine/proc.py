"""What /proc tells of a process or thread (proc(5)); `root` is where /proc is.

All raise FileNotFoundError or ProcessLookupError if it is gone.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress

from sonde.typed import NamedTuple
from sonde.untrusted import kernel_lines, read_kernel

_AT_ENTRY = 9
_HEAP = 44
"""start_brk in /proc/PID/stat, counted from the state on."""

_KERNEL_THREAD = 0x00200000
"""PF_KTHREAD (include/linux/sched.h)."""


ENDED = "it has ended and only waits for its parent to notice: there is nothing left to trace"
"""What to say of a zombie."""


class Stat(NamedTuple):
    """Of /proc/PID/stat. `flags`: PF_...; `start`: clock ticks since boot; `user`, `system`: clock ticks used."""

    comm: bytes
    state: str
    ppid: int
    group: int
    session: int
    flags: int
    user: int
    system: int
    start: int


def stat(tid: int, root: str = "/proc") -> Stat:
    """Of a process or a thread."""
    data = read_kernel(f"{root}/{tid}/stat")
    comm, _, rest = data[data.index(b"(") + 1 :].rpartition(b") ")
    fields = rest.split()
    numbers = [int(fields[index]) for index in (1, 2, 3, 6, 11, 12, 19)]
    return Stat(comm, fields[0].decode(), *numbers)


def has_ended(pid: int, root: str = "/proc") -> bool:
    """Whether all threads of a process have ended, so that it is a zombie; the first one may end before the others."""
    return stat(pid, root).state in "ZX" and len(threads(pid, root)) <= 1


def heap_start(tid: int, root: str = "/proc") -> int:
    """Where a process's heap begins, as brk(2) has it; 0 if the kernel does not tell us."""
    data = read_kernel(f"{root}/{tid}/stat")
    return int(data.rpartition(b") ")[2].split()[_HEAP])


def is_kernel_thread(of: Stat) -> bool:
    return bool(of.flags & _KERNEL_THREAD)


def status(tid: int, root: str = "/proc") -> dict[str, str]:
    """The lines of /proc/PID/status by their names: Tgid, Uid (real, effective, saved, file system), TracerPid ..."""
    found = kernel_lines(f"{root}/{tid}/status")
    return {name: value.strip() for name, _, value in (line.partition(":") for line in found)}


def threads(pid: int, root: str = "/proc") -> list[int]:
    """The process's threads, the first before the others."""
    return sorted(map(int, os.listdir(f"{root}/{pid}/task")), key=lambda tid: (tid != pid, tid))


def processes(root: str = "/proc") -> list[int]:
    """All that there are."""
    return [int(name) for name in os.listdir(root) if name.isdigit()]


def traced_by(pid: int, root: str = "/proc") -> set[int]:
    """The processes whose tracer that is."""
    found = set()
    for each in processes(root):
        with suppress(FileNotFoundError, ProcessLookupError):
            if status(each, root).get("TracerPid") == str(pid):
                found.add(each)
    return found


def namespace(pid: int, kind: str, root: str = "/proc") -> tuple[int, int]:
    """(device, inode) of its namespace: pid, user, mnt ... Raises PermissionError for what may not be traced."""
    found = os.stat(f"{root}/{pid}/ns/{kind}")
    return found.st_dev, found.st_ino


def is_own(root: str = "/proc") -> bool:
    """Whether /proc is of this pid namespace: in another's the numbers are other processes'."""
    return os.readlink(f"{root}/self") == str(os.getpid())


def entry_point(pid: int) -> int | None:
    """AT_ENTRY of the auxiliary vector: where the program itself begins, behind its dynamic linker; None if unknown."""
    if not is_own():
        return None
    data = read_kernel(f"/proc/{pid}/auxv")
    for key, value in struct.iter_unpack("=QQ", data[: len(data) // 16 * 16]):
        if key == _AT_ENTRY:
            return int(value)
    return None
