"""The processes being traced: a command started and held until tracing has begun (-c), a process that exists (-p).

A command is started under ptrace(2), which stops it at exec; with the evaluation times behind that it runs on to its
entry point, where the dynamic linker has done its work, through a breakpoint put there. Then it is let go for good.
"""

from __future__ import annotations

import os
import signal

from sonde import launch
from sonde.engines.embedded.tracer import ptrace
from sonde.launch import CommandError as CommandError
from sonde.machine import proc

EVALUATION_TIMES = ("exec", "preinit", "postinit", "main")


class StartedProcess:
    """A child process; `descriptor` (a pidfd) is readable once it has ended."""

    def __init__(self, text: str, evaluation: str = "postinit") -> None:
        """Start it, stopped. Raises CommandError."""
        self.pid = _start(launch.words(text))
        self._held = True
        self.status: int | None = None
        self.descriptor = os.pidfd_open(self.pid)
        if evaluation != "exec":
            self._run_to_entry()

    def _run_to_entry(self) -> None:
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
            _, status = os.waitpid(self.pid, 0)
            if not os.WIFSTOPPED(status):
                self._ended(status)
                return False
            if os.WSTOPSIG(status) == wanted:
                return True
            ptrace.call(ptrace.CONT, self.pid, 0, os.WSTOPSIG(status))

    def _ended(self, status: int) -> None:
        self._held = False
        self.status = status

    def resume(self) -> None:
        """Let it run; from here on nothing holds it."""
        if self._held:
            self._held = False
            ptrace.call(ptrace.DETACH, self.pid)

    def collect(self) -> int | None:
        """Its status as wait(2) gives it, if it has ended."""
        if self.status is None and not self._held:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = status if pid else None
        return self.status

    def close(self) -> None:
        """End the command if it has not ended, as it was started for this session only; collect it."""
        if self._held:
            os.kill(self.pid, signal.SIGKILL)
            self._held = False
            os.waitpid(self.pid, 0)
        elif self.collect() is None:
            os.kill(self.pid, signal.SIGTERM)
        os.close(self.descriptor)


class ForeignProcess:
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

    def collect(self) -> None:
        """Its status is its parent's."""

    def close(self) -> None:
        os.close(self.descriptor)


def _start(arguments: list[str]) -> int:
    """Fork and exec, stopped at exec."""
    pid, pipe = launch.fork(arguments, lambda: ptrace.call(ptrace.TRACEME, 0))
    problem = launch.problem(pipe)
    _, status = os.waitpid(pid, 0)
    if problem:
        raise CommandError(f"failed to run {arguments[0]}: {problem}")
    if not os.WIFSTOPPED(status):
        raise CommandError(f"failed to run {arguments[0]}: it ended at once")
    return pid
