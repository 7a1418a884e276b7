"""Files that others have written, opened and read with bounds that do not come from them.

Whoever may write to a directory can put a FIFO, a device or another file there at any moment. So a path is looked up
once, as a place alone (O_PATH), which does nothing to what is there; the kind and size of exactly this file are looked
at, and then it is opened, through /proc/self/fd. Nothing here waits for a file, has the effects that opening a device
may have, or reads more than the caller has asked for. A file of a pseudo file system, which is made when it is read
(served.py), is opened only where the caller has named it itself, as `pseudo` says. What belongs to another process, or
is on a file system that a program or a machine serves, is looked at by another process, for a time (others.py): of such
a file the descriptor is one of a copy.

What is refused is an OSError as any other: ELOOP, EISDIR, ENODEV and ENXIO for what is no regular file or is not
stored, EFBIG for what is too large.
"""

from __future__ import annotations

import errno
import os
import select
import stat

from sonde import others, served
from sonde.typed import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from typing import AnyStr

KERNEL_TEXT = 16 << 20
"""Bytes of a text of /proc or /sys that are read: the lines of 65,530 mappings, the most that a process has by default
(vm.max_map_count), have 6 to 8 MiB."""

_CHUNK = 1 << 20
_GZIP = 31
"""zlib's number for gzip's format and the largest window."""

_ANY_WRITER = 2.0
"""Seconds in which somebody must begin to write to a FIFO that is to be read."""

_REFUSED = (
    (stat.S_ISLNK, errno.ELOOP, "it is a symbolic link"),
    (stat.S_ISDIR, errno.EISDIR, "it is a directory"),
    (stat.S_ISFIFO, errno.ENXIO, "it is a FIFO"),
    (stat.S_ISSOCK, errno.ENXIO, "it is a socket"),
)


def open_regular(path: str, largest: int | None = None, flags: int = 0, pseudo: bool = False) -> int:
    """The descriptor of the regular file at a path, to be read; of `largest` bytes at most, if that is given.

    `flags` are more of open(2)'s, as O_NOFOLLOW. `pseudo`: it may be one of a pseudo file system, as what the path is
    comes from no other process and no file. Raises OSError.
    """
    if others.may_wait(path):
        place, is_copy = others.place(path, largest, flags)
        if is_copy:
            return place
    else:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC | flags & os.O_NOFOLLOW)
    return _regular(place, path, largest, flags, pseudo)


def open_held(descriptor: int, path: str) -> int:
    """To read the regular file that a descriptor (O_PATH) has, which has been found at a path; a copy where another
    process serves it. Raises OSError."""
    if not others.may_wait(path):
        return _regular(os.dup(descriptor), path)
    place, is_copy = others.place(path, held=descriptor)
    return place if is_copy else _regular(place, path)


def _regular(place: int, path: str, largest: int | None = None, flags: int = 0, pseudo: bool = False) -> int:
    """The same place, which this closes, to be read."""
    try:
        found = os.fstat(place)
        if not stat.S_ISREG(found.st_mode):
            raise _refusal(found.st_mode, path)
        if not pseudo and not os.major(found.st_dev):
            _refuse_pseudo(place, path)
        if largest is not None and found.st_size > largest:
            raise too_large(path, largest)
        return _reopened(place, path, flags)
    finally:
        os.close(place)


def open_named(path: str) -> int:
    """The descriptor of a file that the user has named on the command line, to be read: a regular file, or what gives
    bytes one after the other, as `<(command)` and /dev/stdin do. A read waits for these as it does for a terminal, but
    a FIFO that nobody writes to is at its end; one that somebody else has made could have it wait for ever, and is
    refused. Raises OSError."""
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        found = os.fstat(place)
        mode = found.st_mode
        if stat.S_ISFIFO(mode) and found.st_uid not in (os.geteuid(), 0) and not _is_given(place, found):
            raise PermissionError(errno.EPERM, "it is a FIFO that somebody else has made", path)
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)):
            raise _refusal(mode, path)
        descriptor = _reopened(place, path, 0)
    finally:
        os.close(place)
    if stat.S_ISFIFO(mode):
        _wait_for_writer(descriptor)
    if not stat.S_ISREG(mode):
        os.set_blocking(descriptor, True)
    return descriptor


def open_file(path: str, largest: int | None = None, flags: int = 0, pseudo: bool = False) -> BinaryIO:
    """As open_regular, as a file that owns its descriptor."""
    return open(open_regular(path, largest, flags, pseudo), "rb")


def open_named_file(path: str) -> BinaryIO:
    """As open_named, as a file that owns its descriptor."""
    return open(open_named(path), "rb")


def read_regular(path: str, largest: int, flags: int = 0, pseudo: bool = False) -> bytes:
    """The bytes of the regular file at a path. Raises OSError, also where it has grown larger since it was opened."""
    descriptor = open_regular(path, largest, flags, pseudo)
    try:
        return _whole(descriptor, path, largest)
    finally:
        os.close(descriptor)


def read_named(path: str, largest: int) -> bytes:
    """The bytes of a file that the user has named (see open_named). Raises OSError."""
    descriptor = open_named(path)
    try:
        return _whole(descriptor, path, largest)
    finally:
        os.close(descriptor)


