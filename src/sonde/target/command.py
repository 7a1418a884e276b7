"""The processes being traced: a command started and held until tracing has begun (-c), a process that exists (-p).

A command is started under ptrace(2), which stops it at exec; with the evaluation times behind that it runs on to its
entry point, where the dynamic linker has done its work, through a breakpoint put there. Then it is let go for good.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import signal
import struct

_TRACEME, _PEEKDATA, _POKEDATA, _CONT, _GETREGS, _SETREGS, _DETACH = 0, 2, 5, 7, 12, 13, 17
_AT_ENTRY = 9
_RIP = 128
"""Offset of rip in struct user_regs_struct (sys/user.h)."""

_REGISTERS = 27 * 8
_BREAKPOINT = 0xCC

EVALUATION_TIMES = ("exec", "preinit", "postinit", "main")


class CommandError(Exception):
    """The command cannot be started, or the process is not there."""


def _ptrace(request: int, pid: int, address: int = 0, data: object = 0) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.restype = ctypes.c_long
    libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    ctypes.set_errno(0)
    result = libc.ptrace(request, pid, address, data)
    if result == -1 and ctypes.get_errno():
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(result)


class Command:
    """A child process; `descriptor` (a pidfd) is readable once it has ended."""

    def __init__(self, text: str, evaluation: str = "postinit") -> None:
        """Start it, stopped. Raises CommandError."""
        try:
            arguments = shlex.split(text)
        except ValueError as error:
            raise CommandError(f"failed to run {text}: {str(error).lower()}") from None
        if not arguments:
            raise CommandError("failed to run: the command is empty")
        self.pid = _start(arguments)
        self._held = True
        self.status: int | None = None
        self.descriptor = os.pidfd_open(self.pid)
        if evaluation != "exec":
            self._run_to_entry()

    def _run_to_entry(self) -> None:
        entry = _entry_point(self.pid)
        if entry is None:
            return
        word = _ptrace(_PEEKDATA, self.pid, entry) & 0xFFFFFFFFFFFFFFFF
        _ptrace(_POKEDATA, self.pid, entry, word & ~0xFF | _BREAKPOINT)
        _ptrace(_CONT, self.pid)
        if not self._wait_for(signal.SIGTRAP):
            return
        _ptrace(_POKEDATA, self.pid, entry, word)
        registers = ctypes.create_string_buffer(_REGISTERS)
        _ptrace(_GETREGS, self.pid, 0, ctypes.addressof(registers))
        struct.pack_into("=Q", registers, _RIP, entry)
        _ptrace(_SETREGS, self.pid, 0, ctypes.addressof(registers))

    def _wait_for(self, wanted: int) -> bool:
        """Until the child stops with that signal; others are passed on. False if it has ended."""
        while True:
            _, status = os.waitpid(self.pid, 0)
            if not os.WIFSTOPPED(status):
                self._ended(status)
                return False
            if os.WSTOPSIG(status) == wanted:
                return True
            _ptrace(_CONT, self.pid, 0, os.WSTOPSIG(status))

    def _ended(self, status: int) -> None:
        self._held = False
        self.status = status

    def resume(self) -> None:
        """Let it run; from here on nothing holds it."""
        if self._held:
            self._held = False
            _ptrace(_DETACH, self.pid)

    def close(self) -> None:
        """End the command if it has not ended, as it was started for this session only; collect it."""
        if self._held:
            os.kill(self.pid, signal.SIGKILL)
            self._held = False
            os.waitpid(self.pid, 0)
        elif self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
            else:
                os.kill(self.pid, signal.SIGTERM)
        os.close(self.descriptor)


class Process:
    """A process somebody else started."""

    def __init__(self, pid: int) -> None:
        """Raises CommandError if there is no such process."""
        self.pid = pid
        try:
            self.descriptor = os.pidfd_open(pid)
        except (OSError, OverflowError):
            raise CommandError(f"failed to grab pid {pid}: no such process") from None

    def resume(self) -> None:
        """It was never stopped."""

    def close(self) -> None:
        os.close(self.descriptor)


def _start(arguments: list[str]) -> int:
    """Fork and exec, stopped at exec; what goes wrong before comes back through a pipe that exec closes."""
    reader, writer = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        _become(arguments, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        problem = pipe.read().decode(errors="replace")
    _, status = os.waitpid(pid, 0)
    if problem:
        raise CommandError(f"failed to run {arguments[0]}: {problem}")
    if not os.WIFSTOPPED(status):
        raise CommandError(f"failed to run {arguments[0]}: it ended at once")
    return pid


def _become(arguments: list[str], writer: int) -> None:
    """In the child: never returns."""
    try:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        _ptrace(_TRACEME, 0)
        os.execvp(arguments[0], arguments)
    except OSError as error:
        os.write(writer, (error.strerror or "unknown error").encode())
    finally:
        os._exit(127)


def _entry_point(pid: int) -> int | None:
    """AT_ENTRY of the auxiliary vector: where the program itself begins, behind its dynamic linker.

    None where it cannot be told, as with a /proc of another pid namespace, where the number is another process's.
    """
    if os.readlink("/proc/self") != str(os.getpid()):
        return None
    with open(f"/proc/{pid}/auxv", "rb") as file:
        data = file.read()
    for key, value in struct.iter_unpack("=QQ", data[: len(data) // 16 * 16]):
        if key == _AT_ENTRY:
            return int(value)
    return None
