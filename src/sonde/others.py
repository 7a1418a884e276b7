"""What belongs to others, looked at without waiting for them: memory of processes, what /proc tells of it, and paths.

A page may be one of a FUSE server or of userfaultfd(2), a lock of a process's memory may be held by who waits for such
a page, a file or directory may be on a file system that a program or a machine serves: what does not answer would hold
sonde for ever. So whatever may wait is asked of the reader (`reader.py`), for some time; a reader that has not come
back by then is left behind, and what it was asked about is not asked again. All functions raise OSError as those of
`os` do, ETIMEDOUT then.
"""

from __future__ import annotations

import errno
import gc
import os
import select
import signal
import time
from _thread import allocate_lock
from contextlib import suppress
from stat import S_ISREG

from sonde import children, lazy, reader, served
from sonde.typed import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import _socket
    from collections.abc import Iterator, Sequence


_LONG, _SHORT = 0.5, 0.1
"""Seconds without an answer after which a reader is left behind: of the first few, and of others."""

_FEW = 3
_STARVED = 20.0
"""Seconds that a reader gets which wants to run: on a busy machine it may not have had a CPU."""

_LOOK = 0.05
_MOST_LEFT = 32
"""Readers left behind, each with memory of its own: while there are so many nothing is read that may wait."""

_MOST_SILENT = 1 << 12
_MOST_OF_ONE = 4
"""Reads of one process that have not come back after which nothing of it is read that may wait."""

_LOCKS_AT_A_TIME = 64
"""Locks that a reader is asked to take at once."""

_LOCK = "the lock of its address space"
_LOCK_HELD = 2.0
"""Seconds for which a process may hold it: the fork of one with much memory takes long."""

_MOST_NAMED = 10

_WAITING = frozenset((
    "auxv", "cmdline", "cwd", "environ", "exe", "fd", "map_files", "maps", "mem", "pagemap", "root", "smaps", "stack",
    "syscall",
))  # fmt: skip
"""Of /proc/PID: what is in the process's memory, needs a lock of it, or leads to files of its choice."""

_MOUNTS_AGAIN = 1.0
"""Seconds after which mounts are looked at again."""

_START_TIME = 19
"""The word of /proc/PID/stat, counted behind the name and the state."""


class _Child(NamedTuple):
    """`owner` is the process that has made it: what that forks has the same descriptors, but no reader. `end` is
    readable when it has ended (pidfd_open(2)), -1 where a container's profile refuses that; `socket` identifies the
    connection's."""

    pid: int
    owner: int
    end: int
    socket: tuple[int, int]
    connection: _socket.socket
    readable: select.poll


class _About(NamedTuple):
    """What may be silent: `what` there is of a process, or, if that is 0, a place."""

    process: int
    what: str


class _Silence(NamedTuple):
    """What of a process, which was `started` then, has not answered."""

    started: str
    silent: set[str]


class _TooLateError(Exception):
    """The reader has not answered in time."""


