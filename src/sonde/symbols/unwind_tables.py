"""Fills the maps by which programs walk user stacks (`spec.UNWIND_ROWS` and the others), process by process.

Rows of an object are written once for all that have mapped it. What a process has mapped is looked at again when a
program has met an address that it did not know, and from time to time for those that are traced.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterable

from sonde.spec import UNWIND_MAPPINGS, UNWIND_PAGE, UNWIND_PROCESSES, UNWIND_ROWS, UNWIND_WANTED
from sonde.symbols.dwarf.unwind_rows import ROW
from sonde.symbols.elf import ElfError, ElfFile
from sonde.symbols.kept_rows import kept_rows
from sonde.symbols.mappings import Mapping, parse_maps
from sonde.symbols.objects import Objects
from sonde.typed import NamedTuple
from sonde.untrusted import kernel_text

Write = Callable[[str, bytes, bytes], None]
"""Sets an element of a map, by the map's name, the key and the value."""

Read = Callable[[str], list[tuple[bytes, bytes]]]

_MAPPING = struct.Struct("<QQQII")
_OFTEN = 0.2
"""Seconds after which what the traced processes have mapped is looked at again."""

_SPARE = 2
"""So many times as many mappings as a process has can it have in the place of its first ones."""


class _Rows(NamedTuple):
    """An object's rows: where they are among all, how many, and the link-time address that they count from."""

    first: int
    number: int
    base: int


class _Run(NamedTuple):
    """A process's entries: where they are, how many there is room for, and the mappings in them."""

    first: int
    room: int
    mappings: tuple[Mapping, ...]


class _Pages:
    """An array of entries, of which programs find an element for each page."""

    def __init__(self, name: str, size: int, pages: int, write: Write) -> None:
        self._name, self._size, self._most, self._write = name, size, pages * UNWIND_PAGE // size, write
        self._data = bytearray()

    @property
    def used(self) -> int:
        return len(self._data) // self._size

    def has_room(self, count: int) -> bool:
        return self.used + count <= self._most

    def put(self, first: int, entries: bytes) -> None:
        """Set entries, or add some at the end."""
        start = first * self._size
        self._data[start : start + len(entries)] = entries
        for page in range(start // UNWIND_PAGE, -(-(start + len(entries)) // UNWIND_PAGE)):
            value = bytes(self._data[page * UNWIND_PAGE :][:UNWIND_PAGE]).ljust(UNWIND_PAGE, b"\0")
            self._write(self._name, struct.pack("<I", page), value)


class UnwindTables:
    """`lost` counts objects and processes for which there was no room."""

    def __init__(self, room: tuple[int, int, int], read: Read, write: Write, proc: str = "/proc") -> None:
        """`room` is how many processes there may be, and how many pages the arrays of mappings and of rows have."""
        self._read, self._write, self._proc = read, write, proc
        self._mappings = _Pages(UNWIND_MAPPINGS, _MAPPING.size, room[1], write)
        self._rows = _Pages(UNWIND_ROWS, ROW.size, room[2], write)
        self._most = room[0]
        self._objects = Objects(proc)
        self._known: dict[tuple[str, int, str], _Rows] = {}
        self._processes: dict[int, _Run] = {}
        self._due = 0.0
        self.lost = 0

    def poll(self, traced: Iterable[int]) -> None:
        """Look at those processes that programs have wanted to know more of and, now and then, at the traced ones."""
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + _OFTEN
            for pid in traced:
                self.take(pid)
        for key, value in self._read(UNWIND_WANTED):
            if any(value):
                self._write(UNWIND_WANTED, key, bytes(len(value)))
                self.take(int.from_bytes(key, "little"))

    def take(self, pid: int) -> None:
        """Let programs know what a process has mapped."""
        try:
            mapped = parse_maps(kernel_text(f"{self._proc}/{pid}/maps"))
        except OSError:
            return
        mappings = tuple(each for each in mapped if each.executable)
        known = self._processes.get(pid)
        if known is not None and known.mappings == mappings:
            return
        # There is always one, as an interval of none would be that of another process.
        entries = [self._entry(pid, each) for each in mappings] or [bytes(_MAPPING.size)]
        if known is None or known.room < len(entries):
            room = _SPARE * len(entries)
            if not self._mappings.has_room(room) or (known is None and len(self._processes) >= self._most):
                self.lost += 1
                return
            known = _Run(self._mappings.used, room, ())
            entries += [bytes(_MAPPING.size)] * (room - len(entries))
        self._processes[pid] = known._replace(mappings=mappings)
        self._mappings.put(known.first, b"".join(entries))
        self._write(UNWIND_PROCESSES, struct.pack("<Q", pid), struct.pack("<II", known.first, max(len(mappings), 1)))

    def _entry(self, pid: int, mapping: Mapping) -> bytes:
        file = self._objects.file(pid, mapping)
        linked = file.address_at(mapping.offset) if file is not None else None
        if file is None or linked is None:
            return _MAPPING.pack(mapping.start, mapping.end, mapping.start, 0, 0)
        rows = self._of(mapping, file)
        bias = mapping.start - linked + rows.base
        return _MAPPING.pack(mapping.start, mapping.end, bias & (1 << 64) - 1, rows.first, rows.number)

    def _of(self, mapping: Mapping, file: ElfFile) -> _Rows:
        key = mapping.device, mapping.inode, mapping.path
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._add(file)
        return found

    def _add(self, file: ElfFile) -> _Rows:
        try:
            base = min((segment.address for segment in file.segments), default=0)
            with file.costs:
                rows = kept_rows(file, base)
        except ElfError:
            # Nobody shall take what is missing for what the program has not.
            self.lost += bool(file.costs.reason)
            return _Rows(0, 0, 0)
        count = len(rows) // ROW.size
        if not self._rows.has_room(count):
            self.lost += 1
            return _Rows(0, 0, 0)
        first = self._rows.used
        if count:
            self._rows.put(first, rows)
        return _Rows(first, count, base)
