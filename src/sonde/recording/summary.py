"""What is in the data of a file that has just been recorded: perf wants to be told at the file's end."""

from __future__ import annotations

import os
import struct
from collections import Counter
from collections.abc import Container, Iterable

from sonde.formats import perf_events as perf

_SAMPLE = struct.Struct("=8xQ8xI4xQ")
"""Header, identifier, ip, pid, tid, time (`samples.SAMPLE_TYPE`)."""
_FORK = struct.Struct("=8xII")
_PID = struct.Struct("=8xI")
_LOST = struct.Struct("=8xQQ")
_OTHERS = frozenset((perf.RECORD_MMAP2, perf.RECORD_FORK, perf.RECORD_LOST))
_NEVER = 1 << 64
_PATH = 8 + 64
"""Where the path is in a PERF_RECORD_MMAP2."""


class Summary:
    """`first` and `last`: times of samples, 0 if there are none. `samples` and `records` are how many there are of
    events and of programs' records, the others how many were lost as PERF_RECORD_LOST tell."""

    def __init__(self, pieces: Iterable[bytes], of_programs: Container[int] = ()) -> None:
        """`pieces` have whole records; `of_programs` are the identifiers of samples that are records of programs."""
        self.first = self.last = 0
        self.samples = self.records = 0
        self.lost_samples = self.lost_records = 0
        self._of_programs = of_programs
        self._files: dict[int, frozenset[bytes]] = {}
        self._sampled: set[frozenset[bytes]] = set()
        for piece in pieces:
            self._take_all(piece)

    def _take_all(self, piece: bytes) -> None:
        """Samples, most of all records, are dealt with here, and once for many of one process."""
        found: Counter[int] = Counter()
        at, end, last_pid = 0, len(piece), None
        first, last = self.first or _NEVER, self.last
        while at < end:
            kind, _, size = perf.HEADER.unpack_from(piece, at)
            if kind == perf.RECORD_SAMPLE:
                identifier, pid, time = _SAMPLE.unpack_from(piece, at)
                found[identifier] += 1
                if time < first:
                    first = time
                if time > last:
                    last = time
                if pid != last_pid:
                    self._sampled.add(self._files.get(pid, frozenset()))
                    last_pid = pid
            elif kind in _OTHERS:
                self._take(kind, piece[at : at + size])
                last_pid = None
            at += size
        records = sum(count for identifier, count in found.items() if identifier in self._of_programs)
        self.records += records
        self.samples += found.total() - records
        self.first, self.last = first if first < _NEVER else 0, last

    def _take(self, kind: int, data: bytes) -> None:
        if kind == perf.RECORD_MMAP2:
            (pid,) = _PID.unpack_from(data)
            path = data[_PATH:].partition(b"\0")[0]
            if path.startswith(b"/") and not path.startswith(b"//"):
                self._files[pid] = self._files.get(pid, frozenset()) | {path}
        elif kind == perf.RECORD_FORK:
            pid, parent = _FORK.unpack_from(data)
            if pid != parent:
                self._files[pid] = self._files.get(parent, frozenset())
        else:
            identifier, count = _LOST.unpack_from(data)
            if identifier in self._of_programs:
                self.lost_records += count
            else:
                self.lost_samples += count

    def __str__(self) -> str:
        parts = [_count(self.samples, "sample"), f"{_count(self.records, 'record')} of programs"]
        if self.lost_samples or self.lost_records:
            parts.append(f"{_count(self.lost_samples, 'sample')} and {_count(self.lost_records, 'record')} lost")
        return ", ".join(parts)

    @property
    def files(self) -> list[str]:
        """What was mapped by processes when samples of them were taken."""
        return sorted(map(os.fsdecode, frozenset[bytes]().union(*self._sampled)))


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
