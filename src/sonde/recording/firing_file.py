"""Files of recorded firings (`--record`): written as they come, and read block by block (docs/recordings.md).

8 bytes magic, then blocks: a head, and so many bytes that zlib has packed, by themselves. A block holds items, u32 kind
and u32 length before each, padded to a multiple of 8; the first block holds the description alone, as JSON. Who reads
needs no more than one block at a time, and of a file that is cut off all blocks that are whole.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice

from sonde.engines.fired import AS_BYTES, BY_FRAMES, BY_TABLES, Happening, OtherNames, RecordedFiring
from sonde.engines.firing_records import FiringDecoder, RecordError, joined, ring_records, walked_later
from sonde.formats.bpf_ring import DISCARD, record_size
from sonde.formats.damage import DamagedError
from sonde.machine.system import monotonic_ns
from sonde.model.firing_record import BROKEN_OFF, CONTINUED
from sonde.model.plain import PlainError, from_plain, to_plain
from sonde.model.probe import Internal, Probe
from sonde.model.units import MILLISECOND, whole_words
from sonde.recording import build_ids, filed_names
from sonde.recording.anonymity import PATHS, Pseudonyms
from sonde.recording.file_progress import progress_of
from sonde.recording.firing_blocks import BLOCK, DESCRIPTION, HAPPENINGS, RINGS, SUMMARY, SoundBlocks, unpacked
from sonde.recording.kernel_place import NOWHERE, BootedKernel, names_of_kernel
from sonde.recording.probed_files import ProbedFile, still_there
from sonde.symbols.process_events import Executed, Exited, Forked, Mapped, MappingsSnapshot, ProcessEvent
from sonde.symbols.unwinding import kept_stacks
from sonde.typed import TYPE_CHECKING, Any, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from sonde.symbols.objects import Objects
    from sonde.symbols.symbolizer import SystemSymbolizer

MAGIC = b"SONDEREC"
VERSION = 4
"""Since 2 there are packets, since 3 names of probes, since 4 stacks by tables and stacks as bytes."""

_KNOWN = (1, 2, 3, VERSION)

_WORD = struct.Struct("<I").unpack_from
ITEM = struct.Struct("<II")
FIRING, PROCESS_EVENT, FILE = 1, 2, 3
"""Kinds of items."""

_BLOCK_SIZE = 1 << 18
"""Bytes of items after which a block is written."""

_PATIENCE = 50 * MILLISECOND
"""ns that less than that waits to be written."""

_MOST_PARTS = 1 << 19
"""Commas and brackets of a description, each of which may take 200 bytes of memory."""

_MOST_WAITING = 1 << 14
"""Firings that were broken off and wait for what they read later."""

_MOST_FILES = 1 << 16
"""Files whose build ids are kept."""

_MOST_EARLY = 1 << 15
"""Process events before BEGIN that are kept: a snapshot of the mappings of each running process."""

_EVENTS = {"mapped": Mapped, "executed": Executed, "forked": Forked, "exited": Exited, "snapshot": MappingsSnapshot}
_NAMES = {kind: name for name, kind in _EVENTS.items()}


ReadAgain = Callable[[int, int], bytes]
"""(size, place) -> bytes of the file that is being written."""


class RecordingFileError(DamagedError):
    """The file is no recording of firings, or of a version that is not known."""


class RecordingHead(NamedTuple):
    """What a recording begins with: what made it, on which kernel, the probes that it has firings of, what to add to
    times to have those of the wall clock, $target, when it began, whether reads were widened, what has pseudonyms, of
    trace events their groups, names and format texts, the files that probes of processes are in,
    where the kernel was in memory, for records of rings the numbers of programs and probes, and the probes' places,
    what else probes of processes are called, and how stacks of processes were walked.
    """

    version: int
    origin: str
    release: str
    build_id: str
    probes: tuple[Probe, ...]
    realtime_offset: int
    process: int
    began: int
    reads: bool = False
    anonymous: tuple[str, ...] = ()
    formats: tuple[tuple[str, str, str], ...] = ()
    files: tuple[ProbedFile, ...] = ()
    kernel: BootedKernel = NOWHERE
    places: tuple[tuple[int, int, int], ...] = ()
    names: tuple[OtherNames, ...] = ()
    stacks: str = BY_FRAMES


class FileIdentity(NamedTuple):
    """The build id of a file that a process had mapped, in hexadecimal."""

    path: str
    build_id: str


class RecordingEnd(NamedTuple):
    """How a recording ended: firings that it has, and those that found no room."""

    firings: int
    lost: int


class FiringFile:
    """Writes a recording, with the pseudonyms that its head says. `packet_bytes` of each packet are kept at most;
    `again` reads so many bytes of the file from a place on, None where that cannot be."""

    def __init__(
        self, file: BinaryIO, head: RecordingHead, packet_bytes: int = 0xFFFF, again: ReadAgain | None = None
    ) -> None:  # fmt: skip
        self._file = file
        self._items: list[bytes] = []
        self._size = 0
        self._pseudonyms = Pseudonyms(head.anonymous, head.probes)
        self.reads_more, self.packet_bytes, self.walks_tables = head.reads, packet_bytes, head.stacks == BY_TABLES
        self._files: set[str] | None = None if PATHS in head.anonymous else set()
        """Of which the build ids are told: a build id would tell what a path does not."""
        self.firings = 0
        self.takes_rings = not head.anonymous
        self._rings: list[bytes] = []
        self._written = 0
        """When a block was written, ns."""
        self._again = again
        self._at = file.write(MAGIC)
        """Bytes of the file."""
        self._block(DESCRIPTION, json.dumps(to_plain(head)).encode())

    def firing(self, record: bytes) -> None:
        """A record as a program has written it."""
        self.firings += 1
        self._item(FIRING, self._pseudonyms(record))

    def ring(self, data: bytes) -> None:
        """Records as they stand in a ring that was read, whole ones; of a file that takes them so."""
        if self._items:
            self.flush()
        at = start = 0
        while at < len(data):
            (head,) = _WORD(data, at)
            at += record_size(head)
            self.firings += not head & DISCARD
            if self._size + at - start >= _BLOCK_SIZE:
                self._rings.append(data[start:at])
                self.flush()
                start = at
        if start < at:
            self._rings.append(data[start:])
            self._size += at - start

    @property
    def can_give_back(self) -> bool:
        """Whether `kept_ring` may be called."""
        return self._again is not None

    def kept_ring(self, data: bytes) -> Iterator[bytes]:
        """As `ring`; what it gives reads the same records from the file, one after the other."""
        self.flush()
        start = self._at
        self.ring(data)
        self.flush()
        return self._records_between(start, self._at)

    def _records_between(self, start: int, end: int) -> Iterator[bytes]:
        assert self._again is not None
        while start < end:
            _, stored, size, _ = BLOCK.unpack(self._again(BLOCK.size, start))
            data = unpacked(self._again(stored, start + BLOCK.size), size)
            yield from ring_records(data or b"")
            start += BLOCK.size + stored

    def event(self, event: ProcessEvent) -> None:
        if self._files is not None:
            self._identify(event, self._files)
        named = {"event": _NAMES[type(event)], "values": to_plain(self._pseudonyms.event(event))}
        self._item(PROCESS_EVENT, json.dumps(named).encode())

    def _identify(self, event: ProcessEvent, known: set[str]) -> None:
        mappings = event.mappings if isinstance(event, MappingsSnapshot) else ()
        for each in (event.mapping,) if isinstance(event, Mapped) else mappings:
            if each.path.startswith("/") and each.path not in known:
                known.add(each.path)
                found = build_ids.of_mapping(each)
                if found:
                    self._item(FILE, json.dumps(to_plain(FileIdentity(each.path, found))).encode())

    def flush(self) -> None:
        """Write what has gathered, as a block of its own."""
        if self._items:
            self._block(HAPPENINGS, b"".join(self._items))
        if self._rings:
            self._block(RINGS, b"".join(self._rings))
        if self._items or self._rings:
            self._items, self._rings, self._size = [], [], 0
            self._file.flush()
            self._written = monotonic_ns()

    def rest(self) -> None:
        """Nothing more has come: what waits for long is written."""
        if self._size and monotonic_ns() - self._written > _PATIENCE:
            self.flush()

    def finish(self, lost: int) -> None:
        self.flush()
        self._block(SUMMARY, json.dumps(to_plain(RecordingEnd(self.firings, lost))).encode())
        self._file.flush()

    def _item(self, kind: int, data: bytes) -> None:
        if self._rings:
            self.flush()
        self._items.append(ITEM.pack(kind, len(data)) + data + bytes(-len(data) % 8))
        self._size += len(data)
        if self._size >= _BLOCK_SIZE:
            self.flush()

    def _block(self, kind: int, data: bytes) -> None:
        packed = zlib.compress(data, 1)
        block = BLOCK.pack(kind, len(packed), len(data), zlib.crc32(packed)) + packed
        self._file.write(block)
        self._at += len(block)


class RecordedFirings:
    """A recording that is read: a `FiringSource`. The constructor raises RecordingFileError, and OSError."""

    descriptors: Sequence[int] = ()

    def __init__(self, file: BinaryIO, path: str) -> None:
        self._file, self.path = file, path
        self.is_over = False
        self._is_read = False
        """Whether all of the file was read: a replay may end before."""
        self.lost = 0
        self.summary: RecordingEnd | None = None
        self._count = 0
        """Firings that were read, parts of broken ones apart, as the end of the file counts them."""
        self._build_ids: dict[str, bytes] = {}
        if file.read(len(MAGIC)) != MAGIC:
            raise RecordingFileError("not a recording of sonde")
        self._reader = SoundBlocks(file, len(MAGIC))
        self._blocks = self._reader.blocks()
        self.head = head = self._read_head()
        self.origin, self.probes, self.process = head.origin, head.probes, head.process
        self.realtime_offset, self.began = head.realtime_offset, head.began
        self.reads_more = head.reads
        self.formats = {(group, name): text for group, name, text in head.formats}
        self.names, self.stacks = head.names, head.stacks
        self._names = {at: each.firing.name for at, each in enumerate(head.probes) if isinstance(each.firing, Internal)}
        self._internal: dict[str, RecordedFiring] = {}
        self._decode = FiringDecoder()
        self._of_ring = FiringDecoder({(program, probe): place for program, probe, place in head.places})
        self._all = self._joined()
        self._early: deque[Happening] = deque()
        """What has been read to find BEGIN."""

    def file(self, name: str) -> str:
        """Where a file lies that firings call so, "" if it is not the one that was."""
        return still_there(self.head.files, name)

    def start(self) -> None:
        """A file has all that it will ever have."""

    def adopt_descendants(self, pid: int) -> None:
        """Who descends from whom was told when it was recorded."""

    def finish(self) -> None:
        """A file has its end."""

    def symbolizer(self, demangles: bool) -> SystemSymbolizer | None:
        """What names addresses by files that are those of the recording; the kernel's if the same one runs."""
        return filed_names.names_of(names_of_kernel(self.head.kernel, self.head.build_id), self._objects(), demangles)

    def internal(self, name: str) -> RecordedFiring | None:
        if name == "BEGIN" and not self._early:
            # It is the first firing of all, if it is there; what processes had mapped may stand before it.
            for each in islice(self._all, _MOST_EARLY):
                self._early.append(each)
                if name in self._internal or isinstance(each, RecordedFiring):
                    break
        return self._internal.pop(name, None)

    def happenings(self) -> Iterator[Happening]:
        if self.stacks != AS_BYTES:
            while self._early:
                yield self._early.popleft()
            yield from self._all
            return

        stacks = kept_stacks.KeptStacks(self._objects())
        happenings: Iterator[Happening] = chain(iter(self._popped, None), self._all)
        for each in happenings:
            if isinstance(each, RecordedFiring):
                yield walked_later(each, stacks)
            else:
                stacks.take(each)
                yield each

    def _popped(self) -> Happening | None:
        return self._early.popleft() if self._early else None

    def _objects(self) -> Objects:
        return filed_names.filed_objects(self._build_ids, self.head.build_id, filed_names.last_written(self._file))

    def close(self) -> None:
        self._file.close()

    def _read_head(self) -> RecordingHead:
        kind, data = next(self._blocks, (0, b""))
        if kind != DESCRIPTION or self._reader.damages:
            raise RecordingFileError(self.damage or "it has no description")
        head = _read(RecordingHead, data, "its description cannot be read")
        assert isinstance(head, RecordingHead)
        if head.version not in _KNOWN:
            raise RecordingFileError(f"it is of version {head.version}, and this sonde reads versions up to {VERSION}")
        texts = [text for each in (*head.formats, *head.files, head.kernel[:2]) for text in each]
        numbers = [number for each in head.places for number in each]
        if (
            not all(
                type(each) is int
                for each in (head.realtime_offset, head.process, head.began, head.kernel.address, *numbers)
            )
            or not all(0 <= place < len(head.probes) for *_, place in head.places)
            or not all(0 <= each.place < len(head.probes) for each in head.names)
            or not all(type(each) is str for each in texts)
        ):
            raise RecordingFileError("its description cannot be read")
        return head

    def _joined(self) -> Iterator[Happening]:
        """All happenings; firings that were broken off where they went on, and the others of these at the end."""
        waiting: dict[tuple[int, int], RecordedFiring] = {}
        try:
            for each, flags in self._items():
                if not isinstance(each, RecordedFiring):
                    yield each
                    continue
                key = each.thread.tid, each.probe
                if flags & BROKEN_OFF and len(waiting) < _MOST_WAITING:
                    if key in waiting:
                        # What would have continued it was in a block that is damaged.
                        yield waiting.pop(key)
                    waiting[key] = each
                    continue
                if flags & CONTINUED:
                    begun = waiting.pop(key, None)
                    if begun is None:
                        continue
                    each = joined(begun, each)
                if each.probe in self._names:
                    self._internal[self._names[each.probe]] = each
                    continue
                yield each
            yield from waiting.values()
        finally:
            self.is_over = True

    def _items(self) -> Iterator[tuple[Happening, int]]:
        for kind, data in self._blocks:
            try:
                if kind == SUMMARY:
                    self._end(data)
                elif kind == RINGS:
                    for record in ring_records(data):
                        self._count += 1
                        yield self._of_ring(record)
                elif kind == HAPPENINGS:
                    yield from self._in_block(data)
                else:
                    raise RecordError("a second description")
            except (RecordError, RecordingFileError, struct.error) as error:
                self._reader.refuse(str(error))
        self._is_read = True

    def _in_block(self, data: bytes) -> Iterator[tuple[Happening, int]]:
        """The happenings of a block. Raises RecordError, RecordingFileError, struct.error."""
        at = 0
        while at < len(data):
            what, length = ITEM.unpack_from(data, at)
            item = data[at + ITEM.size : at + ITEM.size + length]
            if len(item) < length:
                raise RecordError("an item ends behind its block")
            if what == FIRING:
                fired, flags = self._decode(item)
                if fired.probe >= len(self.probes):
                    raise RecordError("a firing of a probe that is not described")
                self._count += 1
                yield fired, flags
            elif what == PROCESS_EVENT:
                yield _event(item), 0
            elif what == FILE:
                self._know(item)
            else:
                raise RecordError(f"an item of kind {what}")
            at += ITEM.size + whole_words(length)

    @property
    def damage(self) -> str:
        """What is wrong with the file as far as it was read, and what that costs."""
        found = self._reader.damages
        if not found:
            is_whole = self.summary is not None or not self._is_read
            return "" if is_whole else "it has no end: the session that wrote it was killed"
        text = (
            found[0].text if len(found) == 1 else f"{len(found)} blocks are damaged, the first at byte {found[0].place}"
        )
        if self.summary is None:
            return text
        missing = self.summary.firings - self._count
        return f"{text}; {missing} of {self.summary.firings} firings are missing" if missing > 0 else text

    @property
    def progress(self) -> tuple[int, int]:
        """As a FiringSource has it."""
        return progress_of(self._file)

    @property
    def remainder(self) -> str:
        """What was replayed of a damaged file."""
        found = self._reader.damages
        return "what stands before was replayed" if not found or found[0].is_end else "all else was replayed"

    def _know(self, item: bytes) -> None:
        """Raises RecordingFileError."""
        otherwise = "what files are cannot be read"
        found = _read(FileIdentity, item, otherwise)
        if len(self._build_ids) >= _MOST_FILES:
            return
        try:
            self._build_ids[found.path] = bytes.fromhex(found.build_id)
        except ValueError:
            raise RecordingFileError(otherwise) from None

    def _end(self, data: bytes) -> None:
        found = _read(RecordingEnd, data, "its end cannot be read")
        assert isinstance(found, RecordingEnd)
        self.summary = found
        self.lost = found.lost


def _read(kind: type, data: bytes, otherwise: str) -> Any:
    if sum(map(data.count, (b",", b"[", b"{"))) > _MOST_PARTS:
        raise RecordingFileError(otherwise)
    try:
        return from_plain(kind, _json(data, otherwise))
    except (PlainError, RecursionError):
        raise RecordingFileError(otherwise) from None


def _json(data: bytes, otherwise: str) -> Any:
    """Raises RecordingFileError."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise RecordingFileError(otherwise) from None


def _event(data: bytes) -> ProcessEvent:
    """Raises RecordingFileError."""
    otherwise = "what processes did cannot be read"
    named = _json(data, otherwise)
    name = named.get("event") if isinstance(named, dict) else None
    if not isinstance(name, str) or name not in _EVENTS:
        raise RecordingFileError(otherwise)
    event = _read(_EVENTS[name], json.dumps(named.get("values")).encode(), otherwise)
    assert isinstance(event, (Mapped, Executed, Forked, Exited, MappingsSnapshot))
    return event
