"""Files that grow while a session runs: recordings of firings, and records as they are."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from sonde.formats.raw_file import RawFile
from sonde.library.errors import Error
from sonde.library.outputs import opened
from sonde.typed import Any, BinaryIO

_CHUNK = 1 << 16


class _NamedFile(io.RawIOBase):
    """A descriptor to write to, whose first error has the name of the file; what comes behind that is not written."""

    def __init__(self, descriptor: int, path: str) -> None:
        self._descriptor, self._path = descriptor, path
        self._has_failed = False

    def fileno(self) -> int:
        return self._descriptor

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        with memoryview(data) as view:
            if self._has_failed:
                return len(view)
            try:
                return os.write(self._descriptor, view)
            except OSError as error:
                self._has_failed = True
                raise OSError(error.errno, error.strerror, self._path) from None


@contextmanager
def kept_file(path: str, what: str) -> Iterator[BinaryIO]:
    """A file for what is recorded while a session runs. Raises Error, and when it is written OSError with its name."""
    with opened(path, what, os.O_TRUNC) as descriptor:
        file = io.BufferedWriter(_NamedFile(descriptor, path), _CHUNK)
        try:
            yield file
        finally:
            try:
                file.close()
            except OSError as error:
                raise Error(f"failed to write {what}'{path}': {error.strerror}") from None


@contextmanager
def read_again(file: BinaryIO) -> Iterator[Callable[[int, int], bytes] | None]:
    """What reads so many bytes of a file from a place on while it is written, None for what is no regular file: that
    very one, whatever has its name by now."""
    descriptor = None
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        with suppress(OSError):
            descriptor = os.open(f"/proc/self/fd/{file.fileno()}", os.O_RDONLY | os.O_CLOEXEC)
    if descriptor is None:
        yield None
        return
    try:
        yield lambda size, place: os.pread(descriptor, size, place)
    finally:
        os.close(descriptor)


@contextmanager
def raw_file(path: str) -> Iterator[RawFile]:
    """The file for records as they are. Raises Error."""
    with kept_file(path, "raw file ") as file:
        yield RawFile(file)