def read_kernel(path: str, most: int = KERNEL_TEXT) -> bytes:
    """What a file of /proc, /sys or tracefs has, whose size the kernel does not tell; cut off behind `most` bytes, then
    at the end of a line. Raises OSError."""
    found = kernel_start(path, most + 1)
    return found if len(found) <= most else found[: found.rfind(b"\n", 0, most) + 1]


def kernel_text(path: str, most: int = KERNEL_TEXT) -> str:
    """That as text, with the bytes that are none as surrogates. Raises OSError."""
    return text_of(read_kernel(path, most))


def kernel_lines(path: str, most: int = KERNEL_TEXT) -> list[str]:
    """Its lines. Raises OSError."""
    return lines(kernel_text(path, most))


def read_start(path: str, most: int) -> bytes:
    """As much of a file as there is, up to `most` bytes. Raises OSError."""
    return _start(path, most, pseudo=False)


def kernel_start(path: str, most: int) -> bytes:
    """The same of a file that may be one of a pseudo file system. Raises OSError."""
    return _start(path, most, pseudo=True)


def _start(path: str, most: int, pseudo: bool) -> bytes:
    if others.may_wait(path):
        return others.data(path, most, pseudo)
    descriptor = open_regular(path, pseudo=pseudo)
    try:
        return read_at_most(descriptor, most)
    finally:
        os.close(descriptor)


def unpacked(data: bytes, largest: int) -> bytes:
    """What gzip has compressed. Raises OSError where that is damaged, or larger: a few bytes can become any number."""
    import zlib  # an import that most runs do without

    found = bytearray()
    while data:
        member = zlib.decompressobj(_GZIP)
        try:
            found += member.decompress(data, largest + 1 - len(found))
        except zlib.error as error:
            raise OSError(errno.EBADMSG, f"what is compressed in it is damaged ({error})") from None
        if len(found) > largest:
            raise OSError(errno.EFBIG, f"it becomes larger than {largest >> 20} MiB")
        if not member.eof:
            raise OSError(errno.EBADMSG, "what is compressed in it is cut off")
        # Members follow each other, and perhaps zeros.
        data = member.unused_data.lstrip(b"\0")
    return bytes(found)


def read_at_most(descriptor: int, most: int) -> bytes:
    """What can be read of a descriptor from where it is, as far as there are `most` bytes. Raises OSError."""
    found = bytearray()
    while len(found) < most:
        data = os.read(descriptor, min(most - len(found), _CHUNK))
        if not data:
            break
        found += data
    return bytes(found)


def text_of(data: bytes) -> str:
    """UTF-8, with the bytes that are none as surrogates: encoded alike they are the same bytes again."""
    return data.decode(errors="surrogateescape")


class NoTextError(OSError):
    """A file that is to have text has bytes that no text has."""

    def __init__(self) -> None:
        super().__init__(errno.ENOEXEC, "it is no text")


def text_in(content: bytes) -> str:
    """What a file has, as text. Raises NoTextError."""
    if b"\0" in content:
        raise NoTextError
    return text_of(content)


def lines(text: AnyStr) -> list[AnyStr]:
    """The lines, which end at "\\n" alone. `splitlines` finds ends of lines within names: at "\\r", "\\v", "\\x1c",
    U+0085, U+2028 ..."""
    found = text.split("\n") if isinstance(text, str) else text.split(b"\n")
    if not found[-1]:
        del found[-1]
    return found


def too_large(path: str, largest: int) -> OSError:
    """The error for a file of more bytes than are read."""
    shown = f"{largest >> 20} MiB" if largest >> 20 else f"{largest >> 10} KiB"
    return OSError(errno.EFBIG, f"it is larger than {shown}", path)


def _whole(descriptor: int, path: str, largest: int) -> bytes:
    found = read_at_most(descriptor, largest + 1)
    if len(found) > largest:
        raise too_large(path, largest)
    return found


def _refuse_pseudo(place: int, path: str) -> None:
    """Refuse a file that is made when it is read. Raises OSError."""
    if not served.is_stored(place):
        raise served.unstored(path)


def _is_given(place: int, found: os.stat_result) -> bool:
    """Whether a pipe has no name, as <(command) and those between commands (proc_pid_fd(5)), or is the standard input:
    whoever has started sonde has opened it."""
    try:
        is_input = os.path.samestat(found, os.fstat(0))
        return is_input or os.readlink(f"/proc/self/fd/{place}").startswith("pipe:[")
    except OSError:
        return False  # there is no standard input, or no /proc


def _refusal(mode: int, path: str) -> OSError:
    for test, number, text in _REFUSED:
        if test(mode):
            return OSError(number, text, path)
    return OSError(errno.ENODEV, "it is a device", path)


def _reopened(place: int, path: str, flags: int) -> int:
    """A descriptor to read the file that `place` is of: that very one, whatever is at the path by now."""
    mode = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | flags
    try:
        try:
            return os.open(f"/proc/self/fd/{place}", mode & ~os.O_NOFOLLOW)
        except (FileNotFoundError, NotADirectoryError):
            # There is no /proc.
            return _same(os.open(path, mode), place, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None


def _same(descriptor: int, place: int, path: str) -> int:
    found, wanted = os.fstat(descriptor), os.fstat(place)
    if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.ESTALE, "it was replaced while it was opened", path)


def _wait_for_writer(descriptor: int) -> None:
    """Give who is about to write to a FIFO the time to open it: until then it looks as if it were at its end."""
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    waiting.poll(_ANY_WRITER * 1000)
