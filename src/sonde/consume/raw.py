"""Recording a session to a file and showing it again later, maybe elsewhere.

A raw file keeps what the consumer read, in that order: ring bytes and contents of maps. Showing it again is the same
consumer reading the same bytes, so every printa, clear and drop message comes out as it did or would have.

The file: 8 bytes magic, then blocks of {u32 kind, u32 length, `length` bytes}, all little-endian:
  1  the description, first and once: JSON of the records, aggregations, strings, probes (`_encode`), the number of
     rings, the options that decide how it is shown and the types that print() shows
  2  ring bytes: u32 ring number, then records as they stood in the ring, each behind its 8-byte header
  3  a map that was read or replaced: JSON name and newline, then {u32 size, key, u32 size, value} for each element
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator, Sequence

from sonde import spec as specification
from sonde.consume.consumer import Consumer
from sonde.consume.options import Options
from sonde.conversion import Conversion
from sonde.engines.base import Ring, Tracing
from sonde.probe import Internal, Probe
from sonde.spec import SPECULATIONS, MapSpec, TracingSpec
from sonde.typed import Any, BinaryIO

MAGIC = b"SONDERAW"
_DESCRIPTION, _RING, _MAP = 1, 2, 3
_BLOCK = struct.Struct("<II")
_SIZE = struct.Struct("<I")

_CLASSES = {
    one.__name__: one
    for one in (
        specification.Field, specification.TraceAction, specification.TracememAction, specification.PrintfAction,
        specification.PrintAction, specification.PrintaAction, specification.ExitAction, specification.ClearAction,
        specification.TruncAction,
        specification.NormalizeAction, specification.SetOptionAction, specification.CommandAction,
        specification.OtherAction, specification.PacketAction, specification.RecordLayout,
        specification.AggregationSpec, Conversion, Probe, Internal, specification.TypeSpec, specification.MemberSpec,
        MapSpec,
    )
}  # fmt: skip


class RawFileError(Exception):
    """The file is not a raw file of this format, or it is damaged."""


def _encode(value: Any) -> Any:
    """A value of the spec as JSON: named tuples as {"class": name, "values": [...]}, bytes as {"bytes": base64}."""
    if isinstance(value, tuple):
        items = [_encode(item) for item in value]
        return {"class": type(value).__name__, "values": items} if hasattr(value, "_fields") else items
    return {"bytes": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_decode(item) for item in value)
    if not isinstance(value, dict):
        return value
    if "bytes" in value:
        return base64.b64decode(value["bytes"])
    return _CLASSES[value["class"]](*_decode(value["values"]))


def _describe(spec: TracingSpec, rings: int, options: Options) -> bytes:
    # How a probe is fired does not matter any more, and what it says may be private.
    probes = tuple(probe._replace(firing=Internal("")) for probe in spec.probes)
    shown = tuple((name, getattr(options, name)) for name in Options.__slots__)
    maps = tuple(each for each in spec.maps if each.name == SPECULATIONS)
    parts = (spec.records, spec.aggregations, spec.strings, probes, rings, shown, spec.types, maps)
    return json.dumps([_encode(part) for part in parts]).encode()


class _RecordedRing:
    def __init__(self, ring: Ring, number: int, recorder: Recorder) -> None:
        self._ring = ring
        self._number = number
        self._recorder = recorder
        self.advance = ring.advance

    def read(self) -> memoryview:
        data = self._ring.read()
        if len(data):
            self._recorder.block(_RING, _SIZE.pack(self._number), data)
        return data


class Recorder:
    """A `Tracing` that writes down all that is read from another one. Give it to a `Consumer` in the other's place."""

    def __init__(self, tracing: Tracing, spec: TracingSpec, file: BinaryIO, options: Options | None = None) -> None:
        self._tracing = tracing
        self._file = file
        self.rings: Sequence[Ring] = [_RecordedRing(ring, number, self) for number, ring in enumerate(tracing.rings)]
        self.attach = tracing.attach
        self.run = tracing.run
        self.write_map = tracing.write_map
        self.close = tracing.close
        file.write(MAGIC)
        self.block(_DESCRIPTION, _describe(spec, len(self.rings), options or Options()))

    def block(self, kind: int, *parts: bytes | memoryview) -> None:
        """Append one block to the file."""
        self._file.write(_BLOCK.pack(kind, sum(map(len, parts))))
        for part in parts:
            self._file.write(part)

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
        parts += [_SIZE.pack(len(part)) + part for element in contents for part in element]
        self.block(_MAP, b"".join(parts))
        return contents


