"""Maps of code that a process has compiled itself: /tmp/perf-PID.map, which perf has made a convention of
(tools/perf/Documentation/jit-interface.txt of Linux). A line has start and size in hexadecimal digits, and a name.

The file is in the process's own mount namespace under its number in its own pid namespace. Whoever can write to /tmp
can make one: it is read only if it is a regular file of the process's user or of root that not everybody may write to,
and only so much of it.
"""

from __future__ import annotations

import os
import stat
import time
from array import array
from bisect import bisect_right
from collections import Counter, OrderedDict
from contextlib import suppress

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
        self._inode = 0
        self._costs = Costs(size=MOST_BYTES + _MOST_LINES * _ENTRY_SIZE)
        self._forget()

    def _forget(self) -> None:
        self._offset = self._lines_read = 0
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

    def refresh(self) -> bool:
        """Read what the file has got since the last time; whether there was anything."""
        try:
            descriptor = open_regular(self._path, flags=os.O_NOFOLLOW)
        except OSError:
            return False
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_uid not in (self._home.user, 0):
                return False
            if found.st_mode & stat.S_IWOTH:
                return False
            if found.st_ino != self._inode or found.st_size < self._offset:
                self._inode = found.st_ino
                self._forget()
            with self._costs:
                return self._read(descriptor)
        except OSError:
            return False
        finally:
            os.close(descriptor)

    def _read(self, descriptor: int) -> bool:
        added: list[int] = []
        try:
            while not self._costs.reason:
                data = os.pread(descriptor, _BLOCK, self._offset)
                end = data.rfind(b"\n") + 1
                if not end and len(data) < _LONGEST_LINE:
                    break
                # A line without end is none.
                self._offset += end or len(data)
                added += self._lines(data[:end])
                self._bound()
        except CostError:
            pass
        if added:
            # What was there before is sorted: merging is quick.
            keys = [start << _PLACE | place for start, place in zip(self._starts, self._places, strict=True)] + added
            keys.sort()
            self._starts = array("Q", [key >> _PLACE for key in keys])
            self._places = array("I", [key & _PLACES for key in keys])
        return bool(added)

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

    def symbolize(self, address: int) -> tuple[str, int] | None:
        """The name of the code at an address and the distance from its start; of several the one that was made last."""
        at = bisect_right(self._starts, address)
        for place in sorted(self._places[max(at - _NEIGHBOURS, 0) : at], reverse=True):
            found = _parse(bytes(self._text[place : place + _LONGEST_LINE]).partition(b"\n")[0])
            if found is not None and found[0] <= address < found[1]:
                return visible(found[2].decode(errors="surrogateescape")), address - found[0]
        return None


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
    """The maps of all processes. A *process* is what `images` calls so."""

    def __init__(self, proc: str = "/proc") -> None:
        self._proc = proc
        self._homes: OrderedDict[int, Home] = OrderedDict()
        self._maps: OrderedDict[tuple[int, Home], PerfMap] = OrderedDict()
        self._due: dict[tuple[int, Home], float] = {}
        self._given_up: Counter[int] = Counter()
        """Maps that had too much and are no longer kept, by their users."""
        self._changes = 0
        self._next_look = 0.0

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
        found = home_of(pid, self._proc)
        if found is not None:
            self._homes[pid] = found
            self._homes.move_to_end(pid)
            if len(self._homes) > _MOST_HOMES:
                self._homes.popitem(last=False)

    def symbolize(self, process: int, address: int) -> tuple[str, str, int] | None:
        """The name of the map's file, the symbol, and the distance from its start."""
        pid = split(process)[0]
        home = home_of(pid, self._proc) or self._homes.get(pid)
        if home is None:
            return None
        key = process, home
        found = self._maps.get(key)
        if found is None:
            found = self._maps[key] = PerfMap(home)
            self._limit(found)
        self._maps.move_to_end(key)
        began = time.monotonic()
        if began >= self._due.get(key, 0):
            self._changes += found.refresh()
            now = time.monotonic()
            self._due[key] = now + max(_SHORTEST, _PATIENCE * (now - began))
            self._make_room()
        named = found.symbolize(address)
        return (f"perf-{home.number}.map", *named) if named else None

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
            self._given_up[gone.user] += bool(gone.refused)
            held -= gone.held

    def refused(self) -> list[tuple[str, str]]:
        """The maps of which something is left out, and why."""
        return [(each.path, each.refused) for each in self._maps.values() if each.refused]
