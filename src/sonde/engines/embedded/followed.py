"""The processes of -c and -p as a session has them, traced by the guardian."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from sonde import children
from sonde.engines.embedded.remarks import Remarks
from sonde.engines.embedded.tracer.tracees import Tracees
from sonde.machine import facts, proc
from sonde.machine.program_files import is_32_bit
from sonde.model.errors import EngineError
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.engines.embedded.sources.threads import Threads

_HANDED_ON = 0.2
"""Seconds: a tracer's child is its parent's to wait for as soon as the tracer has."""


class Followed:
    """One process. `descriptor` is readable once all that it did has been seen, to its end."""

    def __init__(self, pid: int, group: FollowedGroup, is_command: bool) -> None:
        self.pid = pid
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.group = group
        self.is_command = is_command
        self.lacks_first = not is_command and facts.state(pid) in ("Z", "X")
        """The first thread has ended before the others."""
        self.has_ended = False
        self._status: int | None = None
        self._is_left = False

    def prepare(self) -> None:
        """A command is executed, if it is not, and waits. Raises SessionError."""
        if self.is_command:
            self.group.execute(self.pid)

    def resume(self) -> None:
        """Let it run, and all others with it."""
        self.group.go()

    def ended(self) -> None:
        self.has_ended = True
        os.eventfd_write(self.descriptor, 1)

    def collect(self) -> int | None:
        """The status of a command that has ended, as wait(2) gives it: when the guardian has waited for it, too."""
        latest = time.monotonic() + (_HANDED_ON if self.has_ended else 0)
        while self.is_command and self._status is None:
            has_ended, self._status = children.collected(self.pid)
            if has_ended or time.monotonic() >= latest:
                break
            time.sleep(0.001)
        return self._status

    def close(self) -> None:
        """End a command if it has not ended, as it was started for this session only. One that was never let go does
        not get a signal that it could have been told to ignore."""
        os.close(self.descriptor)
        if self.is_command and self._status is None:
            has_ended, self._status = children.collected(self.pid)
            self._is_left = not has_ended
            if self._is_left:
                os.kill(self.pid, signal.SIGTERM if self.group.runs else signal.SIGKILL)

    def collect_soon(self) -> None:
        """Collect a command that has been told to end, when its tracer has let it go."""
        if self._is_left:
            children.collect_soon(self.pid)


class FollowedGroup:
    """All of a session: the commands, which wait before exec, and the processes that were there."""

    def __init__(
        self, commands: Sequence[str], pids: Sequence[int], evaluation: str, seccomp: bool, follow_all: bool = False,
        stops_samples: bool = True,
    ) -> None:  # fmt: skip
        """`follow_all`: the members end when all that they have started has. `stops_samples`: threads are stopped to be
        sampled, where programs look at them. Raises CommandError."""
        self.tracees = Tracees()
        self.follow_all = follow_all
        self.remarks = Remarks()
        self.traced: Callable[[], set[int]] = set
        """The processes that are traced at this moment."""
        self.evaluation = evaluation
        self.seccomp = seccomp
        self.stops_samples = stops_samples
        self.members: list[Followed] = []
        self.runs = False
        try:
            for text in commands:
                self.members.append(Followed(self.tracees.start(text), self, True))
            for pid in pids:
                self.tracees.grab(pid)
                self.members.append(Followed(pid, self, False))
        except BaseException:
            self.close()
            raise

    def execute(self, pid: int) -> None:
        """Have the command be executed before it is known what is to be traced. Raises CommandError."""
        with self.tracees.watched():
            self.tracees.execute(pid, self.evaluation)

    def go(self) -> None:
        if not self.runs:
            self.runs = True
            self.tracees.go()

    def ended(self, tid: int) -> None:
        """A thread is gone; with the first thread of a process the process is, since the kernel keeps that to the
        end."""
        for member in () if self.follow_all else self.members:
            if member.pid == tid or (member.lacks_first and not member.has_ended and member.pid not in self.traced()):
                member.ended()
        if self.follow_all and not self.traced():
            for member in self.members:
                member.ended()

    def close(self) -> None:
        """End the commands, let all go."""
        have_ended = self.runs and all(member.is_command and member.has_ended for member in self.members)
        left = self.traced() if have_ended else set()
        for member in self.members:
            member.close()
        stays = self.tracees.close()
        for member in self.members:
            member.collect_soon()
        if stays and have_ended:
            # Some may have been made too late for sonde to have heard of them.
            left |= proc.traced_by(self.tracees.guardian)
        self.remarks.tell_losses()
        if left:
            self.remarks.outlived(left, self.tracees.has_filter)


def present_threads(followed: FollowedGroup | None) -> list[int]:
    """Of all processes that are to be traced."""
    found: list[int] = []
    for member in followed.members if followed is not None else ():
        with suppress(FileNotFoundError, ProcessLookupError):
            found += proc.threads(member.pid)
    return found


def require_native(followed: FollowedGroup) -> None:
    """Raises EngineError for a 32-bit program, for who asks for system calls."""
    for member in followed.members:
        if is_32_bit(member.pid):
            raise EngineError(
                f"process {member.pid} runs a 32-bit program, whose system calls the embedded engine does not see; "
                "the kernel engine (root, or CAP_BPF and CAP_PERFMON) does"
            )


def adopt_present(followed: FollowedGroup, threads: Threads) -> None:
    """Get to know the threads that were there while they stand: they may end as soon as they run."""
    for member in followed.members:
        if not member.is_command:
            with suppress(FileNotFoundError, ProcessLookupError):
                for tid in proc.threads(member.pid):
                    threads.adopt(tid)
        elif (task := threads.adopt(member.pid)) is not None:
            followed.remarks.executed(task.tid, task.comm)
