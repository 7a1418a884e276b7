"""What /proc tells of processes and threads (proc(5)), as sonde's own pid namespace numbers them.

A process that is gone has no facts. All functions raise OSError where sonde has no descriptor or memory left to look.
"""

from __future__ import annotations

import errno
import os
import signal
import struct

from sonde.typed import NamedTuple
from sonde.untrusted import read_kernel


class Facts(NamedTuple):
    """A thread: `pid` is its process, `is_over` that it has ended and is still there, `arguments` and `environment` are
    where these begin and end in its memory, `stack` is where that began, `vdso` where the kernel has put it; 0 where
    that is hidden."""

    tid: int
    pid: int
    ppid: int
    comm: bytes
    uid: int
    euid: int
    gid: int
    egid: int
    group: int
    session: int
    threads: int
    arguments: tuple[int, int] = (0, 0)
    environment: tuple[int, int] = (0, 0)
    stack: int = 0
    vdso: int = 0
    is_over: bool = False


_AT_SYSINFO_EHDR = 33
_PAIR = struct.Struct("=QQ")
_OVER = ("Z", "X", "")
"""States of threads that have ended."""

_PGRP, _SESSION, _THREADS, _STACK, _ARGUMENTS, _ENVIRONMENT = 2, 3, 17, 25, 45, 47
"""Places in /proc/TID/stat, counted from the state, which is behind the name in parentheses."""


_MEANS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


def _require_means(error: OSError) -> None:
    """Raises the error if it says nothing of the process."""
    if error.errno in _MEANS:
        raise error


def facts(tid: int) -> Facts | None:
    """What is known of a thread; None if it is gone."""
    lines = _status(tid)
    if lines is None:
        return None
    try:
        stat = _read(f"/proc/{tid}/stat")
        words = _words(stat)
        comm = _read(f"/proc/{tid}/comm")[:-1]
        holder = _holder(tid) if _state(stat) in _OVER and words[_THREADS] > 1 else tid
        memory = words if holder == tid else _words(_read(f"/proc/{holder}/stat"))
    except OSError as error:
        _require_means(error)
        return None
    uid, euid, *_ = map(int, lines[b"Uid"].split())
    gid, egid, *_ = map(int, lines[b"Gid"].split())
    return Facts(
        tid, int(lines[b"Tgid"]), int(lines[b"PPid"]), comm, uid, euid, gid, egid, words[_PGRP], words[_SESSION],
        words[_THREADS], (memory[_ARGUMENTS], memory[_ARGUMENTS + 1]), (memory[_ENVIRONMENT], memory[_ENVIRONMENT + 1]),
        memory[_STACK], _vdso(holder), _state(stat) in _OVER,
    )  # fmt: skip


def _words(stat: bytes) -> list[int]:
    """The numbers of a line of /proc/TID/stat from the state on, 0 for that."""
    return [int(word) if word.lstrip(b"-").isdigit() else 0 for word in stat[stat.rindex(b")") + 2 :].split()]


def _holder(tid: int) -> int:
    """A thread that has the memory of its process: another one where the first has ended before the others."""
    try:
        others = [int(name) for name in os.listdir(f"/proc/{tid}/task") if name != str(tid)]
    except OSError as error:
        _require_means(error)
        return tid
    return next((each for each in others if state(each) not in _OVER), tid)


def _vdso(tid: int) -> int:
    """Where the vdso is (getauxval(3)), 0 where that is hidden or there is none."""
    try:
        data = _read(f"/proc/{tid}/auxv")
    except OSError as error:
        _require_means(error)
        return 0
    pairs = _PAIR.iter_unpack(data[: len(data) // _PAIR.size * _PAIR.size])
    return next((value for kind, value in pairs if kind == _AT_SYSINFO_EHDR), 0)


def state(tid: int) -> str:
    """The letter of a thread's state, `R` if it runs; "" if it is gone."""
    try:
        stat = _read(f"/proc/{tid}/stat")
    except OSError as error:
        _require_means(error)
        return ""
    return _state(stat)


def _state(stat: bytes) -> str:
    at = stat.rindex(b")") + 2
    return stat[at : at + 1].decode()


_LONGEST = 1 << 16
"""Bytes of a text that are read: some lines name every group or CPU."""


def _read(path: str) -> bytes:
    return read_kernel(path, _LONGEST)


_IGNORED_BY_DEFAULT = (17, 18, 23, 28)
"""SIGCHLD, SIGCONT, SIGURG and SIGWINCH (signal(7))."""


def is_signal_ignored(pid: int, number: int) -> bool:
    """Whether a process ignores a signal, by itself or by default, which is all that is known of one that is gone. One
    that is blocked is kept: it may be waited for."""
    lines = _status(pid)
    if lines is None:
        return number in _IGNORED_BY_DEFAULT
    bit = 1 << number - 1
    if int(lines[b"SigBlk"], 16) & bit:
        return False
    if int(lines[b"SigIgn"], 16) & bit:
        return True
    return number in _IGNORED_BY_DEFAULT and not int(lines[b"SigCgt"], 16) & bit


def is_told_of_children(pid: int) -> bool:
    """Whether the end of a child sends the process SIGCHLD: not if that is SIG_IGN, or if the process is gone."""
    lines = _status(pid)
    return lines is not None and not int(lines[b"SigIgn"], 16) & 1 << signal.SIGCHLD - 1


def _status(pid: int) -> dict[bytes, bytes] | None:
    """The lines of a process by their names; None if it is gone."""
    try:
        lines = _read(f"/proc/{pid}/status").split(b"\n")
    except OSError as error:
        _require_means(error)
        return None
    return dict(line.split(b":\t", 1) for line in lines if b":\t" in line)
