"""The clocks of timers as perf events: their programs are the events' overflow handlers."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.engines.embedded.environment import Environment
from sonde.engines.embedded.perf.attributes import Attributes
from sonde.engines.embedded.perf.events import PerfEvent
from sonde.engines.embedded.perf.loaded import LoadedProgram
from sonde.engines.embedded.perf.overflow import Overflows
from sonde.engines.embedded.perf.sample import Sample
from sonde.engines.embedded.sources.buffers import Buffers
from sonde.engines.embedded.sources.firings import Clock
from sonde.formats.perf_events import SAMPLE_PERIOD, SOFTWARE_CPU_CLOCK


class ClockEvents:
    """One cpu-clock event for each clock. The registers of a sample are those in the buffer."""

    def __init__(self, clocks: Sequence[Clock], environment: Environment, buffers: Buffers) -> None:
        self._buffers = buffers
        self._overflows = Overflows(environment)
        self._events = [_event(clock, environment) for clock in clocks]

    def overflow(self, number: int) -> None:
        """The clock with that index is due."""
        event = self._events[number]
        values = {"period": event.attributes.sample_period}
        self._overflows.overflow(event, Sample(values, registers=bytes(self._buffers.registers)))


def _event(clock: Clock, environment: Environment) -> PerfEvent:
    attributes = Attributes(config=SOFTWARE_CPU_CLOCK, sample_period=clock.period, sample_type=SAMPLE_PERIOD)
    event = PerfEvent(attributes)
    event.attach(LoadedProgram(environment, clock.program.spec.kind, clock.program), clock.cookie)
    return event
