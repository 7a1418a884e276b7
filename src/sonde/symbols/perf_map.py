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
from bisect import bisect_right
from collections import OrderedDict

from sonde.symbols.images import split
from sonde.symbols.objects import root_of
from sonde.typed import NamedTuple
from sonde.untrusted import open_regular, read_kernel
from sonde.visible import visible

MOST_BYTES = 64 << 20
_BLOCK = 1 << 20
_LONGEST_NAME = 1024
_PATIENCE, _SHORTEST = 20, 0.01
"""A map is not looked at again before so many times the time has passed that reading it took, and so many seconds."""

_SHORTEST_LOOK = 0.2
_MOST_HOMES, _MOST_MAPS = 4096, 200
_NEIGHBOURS = 64
"""How many entries before an address are tried: code that starts nearer may end before it."""


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
        self._offset = 0
        self._starts: list[int] = []
        self._entries: list[tuple[int, int, int, bytes]] = []
        """Start, end, number in the file, name: sorted like `_starts`."""

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
                self._inode, self._offset, self._entries = found.st_ino, 0, []
            return self._read(descriptor)
        except OSError:
            return False
        finally:
            os.close(descriptor)

    def _read(self, descriptor: int) -> bool:
        added: list[tuple[int, int, int, bytes]] = []
        rest = b""
        first = len(self._entries)
        while self._offset < MOST_BYTES:
            data = os.pread(descriptor, _BLOCK, self._offset + len(rest))
            if not data:
                break
            *lines, last = (rest + data).split(b"\n")
            self._offset += len(rest) + len(data) - len(last)
            rest = last if len(last) <= _LONGEST_NAME + 64 else b""
            self._offset += len(last) - len(rest)
            added += [
                entry for number, line in enumerate(lines) if (entry := _parse(line, first + len(added) + number))
            ]
        if added:
            self._entries = sorted(self._entries + added)
            self._starts = [entry[0] for entry in self._entries]
        return bool(added)

    def symbolize(self, address: int) -> tuple[str, int] | None:
        """The name of the code at an address and the distance from its start; of several the one that was made last."""
        at = bisect_right(self._starts, address)
        around = [entry for entry in self._entries[max(at - _NEIGHBOURS, 0) : at] if address < entry[1]]
        if not around:
            return None
        start, _, _, name = max(around, key=lambda entry: entry[2])
        return visible(name.decode(errors="surrogateescape")), address - start


def _parse(line: bytes, number: int) -> tuple[int, int, int, bytes] | None:
    words = line.split(None, 2)
    if len(words) < 3:
        return None
    try:
        start, size = int(words[0], 16), int(words[1], 16)
    except ValueError:
        return None
    if not 0 <= start < start + size <= 1 << 64:
        return None
    return start, start + size, number, words[2][:_LONGEST_NAME]


class CompiledCode:
    """The maps of all processes. A *process* is what `images` calls so."""

    def __init__(self, proc: str = "/proc") -> None:
        self._proc = proc
        self._homes: OrderedDict[int, Home] = OrderedDict()
        self._maps: OrderedDict[tuple[int, Home], PerfMap] = OrderedDict()
        self._due: dict[tuple[int, Home], float] = {}
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
            if len(self._maps) > _MOST_MAPS:
                gone, _ = self._maps.popitem(last=False)
                self._due.pop(gone, None)
        began = time.monotonic()
        if began >= self._due.get(key, 0):
            self._changes += found.refresh()
            now = time.monotonic()
            self._due[key] = now + max(_SHORTEST, _PATIENCE * (now - began))
        named = found.symbolize(address)
        return (f"perf-{home.number}.map", *named) if named else None
