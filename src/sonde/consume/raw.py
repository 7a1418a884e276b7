"""Recording a session to a file and showing it again later, maybe elsewhere.

A raw file keeps what the consumer read, in that order: ring bytes and contents of maps. Showing it again is the same
consumer reading the same bytes, so every printa, clear and drop message comes out as it did or would have.

The file: 8 bytes magic, then blocks of {u32 kind, u32 length, `length` bytes}, all little-endian:
  1  the description (`description.py`), first and once: JSON of the records, aggregations, strings, probes, the number
     of rings, the options that decide how it is shown and the types that print() shows
  2  ring bytes: u32 ring number, then records as they stood in the ring, each behind its 8-byte header
  3  a map that was read or replaced: JSON name and newline, then {u32 size, key, u32 size, value} for each element
  4  probes that were found while tracing: JSON of the strings that follow those there are, and of the probes
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

from sonde.consume.allowance import TOO_LARGE, allowance
from sonde.consume.description import RawFileError, describe, describe_found, described, found_probes
from sonde.consume.options import Options
from sonde.engines.base import ProcessEvents, Ring, SiteOfFile, Tracing
from sonde.formats.bpf_ring import record_size
from sonde.model import spec as specification
from sonde.model.probe import Probe
from sonde.model.spec import TracingSpec
from sonde.model.units import GIB
from sonde.typed import TYPE_CHECKING, BinaryIO, Protocol, TypeAlias

if TYPE_CHECKING:
    from sonde.model.samples import Samples

MAGIC = b"SONDERAW"
_DESCRIPTION, _RING, _MAP, _FOUND = 1, 2, 3, 4
_BLOCK = struct.Struct("<II")
Block: TypeAlias = "tuple[int, bytes]"
"""Its kind and content."""
_SIZE = struct.Struct("<I")
_LARGEST = {_DESCRIPTION: 64 << 20, _RING: 256 << 20, _MAP: GIB, _FOUND: 64 << 20}
"""Bytes of a block of each kind; what is read of a ring at once is divided where there is more."""
_PORTION = 64 << 20

_LAST = (specification.PACKET_LOSSES, specification.WAITING)
"""Maps that are read when all else is over, by whoever asks."""


class _RecordedRing:
    def __init__(self, ring: Ring, number: int, recorder: Recorder) -> None:
        self._ring = ring
        self._number = number
        self._recorder = recorder
        self.advance = ring.advance

    def read(self) -> memoryview:
        data = self._ring.read()
        for portion in _portions(data):
            self._recorder.block(_RING, _SIZE.pack(self._number), portion)
        return data


def _portions(data: memoryview) -> Iterator[memoryview]:
    """Ring bytes in parts of whole records, which are not too large for a block."""
    start = at = 0
    while len(data) - start > _PORTION:
        while at - start < _PORTION:
            at += record_size(_SIZE.unpack_from(data, at)[0])
        yield data[start:at]
        start = at
    if len(data) > start:
        yield data[start:]


class WriteBlock(Protocol):
    """Keeps a block: its kind, and the parts of its content."""

    def __call__(self, kind: int, *parts: bytes | memoryview) -> None: ...


class RawFile:
    """Writes blocks one behind the other to a file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        file.write(MAGIC)

    def block(self, kind: int, *parts: bytes | memoryview) -> None:
        """Append one block to the file."""
        self._file.write(_BLOCK.pack(kind, sum(map(len, parts))))
        for part in parts:
            self._file.write(part)


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
        self.adopt_descendants = tracing.adopt_descendants
        self.close = tracing.close
        self.block(_DESCRIPTION, describe(spec, len(self.rings), options or Options()))

    def attach_sites(self, program: str, path: str, sites: Sequence[SiteOfFile], pid: int) -> None:
        self._tracing.attach_sites(program, path, sites, pid)

    def learn(self, strings: Sequence[bytes], probes: Sequence[Probe]) -> None:
        """Keep the names of probes that were found while tracing, and the strings that they have added."""
        self.block(_FOUND, describe_found(strings, probes))

    def process_events(self) -> ProcessEvents | None:
        return self._tracing.process_events()

    def samples(self) -> Samples | None:
        return self._tracing.samples()

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


