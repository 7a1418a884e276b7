"""Which file systems a program or another machine serves: looking at a file there may take its answer.

What is mounted tells (proc_pid_mountinfo(5)), without asking anybody.
"""

from __future__ import annotations

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


def _text(path: str) -> str:
    """A file of sonde's own /proc, or of mounts. Raises OSError."""
    with open(path, "rb") as file:
        return file.read(_LARGEST_TEXT).decode(errors="surrogateescape")
