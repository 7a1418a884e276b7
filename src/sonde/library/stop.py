"""Who asks a run to end: another thread, or a clock; and questions to it that its own thread answers."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable

from sonde.typed import Any

Question = Callable[[], Any]


class Stop:
    """`session.Asked` for a run in a thread of its own, which any other thread may stop or ask."""

    def __init__(self, duration: float | None, before_end: Callable[[], None]) -> None:
        self._duration = duration
        self._before_end = before_end
        self._asked = False
        self.until = float("inf")
        self.descriptor = -1
        self._lock = threading.Lock()
        self._questions: deque[tuple[Question, _Answer]] = deque()
        self._is_over = False
        self.begun = threading.Event()
        """Set when probes fire, or when they never will."""

    def open(self) -> None:
        """Before anything else: the run is about to begin."""
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    @property
    def asked(self) -> bool:
        return self._asked or time.monotonic() >= self.until

    def stop(self) -> None:
        """Ask for the end. Any thread may."""
        with self._lock:
            self._asked = True
            self._knock()

    def ask(self, question: Question) -> Any:
        """What the question gives, asked by the run's own thread; RuntimeError if that has ended."""
        with self._lock:
            if self._is_over:
                raise RuntimeError("the run is over")
            answer = _Answer()
            self._questions.append((question, answer))
            self._knock()
        return answer.wait()

    def _knock(self) -> None:
        if not self._is_over and self.descriptor >= 0:
            os.eventfd_write(self.descriptor, 1)

    def turn(self) -> None:
        """Answer what was asked; the clock begins with the first turn, when all is attached."""
        if not self.begun.is_set():
            self.begun.set()
            if self._duration is not None:
                self.until = time.monotonic() + self._duration
        try:
            os.eventfd_read(self.descriptor)
        except BlockingIOError:
            return
        self._answer()

    def _answer(self) -> None:
        while self._questions:
            question, answer = self._questions.popleft()
            answer.give(question)

    def close(self) -> None:
        """Tracing is over; what programs have counted can still be read."""
        self._before_end()
        self.finish()

    def finish(self) -> None:
        """No more questions, for whatever reason the run has ended."""
        with self._lock:
            if not self._is_over:
                self._is_over = True
                self._answer()
                # The run refers to this object, too.
                self._before_end = _nothing
                os.close(self.descriptor)
        self.begun.set()


def _nothing() -> None:
    """Before the end of what has ended."""


class _Answer:
    """An answer that another thread waits for, or the exception in its place."""

    def __init__(self) -> None:
        self._given = threading.Event()
        self._value: Any = None
        self._error: BaseException | None = None

    def give(self, question: Question) -> None:
        try:
            self._value = question()
        except Exception as error:
            # Whoever asked raises it.
            self._error = error
        self._given.set()

    def wait(self) -> Any:
        self._given.wait()
        if self._error is not None:
            raise self._error
        return self._value
