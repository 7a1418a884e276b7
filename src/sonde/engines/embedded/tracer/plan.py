"""What a session wants to hear of the threads it traces, as a value and as the bytes that tell the guardian."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from sonde.arch import system_calls
from sonde.engines.embedded.tracer import stops
from sonde.model.units import whole_words
from sonde.typed import NamedTuple

ENTRY, RETURN, HOLD_ENTRY, HOLD_RETURN = 1, 2, 4, 8
"""What is wanted of a system call, bits; what is held has to be wanted too."""

MAPPING = frozenset((system_calls.MMAP, system_calls.MPROTECT, system_calls.PKEY_MPROTECT))
"""The calls behind which there may be code that was not there before."""

FOLLOWED = MAPPING | {system_calls.SIGACTION}
"""The calls behind which the guardian looks for the sake of breakpoints: also that which changes what SIGTRAP does."""

CODE, FILES = 1, 2
"""Of FOLLOWED those calls that map code alone; and all that concern breakpoints, as those that map a file."""

NUMBERS = 1024
"""More than there are system call numbers."""

_LAYOUT = struct.Struct("=BBHHBBBH")
_NOTIFIED = 16
_FETCH = struct.Struct("=HHIi")


class EntryFetch(NamedTuple):
    """Memory at a system call's argument (its place from 0) and so many bytes behind: as much of `size` bytes as can be
    read."""

    argument: int
    size: int
    offset: int = 0


MOST_FETCHES = 3
"""For one system call."""


def offsets(fetches: Sequence[EntryFetch]) -> list[int]:
    """Where each lies in a record's place, and where they all end."""
    found = [0]
    for fetch in fetches:
        found.append(found[-1] + whole_words(fetch.size))
    return found


def can_fetch(fetches: Sequence[EntryFetch], room: int = stops.PLACE) -> bool:
    """Whether there is room for all of them in a record's place, of which there are so many bytes."""
    return len(fetches) <= MOST_FETCHES and offsets(fetches)[-1] <= room


class StopPlan(NamedTuple):
    """`calls`: system call number -> ENTRY ... HOLD_RETURN; `events`: the kinds of stops.py wanted besides, of which
    `held` are held. START, EXEC and END are always told. `registers`: held stops come with the thread's registers.
    `seccomp`: for a command, stop at the wanted system calls only, by a filter. `fetches`: by system call, what is read
    at its entry, where that is told and not held. `notify`: records of entries may come without sp; `notified`: calls
    of which the command's filter notifies (notifications.py); `mark`: what all data of its stops have (seccomp.MARKS).
    `maps`: CODE or FILES where threads stop behind such calls of FOLLOWED, 0 where they do not.
    `times`: EXIT tells of the thread's CPU time.
    `refusals`: whether what a filter refuses is to be told, which concerns sonde alone.
    """

    calls: dict[int, int] = {}
    events: frozenset[int] = frozenset()
    held: frozenset[int] = frozenset()
    registers: bool = False
    seccomp: bool = True
    fetches: dict[int, tuple[EntryFetch, ...]] = {}
    notify: bool = True
    notified: frozenset[int] = frozenset()
    mark: int = 0
    maps: int = 0
    times: bool = False
    refusals: bool = True


def followed(maps: int) -> frozenset[int]:
    """The calls behind which the guardian looks."""
    return (frozenset(), MAPPING, FOLLOWED)[maps]


def to_bytes(plan: StopPlan) -> bytes:
    calls = bytearray(NUMBERS)
    for number, wanted in plan.calls.items():
        calls[number] = wanted | (number in plan.notified) * _NOTIFIED
    flags = (
        plan.registers,
        plan.seccomp,
        _bits(plan.events),
        _bits(plan.held),
        plan.notify,
        plan.maps,
        plan.times,
        plan.mark,
    )
    return (
        _LAYOUT.pack(*flags)
        + calls
        + b"".join(_FETCH.pack(number, *fetch) for number, fetches in plan.fetches.items() for fetch in fetches)
    )


def from_bytes(data: bytes) -> StopPlan:
    registers, seccomp, events, held, notify, maps, times, mark = _LAYOUT.unpack_from(data)
    end = _LAYOUT.size + NUMBERS
    table = data[_LAYOUT.size : end]
    calls = {number: wanted & ~_NOTIFIED for number, wanted in enumerate(table) if wanted}
    notified = frozenset(number for number, wanted in enumerate(table) if wanted & _NOTIFIED)
    fetches: dict[int, tuple[EntryFetch, ...]] = {}
    for number, *fetch in _FETCH.iter_unpack(data[end:]):
        fetches[number] = (*fetches.get(number, ()), EntryFetch(*fetch))
    return StopPlan(
        calls, _set(events), _set(held), bool(registers), bool(seccomp), fetches, bool(notify), notified, mark,
        maps, bool(times),
    )  # fmt: skip


def _bits(kinds: frozenset[int]) -> int:
    return sum(1 << kind for kind in kinds)


def _set(bits: int) -> frozenset[int]:
    return frozenset(kind for kind in range(stops.MAPPED + 1) if bits >> kind & 1)
