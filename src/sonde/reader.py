"""The reader: a child that looks at the memory and the files of others, and may be left behind.

A read of another process's memory, or of a file that a program or another machine serves (FUSE, NFS), may wait for
somebody who never answers, in a state in which no signal ends it. So a process of its own makes it (`others.py` asks),
which has none of sonde's descriptors: nobody waits for it, or for what it holds.

A message is its length, a mark, and a tuple as marshal(3) writes it; a descriptor comes with the length.
"""

from __future__ import annotations

import _socket
import ctypes
import errno
import fcntl
import marshal
import os
import stat
import struct
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from mmap import PAGESIZE

from sonde import served
from sonde.typed import Any

_HEADER = struct.Struct("=IB")
_DESCRIPTOR = struct.Struct("=i")
_WHOLE, _PROGRESS = 0, 1
"""Marks: an answer, and that there will be one."""

_PIECE = 1 << 20
_NAME = "sonde-copy"
LARGEST_COPY, MOST_COPIED = 256 << 20, 512 << 20
"""Bytes of a served file that is copied, and of all copies that are open."""

_LAYERED = "overlay"
"""This one is made of others: whoever has a user namespace can have a layer that is served."""

_OWNER_OF_NAMESPACE = 0xB701
"""NS_GET_USERNS (linux/nsfs.h)."""

_CLEAR_PEAK = b"5"

_MOST_PIECES = 1024
"""IOV_MAX."""

_MOST_LINKS = 40
"""As many as the kernel follows in one path (MAXSYMLINKS, include/linux/namei.h)."""

_MOUNTS_AGAIN = 1.0
"""Seconds after which mounts are looked at again."""


def send(connection: _socket.socket, message: Any, descriptor: int = -1, mark: int = _WHOLE) -> None:
    """Raises OSError."""
    data = marshal.dumps(message)
    header = _HEADER.pack(len(data), mark)
    if descriptor >= 0:
        rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, _DESCRIPTOR.pack(descriptor))
        connection.sendmsg([header], [rights])
        connection.sendall(data)
    else:
        connection.sendall(header + data)


def receive(connection: _socket.socket, ready: Callable[[], None] = lambda: None) -> tuple[Any, int] | None:
    """The next message, and the descriptor that came with it or -1; None at the end. `ready` returns when there is
    something to be received. Raises OSError."""
    while True:
        descriptor, header = -1, b""
        while len(header) < _HEADER.size:
            ready()
            space = _socket.CMSG_SPACE(_DESCRIPTOR.size)
            data, rights, *_ = connection.recvmsg(_HEADER.size - len(header), space, _socket.MSG_CMSG_CLOEXEC)
            if not data:
                return None
            header += data
            for _, _, content in rights:
                (descriptor,) = _DESCRIPTOR.unpack_from(content)
        size, mark = _HEADER.unpack(header)
        message = bytearray()
        while len(message) < size:
            ready()
            data = connection.recv(min(size - len(message), _PIECE))
            if not data:
                return None
            message += data
        if mark == _WHOLE:
            return marshal.loads(bytes(message)), descriptor


