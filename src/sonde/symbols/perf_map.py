"""Maps of code that a process has compiled itself: /tmp/perf-PID.map, which perf has made a convention of
(tools/perf/Documentation/jit-interface.txt of Linux). A line has start and size in hexadecimal digits, and a name.

The file is in the process's own mount namespace under its number in its own pid namespace. Whoever can write to /tmp
can make one: it is read only if it is a regular file, of a file system that stores files, of the process's user or of
root, that not everybody may write to, and only so much of it.
"""

from __future__ import annotations

import os
import stat
import time
from array import array
from bisect import bisect_right
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from io import FileIO

from sonde import others
from sonde.symbols.elf.costs import Costs
from sonde.symbols.elf.errors import CostError
from sonde.symbols.images import split
from sonde.symbols.objects import root_of
from sonde.typed import NamedTuple
from sonde.untrusted import lines, open_regular, read_kernel
from sonde.visible import visible

MOST_BYTES = 64 << 20
"""Of a map; the rest of a longer one is left out."""

_MOST_LINES = 1 << 20
"""Of a map, each an entry or nothing; those of large programs have some hundred thousand."""

_FEW_GIVEN_UP = 3
"""Maps of one user that had too much, after which no other of that user is read: anybody can make any number."""

_ENTRY_SIZE = 12
_HELD = 96 << 20
"""Bytes of all maps that are kept; the ones that have not been asked for longest go."""

_BLOCK = 1 << 20
_LONGEST_NAME = 1024
_LONGEST_LINE = _LONGEST_NAME + 64
_PATIENCE, _SHORTEST = 20, 0.01
"""A map is not looked at again before so many times the time has passed that reading it took, and so many seconds."""

_SHORTEST_LOOK = 0.2
_MOST_HOMES, _MOST_MAPS = 4096, 200
_NEIGHBOURS = 64
"""How many entries before an address are tried: code that starts nearer may end before it."""

_MOST_COMPARED = 2048
"""Lines of a read that are compared with those before."""

_PLACE = 32
_PLACES = (1 << _PLACE) - 1


class Home(NamedTuple):
    """Where a process has its map: the number it has in its own pid namespace, its user, and what to put before the
    path of a file."""

    number: int
    user: int
    root: str


def home_of(pid: int, proc: str = "/proc") -> Home | None:
    """None if the process is gone. `root` is "" where the process sees the same files as sonde."""
    try:
        status = read_kernel(f"{proc}/{pid}/status")
        user = os.stat(f"{proc}/{pid}").st_uid
    except OSError:
        return None
    numbers = next((line.split() for line in status.split(b"\n") if line.startswith(b"NSpid:")), [])
    return Home(int(numbers[-1]) if len(numbers) > 1 else pid, user, root_of(pid, proc))


