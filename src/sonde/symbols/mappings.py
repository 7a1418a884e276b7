"""What a process has mapped: the entries of /proc/PID/maps (proc_pid_maps(5)), and tables of them to look into."""

from __future__ import annotations

import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from contextlib import suppress

from sonde.typed import NamedTuple
from sonde.untrusted import kernel_text, lines

VDSO = "[vdso]"
DELETED = " (deleted)"

_MADE_IN = ("/memfd:", "/dev/zero", "/SYSV", "/dev/shm/", "/run/shm/", "/tmp/", "/var/tmp/")
"""Where compilers put code: memfd_create(2), shared anonymous memory, shmget(2), and files that they have removed."""

_ADDRESSES = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) ", re.MULTILINE)

_WRITTEN = re.compile(r"^([0-9a-f]+)-[0-9a-f]+ .w.p ", re.MULTILINE)

_LONG = 256
"""Characters of a name that take as much as a mapping."""

_MOST = 1 << 18
"""Mappings of a process that are looked at; by default it has no more than 65,530 (vm.max_map_count)."""


class Mapping(NamedTuple):
    """Addresses `start` to `end` hold the file's bytes from `offset` on; `path` is "" for anonymous memory and in
    brackets for what the kernel made. `generation` tells files apart that had the same inode one after the other,
    0 if it is not known. `is_shared`: what is written there is written into the file, or seen by others; `is_writable`:
    the process may write there as it runs."""

    start: int
    end: int
    offset: int
    device: str
    inode: int
    path: str
    executable: bool
    generation: int = 0
    is_shared: bool = False
    is_writable: bool = False

    @property
    def file(self) -> tuple[str, int]:
        """The device and inode of the file, "00:00" and 0 of anonymous memory."""
        return self.device, self.inode

    @property
    def is_object(self) -> bool:
        """Whether there may be an ELF file behind it."""
        return self.path.startswith("/") or self.path == VDSO

    @property
    def may_be_compiled(self) -> bool:
        """True if a process may have written code there: memory without a file, also if the kernel shows that as a
        deleted file. A library that an upgrade has replaced is deleted, too, and has its own symbols."""
        return not self.path or (self.path.endswith(DELETED) and self.path.startswith(_MADE_IN))


def differ(one: Mapping, other: Mapping) -> bool:
    """Whether an address in both is in different files, or elsewhere in one."""
    return origin(one) != origin(other)


def origin(mapping: Mapping) -> tuple[str, int, int] | None:
    """What names an address in the mapping: path, inode, and where the file would begin; None for memory that is no
    file's."""
    return (mapping.path, mapping.inode, mapping.start - mapping.offset) if mapping.is_object else None


def directories(pid: int, proc: str = "/proc") -> Iterator[str]:
    """Those in which /proc tells of a process: its own, and, as that of a process whose first thread has ended has no
    more of its memory, those of its threads."""
    yield f"{proc}/{pid}"
    try:
        threads = os.listdir(f"{proc}/{pid}/task")
    except OSError:
        # It has ended altogether.
        return
    for tid in sorted(map(int, threads)):
        yield f"{proc}/{pid}/task/{tid}"


def maps_text(pid: int, proc: str = "/proc") -> str:
    """The text of a process's maps file, "" of one that has no memory any more. Raises OSError."""
    places = directories(pid, proc)
    try:
        text = kernel_text(f"{next(places)}/maps")
    except ProcessLookupError:
        text = ""
    while not text and (other := next(places, None)) is not None:
        # A thread may have ended since it was listed.
        with suppress(OSError):
            text = kernel_text(f"{other}/maps")
    return text


def parse_maps(text: str) -> tuple[Mapping, ...]:
    """The mappings in the text of a maps file, by address."""
    names: dict[str, str] = {}
    return tuple(found for line in lines(text)[:_MOST] if (found := _parse(line, names)) is not None)


def written(text: str) -> frozenset[int]:
    """The start addresses of private writable mappings."""
    return frozenset(int(found[1], 16) for found in _WRITTEN.finditer(text))


def mapping_at(text: str, address: int) -> Mapping | None:
    """The mapping that an address is in, by the text of a maps file."""
    for found in _ADDRESSES.finditer(text):
        if int(found[1], 16) > address:
            break
        if address < int(found[2], 16):
            return _parse(text[found.start() :].partition("\n")[0], {})
    return None


def _parse(line: str, names: dict[str, str]) -> Mapping | None:
    """None for a line that is no mapping: it costs nothing but itself. Of equal names one is kept."""
    try:
        # Spaces alone divide the line: a name may begin or end with any other character.
        addresses, permissions, offset, device, inode, *path = line.split(" ", 5)
        start, _, end = addresses.partition("-")
        name = path[0].lstrip(" ").replace("\\012", "\n") if path else ""
        name = names.setdefault(name, name)
        return Mapping(
            int(start, 16), int(end, 16), int(offset, 16), device, int(inode), name, "x" in permissions, 0,
            "s" in permissions, "w" in permissions,
        )  # fmt: skip
    except ValueError:
        return None


class MappingTable:
    """Mappings that do not overlap: one that is added takes the place of what was there, as mmap(2) does."""

    __slots__ = ("_mappings", "_starts", "charged", "past", "present", "size")

    def __init__(self, mappings: Iterable[Mapping] = ()) -> None:
        """`mappings` do not overlap."""
        self._mappings = sorted(mappings)
        self._starts = [mapping.start for mapping in self._mappings]
        self.size = sum(map(_size, self._mappings))
        """As how many mappings it counts: those with long names count as several."""
        self.present = self.past = 0
        """Images that have this table (`images.py`)."""
        self.charged = 0

    def __len__(self) -> int:
        return len(self._starts)

    def __iter__(self) -> Iterator[Mapping]:
        return iter(self._mappings)

    def find(self, address: int) -> Mapping | None:
        """The mapping that an address is in."""
        at = bisect_right(self._starts, address) - 1
        if at >= 0 and address < self._mappings[at].end:
            return self._mappings[at]
        return None

    def between(self, start: int, end: int) -> Iterator[Mapping]:
        """The mappings that have any of these addresses."""
        at = max(bisect_right(self._starts, start) - 1, 0)
        while at < len(self._starts) and self._starts[at] < end:
            if self._mappings[at].end > start:
                yield self._mappings[at]
            at += 1

    def add(self, mapping: Mapping) -> None:
        """Put a mapping in; of others what it does not cover stays."""
        start, end = mapping.start, mapping.end
        if start >= end:
            return
        first = bisect_right(self._starts, start) - 1
        if first < 0 or self._mappings[first].end <= start:
            first += 1
        last = bisect_left(self._starts, end)
        rest = [mapping]
        for other in self._mappings[first:last]:
            if other.start < start:
                rest.insert(0, other._replace(end=start))
            if other.end > end:
                rest.append(other._replace(start=end, offset=other.offset + end - other.start))
        self.size += sum(map(_size, rest)) - sum(map(_size, self._mappings[first:last]))
        self._mappings[first:last] = rest
        self._starts[first:last] = [each.start for each in rest]

    def copy(self) -> MappingTable:
        made = MappingTable()
        made._mappings, made._starts, made.size = self._mappings[:], self._starts[:], self.size
        return made


def _size(mapping: Mapping) -> int:
    return 1 + len(mapping.path) // _LONG
