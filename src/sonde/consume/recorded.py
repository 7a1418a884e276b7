"""A recording as a `Tracing`, which gives what was read when it was made."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

from sonde.consume.description import described, found_functions, found_probes
from sonde.engines.base import Progress, Ring, SiteOfFile
from sonde.formats.raw_file import (
    BLOCK,
    DESCRIPTION,
    FOUND,
    FUNCTIONS,
    MAGIC,
    MAP,
    RING,
    SIZE,
    Block,
    RawBlocks,
    RawFileError,
)
from sonde.model import named_maps
from sonde.model.probe import Probe
from sonde.model.python_functions import NumberedFunction

_LAST = (named_maps.PACKET_LOSSES, named_maps.WAITING)
"""Maps that are read when all else is over, by whoever asks."""


class _ReplayedRing:
    """Hands out one recorded read after the other."""

    def __init__(self, number: int, replay: Replay) -> None:
        self._number = number
        self._replay = replay

    def read(self) -> memoryview:
        return self._replay.next_ring(self._number)

    def advance(self, size: int) -> None:
        pass

    def unread(self) -> memoryview:
        """None: nobody asks whose stacks are on their way in a recording."""
        return memoryview(b"")


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
        self._found: list[Block] = []
        self._strings: list[bytes] | None = None
        self.learn: Callable[[Sequence[Probe]], None] = _learn_nothing
        """Told of probes that were found while tracing."""
        self.learn_functions: Callable[[Sequence[NumberedFunction]], None] = _learn_nothing
        """Told of functions of Python whose numbers stacks have."""
        self._next = self._read_on()
        kind, payload = self._take()
        if kind != DESCRIPTION:
            raise RawFileError("the description is missing")
        spec, rings, self.options = described(payload)
        self._strings = list(spec.strings)
        # Those that a program waited for were found later on.
        self.spec = spec._replace(strings=self._strings, is_filed=True)  # type: ignore[arg-type]
        self.rings: Sequence[Ring] = [_ReplayedRing(number, self) for number in range(rings)]
        self._counters_left = _count_counters(source) if self.options.aggrate else 0

    def _take(self) -> Block:
        """Raises RawFileError where the file's damage has been come to."""
        if self._failure is not None:
            raise self._failure
        block, self._position = self._next, self._ahead
        self._ahead += (BLOCK.size + len(block[1])) if self._position else 0
        self._next = self._read_on()
        if self._strings is not None:
            found, self._found = self._found, []
            for each in found:
                self._take_up(*each)
        return block

    def _take_up(self, kind: int, payload: bytes) -> None:
        """What was found while tracing: probes, or functions of Python. Raises RawFileError."""
        assert self._strings is not None
        if kind == FUNCTIONS:
            self.learn_functions(found_functions(payload))
            return
        strings, probes = found_probes(payload)
        self._strings += strings
        self.learn(probes)

    def _read_on(self) -> Block:
        """The block behind the next one. What is wrong with it is told when what stands before has been shown."""
        try:
            block = next(self._blocks, (0, b""))
            while block[0] in (FOUND, FUNCTIONS):
                self._found.append(block)
                self._ahead += (BLOCK.size + len(block[1])) if self._position else 0
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
            what = "ring bytes" if kind == RING else f"a map called {name}"
            raise self._wrong(f"it is damaged: {what} where nothing of the kind is expected")

    @property
    def has_ring(self) -> bool:
        """Whether ring bytes were read next. Raises RawFileError if they are of no ring described."""
        kind, payload = self._next
        if kind == RING and (len(payload) < SIZE.size or SIZE.unpack_from(payload)[0] >= len(self.rings)):
            raise self._wrong("it is damaged: ring bytes of an unknown ring")
        return kind == RING

    def has_map(self, name: str) -> bool:
        """Whether this map was read next. Raises RawFileError if that does not say which it is."""
        found = _map_name(self._next)
        if found is None and self._next[0] == MAP:
            raise self._wrong("it is damaged: a map without a name")
        return found == name

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
        if kind != RING or SIZE.unpack_from(payload)[0] != number:
            return memoryview(b"")
        self._take()
        return memoryview(payload)[SIZE.size :]

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

    def remove_from_map(self, name: str, key: bytes) -> None:
        """As above."""

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

    def attach(self) -> tuple[()]:
        return ()

    def attach_sites(self, program: str, path: str, sites: Sequence[SiteOfFile], pid: int) -> None:
        pass

    def measure(self, program: str, times: int) -> int:
        return 0

    def go_over(self, name: str) -> Iterator[None]:
        """Nothing: what was gone over has been recorded."""
        return iter(())

    def await_files(self, mapped: Callable[[int], None]) -> bool:
        return False

    def run(self, program: str) -> None:
        pass

    def restart_timers(self) -> None:
        """Nothing: timers fired where it was recorded."""

    def process_events(self) -> None:
        """A recording does not have them."""

    def samples(self) -> None:
        """Nor these."""

    def firings(self) -> None: ...

    def packets(self) -> None:
        """Nor these."""

    def close(self, progress: Progress | None = None) -> None:
        pass


def _learn_nothing(found: Sequence[Probe] | Sequence[NumberedFunction]) -> None:
    """Nobody asks for names."""


def _count_counters(source: Iterable[Block]) -> int:
    """How often counters were read in all, as far as the file is in order."""
    count = 0
    with suppress(RawFileError):
        for block in source:
            count += _map_name(block) == "counters"
    return count


def _map_name(block: Block) -> str | None:
    """The name of a map's block, None of other blocks and where no name is there."""
    kind, payload = block
    if kind != MAP:
        return None
    try:
        name = json.loads(payload.partition(b"\n")[0])
    except (ValueError, RecursionError):
        return None
    return name if isinstance(name, str) else None


def _sized(data: bytes) -> Iterator[bytes]:
    """Keys and values, in turn. Raises RawFileError where a value is empty."""
    position, is_key = 0, True
    while position < len(data):
        if position + SIZE.size > len(data):
            raise RawFileError("it is damaged: an element of a map is cut off")
        (size,) = SIZE.unpack_from(data, position)
        position += SIZE.size
        if not size and not is_key:
            raise RawFileError("it is damaged: an element of a map without a value")
        if position + size > len(data):
            raise RawFileError("it is damaged: an element of a map is cut off")
        is_key = not is_key
        yield data[position : position + size]
        position += size
    if not is_key:
        raise RawFileError("it is damaged: an element of a map without a value")
