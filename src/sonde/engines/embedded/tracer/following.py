"""Following threads from stop to stop: the guardian's loop."""

from __future__ import annotations

import os
import select
import signal
import traceback
from contextlib import suppress

from sonde.engines.embedded.tracer import commands, events, obeying, orphans, ptrace, samples, stops
from sonde.engines.embedded.tracer.breakpoints import Breakpoints
from sonde.engines.embedded.tracer.placement import WAIT, Placement
from sonde.engines.embedded.tracer.quick import Quick
from sonde.engines.embedded.tracer.threads import TracedThreads

_PATIENCE = 2
"""Milliseconds in which threads that stop may have to wait because another is held."""


class Follower:
    """The loop and the commands that reach it. `threads`, `quick` and `breakpoints` are set first."""

    threads: TracedThreads
    quick: Quick
    breakpoints: Breakpoints

    def __init__(self, pipe: int, watcher: int) -> None:
        self._reader = commands.CommandReader(pipe)
        self._poll = select.poll()
        self._poll.register(pipe, select.POLLIN)
        self._patient = True
        self._watcher = watcher
        self.placement = Placement()

    def follow(self) -> tuple[int, int]:
        """Until sonde ends: the thread that has stopped and not gone on then, 0 if none, and its status of wait(2)."""
        threads, reader, wait = self.threads, self._reader, os.waitpid
        words, held, known = threads.writer.words, threads.held, threads.requests
        filtered, called = self.quick
        hit = self.breakpoints.hit
        next_stop = self.placement.wait
        lost = threads.spaces.losses.found
        status, is_due = 0, False
        try:
            while True:
                threads.stopped = 0
                if lost:
                    threads.tell_losses()
                if held or threads.early:
                    self.placement.part()
                if words[stops.SENT] != reader.received or (held and len(held) == len(known)):
                    # Who sends without an end keeps no thread that has stopped from being seen.
                    tid, status = wait(-1, WAIT | os.WNOHANG) if is_due else (0, 0)
                    if not tid:
                        is_due = True
                        self.listen()
                        continue
                elif held and self._patient:
                    tid, status = wait(-1, WAIT | os.WNOHANG)
                    if not tid:
                        self._listen_briefly()
                        continue
                elif threads.early:
                    tid, status = wait(-1, WAIT | os.WNOHANG)
                    if not tid:
                        orphans.wait(threads)
                        continue
                else:
                    tid, status = next_stop()
                threads.stopped, is_due = tid, False
                if status == ptrace.SECCOMP_STOP:
                    filtered(tid)
                elif status == ptrace.SYSCALL_STOP:
                    called(tid)
                elif status == ptrace.TRAP_STOP and not self._is_clock(tid) and hit(tid):
                    while threads.ended_early:
                        events.handle(threads, *threads.ended_early.pop())
                elif tid == self._watcher:
                    self._knocked(status)
                else:
                    events.handle(threads, tid, status)
        except commands.SondeEnded:
            return threads.stopped, status
        except Exception:
            # What is traced must not suffer from an error here, whatever it is. (It takes an import as long as three
            # others, which nobody else needs.)

            self._confess(traceback.format_exc().encode())
            return threads.stopped, status

    def _is_clock(self, tid: int) -> bool:
        with suppress(ProcessLookupError):
            return samples.is_clock(self.threads, tid)
        return False

    def _confess(self, error: bytes) -> None:
        try:
            self.threads.answer(commands.BROKEN, 0, len(error), error)
        except commands.SondeEnded:
            return

    def _listen_briefly(self) -> None:
        """Sonde mostly answers a held stop at once, sooner than the watcher could tell of it. If not, do not try again
        before it has."""
        words = self.threads.writer.words
        words[stops.LISTENING] = 1
        if self._poll.poll(_PATIENCE):
            self.listen()
        else:
            words[stops.LISTENING] = 0
            self._patient = False
            os.getppid()

    def listen(self) -> None:
        """Wait for commands and carry them out. Raises SondeEnded."""
        self.placement.part()
        self._patient = True
        words = self.threads.writer.words
        words[stops.LISTENING] = 1
        found = self._reader.read()
        words[stops.LISTENING] = 0
        os.getppid()
        for command in found:
            obeying.obey(self.threads, *command)

    def end(self) -> None:
        """Run as at first; and the watcher, which may be stopped, is not to be waited for."""
        self.placement.part()
        if self._watcher:
            os.kill(self._watcher, signal.SIGKILL)

    def _knocked(self, status: int) -> None:
        """Sonde has, or it has ended; somebody may have killed the watcher, which cannot be told from that."""
        if not os.WIFSTOPPED(status):
            self._watcher = 0
            raise commands.SondeEnded
        os.kill(self._watcher, signal.SIGCONT)
