"""Fills the maps by which programs walk user stacks (`spec.UNWIND_OBJECTS` and the others), as objects are seen.

The tables of an object are put there once for all that have mapped it. Which object an address is in programs find by
the file that is mapped there or, where they cannot look at mappings (`is_by_process`), by what is noted here of each
process. A program that meets something it does not know says so; the objects of traced processes are there before.
"""

from __future__ import annotations

import os
import struct
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable

from sonde import others
from sonde.model.named_maps import (
    UNWIND_BLOCKS,
    UNWIND_CUT,
    UNWIND_FILE,
    UNWIND_FILES,
    UNWIND_MAPPINGS,
    UNWIND_OBJECTS,
    UNWIND_PAGE,
    UNWIND_PROCESSES,
    UNWIND_ROWS,
    UNWIND_RULES,
    UNWIND_WANTED,
)
from sonde.model.python_frames import PYTHON_RUNTIMES
from sonde.model.units import SECOND
from sonde.recent import Recent
from sonde.symbols.elf import library_search
from sonde.symbols.mappings import VDSO, Mapping, maps_text, parse_maps
from sonde.symbols.objects import Objects, root_of
from sonde.symbols.process_events import Exited, Forked, Mapped, ProcessEvent
from sonde.symbols.unwinding.unwind_objects import NONE, Room, UnwindObjects, Write
from sonde.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sonde.symbols.elf.file import ElfFile

Read = Callable[[str], list[tuple[bytes, bytes]]]

Remove = Callable[[str, bytes], None]
"""Removes an element of a map, by the map's name and the key."""

_MAPPING = struct.Struct("<QQQII")
_OFTEN = 0.2
"""Seconds after which what the traced processes have mapped is looked at again."""

_SOON, _PATIENCE, _IDLE = 0.005, 1.0, 0.03
"""Seconds between two looks at what programs want: when tracing has just begun or something was wanted within
`_PATIENCE`, and later."""

_SLICE, _PART, _LONGEST_SLICE = 0.01, 0.1, 0.25
"""Seconds that are spent on tables before records are looked for again; where showing these has taken long, that part
of the time, up to the third."""

_AT_ONCE = 8
"""Objects whose tables are made by turns, at most: each has a part of its own in memory meanwhile."""

_SMALL = 4 << 20
"""Bytes of a file whose tables are made at once where programs have met it: it takes some milliseconds, and would wait
for seconds in the line of large ones."""

_MOST_WAITING = 512
"""Objects whose tables are to be made, each with an open file, half of them for what programs have met: others are
asked for when they are met again."""

_MOST_OF_FILES = 32 << 20
"""Bytes of open files that are kept: a file whose tables are made is asked for no more than its number."""

_MOST_WITHOUT = 1 << 14
"""Objects without tables that are known to have none."""

_FEW = 4
"""Steps in which programs get an object's descriptions, or a small object is done."""

_VAIN, _RATIO = 0.02, 20
"""Seconds, and times as many as it took, after which a process is looked at again that had nothing new."""

_SPARE = 2
"""So many times as many mappings as a process has can it have in the place of its first ones."""

_VDSO_FILE = UNWIND_FILE.pack(0, 0, 0, 0)
_MINOR = 20
"""Bits of a device's minor number (MINORBITS, include/linux/kdev_t.h)."""

_Key = tuple[str, int, str, int]


class _Job(NamedTuple):
    """The making of an object's tables, which yields whether programs know it by something else meanwhile."""

    object: _Key
    steps: Generator[bool, None, int]
    is_small: bool


class _Run(NamedTuple):
    """A process's entries: where they are, how many there is room for, and the mappings in them."""

    first: int
    room: int
    mappings: tuple[Mapping, ...]