class RawBlocks:
    """The blocks of a raw file, as far as they are whole. Raises RawFileError for a file that is none.

    `cut` says that the file ends within a block, as that of a session that was killed does; "" if it does not.
    """

    def __init__(self, file: BinaryIO) -> None:
        """`file` can be sought in."""
        if file.read(len(MAGIC)) != MAGIC:
            raise RawFileError("not a raw file of sonde")
        self._file = file
        self._size = file.seek(0, os.SEEK_END)
        self._allowance = allowance(file, self._size)
        self.cut = ""

    def __iter__(self) -> Iterator[Block]:
        """Raises RawFileError where something else than a block begins."""
        position = len(MAGIC)
        while position < self._size:
            # There may be several readers.
            self._file.seek(position)
            header = self._file.read(_BLOCK.size)
            kind, length = _BLOCK.unpack(header) if len(header) == _BLOCK.size else (0, self._size)
            if position + _BLOCK.size + length > self._size and (kind in _LARGEST or len(header) < _BLOCK.size):
                self.cut = f"it is cut off in the block at byte {position}"
                return
            if kind not in _LARGEST or length > _LARGEST[kind]:
                what = f"a block of {length} bytes" if kind in _LARGEST else f"a block of the unknown kind {kind}"
                raise RawFileError(f"it is damaged at byte {position}: {what}")
            if length > self._allowance:
                raise RawFileError(TOO_LARGE)
            yield kind, self._file.read(length)
            position += _BLOCK.size + length


