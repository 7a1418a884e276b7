"""A command that waits before exec, with its pid known, until it is traced and its filter is known."""

from __future__ import annotations

import ctypes
import os
import struct

from sonde import launch
from sonde.engines.embedded.tracer import seccomp

_PR_SET_PTRACER = 0x59616D61
_LENGTHS = struct.Struct("=II")


class HeldCommand:
    """A child of sonde that has not exec'ed."""

    def __init__(self, text: str, tracer: int, private: tuple[int, ...]) -> None:
        """`private`: descriptors that the child must not hold open while it waits. Raises CommandError."""
        self._arguments = launch.words(text)
        self.name = self._arguments[0]
        reader, self._writer = os.pipe2(os.O_CLOEXEC)
        unwanted = (*private, self._writer)
        self.pid, self._problem = launch.fork(self._arguments, lambda: _wait(reader, tracer, unwanted))
        os.close(reader)

    def exec(self, filter_: bytes, notifying: bytes = b"") -> None:
        """Let it exec, behind that filter, if it is not empty; rather behind `notifying` (seccomp.install)."""
        os.write(self._writer, _LENGTHS.pack(len(filter_), len(notifying)) + filter_ + notifying)
        os.close(self._writer)

    def refusal(self) -> launch.CommandError:
        """Why it has ended and not exec'ed."""
        text = launch.problem(self._problem) or "it ended at once"
        return launch.CommandError(f"failed to run {self.name}: {text}")

    def abandon(self) -> None:
        """It is not to run: it ends."""
        os.close(self._writer)
        os.close(self._problem)

    def forget(self) -> None:
        """It has exec'ed."""
        os.close(self._problem)


def _wait(pipe: int, tracer: int, unwanted: tuple[int, ...]) -> None:
    """In the child. If sonde ends before it says what to do, the command is never run."""
    for descriptor in unwanted:
        os.close(descriptor)
    if not _is_foreground():
        os.setpgid(0, 0)
    # Where there is no Yama this fails, and is not needed.
    ctypes.CDLL(None).prctl(_PR_SET_PTRACER, tracer, 0, 0, 0)
    with os.fdopen(pipe, "rb") as file:
        head = file.read(_LENGTHS.size)
        length, more = _LENGTHS.unpack(head) if len(head) == _LENGTHS.size else (0, 0)
        filters = file.read(length + more)
    if len(head) < _LENGTHS.size or len(filters) < length + more:
        os._exit(127)
    if filters:
        seccomp.install(filters[:length], filters[length:])


def _is_foreground() -> bool:
    """Whether a terminal's keys go to this process group: the command stays in it then, to get them too.

    Elsewhere it has a group of its own, so that what ends sonde's does not end the command.
    """
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