class AbandonableReader:
    """In the child: carries out what it is asked for, one after the other."""

    def __init__(self, connection: _socket.socket) -> None:
        self._connection = connection
        self._read_vector: Any = None
        self._mounts: dict[str, served.MountPoint] = {}
        self._mounts_due = 0.0
        self._operations: dict[str, Callable[..., tuple[object, int]]] = {
            "data": lambda *words: (self._data(*words), -1),
            "memory": lambda *words: (self._memory(*words), -1),
            "stat": lambda path, follows: (described(os.stat(path, follow_symlinks=follows)), -1),
            "list": lambda path: (os.listdir(path), -1),
            "real": lambda path, root: (path_inside(root, path) if root else os.path.realpath(path), -1),
            "open": self._open,
            "place": _place,
            "lock": _lock,
        }

    def serve(self) -> None:
        """Until the other end is closed."""
        send(self._connection, os.getpid())
        while True:
            request = receive(self._connection)
            if request is None:
                return
            words, _ = request
            value, descriptor, failure = self._carry_out(*words)
            send(self._connection, (value, failure), descriptor)
            if descriptor >= 0:
                os.close(descriptor)

    def _carry_out(self, name: str, *words: Any) -> tuple[object, int, tuple[int, str, str] | None]:
        """What was wanted, or its descriptor; else the number, the text and the path of an OSError."""
        try:
            return *self._operations[name](*words), None
        except OSError as error:
            return None, -1, (error.errno or errno.EIO, error.strerror or str(error), str(error.filename or ""))
        except (ValueError, OverflowError) as error:
            return None, -1, (errno.EINVAL, str(error), "")

    def _memory(self, pid: int, address: int, size: int) -> bytes:
        """By process_vm_readv(2), which lets go of the process's mm while it waits, so that the process itself can map
        memory meanwhile; of /proc/PID/mem, which does not, only where that call is not permitted."""
        if self._read_vector is None:
            self._read_vector = ctypes.CDLL(None, use_errno=True)["process_vm_readv"]
        buffer = ctypes.create_string_buffer(size)
        local = struct.pack("=QQ", ctypes.addressof(buffer), size)
        # The kernel transfers whole pieces.
        bounds = [address, *range(address - address % PAGESIZE + PAGESIZE, address + size, PAGESIZE), address + size]
        pieces = [(start, end - start) for start, end in pairwise(bounds)][:_MOST_PIECES]
        remote = b"".join(struct.pack("=QQ", *each) for each in pieces)
        done: int = self._read_vector(pid, local, 1, remote, len(pieces), 0)
        if done >= 0:
            return buffer.raw[:done]
        problem = ctypes.get_errno()
        if problem not in (errno.EPERM, errno.ENOSYS):
            raise OSError(problem, os.strerror(problem))
        descriptor = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.pread(descriptor, size, address)
        finally:
            os.close(descriptor)

    def _data(self, path: str, most: int, pseudo: bool) -> bytes:
        """The beginning of a regular file, which is one of a pseudo file system only with `pseudo`."""
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(place).st_mode):
                raise OSError(errno.ENXIO, "it is no regular file", path)
            if not pseudo and not served.is_stored(place):
                raise served.unstored(path)
            source = _reopened(place)
        finally:
            os.close(place)
        found = bytearray()
        try:
            while len(found) < most and (data := os.read(source, min(_PIECE, most - len(found)))):
                found += data
                send(self._connection, None, mark=_PROGRESS)
        finally:
            os.close(source)
        return bytes(found)

    def _open(self, path: str, largest: int | None, flags: int) -> tuple[object, int]:
        """The place of a regular file (O_PATH), or of one that is served a copy, to be read: whether it is one."""
        place = os.open(path, os.O_PATH | os.O_CLOEXEC | flags & os.O_NOFOLLOW)
        try:
            found = os.fstat(place)
            if not stat.S_ISREG(found.st_mode) or not self._is_served(place, path, found):
                return False, os.dup(place)
            if largest is not None and found.st_size > largest:
                raise _too_large(path, largest)
            return True, self._copy(place, path, found)
        finally:
            os.close(place)

    def _copy(self, place: int, path: str, found: os.stat_result) -> int:
        """With the owner and mode of the file, by which others tell its worth. Raises OSError."""
        if not served.is_stored(place):
            raise served.unstored(path)
        if found.st_size > LARGEST_COPY:
            raise _too_large(path, LARGEST_COPY)
        source = _reopened(place)
        copy = os.memfd_create(_NAME, os.MFD_CLOEXEC)
        try:
            left = LARGEST_COPY
            while data := os.read(source, min(_PIECE, left)):
                os.write(copy, data)
                left -= len(data)
                send(self._connection, None, mark=_PROGRESS)
            if (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid()):
                os.fchown(copy, found.st_uid, found.st_gid)
            os.fchmod(copy, stat.S_IMODE(found.st_mode) & 0o777)
            return os.open(f"/proc/self/fd/{copy}", os.O_RDONLY | os.O_CLOEXEC)
        finally:
            os.close(copy)
            os.close(source)

    def _is_served(self, place: int, path: str, found: os.stat_result) -> bool:
        """Whether a file's bytes come from another program or machine, by its mount and, in another namespace, by its
        device: an overlay is believed only where those who may mount here have mounted it."""
        number = served.mount_of(place)
        own = self._own_mounts()
        if number in own:
            return not served.is_local(own[number])
        device = f"{os.major(found.st_dev)}:{os.minor(found.st_dev)}"
        if any(each.device == device and served.is_local(each) for each in own.values()):
            return False
        process = path.split("/")[2] if path.startswith("/proc/") else "self"
        mount = served.mounts(process).get(number)
        return mount is None or not served.is_local(mount) or (mount.kind == _LAYERED and not _is_of_own_users(process))

    def _own_mounts(self) -> dict[str, served.MountPoint]:
        now = time.monotonic()
        if now >= self._mounts_due:
            self._mounts, self._mounts_due = served.mounts(), now + _MOUNTS_AGAIN
        return self._mounts


