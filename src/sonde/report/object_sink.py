"""What takes what the programs of an object write: their prints, the records of their rings, their maps at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sonde.model.probe import Probe
from sonde.model.samples import SampleSink
from sonde.model.spec import MapSpec
from sonde.typed import Protocol


class PacketSink(Protocol):
    """Takes packets of an array of perf events, each with the number of its device, 0 if that is not known, its time in
    ns since 1970, how long it was, what there is of it, and its head as text."""

    def write(self, array: str, device: int, moment: int, length: int, data: bytes, comment: bytes, /) -> None: ...


class ObjectSink(Protocol):
    """Takes the events of an object's run, in order."""

    def printed(self, text: bytes) -> None:
        """One bpf_printk()."""

    def written(self, chunks: Iterable[bytes]) -> None:
        """The text of an iterator."""

    def for_packets(self, arrays: Iterable[str], packets: PacketSink | None) -> None:
        """Take the records of these arrays of perf events for a structure and a packet behind it, which goes to
        `packets` if that is there."""

    def record(self, name: str, data: bytes, moment: int = 0) -> None:
        """A record of a ring buffer or of an array of perf events, whose records are padded; `moment` in ns since
        1970 is known of the latter."""

    def lost(self, name: str, count: int) -> None:
        """Records of a ring, or prints."""

    def left_out(self, refused: Sequence[Probe]) -> None:
        """Probes that the kernel does not take."""

    def lost_firings(self, reason: str, count: int) -> None:
        """Of programs that something would have fired."""

    def lost_samples(self, count: int) -> None:
        """Of perf events, whose rings were full."""

    def sample_lines(self) -> SampleSink:
        """Shows samples among the rest. Raises CannotShowError where they have no form."""

    def was_full(self, name: str, times: int, size: int) -> None:
        """Of a ring buffer, which does not count what it has no room for."""

    def can_show(self, spec: MapSpec) -> bool:
        """Whether its elements are values at all."""

    def maps(self, found: Sequence[tuple[MapSpec, Sequence[tuple[bytes, bytes]]]]) -> None:
        """All elements of all maps."""

    def flush(self) -> None:
        """Show what has come so far."""
