"""The clocks of timers as perf events: their programs are the events' overflow handlers."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.engines.embedded.sources.attached import attached
from sonde.engines.embedded.sources.buffers import Buffers
from sonde.engines.embedded.sources.firings import Clock
from sonde.formats.perf_events import MISC_USER, SAMPLE_PERIOD
from sonde.model.errors import EngineError
from sonde.runtime.environment import Environment
from sonde.runtime.perf.attributes import Attributes
from sonde.runtime.perf.events import OpenPerfEvent, open_event
from sonde.runtime.perf.sample import Sample
from sonde.runtime.programs.overflow import Overflows
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.engines.embedded.sources.sample_ring import SampleRing


class ClockEvents:
    """One event for each clock; where it is for threads, each of these has one that was inherited from it. The
    registers of a sample are those in the buffer; what programs let through goes to `ring`, which is there if any
    does."""

    def __init__(
        self, clocks: Sequence[Clock], environment: Environment, buffers: Buffers, ring: SampleRing | None
    ) -> None:
        """Raises EngineError for a program that cannot handle its event."""
        self._environment = environment
        self._buffers = buffers
        self._ring = ring
        self._overflows = Overflows(environment)
        self._loaded = dict(enumerate((attached(each.program, environment) for each in clocks), 1))
        self._clocks = clocks
        self._events = [self._event(clock, number) for number, clock in enumerate(clocks, 1)]
        self._inherited: dict[int, dict[int, OpenPerfEvent]] = {}
        self._last = len(clocks) + 1

    @property
    def skipped(self) -> int:
        """Overflows that came while a program ran, and were dropped."""
        return self._overflows.skipped

    def overflow(self, number: int, address: int = 0) -> None:
        """The clock with that index is due; a counted event tells an address."""
        self._environment.probe = self._clocks[number].probe
        event = self._events[number]
        if event.attributes.inherit:
            event = self._of_thread(number, event)
        period, registers = event.attributes.sample_period, bytes(self._buffers.registers)
        values = {"period": period} if self._ring is None else self._ring.values(period, registers)
        if address:
            values["addr"] = address
        self._overflows.overflow(event, Sample(values, misc=MISC_USER, registers=registers))

    def _of_thread(self, number: int, event: OpenPerfEvent) -> OpenPerfEvent:
        """The event that the firing's thread has from the one that made it."""
        by_clock = self._inherited.setdefault(self._environment.task.tid, {})
        found = by_clock.get(number)
        if found is None:
            self._last += 1
            found = event.inherit(self._last)
            assert found is not None
            by_clock[number] = found
        return found

    def forget(self, tid: int) -> None:
        """The thread has ended, and its events with it."""
        self._inherited.pop(tid, None)

    def _event(self, clock: Clock, number: int) -> OpenPerfEvent:
        attributes = Attributes(
            config=clock.config, sample_period=clock.period, sample_type=SAMPLE_PERIOD, inherit=clock.samples,
            handler=True, config1=number,
        )  # fmt: skip
        try:
            if self._ring is not None and clock.program.spec.samples:
                return self._ring.open(clock.name, attributes, self._loaded, clock.cookie)
            return open_event(attributes, self._loaded, number, cookie=clock.cookie)
        except OSError as error:
            raise EngineError(f"cannot attach {clock.name}: {error.strerror}") from None
