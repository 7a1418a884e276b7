"""Files that sonde writes, opened, made, renamed and removed here alone.

What is made of traced data is for its owner alone. A file that is there is written to only if it cannot be one that
somebody else has put there, or has given another name there, in a directory that he may write to: as
fs.protected_regular and fs.protected_fifos (Documentation/admin-guide/sysctl/fs.rst), which know sticky directories
alone and which a kernel may have switched off, and fs.protected_hardlinks, likewise. How its directory is found is in
`directory_walk.py`.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sonde.directory_walk import Place, is_exposed, make_folder, place_of
from sonde.directory_walk import folder_at as folder_at
from sonde.directory_walk import is_trusted as is_trusted
from sonde.model.options import STANDARD_OUTPUT
from sonde.typed import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from typing import Self

MODE = 0o600

_OTHERS = stat.S_IRWXG | stat.S_IRWXO

_ATTEMPTS = 100
"""So often somebody may make or remove the file between two looks at it."""


def create(path: str | bytes, flags: int = 0, access: int = os.O_WRONLY, mode: int = MODE) -> int:
    """A descriptor for writing to a file, which is made if there is none. `flags` are O_APPEND, O_TRUNC, O_EXCL or 0.

    A file that is made has this mode, or 0600 where O_TRUNC empties it; one that is appended to keeps the mode that it
    has. Raises OSError, with EPERM for a symbolic link or a FIFO that somebody else has made, and where others may put
    files into the directory and this one, or one of its names, may be theirs.
    """
    with place_of(path) as place:
        return open_at(place, flags, access, mode)


def create_named(path: str, flags: int = 0) -> int:
    """As create, for what the user has named: `-` is a descriptor of the standard output, as it is."""
    return os.dup(1) if path == STANDARD_OUTPUT else create(path, flags)


def open_at(place: Place, flags: int = 0, access: int = os.O_WRONLY, mode: int = MODE) -> int:
    """As create, in a directory that is held."""
    for _ in range(_ATTEMPTS):
        try:
            at = os.open(place.name, os.O_PATH | os.O_CLOEXEC | place.follow, dir_fd=place.directory)
        except FileNotFoundError:
            more = os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOCTTY
            try:
                return os.open(place.name, access | more | (flags & ~os.O_TRUNC), mode, dir_fd=place.directory)
            except FileExistsError:
                continue
        try:
            if flags & os.O_EXCL:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), place.name)
            return _opened(at, place, flags, access, mode)
        finally:
            os.close(at)
    raise OSError(errno.EAGAIN, "somebody makes and removes it all the time", place.name)


def _opened(at: int, place: Place, flags: int, access: int, mode: int) -> int:
    """Exactly the file of the descriptor, if it may be written to."""
    _require_own(os.fstat(at), place)
    more = access | (flags & os.O_APPEND) | os.O_CLOEXEC | os.O_NOCTTY
    try:
        descriptor = os.open(f"/proc/self/fd/{at}", more)
    except OSError as error:
        raise OSError(error.errno, error.strerror, place.name) from None
    if flags & os.O_TRUNC:
        try:
            empty(descriptor, mode)
        except BaseException:
            os.close(descriptor)
            raise
    return descriptor


def _require_own(found: os.stat_result, place: Place) -> None:
    """Raises OSError for what may be somebody else's. Whoever names a directory of somebody else may mean that one's
    files."""
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), place.name)
    if stat.S_ISLNK(found.st_mode):
        raise PermissionError(errno.EPERM, "somebody else has put a symbolic link there", place.name)
    if stat.S_ISFIFO(found.st_mode) and place.follow and found.st_uid not in (os.geteuid(), 0):
        # Opening it would wait for a reader, for as long as he likes.
        raise PermissionError(errno.EPERM, "it is a FIFO that somebody else has made", place.name)
    directory = os.fstat(place.directory)
    is_file = stat.S_ISREG(found.st_mode) or stat.S_ISFIFO(found.st_mode)
    if not is_file or not place.follow or not is_exposed(directory):
        return
    if found.st_uid not in (os.geteuid(), directory.st_uid):
        text = "somebody else has made it, in a directory that others may write to"
        raise PermissionError(errno.EPERM, text, place.name)
    if found.st_nlink > 1 and found.st_uid in (os.geteuid(), 0):
        text = "it is a file with another name, too, in a directory that others may write to"
        raise PermissionError(errno.EPERM, text, place.name)


def empty(descriptor: int, mode: int = MODE) -> None:
    """Begin a file anew, as one that has just been made; a pipe or a device is left as it is. Raises OSError."""
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        return
    if mode == MODE and found.st_uid == os.geteuid() and found.st_mode & _OTHERS:
        os.fchmod(descriptor, MODE)
    os.ftruncate(descriptor, 0)


def rename_at(place: Place, name: str) -> None:
    """Give it another name in its directory, in the place of what has that name. Raises OSError."""
    os.rename(place.name, name, src_dir_fd=place.directory, dst_dir_fd=place.directory)


def exists_at(place: Place) -> bool:
    """Whether there is anything of that name."""
    try:
        os.stat(place.name, dir_fd=place.directory, follow_symlinks=False)
    except OSError:
        return False
    return True


def remove_at(place: Place, descriptor: int) -> None:
    """Remove the name, if it is that of the open file still. Raises OSError."""
    with suppress(FileNotFoundError):
        there, opened = os.stat(place.name, dir_fd=place.directory, follow_symlinks=False), os.fstat(descriptor)
        if (there.st_dev, there.st_ino) == (opened.st_dev, opened.st_ino):
            os.unlink(place.name, dir_fd=place.directory)


def remove_pin(path: str) -> None:
    """Remove a name of the kernel's file system for BPF, which holds what it stands for; somebody else may have done
    so. Raises OSError."""
    with suppress(FileNotFoundError), place_of(path) as place:
        os.unlink(place.name, dir_fd=place.directory)


def replace(path: str, data: bytes, mode: int | None = MODE) -> None:
    """Put a file there, whole or not at all, in the place of what there is; None stands for the mode of that. Raises
    OSError."""
    with place_of(path) as place:
        if mode is None:
            mode = os.stat(place.name, dir_fd=place.directory, follow_symlinks=False).st_mode & 0o777
            _replace_at(place, data, mode, is_exact=True)
        else:
            _replace_at(place, data, mode)


def _replace_at(place: Place, data: bytes, mode: int, is_exact: bool = False) -> None:
    other = Place(place.directory, f"{place.name}.{os.getpid()}")
    descriptor = open_at(other, os.O_EXCL, mode=mode)
    try:
        try:
            if is_exact:
                os.fchmod(descriptor, mode)
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
        finally:
            os.close(descriptor)
        rename_at(other, place.name)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(other.name, dir_fd=other.directory)
        raise


class Folder:
    """A directory of sonde's own files, held by its descriptor: nobody else can put files there, or others in their
    place."""

    def __init__(self, path: str, is_private: bool = False, makes: bool = True) -> None:
        """`is_private` and `makes` as `place_of` has them. Raises OSError, with EPERM for a directory of somebody else,
        or one that others may write to."""
        self._descriptor = folder_at(path, is_private, makes)
        if not is_trusted(os.fstat(self._descriptor)):
            os.close(self._descriptor)
            raise PermissionError(errno.EPERM, "somebody else has made it, or may write to it", path)

    def names(self) -> list[str]:
        return os.listdir(self._descriptor)

    def status(self, name: str) -> os.stat_result:
        """Raises OSError."""
        return os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)

    def create(self, name: str) -> int:
        """A descriptor for writing to a file that was not there. Raises OSError."""
        return open_at(Place(self._descriptor, name), os.O_EXCL)

    def replace(self, name: str, data: bytes) -> None:
        """Put a file there, whole or not at all. Raises OSError."""
        _replace_at(Place(self._descriptor, name), data, MODE)

    def rename(self, name: str, other: str) -> None:
        """Raises OSError."""
        rename_at(Place(self._descriptor, name), other)

    def remove(self, name: str) -> None:
        """Somebody else may have done so. Raises OSError."""
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._descriptor)

    def open(self, name: str) -> BinaryIO:
        """A regular file of this user, to be read. Raises OSError."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(name, flags, dir_fd=self._descriptor)
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or not is_trusted(found):
            os.close(descriptor)
            raise PermissionError(errno.EPERM, "it is not of this user alone", name)
        return open(descriptor, "rb")

    def close(self) -> None:
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def make_directory(path: str) -> None:
    """For this user alone. Raises OSError."""
    with place_of(path) as place:
        make_folder(place)


@contextmanager
def temporary_directory(prefix: str) -> Iterator[str]:
    """The path of a directory for this user alone, which is removed at the end. Raises OSError."""
    import shutil  # imports that most commands do without
    import tempfile  # as above

    path = tempfile.mkdtemp(prefix=prefix)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def unnamed_file() -> int:
    """The descriptor of a file on the disk without a name. Raises OSError."""
    import tempfile  # most commands make no temporary files

    with tempfile.TemporaryFile(prefix="sonde-") as file:
        return os.dup(file.fileno())
