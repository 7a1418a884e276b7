"""Reading and writing user memory, which is the current task's (mm/maccess.c, lib/strncpy_from_user.c)."""

from __future__ import annotations

from collections.abc import Callable
from errno import EFAULT, EINVAL

from sonde.arch import pages
from sonde.runtime.environment import Environment, Task

_PAGE = pages.PAGE

_SIZE = 0xFFFF_FFFF
"""Sizes are u32 parameters."""


def make(environment: Environment) -> dict[str, Callable[..., int]]:
    read = _make_read(environment)
    return {
        "probe_read_user": read,
        "probe_read_user_str": _make_read_string(environment),
        "probe_write_user": _make_write(environment),
        "copy_from_user": read,
        "copy_from_user_task": _make_read_task(environment, read),
    }


def _make_read(environment: Environment) -> Callable[[int, int, int], int]:
    write, user_end = environment.memory.write, environment.addresses.user_end

    def probe_read_user(destination: int, size: int, source: int) -> int:
        size &= _SIZE
        data = _read(environment.task, source, size, user_end)
        if data is None:
            write(destination, bytes(size))
            return -EFAULT
        write(destination, data)
        return 0

    return probe_read_user


def _make_read_string(environment: Environment) -> Callable[[int, int, int], int]:
    write, user_end = environment.memory.write, environment.addresses.user_end

    def probe_read_user_str(destination: int, size: int, source: int) -> int:
        size &= _SIZE
        if not size:
            return 0
        # Most strings end in the page that they begin in, and so does the word in which they end.
        first = min(size, _PAGE - source % _PAGE)
        data = _read(environment.task, source, first, user_end)
        if data is not None and (end := data.find(0)) >= 0 and (padded := end + 8 & -8) <= first:
            write(destination, data[:end].ljust(padded, b"\0"))
            return end + 1
        found = user_string(environment.task, source, size, user_end)
        if found is None:
            write(destination, bytes(size))
            return -EFAULT
        data, length = found
        write(destination, data)
        return length

    return probe_read_user_str


def _make_write(environment: Environment) -> Callable[[int, int, int], int]:
    read, user_end = environment.memory.read, environment.addresses.user_end

    def probe_write_user(destination: int, source: int, size: int) -> int:
        size &= _SIZE
        data = read(source, size)
        if destination + size > user_end:
            return -EFAULT
        try:
            environment.task.write_memory(destination, data)
        except OSError:
            return -EFAULT
        return 0

    return probe_write_user


def _make_read_task(
    environment: Environment, read: Callable[[int, int, int], int]
) -> Callable[[int, int, int, int, int], int]:
    write = environment.memory.write

    def copy_from_user_task(destination: int, size: int, source: int, task: int, flags: int) -> int:
        if flags:
            return -EINVAL
        if task != environment.task.address:
            write(destination, bytes(size & _SIZE))
            return -EFAULT
        return read(destination, size, source)

    return copy_from_user_task


def _read(task: Task, address: int, size: int, user_end: int) -> bytes | None:
    if address + size > user_end:
        return None
    if not size:
        return b""
    try:
        return task.read_memory(address, size)
    except OSError:
        return None


def user_string(task: Task, address: int, size: int, user_end: int) -> tuple[bytes, int] | None:
    """What is written to a destination of `size` bytes for the string at `address`, and its length with the NUL; None
    if it cannot be read to its end.

    As in strncpy_from_user (lib/strncpy_from_user.c), which copies words of 8 bytes as long as they fit and the process
    has them whole, zeros fill the word in which the string ends.
    """
    data = b""
    while len(data) < size:
        # Within one page all can be read, or nothing.
        at = address + len(data)
        more = _read(task, at, min(size - len(data), _PAGE - at % _PAGE), user_end)
        if more is None:
            return None
        end = more.find(0)
        if end >= 0:
            length = len(data) + end + 1
            return (data + more)[:length] + bytes(_zeros_behind(task, address, size, length, user_end)), length
        data += more
    return data[:-1] + b"\0", size


def _zeros_behind(task: Task, address: int, size: int, length: int, user_end: int) -> int:
    """How many zeros complete the word that a string of `length` ends in."""
    missing = -length % 8
    if not missing or length + missing > size:
        return 0
    # A word that goes over into a page which is not there is read byte by byte.
    page = address + length + missing - 1 & -_PAGE
    if page >= address + length and _read(task, page, 1, user_end) is None:
        return 0
    return missing
