"""Processes whose address spaces stay locked: no user probe can be put into a file that one of them has mapped.

The kernel takes the lock of each process that maps a file when a uprobe is registered (register_for_each_vma,
kernel/events/uprobes.c), and meanwhile no process can fork (dup_mmap_sem). It waits, and cannot be killed, for a thread
that holds such a lock until a FUSE server answers: in munmap(2) of pages that are to be written, or in a read of a page
through /proc/PID/mem. A thread may begin to do so at any moment. So looking for such threads makes it rarer that
everybody waits, and does not exclude it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator

from sonde import others
from sonde.model.errors import EngineError
from sonde.symbols.mappings import parse_maps
from sonde.typed import NamedTuple
from sonde.untrusted import kernel_text, read_kernel

_FUSE = "/sys/fs/fuse/connections"
"""Directories, one for each FUSE file system that is mounted anywhere (Documentation/filesystems/fuse/fuse.rst)."""

_WAITS = re.compile(rb"request_wait|folio_wait|wait_on_page|fuse|nfs|rpc|p9_|cifs|smb|ceph")
"""Functions that threads sleep in (proc_pid_wchan(5)) which wait for a page or for an answer."""

_SERVED = re.compile(r"\b(?:fuse|nfs\d?|rpc|v9fs|p9|cifs|smb\d?|ceph)_")
"""Functions of file systems that a program or another machine serves."""

_REMOTE = "remote"
"""A part of the names of functions that look at another process's memory (mm/memory.c, mm/gup.c)."""


class _Wait(NamedTuple):
    """A thread of a process waits for a file system that somebody serves, perhaps in the memory of another one."""

    process: int
    is_remote: bool


def refuse_locked(inodes: Collection[int]) -> None:
    """Raise EngineError for a process that has mapped a file with one of these numbers, and stays locked."""
    waits = list(_waits())
    are_remote = any(each.is_remote for each in waits)
    suspects = _processes() if are_remote else sorted({each.process for each in waits})
    for pid in others.locked([pid for pid in suspects if _has_mapped(pid, inodes)]):
        raise EngineError(
            f"user probes cannot be attached: process {pid} ({_name(pid)}) has mapped a file that is to be probed, and "
            "keeps its address space locked until somebody answers who serves another file; until then the kernel "
            "would wait, and every fork(2) with it: end who serves that file"
        )


def _waits() -> Iterator[_Wait]:
    if not _is_anything_served():
        return
    for pid in _processes():
        for stack in _stacks(pid):
            if _SERVED.search(stack):
                yield _Wait(pid, _REMOTE in stack)


def _stacks(pid: int) -> Iterator[str]:
    """The functions of the kernel that threads of a process are in which wait for a page or an answer."""
    for thread in _listed(f"/proc/{pid}/task"):
        try:
            if _WAITS.search(read_kernel(f"/proc/{pid}/task/{thread}/wchan")):
                yield kernel_text(f"/proc/{pid}/task/{thread}/stack")
        except OSError:
            continue  # it has ended, or is not for this user


def _is_anything_served() -> bool:
    return bool(_listed(_FUSE)) or others.has_served_mounts()


def _processes() -> list[int]:
    return [int(name) for name in others.listed("/proc") if name.isdigit() and int(name) != os.getpid()]


def _listed(path: str) -> list[str]:
    try:
        return others.listed(path)
    except OSError:
        return []


def _has_mapped(pid: int, inodes: Collection[int]) -> bool:
    try:
        return any(each.inode in inodes for each in parse_maps(kernel_text(f"/proc/{pid}/maps")))
    except TimeoutError:
        return True  # maps took the same lock before Linux 6.17
    except OSError:
        return False  # it has ended, or is not for this user


def _name(pid: int) -> str:
    try:
        return os.fsdecode(read_kernel(f"/proc/{pid}/comm").strip())
    except OSError:
        return "ended"
