"""The processes being traced: a command started and held until tracing has begun (-c), a process that exists (-p).

A command is started under ptrace(2), which stops it at exec; with the evaluation times behind that it runs on to its
entry point, where the dynamic linker has done its work, through a breakpoint put there. Then it is let go for good.
With the evaluation time `fork` it stands before exec, and with `exec` in its call of execve(2), so that what exec
does is traced, unless somebody has to look into it.
"""

from __future__ import annotations

import errno
import os
import signal
from contextlib import suppress

from sonde import children, launch
from sonde.arch.call_numbers import native
from sonde.engines.embedded.tracer import ptrace
from sonde.launch import CommandError as CommandError
from sonde.machine import proc
from sonde.visible import single_line, visible

_OF_CALL = 0x80
"""Set in the signal of a stop at a system call (PTRACE_O_TRACESYSGOOD)."""


class StartedProcess:
    """A child process; `descriptor` (a pidfd) is readable once it has ended."""

    def __init__(self, text: str, evaluation: str = "postinit") -> None:
        """Start it, stopped. Raises CommandError."""
        self._text = text
        self._pipe = -1
        """What goes wrong with an exec that is still to come."""
        self._evaluation = evaluation
        if evaluation in (_BEFORE, _IN_EXEC):
            self.pid, self._pipe = _fork_stopped(launch.words(text))
            if evaluation == _IN_EXEC:
                with suppress(ProcessLookupError):
                    _run_to_exec(self.pid)
        else:
            self.pid = _start(launch.words(text))
        self._held = True
        self.status: int | None = None
        self.descriptor = os.pidfd_open(self.pid)
        if evaluation not in (_IN_EXEC, _BEFORE):
            self._run_to_entry()

    def _run_to_entry(self) -> None:
        try:
            self._stop_at_entry()
        except ProcessLookupError:
            # Somebody has killed it while it stood.
            self._ended(None)

    def _stop_at_entry(self) -> None:
        entry = proc.entry_point(self.pid)
        if entry is None:
            return
        word = ptrace.set_breakpoint(self.pid, entry)
        ptrace.call(ptrace.CONT, self.pid)
        if self._wait_for(signal.SIGTRAP):
            ptrace.call(ptrace.POKEDATA, self.pid, entry, word)
            ptrace.step_back_to(self.pid, entry)

    def _wait_for(self, wanted: int) -> bool:
        """Until the child stops with that signal; others are passed on. False if it has ended."""
        while True:
            status = _next_status(self.pid)
            if status is None or not os.WIFSTOPPED(status):
                self._ended(status)
                return False
            if os.WSTOPSIG(status) == wanted:
                return True
            ptrace.call(ptrace.CONT, self.pid, 0, os.WSTOPSIG(status))

    def _ended(self, status: int | None) -> None:
        self._held = False
        self.status = status

    def prepare(self) -> None:
        """It stands where it is to be looked at. Raises CommandError."""
        if self._pipe < 0 or not self._held:
            return
        pipe, self._pipe = self._pipe, -1
        # One that was killed while it stood is found to have ended.
        with suppress(ProcessLookupError):
            ptrace.call(ptrace.CONT, self.pid)
        try:
            _require_exec(self.pid, pipe, launch.words(self._text)[0])
        except CommandError:
            self._ended(None)
            raise
        if self._evaluation == _BEFORE:
            self._run_to_entry()

    def resume(self) -> None:
        """Let it run; from here on nothing holds it."""
        if self._held:
            self._held = False
            # Somebody may have killed it while it stood.
            with suppress(ProcessLookupError):
                ptrace.call(ptrace.DETACH, self.pid)

    def collect(self) -> int | None:
        """Its status as wait(2) gives it, if it has ended."""
        if self.status is None and not self._held:
            _, self.status = children.collected(self.pid)
        if self.status is not None and self._pipe >= 0:
            pipe, self._pipe = self._pipe, -1
            if reason := launch.problem(pipe):
                escape = visible if os.isatty(2) else single_line
                os.write(2, escape(f"failed to run {self._text}: {reason}").encode(errors="surrogateescape") + b"\n")
        return self.status

    def close(self) -> None:
        """End the command if it has not ended, as it was started for this session only; collect it."""
        if self._held:
            os.kill(self.pid, signal.SIGKILL)
            self._held = False
            children.wait_for(self.pid)
        elif self.collect() is None:
            # By its descriptor, as the number may be another process's if somebody else has collected the command.
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.descriptor, signal.SIGTERM)
                children.collect_soon(self.pid)
        os.close(self.descriptor)
        if self._pipe >= 0:
            os.close(self._pipe)


