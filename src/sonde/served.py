"""Which file systems a program or another machine serves: looking at a file there may take its answer. What is mounted
tells (proc_pid_mountinfo(5)), without asking anybody.

And which store files at all: a file of a pseudo file system, as of procfs, is made when it is read, and reading it may
have effects (/proc/kmsg takes lines away), or wait for locks (/proc/PID/smaps). Whoever has a user namespace can have
one of these at any path of its own, by a bind mount.
"""

from __future__ import annotations

import ctypes
import errno
import os

from sonde.typed import NamedTuple

_LOCAL = frozenset(
    (
        "bcachefs", "bpf", "btrfs", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs",
        "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "fusectl", "hugetlbfs", "iso9660", "jfs", "mqueue", "nilfs2",
        "nsfs", "ntfs3", "overlay", "proc", "pstore", "ramfs", "reiserfs", "rootfs", "securityfs", "selinuxfs",
        "squashfs", "sysfs", "tmpfs", "tracefs", "udf", "vfat", "xfs", "zfs",
    )
)  # fmt: skip
"""Types of file systems that no program and no other machine serves."""

_STORING = frozenset((
    0x01021994, 0x858458F6, 0x794C7630, 0x61756673, 0x958458F6, 0xF15F,
    # tmpfs, ramfs, overlay, aufs, hugetlbfs, ecryptfs
    0xEF53, 0x9123683E, 0x58465342, 0xCA451A4E, 0x2FC12FC1, 0xF2F52010,  # ext4, btrfs, xfs, bcachefs, zfs, f2fs
    0x73717368, 0xE0F5E1E2, 0x24051905, 0x72B6, 0x28CD3D45,  # squashfs, erofs, ubifs, jffs2, cramfs
    0x65735546, 0x6969, 0x01021997, 0x00C36400, 0xFF534D42, 0xFE534D42, 0x517B, 0x5346414F, 0x6B414653, 0x73757245,
    0x786F4256, 0xBACBACBC, 0x0BD00BD0, 0x01161970, 0x7461636F, 0x47504653, 0x19830326, 0x20030528,
    # fuse, nfs, 9p, ceph, cifs, smb2, smb, afs (2), coda, vboxsf, vmhgfs, lustre, gfs2, ocfs2, gpfs, beegfs, orangefs
))  # fmt: skip
"""Types of file systems, with or without a device, that store files (linux/magic.h, and those of their sources). One
with a disk needs not be here."""

_STATFS_SIZE = 256
"""More than struct statfs has."""

_TYPE_SIZE = 8
"""Bytes of statfs.f_type, which it begins with: a long."""

_LARGEST_TEXT = 16 << 20
_SEPARATOR = 6
"""Words of a line of mountinfo before the optional ones (proc_pid_mountinfo(5))."""


class MountPoint(NamedTuple):
    """A line of mountinfo: where in this namespace, the device as major:minor, and the type of the file system."""

    point: str
    device: str
    kind: str


def mounts(process: str = "self") -> dict[str, MountPoint]:
    """What is mounted where a process is, by the mount's number. Raises OSError."""
    found = {}
    for line in _text(f"/proc/{process}/mountinfo").split("\n"):
        words = line.split(" ")
        if "-" in words[_SEPARATOR:-1]:
            found[words[0]] = MountPoint(words[4], words[2], words[words.index("-", _SEPARATOR) + 1])
    return found


def is_local(mount: MountPoint) -> bool:
    """Whether no program and no other machine serves what is mounted."""
    return mount.kind in _LOCAL or (mount.kind == "autofs" and mount.point.startswith("/proc/"))


def mount_of(place: int) -> str:
    """The number of the mount that a descriptor of this process is in. Raises OSError."""
    words = _text(f"/proc/self/fdinfo/{place}").split()
    return words[words.index("mnt_id:") + 1]


def is_stored(place: int) -> bool:
    """Whether a descriptor's file (O_PATH as well) has been written by somebody. Of one that is served this may take
    the server's answer. Raises OSError."""
    if os.major(os.fstat(place).st_dev):
        # Pseudo file systems have no device: the numbers of theirs have a major of 0.
        return True
    found = _type(place)
    return found is None or found in _STORING


def unstored(path: str) -> OSError:
    """The error for a file that is not."""
    return OSError(errno.ENXIO, "it is on a file system that makes files when they are read", path)


def _type(place: int) -> int | None:
    """None where who serves it does not say: a pseudo file system does not fail (simple_statfs, fs/libfs.c)."""
    libc, data = ctypes.CDLL(None, use_errno=True), ctypes.create_string_buffer(_STATFS_SIZE)
    if libc.fstatfs(place, data):
        return None
    return int.from_bytes(data.raw[:_TYPE_SIZE], "little") & 0xFFFFFFFF


def _text(path: str) -> str:
    """A file of sonde's own /proc, or of mounts. Raises OSError."""
    with open(path, "rb") as file:
        return file.read(_LARGEST_TEXT).decode(errors="surrogateescape")
