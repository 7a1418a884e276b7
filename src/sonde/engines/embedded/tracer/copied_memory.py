"""The memory of a process that was forked, made what it is taken for: a copy of its maker's as that is now.

The kernel copies it some time before the maker stops to tell of that. Meanwhile the maker's other threads run on, and
run onto breakpoints: so slots and breakpoints may have been put into the maker's memory, and taken out of it, which the
copy has not or still has. What is said of the one is then made true of the other, which has not run yet.
"""

from __future__ import annotations

from contextlib import suppress

from sonde.arch import instructions, pages
from sonde.engines.embedded.tracer.code_space import COUNTER, CodeSpace, SlotArea, is_there


def agree(copy: CodeSpace, maker: CodeSpace) -> None:
    """Raises OSError where the copy's memory is gone."""
    copy.forget_replaced()
    copy.areas = [each for each in copy.areas if _has_slots(copy, each)]
    for each in copy.breakpoints.values():
        if each.slot is not None and not any(area.start <= (each.slot.value or 0) < area.end for area in copy.areas):
            each.slot = None
    wrong = _without(copy, list(copy.breakpoints))
    for address, byte in wrong.items():
        if byte == copy.breakpoints[address].byte:
            copy.write(address, bytes((instructions.BREAKPOINT,)))
        else:
            del copy.breakpoints[address]
    for address in _with(copy, list(copy.former)):
        copy.put_back(address)
    for address in copy.semaphores:
        _count(copy, maker, address)


def is_copy(tid: int, maker: CodeSpace) -> bool:
    """Whether the memory of that process may have been copied from the maker's: where a breakpoint is or was, there is
    one or what was there before. Raises nothing: a memory that is gone is none."""
    expected = {each.address: each.byte for each in maker.breakpoints.values()} | maker.former
    try:
        copy = CodeSpace(tid, tid)
    except OSError:
        return False
    try:
        found = _bytes(copy, list(expected))
    finally:
        copy.close()
    return all(byte in (instructions.BREAKPOINT, expected[address]) for address, byte in found.items())


def _has_slots(copy: CodeSpace, area: SlotArea) -> bool:
    """Whether the area is there; what is missing in it is put in. Raises OSError."""
    with suppress(OSError):
        if copy.read(area.start, len(area.code)) == area.code:
            return True
    if not is_there(area, copy.mappings(copy.pid)):
        return False
    copy.write(area.start, bytes(area.code))
    return True


def _bytes(copy: CodeSpace, addresses: list[int]) -> dict[int, int]:
    """What is there, by one read a page; -1 where nothing is."""
    found: dict[int, int] = {}
    by_page: dict[int, list[int]] = {}
    for address in addresses:
        by_page.setdefault(address // pages.PAGE, []).append(address)
    for each in by_page.values():
        first = min(each)
        try:
            data = copy.read(first, max(each) + 1 - first)
        except OSError:
            data = b""
        for address in each:
            found[address] = data[address - first] if address - first < len(data) else -1
    return found


def _without(copy: CodeSpace, addresses: list[int]) -> dict[int, int]:
    """Where no breakpoint is, and what is there."""
    return {address: byte for address, byte in _bytes(copy, addresses).items() if byte != instructions.BREAKPOINT}


def _with(copy: CodeSpace, addresses: list[int]) -> list[int]:
    return [address for address, byte in _bytes(copy, addresses).items() if byte == instructions.BREAKPOINT]


def _count(copy: CodeSpace, maker: CodeSpace, address: int) -> None:
    """A semaphore that was counted up in the maker's memory alone is in the copy, too."""
    with suppress(OSError):
        there, here = (int.from_bytes(each.read(address, COUNTER.size), "little") for each in (maker, copy))
        if here + copy.semaphores[address] & 0xFFFF == there:
            copy.write(address, COUNTER.pack(there))