class PerfMap:
    """The map of one process, read on as the file grows."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._path = f"{home.root}/tmp/perf-{home.number}.map"
        self._file: FileIO | None = None
        """The file that was read last, which may not be there any more under its path."""
        self._inode = 0
        self._costs = Costs(size=MOST_BYTES + _MOST_LINES * _ENTRY_SIZE)
        self._forget()

    def _forget(self) -> None:
        self._offset = self._lines_read = 0
        self._moved_at: int | None = None
        self._text = bytearray()
        """Whole lines."""
        self._starts: array[int] = array("Q")
        self._places: array[int] = array("I")
        """Where in the text the lines are whose code begins at `_starts`, which are sorted, then by their order."""

    @property
    def held(self) -> int:
        """Bytes of memory, about."""
        return len(self._text) + _ENTRY_SIZE * len(self._starts)

    @property
    def refused(self) -> str:
        """Why the rest of the map is left out, "" if it is not."""
        return self._costs.reason

    def give_up(self, reason: str) -> None:
        """Read nothing more of it."""
        with suppress(CostError):
            self._costs.refuse(reason)

    @property
    def user(self) -> int:
        return self._home.user

    @property
    def path(self) -> str:
        return self._path

    def take_move(self) -> int | None:
        """A place in the text, if code has got another name than it had since the last time: behind the lines of
        before."""
        moved, self._moved_at = self._moved_at, None
        return moved

    def refresh(self) -> bool:
        """Read what the file has got since the last time; whether there was anything."""
        try:
            self._open()
            file = self._file
            if file is None:
                return False
            size = os.fstat(file.fileno()).st_size
            if size < self._offset:
                self._forget()
            with self._costs:
                return self._read(file.fileno(), size)
        except OSError:
            return False

    def _open(self) -> None:
        """Open the file that is under the path, if it is another one. Raises OSError for one that cannot be read."""
        try:
            if self._file is not None and others.stat(self._path, follows=False).st_ino == self._inode:
                return
            descriptor = open_regular(self._path, flags=os.O_NOFOLLOW)
        except OSError:
            # What was there is still open, if anything was: the directory may be gone with its container.
            return
        opened = FileIO(descriptor)
        found = os.fstat(descriptor)
        is_own = found.st_uid in (self._home.user, 0) and not found.st_mode & stat.S_IWOTH
        if not stat.S_ISREG(found.st_mode) or not is_own:
            opened.close()
            return
        self.close()
        if found.st_ino != self._inode:
            self._inode = found.st_ino
            self._forget()
        self._file = opened

    def close(self) -> None:
        """Give up the file; what was read of it stays."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _read(self, descriptor: int, size: int) -> bool:
        """Read on, up to the size of the file: what has none is not read."""
        added: list[int] = []
        before = len(self._text)
        try:
            while not self._costs.reason:
                data = os.pread(descriptor, min(_BLOCK, size - self._offset), self._offset)
                end = data.rfind(b"\n") + 1
                if not end and len(data) < _LONGEST_LINE:
                    break
                # A line without end is none.
                self._offset += end or len(data)
                added += self._lines(data[:end])
                self._bound()
        except CostError:
            pass
        if self._moved_at is None and self._is_moved(added):
            self._moved_at = before
        if added:
            # What was there before is sorted: merging is quick.
            keys = [start << _PLACE | place for start, place in zip(self._starts, self._places, strict=True)] + added
            keys.sort()
            self._starts = array("Q", [key >> _PLACE for key in keys])
            self._places = array("I", [key & _PLACES for key in keys])
        return bool(added)

    def _is_moved(self, added: Sequence[int]) -> bool:
        """Whether lines that are not sorted in yet give code other names than it had before, or may: of many at once
        that is assumed, as comparing takes some 50 us a line."""
        if self._starts and len(added) > _MOST_COMPARED:
            return True
        for key in added if self._starts else ():
            line = self._line(key & _PLACES)
            if line is None:
                continue
            start, end, name = line
            for place in self._before(end - 1):
                earlier = self._line(place)
                if earlier is not None and earlier[0] < end and start < earlier[1] and earlier[2] != name:
                    return True
        return False

    def _before(self, address: int) -> list[int]:
        """The places of lines whose code begins at an address or a little before, the last one first."""
        at = bisect_right(self._starts, address)
        return sorted(self._places[max(at - _NEIGHBOURS, 0) : at], reverse=True)

    def _line(self, place: int) -> tuple[int, int, bytes] | None:
        return _parse(bytes(self._text[place : place + _LONGEST_LINE]).partition(b"\n")[0])

    def _bound(self) -> None:
        """Raises CostError."""
        self._costs.check()
        if self._lines_read > _MOST_LINES:
            self._costs.refuse(f"it has more than {_MOST_LINES:,} lines")
        if self._offset > MOST_BYTES:
            self._costs.refuse(f"it has more than {MOST_BYTES >> 20} MiB")

    def _lines(self, data: bytes) -> list[int]:
        """Start and place of the lines, which are added to the text."""
        found, place = [], len(self._text)
        self._text += data
        whole = lines(data)
        self._lines_read += len(whole)
        for line in whole:
            try:
                start = int(line.partition(b" ")[0], 16)
            except ValueError:
                start = -1
            if 0 <= start < 1 << 64:
                found.append(start << _PLACE | place)
            place += len(line) + 1
        return found

    def symbolize(self, address: int, end: int | None = None) -> tuple[str, int] | None:
        """The name of the code at an address and the distance from its start: of several lines that of the last one
        before the place `end`, or of the first one after that."""
        later = None
        for place in self._before(address):
            found = self._line(place)
            if found is not None and found[0] <= address < found[1]:
                later = found
                if end is None or place < end:
                    break
        if later is None:
            return None
        return visible(later[2].decode(errors="surrogateescape")), address - later[0]


def _parse(line: bytes) -> tuple[int, int, bytes] | None:
    """Start, end and name."""
    words = line.split(None, 2)
    if len(words) < 3:
        return None
    try:
        start, size = int(words[0], 16), int(words[1], 16)
    except ValueError:
        return None
    if not 0 <= start < start + size <= 1 << 64:
        return None
    return start, start + size, words[2][:_LONGEST_NAME]


