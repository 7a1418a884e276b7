"""The samples that programs let through: what is to be read of them, and who takes them.

A perf event's sample goes into a perf ring when the program that handles the event's overflows says so
(include/uapi/linux/perf_event.h). What is drained are the records of a CPU in the order in which they happened,
those of what processes map and start among them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonde.formats import perf_events as perf
from sonde.model.known_options import default_number
from sonde.typed import NamedTuple, Protocol, TypeAlias

SAMPLE_TYPE = (
    perf.SAMPLE_IDENTIFIER | perf.SAMPLE_IP | perf.SAMPLE_TID | perf.SAMPLE_TIME | perf.SAMPLE_CPU | perf.SAMPLE_PERIOD
)
"""What every sample has, but for the period, which is that of its event's attributes where the sample has none. Its
time is that of CLOCK_MONOTONIC."""


CLOCKS = (0, 1)
"""PERF_COUNT_SW_CPU_CLOCK and PERF_COUNT_SW_TASK_CLOCK, whose counts are ns."""

RING_BYTES = default_number("samplesize")
"""The usual size of a ring of samples."""

Take: TypeAlias = Callable[[int, memoryview], None]
"""Takes whole perf records of a CPU, headers included, as they stand in its ring: (cpu, bytes), valid during the
call."""


class SampleRequest(NamedTuple):
    """How the perf events of a session are opened.

    `sample_type` has further PERF_SAMPLE_* bits that samples are to have besides `SAMPLE_TYPE`. `ring_bytes` is the
    size of a ring, a power of 2 of pages; less where the limit on locked memory wants it. `processes` are those whose
    events are counted, and those of all that they start, by pid; () for what runs on the CPUs, whoever it is.
    `follows`: clocks (profile-n), too, belong to `processes`, which other events do anyway. `take`: gets the records of
    programs as they stand in their perf rings, when they are read, as it gets samples; then what processes map and
    start is told even if no program lets samples through.
    """

    sample_type: int = 0
    ring_bytes: int = RING_BYTES
    processes: tuple[int, ...] = ()
    follows: bool = False
    take: Take | None = None


class SampledEvent(NamedTuple):
    """A probe whose samples are read: `name` is the probe's, `attributes` the struct perf_event_attr that its events
    were opened with, `ids` the identifiers in the samples of those (PERF_SAMPLE_IDENTIFIER): one for each CPU, or for
    each CPU and thread. Inherited events have their ancestor's."""

    name: str
    attributes: bytes
    ids: tuple[int, ...]


class Samples(Protocol):
    """The samples of a session."""

    @property
    def events(self) -> Sequence[SampledEvent]:
        """What is sampled. Where the records of programs are taken, those that write them, and tell of processes."""

    @property
    def lost(self) -> int:
        """The samples that found a ring full, as far as it is known: exactly when `stop` has been called."""

    @property
    def lost_beside(self) -> int:
        """How many records about processes did so, when `stop` has been called."""

    @property
    def descriptors(self) -> Sequence[int]:
        """Readable when a ring has filled in part."""

    def drain(self, take: Take) -> None:
        """Hand over all that is in the rings: once for each CPU that has something."""

    def stop(self) -> None:
        """No event counts any more; what has been written can still be drained."""


class SampleSink(Protocol):
    """What becomes of the samples of a session: a file, or lines of text.

    Besides PERF_RECORD_SAMPLE there are PERF_RECORD_COMM, MMAP2, FORK and EXIT of all processes, LOST and the kernel's
    (UN)THROTTLE, in each CPU's order; all but samples end with the fields of struct sample_id. `wants_names`: what
    processes map is to be followed, so that the symbolizer knows the sampled addresses. `failure`: why it takes no
    more, "" as long as it does; tracing ends then.
    """

    wants_names: bool
    failure: str

    def begin(self, events: Sequence[SampledEvent]) -> None:
        """Before all else: what the samples are of."""

    def records(self, cpu: int, data: memoryview) -> None:
        """Whole records of a CPU, in the order of its ring. `data` is valid during the call."""

    def end_round(self) -> None:
        """Every ring has been read once since the last call: what comes later in any ring is not earlier than the
        records of the round before this one (as PERF_RECORD_FINISHED_ROUND)."""

    def finish(self, lost: int) -> None:
        """No more records. So many were lost, those included that PERF_RECORD_LOST has told of."""
