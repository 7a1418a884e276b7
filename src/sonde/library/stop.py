"""Who asks a run to end: another thread, or a clock; and questions to it that its own thread answers."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress

from sonde.library.gate import Gate
from sonde.library.waking import Waking
from sonde.typed import Any

Question = Callable[[], Any]


class Stop:
    """`session.Asked` for a run in a thread of its own, which any other thread may stop or ask.

    So may a signal handler, which may have interrupted any line here: the lock is one that a thread may take twice,
    and the run's thread takes it only when nobody waits for an answer any more.
    """

    def __init__(self, duration: float | None, before_end: Callable[[], None], waking: Waking) -> None:
        self._duration = duration
        self._before_end = before_end
        self._waking = waking
        self._asked = False
        self.until = float("inf")
        self.descriptor = -1
        self._lock = threading.RLock()
        self._questions: deque[tuple[Question, _Answer]] = deque()
        self._is_over = False
        self.begun = Gate()
        """Open when probes fire, or when they never will."""

    def open(self) -> None:
        """Before anything else: the run is about to begin."""
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    @property
    def asked(self) -> bool:
        return self._asked or time.monotonic() >= self.until

    def stop(self) -> None:
        """Ask for the end. Any thread may."""
        self._asked = True
        self._knock()

    def ask(self, question: Question) -> Any:
        """What the question gives, asked by the run's own thread; RuntimeError if that has ended."""
        answer = _Answer()
        self._questions.append((question, answer))
        self._knock()
        if self._is_over:
            self._refuse()
        return answer.wait()

    def _knock(self) -> None:
        with self._lock:
            if self.descriptor >= 0:
                os.eventfd_write(self.descriptor, 1)

    def turn(self) -> None:
        """Answer what was asked; the clock begins with the first turn, when all is attached."""
        if not self.begun.is_open():
            self._begin()
            if self._duration is not None:
                self.until = time.monotonic() + self._duration
        if self._is_over:
            return
        try:
            os.eventfd_read(self.descriptor)
        except BlockingIOError:
            return
        for question, answer in self._asked_so_far():
            answer.give(question)

    def _begin(self) -> None:
        self.begun.open()
        self._waking.wake()

    def _asked_so_far(self) -> Iterator[tuple[Question, _Answer]]:
        with suppress(IndexError):
            while True:
                yield self._questions.popleft()

    def close(self) -> None:
        """Tracing is over; what programs have counted can still be read."""
        self._before_end()
        self.finish()

    def finish(self) -> None:
        """No more questions, for whatever reason the run has ended."""
        self._is_over = True
        self._refuse()
        # The run refers to this object, too.
        self._before_end = _nothing
        with self._lock:
            if self.descriptor >= 0:
                os.close(self.descriptor)
                self.descriptor = -1
        self._begin()

    def _refuse(self) -> None:
        for _, answer in self._asked_so_far():
            answer.give(_is_over)


def _nothing() -> None:
    """Before the end of what has ended."""


def _is_over() -> Any:
    raise RuntimeError("the run is over")


class _Answer:
    """An answer that another thread waits for, or the exception in its place."""

    def __init__(self) -> None:
        self._given = Gate()
        self._value: Any = None
        self._error: BaseException | None = None

    def give(self, question: Question) -> None:
        try:
            self._value = question()
        except Exception as error:
            # Whoever asked raises it.
            self._error = error
        self._given.open()

    def wait(self) -> Any:
        self._given.wait()
        if self._error is not None:
            raise self._error
        return self._value