class CompiledCode:
    """The maps of all processes. A *program* is a process and the kernel's mark of what it has executed."""

    def __init__(self, proc: str = "/proc") -> None:
        self._proc = proc
        self._homes: OrderedDict[int, Home] = OrderedDict()
        """Those of processes that have code of their own making."""
        self._ended: set[int] = set()
        self._maps: OrderedDict[tuple[int, Home], PerfMap] = OrderedDict()
        self._due: dict[tuple[int, Home], float] = {}
        self._given_up: Counter[int] = Counter()
        """Maps that had too much and are no longer kept, by their users."""
        self._changes = 0
        self._next_look = self._next_poll = 0.0
        self.are_growing = False
        """Whether a process that runs has a map."""

    @property
    def changes(self) -> int:
        """Counts how often a map has changed: an address may have another name then. The maps that have been asked are
        looked at again for that, every now and then."""
        now = time.monotonic()
        if self._maps and now >= self._next_look:
            self._changes += sum(each.refresh() for each in self._maps.values())
            took = time.monotonic() - now
            self._next_look = now + took + max(_SHORTEST_LOOK, _PATIENCE * took)
        return self._changes

    def expect(self, pid: int) -> None:
        """The process has mapped code that is no file's: where its map is must be known when it has ended."""
        if pid in self._homes and pid not in self._ended:
            return
        found = home_of(pid, self._proc)
        if found is not None:
            self._homes[pid] = found
            self._homes.move_to_end(pid)
            self._ended.discard(pid)
            if len(self._homes) > _MOST_HOMES:
                gone, _ = self._homes.popitem(last=False)
                self._ended.discard(gone)

    def end(self, pid: int) -> None:
        """The process has ended: its map grows no more."""
        if pid in self._homes:
            self._ended.add(pid)

    def moved(self, program: Callable[[int], int]) -> Iterator[tuple[int, int]]:
        """Read on in the maps of processes; those in which code has got another name than it had, each with the place
        in the map that is behind the lines of before. `program` gives a process's present one."""
        began = time.monotonic()
        if not self._homes or began < self._next_poll:
            return
        self.are_growing = False
        for pid, home in self._homes.items():
            if pid in self._ended:
                continue
            found = self._map(program(pid), home, only_if_there=True)
            self.are_growing = self.are_growing or found is not None
            if found is not None and found.refresh():
                self._changes += 1
                place = found.take_move()
                if place is not None:
                    yield pid, place
        self._make_room()
        now = time.monotonic()
        self._next_poll = now + max(_SHORTEST, _PATIENCE * (now - began))

    def symbolize(self, program: int, address: int, end: int | None = None) -> tuple[str, str, int] | None:
        """The name of the map's file, the symbol, and the distance from its start; by the lines before the place `end`,
        if that has one."""
        pid = split(program)[0]
        home = self._homes.get(pid)
        if home is None or (program, home) not in self._maps:
            # That of a process that is ending cannot be told any more.
            home = home_of(pid, self._proc) or home
        if home is None:
            return None
        key = program, home
        found = self._map(program, home)
        began = time.monotonic()
        if found is not None and began >= self._due.get(key, 0):
            self._changes += found.refresh()
            now = time.monotonic()
            self._due[key] = now + max(_SHORTEST, _PATIENCE * (now - began))
            self._make_room()
        named = found.symbolize(address, end) if found is not None else None
        return (f"perf-{home.number}.map", *named) if named else None

    def _map(self, program: int, home: Home, only_if_there: bool = False) -> PerfMap | None:
        key = program, home
        found = self._maps.get(key)
        if found is None:
            if only_if_there and not others.exists(PerfMap(home).path):
                return None
            found = self._maps[key] = PerfMap(home)
            self._limit(found)
        self._maps.move_to_end(key)
        return found

    def _limit(self, added: PerfMap) -> None:
        here = sum(each.user == added.user and bool(each.refused) for each in self._maps.values())
        count = here + self._given_up[added.user]
        if added.user not in (0, os.geteuid()) and count >= _FEW_GIVEN_UP:
            added.give_up(f"{_FEW_GIVEN_UP} other maps of its user had too much")

    def _make_room(self) -> None:
        held = sum(each.held for each in self._maps.values())
        while len(self._maps) > _MOST_MAPS or (held > _HELD and len(self._maps) > 1):
            key, gone = self._maps.popitem(last=False)
            self._due.pop(key, None)
            gone.close()
            self._given_up[gone.user] += bool(gone.refused)
            held -= gone.held

    def refused(self) -> list[tuple[str, str]]:
        """The maps of which something is left out, and why."""
        return [(each.path, each.refused) for each in self._maps.values() if each.refused]

    def close(self) -> None:
        """Close the files."""
        for each in self._maps.values():
            each.close()