class _Readers:
    """The reader of this process, and those that were left behind."""

    def __init__(self) -> None:
        self.is_reader = False
        self._child: _Child | None = None
        self._left: list[_Child] = []
        self.is_apart = False
        self._places: set[str] = set()
        self._processes: dict[int, _Silence] = {}
        """What has not answered."""
        self._told: set[str] = set()
        self._lock = allocate_lock()
        self._late = 0
        self._has_served, self._mounts_due = False, 0.0
        self._mounts: dict[str, served.MountPoint] = {}

    def ask(self, about: _About, *request: object) -> tuple[Any, int]:
        """What the reader answers. `about` is the process or the place that may be silent. Raises OSError."""
        with self._lock:
            self._refuse_silent(about)
            child = self._ready()
            try:
                answer = self._answer(child, request)
            except _TooLateError:
                self._leave(child, about)
                raise _timeout() from None
            except (OSError, EOFError):
                # It was killed.
                self._end(child)
                raise OSError(errno.EIO, "the process that reads for sonde was killed") from None
        (value, failure), descriptor = answer
        if failure is not None:
            number, text, path = failure
            raise OSError(number, text, *((path,) if path else ()))
        return value, descriptor

    def is_silent(self, about: _About) -> bool:
        """True if an earlier question about it got no answer."""
        try:
            self._refuse_silent(about)
        except OSError:
            return True
        return False

    def answers(self, *request: object) -> bool:
        """True if the reader answers in time, with a value or an error. Raises OSError."""
        with self._lock:
            child = self._ready()
            try:
                self._answer(child, request)
            except _TooLateError:
                self._leave(child, None)
                return False
            except (OSError, EOFError):
                self._end(child)
                raise OSError(errno.EIO, "the process that reads for sonde was killed") from None
        return True

    def has_served_mounts(self) -> bool:
        """Whether anything is mounted that a program or a machine serves."""
        now = time.monotonic()
        if now >= self._mounts_due:
            try:
                self._mounts = served.mounts()
                self._has_served = not all(map(served.is_local, self._mounts.values()))
            except OSError:
                self._mounts, self._has_served = {}, True
            self._mounts_due = now + _MOUNTS_AGAIN
        return self._has_served

    def forget(self) -> None:
        """In a process that was forked: the readers are not its own. Of their descriptors, which it may have closed and
        have others at, those are closed that are theirs."""
        for each in (*((self._child,) if self._child is not None else ()), *self._left):
            number = each.connection.fileno()
            if number >= 0 and _is_file(number, each.socket):
                each.connection.close()
            elif number >= 0:
                each.connection.detach()
        self._child, self._left = None, []

    def is_local(self, place: int) -> bool:
        """Whether a descriptor is of a file that nobody serves."""
        self.has_served_mounts()
        mount = self._mounts.get(served.mount_of(place))
        return mount is not None and served.is_local(mount)

    def silent(self) -> list[str]:
        """The processes and places that have not answered, and are not told yet."""
        found = [*(f"process {pid}" for pid in self._processes), *self._places]
        fresh = [each for each in found if each not in self._told]
        self._told = set(found)
        return fresh

    def note_silent(self, about: _About) -> None:
        """Remember that it did not answer."""
        if not about.process:
            known = self._places
        elif len(self._processes) < _MOST_SILENT:
            started = _start_time(about.process)
            known = self._processes.setdefault(about.process, _Silence(started, set())).silent
        else:
            return
        if len(known) < _MOST_SILENT:
            known.add(about.what)

    def close(self) -> None:
        """End the reader, if there is one: another is made for the next question."""
        with self._lock:
            if self._child is not None:
                self._end(self._child)

    def _refuse_silent(self, about: _About) -> None:
        process = about.process
        if process and (known := self._processes.get(process)) is not None:
            if known.started != _start_time(process):
                # Another process has the number by now.
                del self._processes[process]
            elif about.what in known.silent or len(known.silent) >= _MOST_OF_ONE:
                raise _timeout()
        elif about.what in self._places:
            raise _timeout()

    def _ready(self) -> _Child:
        if self._child is not None and self._child.owner == os.getpid():
            return self._child
        if self._child is not None:
            self.forget()
        if len(self._left) >= _MOST_LEFT:
            self._collect()
        if len(self._left) >= _MOST_LEFT:
            raise OSError(errno.ETIMEDOUT, f"{len(self._left)} reads of other processes and files have not come back")
        self._child = _started(self)
        return self._child

    def _answer(
        self, child: _Child, request: tuple[object, ...]
    ) -> tuple[tuple[Any, tuple[int, str, str] | None], int]:
        patience = _LONG if self._late < _FEW else _SHORT
        reader.send(child.connection, request)
        found = reader.receive(child.connection, lambda: _await(child, patience))
        if found is None:
            raise EOFError
        return found

    def _leave(self, child: _Child, about: _About | None) -> None:
        """What waits for a page can be killed, as a rule; who waits for an answer of FUSE cannot."""
        self._late += 1
        if about is not None:
            self.note_silent(about)
        _kill(child)
        child.connection.close()
        self._child = None
        self._left.append(child)
        self._collect()

    def _collect(self) -> None:
        for each in self._left[:]:
            if _has_ended(each, 0):
                self._left.remove(each)
                _close_end(each)
                children.collected(each.pid)

    def _end(self, child: _Child) -> None:
        child.connection.close()
        self._child = None
        if child.owner == os.getpid() and not self.is_apart:
            children.collect_soon(child.pid)
        _close_end(child)


_readers = _Readers()


def has_served_mounts() -> bool:
    """True if a file system of a program or of another machine is mounted in this namespace."""
    return _readers.has_served_mounts()


def may_wait(path: str) -> bool:
    """Whether looking at a path may take another's answer."""
    if _readers.is_reader:
        return False
    if path.startswith("/proc/"):
        words = path.split("/", 5)[2:]
        if not words[0].isdigit() or words[0] == str(os.getpid()):
            return False
        what = words[3] if words[1:2] == ["task"] and len(words) > 3 else words[1] if len(words) > 1 else ""
        return what.partition("/")[0] in _WAITING
    return not path.startswith("/sys/") and _readers.has_served_mounts()


