"""What drives a session: records of the guardian and timers, taken up as they come, and waiting for them."""

from __future__ import annotations

import select
from collections.abc import Callable, Mapping, Sequence

from sonde.engines.embedded.followed import FollowedGroup
from sonde.engines.embedded.sources.interventions import Interventions
from sonde.engines.embedded.sources.stops import Handler, Record
from sonde.engines.embedded.sources.timers import TimerSource
from sonde.engines.embedded.tracer import stops
from sonde.launch import GuardianError
from sonde.machine.system import monotonic_ns
from sonde.model.errors import AbortedError
from sonde.model.units import MILLISECOND, SECOND
from sonde.runtime.machine.memory import AccessError
from sonde.typed import Protocol

_BATCH = 256
"""Records taken up between two looks at the clock and at what else may have come."""

_BETWEEN_LOOKS = MILLISECOND
"""ns between two looks at other descriptors while records keep coming."""


class Descriptors(Protocol):
    @property
    def descriptors(self) -> Sequence[int]: ...


class Asynchronous(Protocol):
    """What happens to threads that nobody stops, in rings of the kernel's: `next` is when these are to be looked at, in
    ns of CLOCK_MONOTONIC, `kind` that of the records that stand for it."""

    kind: int
    next: int

    @property
    def events(self) -> Descriptors: ...

    def merged(self, records: Sequence[Record], limit: int) -> Sequence[Record]:
        """The records, and among them what has happened up to that time."""

    def handle(self, record: Record) -> None: ...


class Events:
    """`handlers` are by the kind of record; `is_enough` tells that somebody should look at the rings."""

    def __init__(
        self, followed: FollowedGroup | None, handlers: Mapping[int, Handler], timers: TimerSource,
        is_enough: Callable[[bool], bool], interventions: Interventions, others: Sequence[Asynchronous] = (),
        is_hasty: bool = False,
    ) -> None:  # fmt: skip
        """`is_hasty`: what a firing has written is to be looked at before the next."""
        self._is_hasty = is_hasty
        self._followed = followed
        self._tracees = followed.tracees if followed else None
        self._handlers = dict(handlers)
        self._timers = timers
        self._is_enough = is_enough
        self._interventions = interventions
        self._asynchronous = tuple(others)
        self._handlers |= {each.kind: each.handle for each in others}
        self._poll: select.poll | None = None
        self._others: tuple[int, ...] = ()

    def wait(self, timeout: float | None, others: Sequence[int], for_data: bool) -> list[int]:
        """Take up what comes until `timeout` seconds have passed or one of `others` is readable, or, `for_data`, until
        there is something in a ring; those of `others` that are readable."""
        now = monotonic_ns()
        end = now + int(timeout * SECOND) if timeout is not None else None
        poll = self._prepared(tuple(others))
        try:
            while True:
                enough, look = self._take_up_all(for_data, now + _BETWEEN_LOOKS)
                ready = self._poll_for(poll, 0 if enough or look else self._patience(end))
                now = monotonic_ns()
                if enough or ready or (end is not None and now >= end):
                    return ready
        except GuardianError as error:
            raise AbortedError(str(error)) from None
        except AccessError as error:
            raise AbortedError(f"a program reached beyond its memory, an error of sonde's: {error}") from None

    def _prepared(self, others: tuple[int, ...]) -> select.poll:
        if self._poll is None or others != self._others:
            self._poll, self._others = select.poll(), others
            for descriptor in others:
                self._poll.register(descriptor, select.POLLIN)
            if self._tracees is not None:
                self._poll.register(self._tracees.descriptor, select.POLLIN)
            for each in self._asynchronous:
                for descriptor in each.events.descriptors:
                    self._poll.register(descriptor, select.POLLIN)
        return self._poll

    def _take_up_all(self, for_data: bool, until: int) -> tuple[bool, bool]:
        """Handle records as long as there are any and it is not later than `until`; whether somebody should look at
        the rings, and whether there may be more records, which is not so behind a held one."""
        batch = 1 if self._is_hasty else _BATCH
        timers, tracees, clock, is_enough = self._timers, self._tracees, monotonic_ns, self._is_enough
        handlers, held, asynchronous = self._handlers, stops.HELD, self._asynchronous
        interventions = self._interventions
        while True:
            if self._is_hasty and is_enough(True):
                return True, True
            now = clock()
            if timers.next and timers.next <= now:
                timers.advance(now)
                if self._is_hasty and is_enough(True):
                    return True, True
            if interventions.next and interventions.next <= now:
                interventions.advance(now)
            number, records = tracees.take(batch) if tracees is not None else (0, ())
            if asynchronous:
                limit = self._limit(now, records)
                for each in asynchronous:
                    records = each.merged(records, limit)
            for record in records:
                if record[1] & held:
                    interventions.begin(record[2])
                    handlers[record[0]](record)
                    interventions.release(number, record[2])
                else:
                    handlers[record[0]](record)
                if record[0] > 0:
                    # A sample or a switch has no number, and may stand before or behind a held record.
                    number += 1
            enough = is_enough(for_data)
            is_last = not records or (records[-1][1] & held and not tracees.has_more())  # type: ignore[union-attr]
            if enough or is_last or now >= until:
                return enough, not is_last

    def _limit(self, now: int, records: Sequence[tuple[int, ...]]) -> int:
        """A time up to which all records are known, as these were looked for behind `now`."""
        if records and (records[-1][1] & stops.HELD or self._tracees.has_more()):  # type: ignore[union-attr]
            return min(now, records[-1][3])
        return now

    def _patience(self, end: int | None) -> int | None:
        """Milliseconds to wait at most, rounded up; None: for ever."""
        own = (end, self._timers.next, self._interventions.next)
        moments = [moment for moment in (*own, *(each.next for each in self._asynchronous)) if moment]
        if not moments:
            return None
        return max(-((monotonic_ns() - min(moments)) // MILLISECOND), 0)

    def _poll_for(self, poll: select.poll, patience: int | None) -> list[int]:
        """Those of the others that are readable, after so many milliseconds at most."""
        tracees = self._tracees
        if tracees is None or patience == 0:
            found = poll.poll(patience)
        else:
            nap = tracees.rest()
            if nap is not None:
                patience = int(nap * 1000) if patience is None else min(patience, int(nap * 1000))
            found = poll.poll(patience)
            tracees.awake()
        ready = {descriptor for descriptor, _ in found}
        return [descriptor for descriptor in self._others if descriptor in ready]
