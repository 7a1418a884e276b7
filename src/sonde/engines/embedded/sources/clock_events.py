"""The clocks of timers as perf events: their programs are the events' overflow handlers."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.engines.embedded.sources.buffers import Buffers
from sonde.engines.embedded.sources.firings import Clock
from sonde.formats.perf_events import MISC_USER, SAMPLE_PERIOD
from sonde.runtime.environment import Environment
from sonde.runtime.perf.attributes import Attributes
from sonde.runtime.perf.events import OpenPerfEvent
from sonde.runtime.perf.sample import Sample
from sonde.runtime.programs.loaded import RunnableProgram
from sonde.runtime.programs.overflow import Overflows
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.engines.embedded.sources.sample_ring import SampleRing


class ClockEvents:
    """One event for each clock. The registers of a sample are those in the buffer; what programs let through goes to
    `ring`, which is there if any does."""

    def __init__(
        self, clocks: Sequence[Clock], environment: Environment, buffers: Buffers, ring: SampleRing | None
    ) -> None:
        self._buffers = buffers
        self._ring = ring
        self._overflows = Overflows(environment)
        self._events = [self._event(clock, environment) for clock in clocks]

    def overflow(self, number: int) -> None:
        """The clock with that index is due."""
        event = self._events[number]
        period, registers = event.attributes.sample_period, bytes(self._buffers.registers)
        values = {"period": period} if self._ring is None else self._ring.values(period, registers)
        self._overflows.overflow(event, Sample(values, misc=MISC_USER, registers=registers))

    def _event(self, clock: Clock, environment: Environment) -> OpenPerfEvent:
        attributes = Attributes(config=clock.config, sample_period=clock.period, sample_type=SAMPLE_PERIOD)
        if self._ring is not None and clock.program.spec.samples:
            event = self._ring.open(clock.name, attributes)
        else:
            event = OpenPerfEvent(attributes)
        event.attach(RunnableProgram(environment, clock.program.spec.kind, clock.program), clock.cookie)
        return event
