"""The samples of a session on their way from the rings to whoever takes them."""

from __future__ import annotations

from sonde.typed import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sonde.model.samples import Samples, SampleSink


class HasSamples(Protocol):
    """What loaded programs, attached, have of it (`engines/base.py`)."""

    def samples(self) -> Samples | None: ...


class SampleFlow:
    """`sink` takes the samples, None where nobody wants any. Does nothing where no program lets any through."""

    def __init__(self, sink: SampleSink | None) -> None:
        self.sink = sink
        self._samples: Samples | None = None

    def begin(self, tracing: HasSamples) -> None:
        """The programs have been attached."""
        self._samples = tracing.samples() if self.sink is not None else None
        if self._samples is not None and self.sink is not None:
            self.sink.begin(self._samples.events)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Readable when there is something to take."""
        return tuple(self._samples.descriptors) if self._samples is not None else ()

    @property
    def has_failed(self) -> bool:
        """Whether the sink takes no more."""
        return self.sink is not None and bool(self.sink.failure)

    def drain(self) -> None:
        if self._samples is not None and self.sink is not None:
            self._samples.drain(self.sink.records)
            self.sink.end_round()

    def stop(self) -> None:
        """No event counts any more."""
        if self._samples is not None:
            self._samples.stop()

    def finish(self) -> int:
        """Take the last of them; how many were lost."""
        self.drain()
        if self._samples is None or self.sink is None:
            return 0
        self.sink.finish(self._samples.lost + self._samples.lost_beside)
        return self._samples.lost

    @property
    def lost_beside(self) -> int:
        """How many records of what processes do were lost, when `stop` has been called."""
        return self._samples.lost_beside if self._samples is not None else 0
