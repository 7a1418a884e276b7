"""Files of sonde's own: what is made of traced data is for its owner alone, and a file that nobody has named is read
only if it is of somebody who may decide over this process.

The rules for directories that everybody may write to are those of fs.protected_symlinks and fs.protected_regular
(Documentation/admin-guide/sysctl/fs.rst), which a kernel may have switched off.
"""

from __future__ import annotations

import errno
import os
import stat

from sonde.model.options import STANDARD_OUTPUT

MODE = 0o600

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def create(path: str | bytes, flags: int = 0, access: int = os.O_WRONLY) -> int:
    """A descriptor for writing to a file, which is made if there is none. `flags` are O_APPEND, O_TRUNC or 0.

    A file that is made, or emptied by O_TRUNC, has mode 0600; one that is appended to keeps the mode that it has.
    Raises OSError, with EPERM in a directory that others may write to where the file, or a symbolic link in its place,
    is one of theirs.
    """
    directory = os.stat(os.path.dirname(path) or os.curdir)
    trusted = (os.geteuid(), directory.st_uid) if directory.st_mode & _OTHERS_WRITE else None
    follow = 0 if trusted is None or _is_link_of(path, trusted) else os.O_NOFOLLOW
    try:
        # What O_TRUNC would empty is looked at before.
        more = os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY | follow
        descriptor = os.open(path, access | more | (flags & ~os.O_TRUNC), MODE)
    except OSError as error:
        if error.errno == errno.ELOOP and follow:
            raise PermissionError(errno.EPERM, "it is a symbolic link that somebody else has made") from None
        raise
    try:
        found = os.fstat(descriptor)
        if stat.S_ISREG(found.st_mode) and trusted is not None and found.st_uid not in trusted:
            raise PermissionError(errno.EPERM, "somebody else has made it, in a directory that others may write to")
        if flags & os.O_TRUNC:
            empty(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def create_named(path: str, flags: int = 0) -> int:
    """As create, for what the user has named: `-` is a descriptor of the standard output, as it is."""
    return os.dup(1) if path == STANDARD_OUTPUT else create(path, flags)


def empty(descriptor: int) -> None:
    """Begin a file anew, as one that has just been made; a pipe or a device is left as it is. Raises OSError."""
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        return
    if found.st_uid == os.geteuid() and found.st_mode & _OTHERS:
        os.fchmod(descriptor, MODE)
    os.ftruncate(descriptor, 0)


def _is_link_of(path: str | bytes, trusted: tuple[int, int]) -> bool:
    """Whether it is a symbolic link of one of these users, which nobody else can replace in a sticky directory."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISLNK(found.st_mode) and found.st_uid in trusted


def is_trusted(found: os.stat_result) -> bool:
    """Whether a file that nobody has named may be believed: it is this user's or root's, and nobody else may write to
    it but, where its mode says so, members of this user's own group or root's."""
    is_of_group = found.st_gid in (os.getegid(), 0)
    others = stat.S_IWOTH if is_of_group else _OTHERS_WRITE
    return found.st_uid in (os.geteuid(), 0) and not found.st_mode & others
