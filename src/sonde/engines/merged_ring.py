"""Perf rings of several CPUs as one ring, whose records are in the order of their times."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter

from sonde.formats.perf_records import SAMPLED, TIMED, Bytes, SampleRun, runs
from sonde.formats.perf_ring import PerfRingReader
from sonde.model.samples import Take
from sonde.typed import NamedTuple

_TIME = itemgetter(0)


class _Timed(NamedTuple):
    """A run whose first and last times these are; `is_ordered`: what stands later in it is not earlier."""

    first: int
    last: int
    is_ordered: bool
    run: SampleRun


class MergedRing:
    """The Ring of programs that write images (`codegen/basis/outputs.py`) into perf rings.

    `settled` is asked before the rings are looked at; it gives a time up to which all records are in them. Those that
    are later wait for the next look, since there may be some between them. One ring alone is in order as it is.
    `readers` are the caller's to close. `take` gets what each ring has, by its number, before it is given back: then
    records have all fields of `samples.SAMPLE_TYPE`, else only their times and images.
    """

    def __init__(self, readers: Sequence[PerfRingReader], settled: Callable[[], int], take: Take | None = None) -> None:
        self._take_bytes = take
        self._places = TIMED if take is None else SAMPLED
        self._readers = readers
        self._settled = settled
        self._later: list[SampleRun] = []
        self._ready: bytes | bytearray = b""

    def read(self) -> memoryview:
        """Records as they stand in a BPF ring buffer, all since `advance`; empty if there are none."""
        parts: list[Bytes] = [self._ready] if self._ready else []
        if len(self._readers) == 1:
            parts += [image for run in self._unread() for image in run.images()]
        else:
            limit = self._settled()
            ready, later = _until(limit, [*self._later, *self._unread()])
            parts += _merged(ready)
            self._later = [run.kept() for run in later]
        first = parts[0] if len(parts) == 1 else b""
        self._ready = first if isinstance(first, bytearray) else b"".join(parts)
        for reader in self._readers:
            reader.advance()
        return memoryview(self._ready)

    def unread(self) -> memoryview:
        """All records that there are, of whatever time."""
        found = (run for reader in self._readers for run in runs(reader.unread(), self._places))
        return memoryview(b"".join([self._ready, *(each for run in (*self._later, *found) for each in run.images())]))

    def _unread(self) -> Iterator[SampleRun]:
        """What the rings have, one after the other."""
        for number, reader in enumerate(self._readers):
            data = reader.unread()
            if self._take_bytes is not None and data:
                self._take_bytes(number, data)
            yield from runs(data, self._places)

    def advance(self, size: int) -> None:
        """Forget the first `size` bytes of what `read` gave."""
        self._ready = self._ready[size:] if size < len(self._ready) else b""

    @property
    def has_data(self) -> bool:
        """Whether there is anything to read, without looking at what it is."""
        return bool(self._ready or self._later) or any(reader.size for reader in self._readers)


def _until(limit: int, found: list[SampleRun]) -> tuple[list[_Timed], list[SampleRun]]:
    """What is not later than `limit`, and what is."""
    ready, later = [], []
    for run in found:
        times = run.times()
        is_ordered = times == sorted(times)
        first, last = (times[0], times[-1]) if is_ordered else (min(times), max(times))
        if first > limit:
            later.append(run)
        elif last <= limit:
            ready.append(_Timed(first, last, is_ordered, run))
        elif is_ordered:
            before, behind = run.split(bisect_right(times, limit))
            ready.append(_Timed(first, limit, True, before))
            later.append(behind)
        else:
            singly = _until(limit, run.pieces())
            ready += singly[0]
            later += singly[1]
    return ready, later


def _merged(found: list[_Timed]) -> Iterator[Bytes]:
    """The images of runs in the order of their times: of a run at once that is over when the next one begins."""
    found.sort(key=_TIME)
    group: list[_Timed] = []
    last = 0
    for each in found:
        if group and each.first >= last:
            yield from _in_order(group)
            group = []
        group.append(each)
        last = max(last, each.last)
    if group:
        yield from _in_order(group)


def _in_order(group: list[_Timed]) -> list[Bytes]:
    if len(group) == 1 and group[0].is_ordered:
        return group[0].run.images()
    records = [record for each in group for record in each.run.records()]
    records.sort(key=_TIME)
    return [image for _, image in records]
