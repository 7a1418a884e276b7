"""Files of file systems that are mounted where nobody sees it. Most were never in a directory: pipes, sockets, event
descriptors, memory files (fs/pipe.c, net/socket.c, fs/anon_inodes.c, fs/pidfs.c, fs/nsfs.c, mm/shmem.c).

/proc shows them as each of these file systems wishes. Here they are named as programs on the kernel engine name them
(codegen/routines/paths.py): by their file system, a colon, and their own name.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from functools import cache

from sonde.typed import Any, NamedTuple

_DELETED = b" (deleted)"

_TYPES = {
    0x50495045: b"pipefs", 0x534F434B: b"sockfs", 0x09041934: b"anon_inodefs", 0x50494446: b"pidfs",
    0x6E736673: b"nsfs", 0x01021994: b"tmpfs", 0x958458F6: b"hugetlbfs", 0x5345434D: b"secretmem",
    0x19800202: b"mqueue", 0x794C7630: b"overlay", 0x58465342: b"xfs", 0x9123683E: b"btrfs",
}  # fmt: skip
"""struct statfs.f_type (include/uapi/linux/magic.h), where that is of one type alone: ext2 to ext4 share theirs."""

_STATX_SIZE = 256
_AT_FDCWD = -100
_MOUNT_ROOT = 0x2000
"""STATX_ATTR_MOUNT_ROOT of stx_attributes and stx_attributes_mask (include/uapi/linux/stat.h)."""

_ANONYMOUS = b"anon_inode:"
_PROTOCOL = "system.sockprotoname"
"""The attribute of a socket that has its name (net/socket.c)."""


class Nameless(NamedTuple):
    name: bytes
    path: bytes
    filesystem: bytes


def named(link: str, text: bytes) -> Nameless | None:
    """What the file is that /proc/PID/fd/N, `link`, shows as this text; None for one that a directory may have had.
    Raises OSError."""
    kind = filesystem(link)
    name = _name(kind, link, text) if kind else None
    return None if name is None or kind is None else Nameless(name, kind + b":" + name, kind)


def filesystem(link: str) -> bytes | None:
    """The type of the file's file system, None if it is none that is known by its number. Raises OSError."""
    return _TYPES.get(_type(link))


def may_be_mounted(link: str) -> bool:
    """Whether something may be mounted where the file is, so that its path is not its name. Raises OSError."""
    buffer = ctypes.create_string_buffer(_STATX_SIZE)
    _check(_libc().statx(_AT_FDCWD, link.encode(), 0, 0, buffer))
    attributes, known = struct.unpack_from("=Q", buffer, 8)[0], struct.unpack_from("=Q", buffer, 56)[0]
    return not known & _MOUNT_ROOT or bool(attributes & _MOUNT_ROOT)


def _name(kind: bytes, link: str, text: bytes) -> bytes | None:
    match kind:
        case b"pipefs" if text.startswith(b"pipe:["):
            return b""
        case b"sockfs" if text.startswith(b"socket:["):
            return os.getxattr(link, _PROTOCOL).rstrip(b"\0")
        case b"anon_inodefs" if text.startswith(_ANONYMOUS):
            return text[len(_ANONYMOUS) :]
        case b"pidfs" | b"nsfs" if not text.startswith(b"/"):
            return b"/"
        case b"tmpfs" | b"hugetlbfs" if text.startswith(b"/memfd:") and text.endswith(_DELETED):
            return text[1 : -len(_DELETED)]
        case b"secretmem" if text.endswith(_DELETED):
            return text[1 : -len(_DELETED)]
    return None


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number or errno.EIO, os.strerror(number))


@cache
def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _type(link: str) -> int:
    """f_type of the file system of an open file. Raises OSError."""
    buffer = ctypes.create_string_buffer(_STATX_SIZE)
    _check(_libc().statfs(link.encode(), buffer))
    (kind,) = struct.unpack_from("=q", buffer)
    return int(kind) & 0xFFFF_FFFF