class _ReplayedRing:
    """Hands out one recorded read after the other."""

    def __init__(self, number: int, replay: Replay) -> None:
        self._number = number
        self._replay = replay

    def read(self) -> memoryview:
        return self._replay.next_ring(self._number)

    def advance(self, size: int) -> None:
        pass


class Replay:
    """A `Tracing` that gives what a raw file has recorded, to be driven by `replay`. Raises RawFileError.

    `options` are those in force when the recording began.
    """

    def __init__(self, file: BinaryIO) -> None:
        if file.read(len(MAGIC)) != MAGIC:
            raise RawFileError("not a raw file of sonde")
        self._blocks = self._read_blocks(file)
        self._next = next(self._blocks, (0, b""))
        kind, payload = self._take()
        if kind != _DESCRIPTION:
            raise RawFileError("the description is missing")
        try:
            records, aggregations, strings, probes, rings, shown, types, maps = _decode(json.loads(payload))
            self.options = Options()
            for name, value in shown:
                setattr(self.options, name, value)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RawFileError(f"the description is damaged: {error}") from error
        self.spec = TracingSpec(maps, (), records, aggregations, strings, probes, types=types)
        self.rings: Sequence[Ring] = [_ReplayedRing(number, self) for number in range(rings)]
        self._counters_left = self._counters_ahead(file) if self.options.aggrate else 0

    @staticmethod
    def _read_blocks(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
        while len(header := file.read(_BLOCK.size)) == _BLOCK.size:
            kind, length = _BLOCK.unpack(header)
            payload = file.read(length)
            if len(payload) < length:
                return
            yield kind, payload

    def _take(self) -> tuple[int, bytes]:
        block, self._next = self._next, next(self._blocks, (0, b""))
        return block

    @property
    def has_ring(self) -> bool:
        """Whether ring bytes were read next. Raises RawFileError if they are of no ring described."""
        kind, payload = self._next
        if kind == _RING and _SIZE.unpack_from(payload)[0] >= len(self.rings):
            raise RawFileError("ring bytes of an unknown ring")
        return kind == _RING

    def has_map(self, name: str) -> bool:
        """Whether this map was read next."""
        return _is_map(self._next, name)

    @property
    def has_refresh(self) -> bool:
        """Whether aggregations were read next because of the option aggrate, not for the end of the tracing.

        The end begins with the last look at the counters.
        """
        return self._counters_left > 0 and any(self.has_map(spec.map) for spec in self.spec.aggregations)

    def _counters_ahead(self, file: BinaryIO) -> int:
        """How often counters were read in all."""
        position = file.tell()
        found = sum(_is_map(block, "counters") for block in self._read_blocks(file))
        file.seek(position)
        return found + _is_map(self._next, "counters")

    def next_ring(self, number: int) -> memoryview:
        """The next ring bytes if they are of this ring, else empty."""
        kind, payload = self._next
        if kind != _RING or _SIZE.unpack_from(payload)[0] != number:
            return memoryview(b"")
        self._take()
        return memoryview(payload)[_SIZE.size :]

    def read_map(self, name: str) -> list[tuple[bytes, bytes]]:
        """The next recorded contents of the map; empty if something else was read next."""
        if not self.has_map(name):
            return []
        self._counters_left -= name == "counters"
        parts = list(_sized(self._take()[1].partition(b"\n")[2]))
        return list(zip(parts[::2], parts[1::2], strict=True))

    replace_map = read_map

    def write_map(self, name: str, key: bytes, value: bytes) -> None:
        """What was written showed in what was read later, and is in the file."""

    def wait(self, timeout: float | None, others: Sequence[int] = ()) -> list[int]:
        return []

    def pause(self, seconds: float, others: Sequence[int] = ()) -> list[int]:
        return []

    def attach(self) -> None:
        pass

    def run(self, program: str) -> None:
        pass

    def close(self) -> None:
        pass


def _is_map(block: tuple[int, bytes], name: str) -> bool:
    kind, payload = block
    return kind == _MAP and bool(json.loads(payload.partition(b"\n")[0]) == name)


def _sized(data: bytes) -> Iterator[bytes]:
    position = 0
    while position < len(data):
        (size,) = _SIZE.unpack_from(data, position)
        position += _SIZE.size
        yield data[position : position + size]
        position += size


def replay(file: Replay, consumer: Consumer) -> None:
    """Let a consumer of `file`, made with an infinite `status_rate`, show the whole recording."""
    while True:
        if file.has_ring:
            consumer.poll()
        elif file.has_map(specification.SPECULATION_COUNTS):
            # It was looked at although the rings were empty.
            consumer.poll()
        elif file.has_map("counters"):
            consumer.report_drops()
        elif not (file.has_refresh and consumer.refresh()):
            break
    consumer.finish()