def data(path: str, most: int, pseudo: bool = False) -> bytes:
    """The beginning of a file, up to `most` bytes, as untrusted.read_start, or with `pseudo` as kernel_start."""
    value, _ = _readers.ask(_about(path), "data", os.path.abspath(path), most, pseudo)
    assert isinstance(value, bytes)
    return value


def memory(pid: int, address: int, size: int, by_itself: bool = True) -> bytes:
    """What a process has at an address: so many bytes, or as many as can be read from there on. `by_itself`: where the
    reader may not do it this process does, and waits."""
    if pid != os.getpid():
        try:
            value, _ = _readers.ask(_About(pid, "memory"), "memory", pid, address, size)
        except PermissionError:
            if not by_itself or not os.geteuid():
                raise
            # Yama lets a process read its descendants' memory, which those of sonde are not the reader's.
        else:
            assert isinstance(value, bytes)
            return value
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as file:
        return os.pread(file.fileno(), size, address)


def locked(pids: Sequence[int]) -> Iterator[int]:
    """The processes whose address space stays locked for seconds (see reader.py). Raises OSError if no reader can be
    asked."""
    silent = [pid for pid in pids if _readers.is_silent(_About(pid, _LOCK))]
    yield from silent
    rest, end = [pid for pid in pids if pid not in silent], time.monotonic() + _LOCK_HELD
    for first in range(0, len(rest), _LOCKS_AT_A_TIME):
        some = rest[first : first + _LOCKS_AT_A_TIME]
        if not _readers.answers("lock", some):
            yield from (pid for pid in some if not _comes_free(pid, end))


def _comes_free(pid: int, end: float) -> bool:
    while not _readers.answers("lock", [pid]):
        if time.monotonic() >= end:
            _readers.note_silent(_About(pid, _LOCK))
            return False
    return True


def place(path: str, largest: int | None = None, flags: int = 0, held: int = -1) -> tuple[int, bool]:
    """The place of a regular file (O_PATH) or, of one that is served, the descriptor of a copy, which is of `largest`
    bytes at most, if that is given: True then. `held` is a descriptor of the file, which has been found at the path."""
    opened = os.path.abspath(path) if held < 0 else f"/proc/{os.getpid()}/fd/{held}"
    value, descriptor = _readers.ask(_about(path), "open", opened, largest, flags)
    if value and reader.copied() > reader.MOST_COPIED:
        os.close(descriptor)
        raise OSError(errno.EFBIG, f"{reader.MOST_COPIED >> 20} MiB of files that are served are open already", path)
    return descriptor, bool(value)


def held(path: str) -> tuple[int, os.stat_result]:
    """The place of what is at a path (O_PATH), which can be closed and named without an answer of who serves it, and
    the status of that."""
    if not may_wait(path):
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        return descriptor, os.fstat(descriptor)
    value, descriptor = _readers.ask(_about(path), "place", os.path.abspath(path))
    return descriptor, os.stat_result(*value)


def stat(path: str, follows: bool = True) -> os.stat_result:
    """As os.stat, or os.lstat."""
    if not may_wait(path):
        return os.stat(path, follow_symlinks=follows)
    value, _ = _readers.ask(_about(path), "stat", os.path.abspath(path), follows)
    return os.stat_result(*value)


def executable(tid: int) -> os.stat_result:
    """That of the file that a thread executes. It has just been read where this is asked at exec, so its place, which
    tells who serves it, is to be had at once."""
    path = f"/proc/{tid}/exe"
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        return os.fstat(place) if _readers.is_local(place) else stat(path)
    finally:
        os.close(place)


def listed(path: str) -> list[str]:
    """As os.listdir."""
    if not may_wait(path):
        return os.listdir(path)
    value, _ = _readers.ask(_about(path), "list", os.path.abspath(path))
    found: list[str] = value
    return found


def real_path(path: str, root: str = "") -> str:
    """As os.path.realpath. With `root`, the directory that is / for another process, it is as that one would find it;
    what this gives begins with `root`, too."""
    if not may_wait(root + path):
        if not root:
            return os.path.realpath(path)

        return reader.path_inside(root, path)
    value, _ = _readers.ask(_about(root + path), "real", os.path.abspath(path), root)
    found: str = value
    return found


def exists(path: str) -> bool:
    """As os.path.exists."""
    try:
        stat(path)
    except (OSError, ValueError):
        return False
    return True


def is_file(path: str) -> bool:
    """As os.path.isfile."""
    try:
        return S_ISREG(stat(path).st_mode)
    except (OSError, ValueError):
        return False


