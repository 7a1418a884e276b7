"""Overflow handlers that are programs: who owns an event's, and how it changes while samples arrive.

An event and all that inherited it share one slot, so whatever is done to it is done to the whole family by one store:
a sample sees the handler from before or that from after, never half of a change.
"""

from __future__ import annotations

import errno
from _thread import allocate_lock

from sonde.bpf import programs
from sonde.typed import NamedTuple, Protocol


class HandlerProgram(Protocol):
    """A loaded program: enum bpf_prog_type, and one run of it."""

    @property
    def kind(self) -> int: ...

    def run(self, context: int, cookie: int) -> int:
        """Run with the context at that address; `cookie` is what bpf_get_attach_cookie gives."""


class Handler(NamedTuple):
    """A program as an event's overflow handler, with the cookie it was attached with."""

    program: HandlerProgram
    cookie: int = 0


class HandlerSlot:
    """The place of one handler. `handler` is read once for each sample; the methods change it, from any thread."""

    def __init__(self) -> None:
        self.handler: Handler | None = None
        self._lock = allocate_lock()

    def attach(self, program: HandlerProgram, cookie: int = 0) -> None:
        """Raises OSError: EINVAL for a program of another type, EEXIST if the slot has an owner."""
        made = _checked(program, cookie)
        with self._lock:
            if self.handler is not None:
                raise OSError(errno.EEXIST, "the event has an overflow handler")
            self.handler = made

    def replace(self, program: HandlerProgram, cookie: int = 0, expected: HandlerProgram | None = None) -> None:
        """Put another program in the place of the one that is there, which has to be `expected` where that is given.

        Raises OSError: EINVAL as above, ENOENT if there is none, EPERM if it is another one (as BPF_LINK_UPDATE).
        """
        made = _checked(program, cookie)
        with self._lock:
            if self.handler is None:
                raise OSError(errno.ENOENT, "the event has no overflow handler to replace")
            if expected is not None and self.handler.program is not expected:
                raise OSError(errno.EPERM, "the event's overflow handler is not the expected one")
            self.handler = made

    def detach(self) -> None:
        """Samples go straight to the event's own handler again. Raises OSError(ENOENT) if there is no program."""
        with self._lock:
            if self.handler is None:
                raise OSError(errno.ENOENT, "the event has no overflow handler")
            self.handler = None


def _checked(program: HandlerProgram, cookie: int) -> Handler:
    if program.kind != programs.PERF_EVENT:
        raise OSError(errno.EINVAL, "an overflow handler is a program of type perf_event")
    return Handler(program, cookie)
