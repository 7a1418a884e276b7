"""Which mount a file is of: /proc/PID/mountinfo (proc(5)), as the mount namespace of that process has it."""

from __future__ import annotations

import os
import re
import select

from sonde.typed import NamedTuple
from sonde.untrusted import KERNEL_TEXT, lines, open_regular, read_at_most, read_kernel

_ESCAPED = re.compile(rb"\\([0-7]{3})")
_OWN = "/proc/self/mountinfo"
_DELETED = b"//deleted"
"""Behind `root` where that has no name any more (show_mountinfo, fs/proc_namespace.c)."""


class Mount(NamedTuple):
    """`filesystem` is its type, without a subtype; `device` that of its files, unless they have others; `point` the
    path where it is; `root` what of the file system is there, a path in it."""

    filesystem: bytes
    device: bytes
    point: bytes
    root: bytes


def parse(text: bytes) -> dict[int, Mount]:
    """The mounts by their numbers."""
    found = {}
    for line in lines(text):
        fields, _, rest = line.partition(b" - ")
        words, kind = fields.split(b" "), rest.split(b" ")
        if len(words) > 4 and words[0].isdigit():
            root = _unescaped(words[3])
            # fuse.sshfs is a fuse: no type of its own has a dot in its name.
            name = kind[0].partition(b".")[0]
            found[int(words[0])] = Mount(name, words[2], _unescaped(words[4]), root.removesuffix(_DELETED))
    return found


def _unescaped(word: bytes) -> bytes:
    return _ESCAPED.sub(lambda match: bytes((int(match[1], 8) & 0xFF,)), word)


class Mounts:
    """Finds mounts; those of sonde's own namespace are read again only when they have changed."""

    def __init__(self) -> None:
        self._descriptor = -1
        self._poll = select.poll()
        self._own: dict[int, Mount] = {}
        self._namespace = os.stat("/proc/self/ns/mnt").st_ino

    def find(self, tid: int, number: int) -> Mount | None:
        """The mount of that number as the thread's process sees it; None if it does not: what is not attached, or what
        the kernel has mounted for itself. Raises OSError."""
        if os.stat(f"/proc/{tid}/ns/mnt").st_ino != self._namespace:
            return parse(read_kernel(f"/proc/{tid}/mountinfo")).get(number)
        self._look()
        return self._own.get(number)

    def filesystem_of(self, device: int) -> bytes | None:
        """The type of a file system that sonde sees mounted, by the device of its files. Raises OSError."""
        self._look()
        wanted = b"%d:%d" % (os.major(device), os.minor(device))
        return next((mount.filesystem for mount in self._own.values() if mount.device == wanted), None)

    def _look(self) -> None:
        if self._descriptor < 0:
            self._descriptor = open_regular(_OWN, pseudo=True)
            self._poll.register(self._descriptor, select.POLLPRI)
        elif not self._poll.poll(0):
            return
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        self._own = parse(read_at_most(self._descriptor, KERNEL_TEXT))

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