class UnwindTables:
    """`lost` counts objects and processes for which there was no room."""

    def __init__(self, room: dict[str, int], read: Read, write: Write, remove: Remove, proc: str = "/proc") -> None:
        """`room` has the number of elements of each of the maps."""
        self._read, self._write, self._proc = read, write, proc
        self.is_by_process = UNWIND_PROCESSES in room
        self._tables = UnwindObjects(
            Room(
                room[UNWIND_OBJECTS],
                room[UNWIND_ROWS],
                room[UNWIND_BLOCKS],
                room[UNWIND_RULES],
                room.get(PYTHON_RUNTIMES, 0),
            ),
            write,
            not self.is_by_process,
        )
        self._objects = Objects(proc, most=_MOST_OF_FILES)
        self._known: dict[_Key, int] = {}
        """Those that have tables: as many as there is room for."""
        self._without: Recent[_Key, bool] = Recent(_MOST_WITHOUT)
        self._waiting: dict[_Key, list[bytes]] = {}
        """Files that get the number of an object when its tables are made."""
        self._met: set[_Key] = set()
        """Those of them that programs have met, or traced processes have mapped; all else may be met."""
        self._hurried: deque[_Job] = deque()
        self._urgent: deque[_Job] = deque()
        self._jobs: deque[_Job] = deque()
        """The making of tables, of objects that programs have met and know nothing of, of those that they may meet,
        and of those whose descriptions they have."""
        self._processes = _Processes(room, write, remove)
        self._due = 0.0
        self._worked = time.monotonic()
        self._seen = 0
        self._active = time.monotonic()
        self._again: dict[int, float] = {}
        self._programs: dict[int, Mapping] = {}
        self._had: Callable[[int, int], Mapping | None] = lambda pid, address: None
        self._refused = 0
        self._own = os.getpid()

    @property
    def lost(self) -> int:
        return self._tables.lost + self._refused

    @property
    def cut(self) -> int:
        """Stacks for which a table was not there."""
        ((_, value),) = self._read(UNWIND_CUT)
        return int.from_bytes(value, "little")

    @property
    def patience(self) -> float:
        """Seconds after which to poll again."""
        if self._hurried or self._urgent or self._jobs:
            return 0.0
        return _SOON if time.monotonic() - self._active < _PATIENCE else _IDLE

    def follow(
        self, traced: Iterable[int], mapping: Callable[[int, int], Mapping | None]
    ) -> Callable[[ProcessEvent], None]:
        """What is to be told of what processes do: of the family of the traced ones objects are made known when they
        are mapped, not when they are first met. `mapping` says what a process had at an address, once it has ended."""
        family = set(traced)
        self._had = mapping

        def take(event: ProcessEvent) -> None:
            if isinstance(event, Forked) and event.parent in family:
                family.add(event.pid)
            elif isinstance(event, Exited):
                family.discard(event.pid)
                self._ended(event.pid)
            elif isinstance(event, Mapped) and event.pid in family and not self.is_by_process:
                self.expect(event.pid, event.mapping, True)

        return take

    def _ended(self, pid: int) -> None:
        self._processes.remove(pid)
        self._again.pop(pid, None)
        self._programs.pop(pid, None)

    def prepare(self, pids: Iterable[int], seconds: float) -> None:
        """Have programs know, as far as that takes no more CPU time, what these processes have mapped before they meet
        it: each object costs the stacks of some milliseconds otherwise."""
        end = time.thread_time() + seconds
        for pid in () if self.is_by_process else pids:
            if time.thread_time() >= end:
                break
            for mapping in self._mapped(pid) or ():
                self.expect(pid, mapping)
            for _ in range(_FEW * len(self._urgent)):
                if self._urgent and time.thread_time() < end:
                    self._step()

    def poll(self, traced: Iterable[int]) -> None:
        """Look at what programs have wanted to know more of and, now and then, at the traced processes; then make
        tables for a while."""
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + _OFTEN
            for pid in traced:
                if not (self.is_by_process and self._is_copy(pid)):
                    self.take(pid)
        cut = self.cut
        if cut != self._seen:
            self._seen, self._active = cut, time.monotonic()
            self.answer()
        now = time.monotonic()
        self._work(now + min(max(_SLICE, _PART * (now - self._worked)), _LONGEST_SLICE))
        self._worked = time.monotonic()

    def answer(self) -> None:
        """Look at what programs have wanted to know more of."""
        for key, value in self._read(UNWIND_WANTED):
            if any(value):
                self._write(UNWIND_WANTED, key, bytes(len(value)))
                self._answer(key, value)

    def _answer(self, key: bytes, value: bytes) -> None:
        if self.is_by_process:
            self._look_again(int.from_bytes(key, "little"))
            return
        pid, start = struct.unpack("<QQ", value)
        mapped = self._mapped(pid) or ()
        mapping = next((each for each in mapped if each.start <= start < each.end), None) or self._had(pid, start)
        if mapping is not None:
            self._want(key, pid, mapping, True)
        # Whoever meets one object of a process soon meets the others, and each would cost a stack.
        for each in mapped:
            self.expect(pid, each)

    def _look_again(self, pid: int) -> None:
        """Look at a process, unless that has just been in vain: code that is made at run time has no tables."""
        began = time.monotonic()
        if began >= self._again.get(pid, 0.0):
            before = self._processes.number(pid)
            self.take(pid)
            now = time.monotonic()
            in_vain = before == self._processes.number(pid)
            self._again[pid] = now + max(_VAIN, _RATIO * (now - began)) if in_vain else 0.0

    def _mapped(self, pid: int) -> tuple[Mapping, ...] | None:
        """What a process may execute, None if it is gone."""
        try:
            mapped = parse_maps(maps_text(pid, self._proc))
        except OSError:
            return None
        return tuple(each for each in mapped if each.executable)

    def take(self, pid: int) -> None:
        """Let programs know all that a process has mapped, before anything else happens."""
        mappings = self._mapped(pid)
        if mappings is None:
            return
        if not self.is_by_process:
            for mapping in (*mappings, *self._needed(pid, mappings)):
                self.expect(pid, mapping, True)
            while any(self._number_of(each) is None for each in self._waiting):
                self._step()
        elif not self._processes.has(pid, mappings):
            entries = [self._entry(pid, each) for each in mappings]
            self._refused += not self._processes.put(pid, mappings, entries)

    def _is_copy(self, pid: int) -> bool:
        """Whether a process is this one's child that has not called exec yet, which moves all it has mapped."""
        first, own = ((self._mapped(each) or ())[:1] for each in (pid, self._own))
        return pid != self._own and bool(first) and first == own

    def _needed(self, pid: int, mappings: tuple[Mapping, ...]) -> list[Mapping]:
        """As if they were mapped already: the libraries that a program is about to load."""
        program = next((each for each in mappings if each.path.startswith("/")), None)
        if program is None or program == self._programs.get(pid):
            return []

        self._programs[pid] = program
        root = root_of(pid, self._proc)
        found = []
        for path in library_search.needed(program.path, pid, root, self._proc):
            try:
                status, path = others.stat(path), others.real_path(path)[len(root) :]
            except OSError:
                continue
            device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
            found.append(Mapping(0, 0, 0, device, status.st_ino, path, True))
        return found

    def expect(self, pid: int, mapping: Mapping, is_met: bool = False) -> None:
        """Programs are to know the object that a process has mapped; `is_met`: they will meet it."""
        file = self._objects.file(pid, mapping) if mapping.is_object else None
        if file is not None:
            self._want(_file_key(mapping, file), pid, mapping, is_met)

    def _want(self, key: bytes, pid: int, mapping: Mapping, is_met: bool) -> None:
        """Programs are to know a file by that key."""
        file = self._objects.file(pid, mapping) if mapping.is_object else None
        if file is None:
            self._write(UNWIND_FILES, key, struct.pack("<I", NONE))
            return
        known = _key(mapping, file)
        number = self._number_of(known)
        if number is not None:
            self._write(UNWIND_FILES, key, struct.pack("<I", number))
        if known not in self._waiting:
            if number is not None or len(self._waiting) >= (_MOST_WAITING if is_met else _MOST_WAITING // 2):
                return
            self._waiting[known] = []
            self._urgent.append(_Job(known, self._made(known, file), file.size <= _SMALL))
        if key not in self._waiting[known]:
            self._waiting[known].append(key)
        if is_met and known not in self._met:
            self._met.add(known)
            self._hurry(known)

    def _number_of(self, known: _Key) -> int | None:
        """The number by which programs know an object, None if they are yet to know."""
        return NONE if self._without.get(known) else self._known.get(known)

    def _hurry(self, known: _Key) -> None:
        """What programs have met comes before what they may meet."""
        job = next((each for each in self._urgent if each.object == known), None)
        if job is not None:
            self._urgent.remove(job)
            self._hurried.insert(0 if job.is_small else len(self._hurried), job)

    def _made(self, known: _Key, file: ElfFile) -> Generator[bool, None, int]:
        """Make an object's tables; what is yielded says whether programs know it by something else meanwhile."""
        making = self._tables.add(file, lambda: known in self._met)
        while True:
            try:
                number = next(making)
            except StopIteration as end:
                # One that was not met and has no room yet is asked for when it is met.
                if end.value != NONE or known in self._met:
                    self._tell(known, end.value)
                self._waiting.pop(known, None)
                self._met.discard(known)
                return int(end.value)
            if number != NONE:
                self._tell(known, number)
            yield number != NONE

    def _tell(self, known: _Key, number: int) -> None:
        """Programs are to know an object by its number, from here on."""
        if self._number_of(known) != number:
            if number == NONE:
                self._without.put(known, True)
            else:
                self._known[known] = number
            for key in self._waiting.get(known, ()):
                self._write(UNWIND_FILES, key, struct.pack("<I", number))

    def _work(self, end: float) -> None:
        while (self._hurried or self._urgent or self._jobs) and time.monotonic() < end:
            self._step()

    def _step(self) -> None:
        # By turns: what is small, or was kept, does not wait for what is large.
        job = (self._hurried or self._urgent or self._jobs).popleft()
        is_known = next(job.steps, None)
        if is_known is not None:
            rest = self._hurried if job.object in self._met else self._urgent
            line = self._jobs if is_known else rest
            line.insert(0 if job.is_small and line is self._hurried else _AT_ONCE - 1, job)

    def _entry(self, pid: int, mapping: Mapping) -> bytes:
        bias = mapping.start - mapping.offset & (1 << 64) - 1
        return _MAPPING.pack(mapping.start, mapping.end, bias, self._number(pid, mapping), 0)

    def _number(self, pid: int, mapping: Mapping) -> int:
        """That of the mapped object, whose tables are made where they are not there."""
        # Stacks of this process, where clocks tick, are not worth the room.
        file = self._objects.file(pid, mapping) if mapping.is_object and pid != self._own else None
        if file is None:
            return NONE
        known = _key(mapping, file)
        number = self._number_of(known)
        if number is None:
            self._met.add(known)
            deque(self._made(known, file), maxlen=0)
            number = self._number_of(known)
        return number or NONE


class _Processes:
    """What each process has mapped, where programs search for it."""

    def __init__(self, room: dict[str, int], write: Write, remove: Remove) -> None:
        self._write, self._remove = write, remove
        self._most = room.get(UNWIND_PROCESSES, 0)
        self._room = room.get(UNWIND_MAPPINGS, 0) * UNWIND_PAGE
        self._data = bytearray()
        self._runs: dict[int, _Run] = {}
        self._free: list[_Run] = []
        """Those of processes that have ended, or have others."""
        self._changes: dict[int, int] = {}

    def number(self, pid: int) -> int:
        """Another one each time that something new is known of a process."""
        return self._changes.get(pid, 0)

    def has(self, pid: int, mappings: tuple[Mapping, ...]) -> bool:
        return pid in self._runs and self._runs[pid].mappings == mappings

    def put(self, pid: int, mappings: tuple[Mapping, ...], entries: list[bytes]) -> bool:
        """Set a process's entries; False if there is no room."""
        known = self._runs.get(pid)
        # There is always one, as an interval of none would be that of another process.
        entries = entries or [bytes(_MAPPING.size)]
        if known is None or known.room < len(entries):
            found = self._new(len(entries)) if known is not None or len(self._runs) < self._most else None
            if found is None:
                return False
            if known is not None:
                self._free.append(known)
            known = found
            entries = entries + [bytes(_MAPPING.size)] * (known.room - len(entries))
        self._runs[pid] = known._replace(mappings=mappings)
        self._changes[pid] = self._changes.get(pid, 0) + 1
        self._store(known.first * _MAPPING.size, b"".join(entries))
        self._write(UNWIND_PROCESSES, struct.pack("<Q", pid), struct.pack("<II", known.first, max(len(mappings), 1)))
        return True

    def _new(self, entries: int) -> _Run | None:
        """Room for so many, None if there is none."""
        free = min((each for each in self._free if each.room >= entries), key=lambda each: each.room, default=None)
        if free is not None:
            self._free.remove(free)
            return free
        room, first = _SPARE * entries, len(self._data) // _MAPPING.size
        return _Run(first, room, ()) if len(self._data) + room * _MAPPING.size <= self._room else None

    def remove(self, pid: int) -> None:
        """The process has ended."""
        known = self._runs.pop(pid, None)
        self._changes.pop(pid, None)
        if known is not None:
            self._free.append(known._replace(mappings=()))
            self._remove(UNWIND_PROCESSES, struct.pack("<Q", pid))

    def _store(self, start: int, data: bytes) -> None:
        self._data[start : start + len(data)] = data
        for page in range(start // UNWIND_PAGE, -(-(start + len(data)) // UNWIND_PAGE)):
            value = bytes(self._data[page * UNWIND_PAGE :][:UNWIND_PAGE]).ljust(UNWIND_PAGE, b"\0")
            self._write(UNWIND_MAPPINGS, struct.pack("<I", page), value)


def _key(mapping: Mapping, file: ElfFile) -> _Key:
    return mapping.device, mapping.inode, mapping.path, file.changed


def _file_key(mapping: Mapping, file: ElfFile) -> bytes:
    """What programs call the file."""
    if mapping.path == VDSO:
        return _VDSO_FILE
    major, _, minor = mapping.device.partition(":")
    seconds, nanoseconds = divmod(file.changed, SECOND)
    return UNWIND_FILE.pack(mapping.inode, seconds, int(major, 16) << _MINOR | int(minor, 16), nanoseconds)