class ForeignProcess:
    """A process somebody else started."""

    def __init__(self, pid: int) -> None:
        """Raises CommandError if there is no such process."""
        self.pid = pid
        try:
            self.descriptor = os.pidfd_open(pid)
        except (OSError, OverflowError):
            raise CommandError(f"failed to grab pid {pid}: no such process") from None
        if _is_zombie(pid):
            os.close(self.descriptor)
            raise CommandError(f"failed to grab pid {pid}: {proc.ENDED}")

    def prepare(self) -> None:
        """It runs."""

    def resume(self) -> None:
        """It was never stopped."""

    def collect(self) -> None:
        """Its status is its parent's."""

    def close(self) -> None:
        os.close(self.descriptor)


def _is_zombie(pid: int) -> bool:
    """Whether that can be told, and is so: /proc may be that of another pid namespace."""
    try:
        return proc.is_own() and proc.has_ended(pid)
    except OSError:
        return False


def _start(arguments: list[str]) -> int:
    """Fork and exec, stopped at exec."""
    pid, pipe = launch.fork(arguments, lambda: ptrace.call(ptrace.TRACEME, 0))
    _require_exec(pid, pipe, arguments[0])
    return pid


def _require_exec(pid: int, pipe: int, name: str) -> None:
    """Raises CommandError where a child does not stop at its exec."""
    problem = launch.problem(pipe)
    if problem:
        children.wait_for(pid)
        raise CommandError(f"failed to run {name}: {problem}")
    status = _next_status(pid)
    if status is None or not os.WIFSTOPPED(status):
        raise CommandError(f"failed to run {name}: it ended at once")


_BEFORE, _IN_EXEC = "fork", "exec"
"""The evaluation times before exec, and within it."""


def _run_to_exec(pid: int) -> None:
    """Have a child that stands before exec enter that call. Behind it, it will stop before it leaves the call
    (PTRACE_O_TRACEEXEC), as a tracer of DTrace's has it."""
    ptrace.call(ptrace.SETOPTIONS, pid, 0, ptrace.O_SYSGOOD | ptrace.O_EXEC)
    signalled = 0
    while True:
        ptrace.call(ptrace.SYSCALL, pid, 0, signalled)
        status = _next_status(pid)
        if status is None or not os.WIFSTOPPED(status):
            return
        is_call = os.WSTOPSIG(status) == signal.SIGTRAP | _OF_CALL
        if is_call and ptrace.called(pid) in native("execve"):
            return
        signalled = 0 if is_call else os.WSTOPSIG(status)


def _fork_stopped(arguments: list[str]) -> tuple[int, int]:
    """A child that stands before exec, and the pipe that tells what is wrong with that."""
    path = launch.executable(arguments[0])
    if not os.path.exists(path):
        raise CommandError(f"failed to run {arguments[0]}: {os.strerror(errno.ENOENT)}")
    if os.path.isdir(path) or not os.access(path, os.X_OK):
        raise CommandError(f"failed to run {arguments[0]}: {os.strerror(errno.EACCES)}")

    def stop() -> None:
        ptrace.call(ptrace.TRACEME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)

    pid, pipe = launch.fork(arguments, stop)
    status = _next_status(pid)
    if status is None or not os.WIFSTOPPED(status):
        raise CommandError(f"failed to run {arguments[0]}: {launch.problem(pipe) or 'it ended at once'}")
    return pid, pipe


def _next_status(pid: int) -> int | None:
    """The status of the next stop, or end (`children.next_status`)."""
    return children.next_status(pid, lambda: ptrace.stopped_by(pid))
