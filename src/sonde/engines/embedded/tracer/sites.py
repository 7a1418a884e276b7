"""Which instructions of which files are to be told when they are executed, as values and as the bytes that tell the
guardian."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from sonde.engines.embedded.tracer.plan import EntryFetch
from sonde.typed import NamedTuple

HIT, RETURN, HOLD_HIT, HOLD_RETURN = 1, 2, 4, 8
"""What is wanted of a place: that it is executed; the return of the function that begins there; that these are held."""

JUMPS, THROWS, CATCHES = 16, 32, 64
"""What begins there and is not told: longjmp, what an exception is thrown by, and what a handler calls first. They
leave functions whose returns are wanted."""

_COUNT = struct.Struct("=II")
_FILE = struct.Struct("=QQII")
_SITE = struct.Struct("=QQIBBxxi")
_FETCH = struct.Struct("=IIi")


class BreakpointSite(NamedTuple):
    """An instruction by its offset in the file. `number` names it in records; `semaphore` is the offset of the counter
    of who listens, 0 if there is none; `pid` is the process for which it is, 0 for all. `fetches` is
    what is read where it is executed, if that is told and not held: behind registers, by their places in words."""

    offset: int
    number: int
    wanted: int
    semaphore: int = 0
    pid: int = 0
    fetches: tuple[EntryFetch, ...] = ()


class FileSites(NamedTuple):
    """The sites in the file with that device and inode (stat(2))."""

    device: int
    inode: int
    sites: tuple[BreakpointSite, ...]


def to_bytes(files: Sequence[FileSites]) -> bytes:
    parts = [_COUNT.pack(len(files), 0)]
    for file in files:
        parts.append(_FILE.pack(file.device, file.inode, len(file.sites), 0))
        for each in file.sites:
            count = len(each.fetches)
            parts.append(_SITE.pack(each.offset, each.semaphore, each.number, each.wanted, count, each.pid))
            parts += [_FETCH.pack(*fetch) for fetch in each.fetches]
    return b"".join(parts)


def from_bytes(data: bytes) -> list[FileSites]:
    (count, _), at = _COUNT.unpack_from(data), _COUNT.size
    found = []
    for _ in range(count):
        device, inode, number, _ = _FILE.unpack_from(data, at)
        at += _FILE.size
        sites = []
        for _ in range(number):
            offset, semaphore, name, wanted, fetched, pid = _SITE.unpack_from(data, at)
            at += _SITE.size
            end = at + fetched * _FETCH.size
            fetches = tuple(EntryFetch(*each) for each in _FETCH.iter_unpack(data[at:end]))
            at = end
            sites.append(BreakpointSite(offset, name, wanted, semaphore, pid, fetches))
        found.append(FileSites(device, inode, tuple(sites)))
    return found
