"""What the system lacks or refuses that sonde needs wherever it traces, behind an error of a system call."""

from __future__ import annotations

import errno
import os
import select
from collections.abc import Callable

from sonde.typed import NamedTuple


class SystemObstacle(NamedTuple):
    """What is wrong, and what helps."""

    text: str
    remedy: str


_REFUSED = (errno.EPERM, errno.EACCES, errno.ENOSYS)
_FILTER = (
    "a seccomp filter, as containers and sandboxes have, refuses it; with Docker: --security-opt seccomp=unconfined"
)
_MOUNTED = (("/proc", "/proc/self", "mount -t proc proc /proc"), ("/sys", "/sys/devices", "mount -t sysfs sysfs /sys"))
"""File systems of the kernel: where each is, what it always has, and how it comes there."""


def obstacle(error: OSError) -> SystemObstacle | None:
    """The one that has led to this error, None if it is of another kind."""
    if error.errno == errno.EMFILE:
        return SystemObstacle(f"{error.strerror}", "raise the limit of open files: `ulimit -n`")
    if error.errno == errno.ENOMEM:
        return no_memory()
    if error.errno in (errno.ENOENT, errno.ENOTDIR) and error.filename:
        return _not_mounted(os.fsdecode(error.filename))
    if error.errno in _REFUSED and not error.filename:
        name = next((name for name, call in _CALLS.items() if _is_refused(call)), "")
        return SystemObstacle(f"{name}(2) is refused: {error.strerror}", _FILTER) if name else None
    return None


def no_memory() -> SystemObstacle:
    """Memory cannot be had."""
    return SystemObstacle(
        "there is not enough memory", "a limit may be too low: `ulimit -v`, or memory.max of a container"
    )


def _not_mounted(path: str) -> SystemObstacle | None:
    for root, sure, command in _MOUNTED:
        if path.startswith(f"{root}/") and not os.path.exists(sure):
            return SystemObstacle(f"{root} is not mounted, of which sonde reads {path}", f"as root: {command}")
    return None


def _is_refused(call: Callable[[], None]) -> bool:
    try:
        call()
    except OSError as error:
        return error.errno in _REFUSED
    return False


def _epoll_create() -> None:
    select.epoll().close()


def _epoll_wait() -> None:
    with select.epoll() as waiting:
        waiting.poll(0)


def _select() -> None:
    select.select([], [], [], 0)


def _poll() -> None:
    select.poll().poll(0)


def _eventfd() -> None:
    os.close(os.eventfd(0, os.EFD_CLOEXEC))


def _pipe() -> None:
    for descriptor in os.pipe2(os.O_CLOEXEC):
        os.close(descriptor)


def _memory_file() -> None:
    os.close(os.memfd_create("tried", os.MFD_CLOEXEC))


def _fork() -> None:
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)


_CALLS = {
    "epoll_create1": _epoll_create, "epoll_wait": _epoll_wait, "select": _select, "poll": _poll, "eventfd2": _eventfd,
    "pipe2": _pipe, "memfd_create": _memory_file, "clone": _fork,
}  # fmt: skip
"""System calls that take no privilege, so that only a filter refuses them; each is made where nothing comes of it."""