def path_inside(root: str, path: str) -> str:
    """The path of what a process finds at `path` whose / is the directory `root`, with which it begins: symbolic links
    lead from there, and nothing leads out of it. Raises OSError."""
    found: list[str] = []
    rest = path.split("/")[::-1]
    links = 0
    while rest:
        name = rest.pop()
        if name in ("", os.curdir):
            continue
        if name == os.pardir:
            del found[-1:]
            continue
        try:
            target = os.readlink("/".join((root, *found, name)))
        except OSError:
            found.append(name)
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        if target.startswith("/"):
            found.clear()
        rest += target.split("/")[::-1]
    return "/".join((root, *found))


def _lock(pids: Sequence[int]) -> tuple[object, int]:
    """Take the lock of each process's address space once, to write (mmap_lock), of those that may be looked at. Of the
    ways to do this clear_refs has the smallest effect: 5 sets the peak of the resident memory to the present
    (proc_pid_clear_refs(5)). It can be killed while it waits."""
    for pid in pids:
        try:
            descriptor = os.open(f"/proc/{pid}/clear_refs", os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            continue  # it has ended, or is not for this user
        try:
            os.write(descriptor, _CLEAR_PEAK)
        except OSError:
            continue  # it has ended
        finally:
            os.close(descriptor)
    return None, -1


_FURTHER = ("st_atime_ns", "st_mtime_ns", "st_ctime_ns", "st_blksize", "st_blocks", "st_rdev")
"""Fields of os.stat_result beside the ten of its tuple, which have the times in seconds alone."""


def described(status: os.stat_result) -> tuple[tuple[Any, ...], dict[str, int]]:
    """The arguments of os.stat_result() that make an equal one."""
    return tuple(status), {name: getattr(status, name) for name in _FURTHER}


def _place(path: str) -> tuple[object, int]:
    """The place of whatever there is, and what it is. Raises OSError."""
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        return described(os.fstat(place)), place
    except OSError:
        os.close(place)
        raise


def _is_of_own_users(process: str) -> bool:
    """Whether a process's mount namespace belongs to the user namespace that this process is in."""
    try:
        namespace = os.open(f"/proc/{process}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        try:
            owner = fcntl.ioctl(namespace, _OWNER_OF_NAMESPACE)
        finally:
            os.close(namespace)
        try:
            return os.path.samestat(os.fstat(owner), os.stat("/proc/self/ns/user"))
        finally:
            os.close(owner)
    except OSError:
        return False  # one of a namespace that is not below this one


def _reopened(place: int) -> int:
    """What is at a place that has been looked at, to be read. Raises OSError."""
    return os.open(f"/proc/self/fd/{place}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)


def _too_large(path: str, largest: int) -> OSError:
    return OSError(errno.EFBIG, f"it is larger than {largest >> 20} MiB", path)


def copied() -> int:
    """Bytes of the copies that this process has open."""
    total = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith(f"/memfd:{_NAME}"):
                total += os.fstat(int(name)).st_size
        except OSError:
            continue  # the one that lists the directory
    return total
