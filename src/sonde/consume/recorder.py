"""Recording a session: whatever the consumer reads is written down as it is read.

Showing it again (`recorded.py`) is the same consumer reading the same bytes, so every printa, clear and drop message
comes out as it did or would have.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from sonde.consume.description import describe, describe_found, describe_functions
from sonde.consume.options import Options
from sonde.engines.base import FiringFeed, PacketFeed, ProcessEvents, Ring, SiteOfFile, Tracing
from sonde.formats.bpf_ring import record_size
from sonde.formats.raw_file import DESCRIPTION, FOUND, FUNCTIONS, MAP, RING, SIZE, WriteBlock
from sonde.model.probe import Probe
from sonde.model.python_functions import NumberedFunction
from sonde.model.spec import TracingSpec
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.model.samples import Samples

_PORTION = 64 << 20
"""Bytes of a block of a ring, about."""


class _RecordedRing:
    def __init__(self, ring: Ring, number: int, recorder: Recorder) -> None:
        self._ring = ring
        self._number = number
        self._recorder = recorder
        self.advance = ring.advance
        self.unread = ring.unread

    def read(self) -> memoryview:
        data = self._ring.read()
        for portion in _portions(data):
            self._recorder.block(RING, SIZE.pack(self._number), portion)
        return data


def _portions(data: memoryview) -> Iterator[memoryview]:
    """Ring bytes in parts of whole records, which are not too large for a block."""
    start = at = 0
    while len(data) - start > _PORTION:
        while at - start < _PORTION:
            at += record_size(SIZE.unpack_from(data, at)[0])
        yield data[start:at]
        start = at
    if len(data) > start:
        yield data[start:]


class Recorder:
    """A `Tracing` that writes down all that is read from another one. Give it to a `Consumer` in the other's place."""

    def __init__(self, tracing: Tracing, spec: TracingSpec, block: WriteBlock, options: Options | None = None) -> None:
        self._tracing = tracing
        self.block = block
        self.rings: Sequence[Ring] = [_RecordedRing(ring, number, self) for number, ring in enumerate(tracing.rings)]
        self.attach = tracing.attach
        self.heed = tracing.heed
        self.answer = tracing.answer
        self.run = tracing.run
        self.write_map = tracing.write_map
        self.remove_from_map = tracing.remove_from_map
        self.adopt_descendants = tracing.adopt_descendants
        self.close = tracing.close
        self.block(DESCRIPTION, describe(spec, len(self.rings), options or Options()))

    def attach_sites(self, program: str, path: str, sites: Sequence[SiteOfFile], pid: int) -> None:
        self._tracing.attach_sites(program, path, sites, pid)

    def measure(self, program: str, times: int) -> int:
        return self._tracing.measure(program, times)

    def go_over(self, name: str) -> Iterator[None]:
        return self._tracing.go_over(name)

    def await_files(self, mapped: Callable[[int], None]) -> bool:
        return self._tracing.await_files(mapped)

    def learn(self, strings: Sequence[bytes], probes: Sequence[Probe]) -> None:
        """Keep the names of probes that were found while tracing, and the strings that they have added."""
        self.block(FOUND, describe_found(strings, probes))

    def learn_functions(self, functions: Sequence[NumberedFunction]) -> None:
        """Keep functions of Python before anything that has their numbers."""
        self.block(FUNCTIONS, describe_functions(functions))

    def restart_timers(self) -> None:
        self._tracing.restart_timers()

    def process_events(self) -> ProcessEvents | None:
        return self._tracing.process_events()

    def samples(self) -> Samples | None:
        return self._tracing.samples()

    def firings(self) -> FiringFeed | None:
        return self._tracing.firings()

    def packets(self) -> PacketFeed | None:
        return self._tracing.packets()

    def wait(self, timeout: float | None, others: Sequence[int] = ()) -> list[int]:
        return self._tracing.wait(timeout, others)

    def pause(self, seconds: float, others: Sequence[int] = ()) -> list[int]:
        return self._tracing.pause(seconds, others)

    def read_map(self, name: str) -> list[tuple[bytes, bytes]]:
        return self._map(name, self._tracing.read_map(name))

    def replace_map(self, name: str) -> list[tuple[bytes, bytes]]:
        return self._map(name, self._tracing.replace_map(name))

    def _map(self, name: str, contents: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        parts = [json.dumps(name).encode() + b"\n"]
        parts += [SIZE.pack(len(part)) + part for element in contents for part in element]
        self.block(MAP, b"".join(parts))
        return contents
