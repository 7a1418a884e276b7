"""What /proc tells of the open files and directories of a thread (proc(5)): with the paths that its process sees.

The thread should stand still. Another one that shares its table of files may change it meanwhile: what has changed
while it was looked at is looked at again.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress

from sonde import others
from sonde.machine import nameless
from sonde.machine.mounts import Mount, Mounts
from sonde.typed import NamedTuple
from sonde.untrusted import read_kernel

DELETED = b" (deleted)"
"""What the kernel writes behind the path of a file that has lost its name."""

_CLOSE_ON_EXEC = 0o2000000
"""Of a descriptor, not of the file: fdinfo adds it to the flags (fs/proc/fd.c)."""

_LOOKS = 16
"""How often at most a descriptor is looked at that changes."""

_MOST_INFORMATION = 1 << 16


class OpenFile(NamedTuple):
    """`name` and `filesystem` are None where nothing tells of them. `flags` are those of open(2)."""

    name: bytes | None
    path: bytes
    filesystem: bytes | None
    offset: int
    flags: int


def open_file(tid: int, descriptor: int, mounts: Mounts) -> OpenFile | None:
    """The thread's file of that descriptor, None where it is not open. Raises OSError: the thread is gone, or its files
    are not for this user to see."""
    link = f"/proc/{tid}/fd/{descriptor}"
    for _ in range(_LOOKS):
        text = _target(link)
        if text is None:
            os.stat(f"/proc/{tid}/fd")
            return None
        with suppress(FileNotFoundError):
            found = _described(tid, descriptor, link, text, mounts)
            if _target(link) == text:
                return found
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


def directory(tid: int, name: str) -> bytes:
    """The path of the thread's `cwd` or `root`. Raises OSError."""
    link = f"/proc/{tid}/{name}"
    text = os.readlink(link.encode())
    whole = _without_mark(tid, link, text)
    return _seen(tid, whole) + text[len(whole) :]


def _target(link: str) -> bytes | None:
    try:
        return os.readlink(link.encode())
    except FileNotFoundError:
        return None


def _described(tid: int, descriptor: int, link: str, text: bytes, mounts: Mounts) -> OpenFile:
    offset, flags, number = _information(f"/proc/{tid}/fdinfo/{descriptor}")
    mount = mounts.find(tid, number)
    if mount is None and (found := nameless.named(link, text)) is not None:
        return OpenFile(found.name, found.path, found.filesystem, offset, flags)
    whole = _without_mark(tid, link, text)
    path = _seen(tid, whole)
    if mount is not None:
        return OpenFile(_last(whole, path, mount), path + text[len(whole) :], mount.filesystem, offset, flags)
    name = None if nameless.may_be_mounted(link) else _last(whole, path, None)
    filesystem = mounts.filesystem_of(others.stat(link).st_dev) or nameless.filesystem(link)
    return OpenFile(name, path + text[len(whole) :], filesystem, offset, flags)


def _information(path: str) -> tuple[int, int, int]:
    """Where the next read begins, the flags, the number of the mount."""
    pairs = (line.partition(b":") for line in read_kernel(path, _MOST_INFORMATION).split(b"\n", 8)[:8])
    words = {name: value.strip() for name, _, value in pairs}
    return int(words[b"pos"]), int(words[b"flags"], 8) & ~_CLOSE_ON_EXEC, int(words.get(b"mnt_id", b"0"))


def _without_mark(tid: int, link: str, text: bytes) -> bytes:
    """The path without the kernel's mark of a file that has lost its name; names may end so by themselves."""
    if not text.endswith(DELETED):
        return text
    with suppress(OSError):
        there, file = _link_itself(tid, _seen(tid, text)), others.stat(link)
        if (there.st_dev, there.st_ino) == (file.st_dev, file.st_ino):
            return text
    return text[: -len(DELETED)]


def _link_itself(tid: int, path: bytes) -> os.stat_result:
    return others.stat(f"/proc/{tid}/root{os.fsdecode(path)}", follows=False)


def _seen(tid: int, path: bytes) -> bytes:
    """The path as a process sees it that has another root than sonde; what is not below that has its whole path."""
    root = os.readlink(f"/proc/{tid}/root".encode())
    if root == b"/" or not (path == root or path.startswith(root + b"/")):
        return path
    return path[len(root) :] or b"/"


def _last(whole: bytes, path: bytes, mount: Mount | None) -> bytes | None:
    """The name of the last directory entry, which where something is mounted is that of the file system mounted."""
    if mount is not None and mount.point in (whole, path):
        return mount.root.rpartition(b"/")[2] or b"/" if mount.root.startswith(b"/") else b"/"
    return whole.rpartition(b"/")[2] or None
