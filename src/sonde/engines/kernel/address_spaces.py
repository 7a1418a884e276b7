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
from sonde.symbols.mappings import maps_text, parse_maps
from sonde.typed import NamedTuple
from sonde.untrusted import kernel_text, read_kernel

_FUSE = "/sys/fs/fuse/connections"
"""Directories, one for each FUSE file system that is mounted anywhere (Documentation/filesystems/fuse/fuse.rst)."""

_WAITS = re.compile(rb"request_wait|folio_wait|wait_on_page|fuse|nfs|rpc|p9_|cifs|smb|ceph")
"""Functions that threads sleep in (proc_pid_wchan(5)) which wait for a page or for an answer."""

_SERVED = re.compile(r"\b(?:fuse|nfs\d?|rpc|v9fs|p9|cifs|smb\d?|ceph)_")
"""Functions of file systems that a program or another machine serves."""

_GONE = FileNotFoundError, ProcessLookupError, PermissionError
"""A process has ended, or belongs to another user."""

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
    try:
        locked = next(others.locked([pid for pid in suspects if _has_mapped(pid, inodes)]), 0)
    except OSError as error:
        raise EngineError(
            f"user probes cannot be attached: threads wait for a FUSE or network file system, and the address spaces "
            f"that they may have locked cannot be checked ({error.strerror})"
        ) from None
    if locked:
        raise EngineError(
            f"user probes cannot be attached: process {locked} ({_name(locked)}) has mapped a file to be probed, and "
            "its address space stays locked until the server of another file answers. The kernel would wait for "
            "that, and no process could fork: end the server"
        )


def _waits() -> Iterator[_Wait]:
    if not _is_anything_served():
        return
    for pid in _processes():
        for stack in _stacks(pid):
            if stack is None:
                yield _Wait(pid, True)
            elif _SERVED.search(stack):
                yield _Wait(pid, _REMOTE in stack)


def _stacks(pid: int) -> Iterator[str | None]:
    """The kernel's stacks of the threads of a process that wait for a page or an answer; None for one that could not
    be read in time."""
    for thread in _listed(f"/proc/{pid}/task"):
        try:
            if _WAITS.search(read_kernel(f"/proc/{pid}/task/{thread}/wchan")):
                yield kernel_text(f"/proc/{pid}/task/{thread}/stack")
        except _GONE:
            continue
        except OSError:
            yield None


def _is_anything_served() -> bool:
    return bool(_listed(_FUSE)) or others.has_served_mounts()


def _processes() -> list[int]:
    return [int(name) for name in _listed("/proc") if name.isdigit() and int(name) != os.getpid()]


def _listed(path: str) -> list[str]:
    try:
        return others.listed(path)
    except OSError:
        return []


def _has_mapped(pid: int, inodes: Collection[int]) -> bool:
    try:
        return any(each.inode in inodes for each in parse_maps(maps_text(pid)))
    except _GONE:
        return False
    except OSError:
        return True  # not in time: before Linux 6.17 a read of maps took the same lock


def _name(pid: int) -> str:
    try:
        return os.fsdecode(read_kernel(f"/proc/{pid}/comm").strip())
    except OSError:
        return "ended"
