"""Overflow handlers that are programs: who owns an event's, and how it changes while samples arrive.

An event and all that inherited it share one slot, so whatever is done to it is done to the whole family by one store:
a sample sees the handler from before or that from after, never half of a change.
"""

from __future__ import annotations

import errno
from _thread import allocate_lock

from sonde.bpf import programs
from sonde.bpf.programs import name_of
from sonde.typed import NamedTuple, Protocol


class HandlerProgram(Protocol):
    """A loaded program: enum bpf_prog_type, how much of its context it accesses, and one run of it."""

    @property
    def kind(self) -> int: ...

    @property
    def context_end(self) -> int:
        """Behind the last byte of the context that it accesses."""

    def run(self, context: int, cookie: int) -> int:
        """Run with the context at that address; `cookie` is what bpf_get_attach_cookie gives."""


class Handler(NamedTuple):
    """A program as an event's overflow handler, with the cookie it was attached with."""

    program: HandlerProgram
    cookie: int = 0


class HandlerSlot:
    """The place of one handler. `handler` is read once for each sample; the methods change it, from any thread.
    Programs are of type `kind`; they may access `room` bytes of the context, if that is not 0."""

    def __init__(self, kind: int = programs.PERF_EVENT, room: int = 0) -> None:
        self.handler: Handler | None = None
        self._kind = kind
        self._room = room
        self._lock = allocate_lock()

    def attach(self, program: HandlerProgram, cookie: int = 0) -> None:
        """Raises OSError: EINVAL for a program of another type, EACCES for one that accesses more of the context than
        there is, EEXIST if the slot has an owner (__perf_event_set_bpf_prog, kernel/events/core.c)."""
        made = self._checked(program, cookie)
        with self._lock:
            if self.handler is not None:
                raise OSError(errno.EEXIST, "the event has an overflow handler")
            self.handler = made

    def replace(self, program: HandlerProgram, cookie: int = 0, expected: HandlerProgram | None = None) -> None:
        """Put another program in the place of the one that is there, which has to be `expected` where that is given.

        Raises OSError: EINVAL as above, ENOENT if there is none, EPERM if it is another one (as BPF_LINK_UPDATE).
        """
        made = self._checked(program, cookie)
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

    def _checked(self, program: HandlerProgram, cookie: int) -> Handler:
        if program.kind != self._kind:
            raise OSError(errno.EINVAL, f"the handler of such an event is a program of type {name_of(self._kind)}")
        if self._room and program.context_end > self._room:
            text = f"it reads {program.context_end} bytes of its context, which has {self._room}"
            raise OSError(errno.EACCES, text)
        return Handler(program, cookie)