def is_same(one: str, other: str) -> bool:
    """As os.path.samefile."""
    return os.path.samestat(stat(one), stat(other))


def unanswered() -> list[str]:
    """What has not answered since this was asked last, for people; the last says how many more."""
    found = _readers.silent()
    more = len(found) - _MOST_NAMED
    return [*found[:_MOST_NAMED], f"{more} more"] if more > 0 else found


def close() -> None:
    """The reader is not needed for now."""
    _readers.close()


def stand_apart() -> None:
    """From here on readers are nobody's children, for a process that waits for whatever child there is."""
    _readers.forget()
    _readers.is_apart = True


def _about(path: str) -> _About:
    """Whose silence it is that a path leads into: of what the process has under it, else of what is mounted there, or
    of the directory."""
    if path.startswith("/proc/"):
        process, _, rest = path[len("/proc/") :].partition("/")
        return _About(int(process), rest)

    found = os.path.abspath(path)
    try:
        points = [each.point for each in served.mounts().values() if not served.is_local(each)]
    except OSError:
        points = []
    below = [each for each in points if found == each or found.startswith(f"{each}/")]
    return _About(0, max(below, key=len, default=os.path.dirname(found)))


def _timeout() -> OSError:
    return OSError(errno.ETIMEDOUT, "reading it took too long: who serves it does not answer")


def _start_time(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[_START_TIME].decode()
    except (OSError, IndexError):
        return ""


def _await(child: _Child, patience: float) -> None:
    """Until there is something to receive. Raises _TooLateError."""
    now = time.monotonic()
    end, last = now + patience, now + _STARVED
    while not child.readable.poll(1000 * max(end - now, _LOOK)):
        now = time.monotonic()
        if now >= last or (now >= end and not _wants_to_run(child.pid)):
            raise _TooLateError


def _is_file(descriptor: int, wanted: tuple[int, int]) -> bool:
    try:
        found = os.fstat(descriptor)
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == wanted


def _has_ended(child: _Child, seconds: float) -> bool:
    if child.end < 0:
        return _is_gone(child.pid)
    waiting = select.poll()
    waiting.register(child.end, select.POLLIN)
    return bool(waiting.poll(1000 * seconds))


def _is_gone(pid: int) -> bool:
    """The same without a descriptor of the process, of the moment; it is not collected."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        # Somebody else has collected it, or it is apart: the child of a child.
        return not _exists(pid)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _end_of(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except OSError:
        return -1


def _kill(child: _Child) -> None:
    if child.end >= 0:
        signal.pidfd_send_signal(child.end, signal.SIGKILL)
    elif not _is_gone(child.pid):
        os.kill(child.pid, signal.SIGKILL)


def _close_end(child: _Child) -> None:
    if child.end >= 0:
        os.close(child.end)


def _wants_to_run(pid: int) -> bool:
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[:1] == [b"R"]


def _started(readers: _Readers) -> _Child:
    """Raises OSError."""
    import _socket  # few sessions look at what others serve

    # The reader imports nothing: another thread may be doing so while it is made.
    for each in (children, reader, served):
        lazy.execute(each)
    ours, theirs = _socket.socketpair()
    pid = os.fork()
    if pid == 0:
        try:
            readers.is_reader = True
            if not readers.is_apart or not os.fork():
                _become(theirs)
                reader.AbandonableReader(theirs).serve()
        finally:
            os._exit(0)
    theirs.close()
    if readers.is_apart:
        os.waitpid(pid, 0)
    readable = select.poll()
    readable.register(ours.fileno(), select.POLLIN)
    return _greeted(ours, readable)


def _greeted(connection: _socket.socket, readable: select.poll) -> _Child:
    """The reader, which begins by sending its number. Raises OSError."""
    greeting = reader.receive(connection) if readable.poll(1000 * _STARVED) else None
    if greeting is None:
        connection.close()
        raise OSError(errno.EIO, "the process that reads for sonde has failed")
    pid = greeting[0]
    assert isinstance(pid, int)
    found = os.fstat(connection.fileno())
    return _Child(pid, os.getpid(), _end_of(pid), (found.st_dev, found.st_ino), connection, readable)


def _become(connection: _socket.socket) -> None:
    """In the reader: signals of sonde's terminal are not for it, and it keeps nothing that somebody may wait for."""
    os.setpgid(0, 0)
    children.forget_handlers()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)
    children.keep_open([connection.fileno()])
    os.chdir("/")
    gc.disable()
    with suppress(OSError):
        # Where the guardian is there may be no time for anybody else (placement.py).
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    with open("/proc/self/comm", "wb", buffering=0) as file:
        file.write(b"sonde-reader")