class Replay:
    """A `Tracing` that gives what a raw file has recorded, to be driven by `replay`. Raises RawFileError.

    `options` are those in force when the recording began.
    """

    def __init__(self, source: Iterable[Block], blocks: Iterator[Block] | None = None) -> None:
        """`source` may be iterated more than once. `blocks` are its blocks for this reader, which asks for each when
        the one before the one before it has been dealt with."""
        self._blocks = iter(source) if blocks is None else blocks
        self._position = self._ahead = len(MAGIC) if isinstance(source, RawBlocks) else 0
        self._failure: RawFileError | None = None
        self._found: list[bytes] = []
        self._strings: list[bytes] | None = None
        self.learn: Callable[[Sequence[Probe]], None] = _learn_nothing
        """Told of probes that were found while tracing."""
        self._next = self._read_on()
        kind, payload = self._take()
        if kind != _DESCRIPTION:
            raise RawFileError("the description is missing")
        spec, rings, self.options = described(payload)
        self._strings = list(spec.strings)
        # Those that a program waited for were found later on.
        self.spec = spec._replace(strings=self._strings)  # type: ignore[arg-type]
        self.rings: Sequence[Ring] = [_ReplayedRing(number, self) for number in range(rings)]
        self._counters_left = _count_counters(source) if self.options.aggrate else 0

    def _take(self) -> Block:
        """Raises RawFileError where the file's damage has been come to."""
        if self._failure is not None:
            raise self._failure
        block, self._position = self._next, self._ahead
        self._ahead += (_BLOCK.size + len(block[1])) if self._position else 0
        self._next = self._read_on()
        for payload in self._found if self._strings is not None else ():
            self._take_up(payload)
        return block

    def _take_up(self, payload: bytes) -> None:
        """Probes that were found while tracing. Raises RawFileError."""
        assert self._strings is not None
        self._found = []
        strings, probes = found_probes(payload)
        self._strings += strings
        self.learn(probes)

    def _read_on(self) -> Block:
        """The block behind the next one. What is wrong with it is told when what stands before has been shown."""
        try:
            block = next(self._blocks, (0, b""))
            while block[0] == _FOUND:
                self._found.append(block[1])
                self._ahead += (_BLOCK.size + len(block[1])) if self._position else 0
                block = next(self._blocks, (0, b""))
            return block
        except RawFileError as error:
            self._failure = error
            return 0, b""

    @property
    def place(self) -> str:
        """Where in the file that stands which was taken last, for messages; "" if that is not known."""
        return f"in the block at byte {self._position}: " if self._position else ""

    def require_end(self) -> None:
        """Raises RawFileError if something is left that was not asked for."""
        if self._failure is not None:
            raise self._failure
        kind, payload = self._next
        if kind and not any(self.has_map(name) for name in _LAST):
            name = payload[:40].partition(b"\n")[0].decode(errors="replace")
            what = "ring bytes" if kind == _RING else f"a map called {name}"
            raise self._wrong(f"it is damaged: {what} where nothing of the kind is expected")

    @property
    def has_ring(self) -> bool:
        """Whether ring bytes were read next. Raises RawFileError if they are of no ring described."""
        kind, payload = self._next
        if kind == _RING and (len(payload) < _SIZE.size or _SIZE.unpack_from(payload)[0] >= len(self.rings)):
            raise self._wrong("it is damaged: ring bytes of an unknown ring")
        return kind == _RING

    def has_map(self, name: str) -> bool:
        """Whether this map was read next. Raises RawFileError if that does not say which it is."""
        try:
            return _is_map(self._next, name)
        except ValueError:
            raise self._wrong("it is damaged: a map without a name") from None

    def _wrong(self, text: str) -> RawFileError:
        """The error that the next block is."""
        self._position = self._ahead
        return RawFileError(text)

    @property
    def has_refresh(self) -> bool:
        """Whether aggregations were read next because of the option aggrate, not for the end of the tracing.

        The end begins with the last look at the counters.
        """
        return self._counters_left > 0 and any(self.has_map(spec.map) for spec in self.spec.aggregations)

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
        parts = _sized(self._take()[1].partition(b"\n")[2])
        return list(zip(parts, parts, strict=True))

    replace_map = read_map

    def write_map(self, name: str, key: bytes, value: bytes) -> None:
        """What was written showed in what was read later, and is in the file."""

    def adopt_descendants(self, pid: int) -> None:
        """Who descends from whom was asked by programs."""

    def wait(self, timeout: float | None, others: Sequence[int] = ()) -> list[int]:
        return []

    def pause(self, seconds: float, others: Sequence[int] = ()) -> list[int]:
        return []

    def heed(self, is_ending: Callable[[], bool]) -> None:
        """Nothing is executed."""

    def answer(self, asked: Callable[[], None]) -> None:
        """Nothing is asked."""

    def attach(self) -> None:
        pass

    def attach_sites(self, program: str, path: str, sites: Sequence[SiteOfFile], pid: int) -> None:
        pass

    def run(self, program: str) -> None:
        pass

    def process_events(self) -> None:
        """A recording does not have them."""

    def samples(self) -> None:
        """Nor these."""

    def close(self) -> None:
        pass


def _learn_nothing(probes: Sequence[Probe]) -> None:
    """Nobody asks for names."""


def _count_counters(source: Iterable[Block]) -> int:
    """How often counters were read in all, as far as the file is in order."""
    count = 0
    with suppress(RawFileError, ValueError):
        for block in source:
            count += _is_map(block, "counters")
    return count


def _is_map(block: Block, name: str) -> bool:
    kind, payload = block
    return kind == _MAP and bool(json.loads(payload.partition(b"\n")[0]) == name)


def _sized(data: bytes) -> Iterator[bytes]:
    """Keys and values, in turn. Raises RawFileError where a value is empty."""
    position, is_key = 0, True
    while position < len(data):
        (size,) = _SIZE.unpack_from(data, position)
        position += _SIZE.size
        if not size and not is_key:
            raise RawFileError("it is damaged: an element of a map without a value")
        is_key = not is_key
        yield data[position : position + size]
        position += size
