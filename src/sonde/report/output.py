"""Where the text goes: collected into large chunks, written when asked, switched by freopen()."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from sonde import written_files
from sonde.typed import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from sonde.report.symbolizer import Symbolizer

_CHUNK = 1 << 18


class Performer(Protocol):
    """Deals with an action by name, whose formatted argument is `argument`; returns why it was not performed."""

    def __call__(self, name: str, argument: bytes, output: Output) -> str | None: ...


class Showing(NamedTuple):
    """What a report of text is given. `output` is the descriptor of the text, unless something is to `take` it in
    blocks; `tell` takes messages, which else are lines of the error output, and `program` is the command's name in
    these. `act` deals with actions that reach outside the report, which are performed without it. `is_recorded`: the
    program comes from a file, as its data do, not from whoever looks."""

    output: int = 1
    symbolizer: Symbolizer | None = None
    program: str = "sonde"
    act: Performer | None = None
    is_recorded: bool = False
    take: Callable[[bytes], None] | None = None
    tell: Callable[[str], None] | None = None


def write_all(descriptor: int, data: bytes) -> None:
    """Raises OSError, BrokenPipeError if nobody reads any more."""
    rest = memoryview(data)
    try:
        while len(rest):
            rest = rest[os.write(descriptor, rest) :]
    except OSError as error:
        if error.errno != errno.EBADF:
            # Of the standard output it is plain what is meant.
            raise error if descriptor == 1 else OSError(error.errno, error.strerror, _path(descriptor)) from None
        what = "the standard output is closed" if descriptor == 1 else "the output is not open for writing"
        raise OSError(error.errno, what) from None


def _path(descriptor: int) -> str:
    """What a descriptor leads to, as /proc names it."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return f"descriptor {descriptor}"


def _nothing(ends_line: bool) -> None:
    return


class Output:
    """Buffers bytes for a file descriptor, or for `take`. `switch` sends what follows to another file, for a while."""

    def __init__(self, descriptor: int, take: Callable[[bytes], None] | None = None) -> None:
        self._take = take
        self._original = descriptor
        self._descriptor = descriptor
        self._parts: list[bytes] = []
        self._size = 0
        self._last = b"\n"
        self.make_room: Callable[[bool], None] = _nothing
        """Takes away what somebody else has written to the terminal for a while; it is told whether the cursor is at
        the start of a line behind what is written now."""
        self.is_terminal = take is None and os.isatty(descriptor)
        """Whether what is written is at present shown to somebody at once."""

    def write(self, text: bytes) -> None:
        self._parts.append(text)
        self._size += len(text)
        self._last = text[-1:] or self._last
        if self._size >= _CHUNK:
            self.flush()

    def write_line(self, line: bytes) -> None:
        """Write a line of its own, whatever stands before it."""
        self.write(b"" if self._last == b"\n" else b"\n")
        self.write(line + b"\n")

    def flush(self) -> None:
        """Write what is waiting. Raises OSError, BrokenPipeError if nobody reads any more."""
        if not self._parts:
            return
        self.make_room(self._last == b"\n" or not self.is_terminal)
        data = b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        if self._take is not None and self._descriptor == self._original:
            self._take(data)
        else:
            write_all(self._descriptor, data)

    @property
    def is_switched(self) -> bool:
        """Whether the text goes to the file of a freopen()."""
        return self._descriptor != self._original

    @property
    def descriptor(self) -> int:
        """Where `flush` writes to at present."""
        return self._descriptor

    def lend(self) -> int:
        """A descriptor for what somebody else is to write there; to be given back by `take_back`."""
        self.flush()
        if self._take is None or self.is_switched:
            return self._descriptor
        return os.memfd_create("output", os.MFD_CLOEXEC)

    def take_back(self, descriptor: int) -> None:
        """What has been written to the descriptor that was lent is in its place."""
        if descriptor == self._descriptor:
            return
        try:
            os.lseek(descriptor, 0, os.SEEK_SET)
            while data := os.read(descriptor, _CHUNK):
                self.write(data)
        finally:
            os.close(descriptor)

    def switch(self, path: bytes) -> None:
        """Append to the file from now on; an empty path means the original output again. Raises OSError."""
        self.flush()

        descriptor = written_files.create(path, os.O_APPEND) if path else self._original
        self.close()
        self._descriptor = descriptor
        self.is_terminal = os.isatty(descriptor)

    def truncate(self) -> None:
        """Empty the file, if it is one that can be emptied."""
        self.flush()
        try:
            os.ftruncate(self._descriptor, 0)
            os.lseek(self._descriptor, 0, os.SEEK_SET)
        except OSError:
            # A terminal or a pipe: nothing to truncate.
            return

    def close(self) -> None:
        """Write what is waiting and close the file of the last `switch`."""
        self.flush()
        if self._descriptor != self._original:
            os.close(self._descriptor)
            self._descriptor = self._original
            self.is_terminal = os.isatty(self._original)
