"""A path to a file that is written, followed from directory to directory by descriptors.

Whoever may write to a directory on the way can put a symbolic link there at any moment, and what is written to, renamed
or removed below it is then of his choice. fs.protected_symlinks (Documentation/admin-guide/sysctl/fs.rst) helps in
sticky directories that everybody may write to, and nowhere else. So every component is opened as a place alone
(O_PATH, O_NOFOLLOW), links are read and followed here, and only those of this user and of root.
"""

from __future__ import annotations

import errno
import os
import stat

from sonde.visible import visible

_PLACE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC

_MOST_LINKS = 40
"""As many as the kernel follows in one path (MAXSYMLINKS, include/linux/namei.h)."""

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_FOLDER_MODE = 0o700

_OF_PROC = "/proc/self/fd"
"""In the file system whose links the kernel itself makes: they lead to files, also such as have no name."""


class Place:
    """A name in a directory that is held by its descriptor. What the name stands for was no symbolic link when it was
    looked at, and must be none when it is used: `follow` is O_NOFOLLOW, or 0 for a link of /proc."""

    def __init__(self, directory: int, name: str, follow: int = os.O_NOFOLLOW) -> None:
        self.directory = directory
        self.name = name
        self.follow = follow

    def close(self) -> None:
        os.close(self.directory)

    def __enter__(self) -> Place:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def place_of(path: str | bytes, is_private: bool = False, makes: bool = False) -> Place:
    """The place of a file, which need not be there. With `is_private` nobody but this user and root can replace a
    directory on the way. With `makes` those that are missing are made, for this user alone.

    Raises OSError: EPERM for a link of somebody else and, with `is_private`, for a directory of his.
    """
    walk = _Walk(os.fsdecode(path), is_private, makes)
    try:
        return walk.place()
    except BaseException:
        os.close(walk.directory)
        raise


def folder_at(path: str | bytes, is_private: bool = False, makes: bool = True) -> int:
    """The descriptor of a directory, to be read; with `makes` it is made if there is none. Raises as place_of."""
    with place_of(path, is_private, makes) as place:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | place.follow
        try:
            return os.open(place.name, flags, dir_fd=place.directory)
        except FileNotFoundError:
            if not makes:
                raise
        make_folder(place)
        return os.open(place.name, flags, dir_fd=place.directory)


def make_folder(place: Place) -> None:
    """Make a directory for this user alone. Raises OSError."""
    os.mkdir(place.name, _FOLDER_MODE, dir_fd=place.directory)


def is_exposed(directory: os.stat_result) -> bool:
    """Whether somebody else may put files into a directory."""
    return not is_trusted(directory)


def is_trusted(found: os.stat_result) -> bool:
    """Whether a file or directory that nobody has named may be believed: it is this user's or root's, and nobody else
    may write to it but, where its mode says so, members of this user's own group or root's."""
    is_of_group = found.st_gid in (os.getegid(), 0)
    others = stat.S_IWOTH if is_of_group else _OTHERS_WRITE
    return found.st_uid in (os.geteuid(), 0) and not found.st_mode & others


class _Walk:
    """`directory` is the descriptor of where it has come to."""

    def __init__(self, path: str, is_private: bool, makes: bool) -> None:
        if not path:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        self._is_private, self._makes = is_private, makes
        self._rest = _components(path)
        self._is_folder = path.endswith("/")
        self._links = 0
        self.directory = os.open("/" if path.startswith("/") else ".", _DIRECTORY)

    def place(self) -> Place:
        """Go on to the last component."""
        while True:
            if self._is_private:
                self._require_private()
            if not self._rest:
                return Place(self.directory, os.curdir)
            found = self._passed(self._rest.pop())
            if found is not None:
                return found

    def _passed(self, name: str) -> Place | None:
        """Go behind a component, or give its place if it is the last."""
        found = self._looked_at(name)
        if found is not None and stat.S_ISLNK(found.st_mode):
            if not _is_of_proc(found):
                self._follow(name)
                return None
            follow = 0
        else:
            follow = os.O_NOFOLLOW
        if not self._rest and not self._is_folder:
            return Place(self.directory, name, follow)
        if found is None and self._makes:
            make_folder(Place(self.directory, name))
        self._enter(os.open(name, _DIRECTORY | follow, dir_fd=self.directory))
        return None

    def _looked_at(self, name: str) -> os.stat_result | None:
        try:
            return os.stat(name, dir_fd=self.directory, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def _enter(self, directory: int) -> None:
        former, self.directory = self.directory, directory
        os.close(former)

    def _follow(self, name: str) -> None:
        """Go on with what a link says. It is read by its descriptor: the name may be another one's by now."""
        self._links += 1
        if self._links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        link = os.open(name, _PLACE, dir_fd=self.directory)
        try:
            found = os.fstat(link)
            # What has several names may have been brought here by one of them.
            is_brought = found.st_nlink > 1 and is_exposed(os.fstat(self.directory))
            if found.st_uid not in (os.geteuid(), 0) or is_brought:
                text = f"it is, or is reached by, a symbolic link that somebody else has made: {visible(name)}"
                raise PermissionError(errno.EPERM, text)
            target = os.readlink("", dir_fd=link)
        finally:
            os.close(link)
        self._rest += _components(target)
        if target.startswith("/"):
            self._enter(os.open("/", _DIRECTORY))

    def _require_private(self) -> None:
        found = os.fstat(self.directory)
        is_sticky = found.st_mode & stat.S_ISVTX and found.st_uid in (os.geteuid(), 0)
        if not is_sticky and not is_trusted(found):
            raise PermissionError(errno.EPERM, "somebody else may replace a directory on the way to it")


def _components(path: str) -> list[str]:
    """The last one first."""
    return [each for each in reversed(path.split("/")) if each not in ("", os.curdir)]


def _is_of_proc(link: os.stat_result) -> bool:
    try:
        return link.st_dev == os.stat(_OF_PROC).st_dev
    except OSError:
        return False
