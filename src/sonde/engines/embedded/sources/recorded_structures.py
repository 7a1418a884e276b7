"""Structures that programs follow, as a recording keeps them: they lie in the machine's memory, whose addresses mean
nothing later, so pointers among them are moved to where a replay has regions of its own."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from sonde.engines.fired import MemoryRead
from sonde.runtime.machine.memory import FIRST_ADDRESS, OFFSET_BITS, OFFSET_MASK, MachineMemory
from sonde.typed import NamedTuple

ELSEWHERE = 0x2000 << OFFSET_BITS
"""What is added to addresses of the machine: a replay has regions of its own there."""

_STRUCTURE = 1536
"""Bytes of a structure that are kept."""

_MOST_KNOWN = 1024
"""Structures that are remembered: those of some hundred threads."""

_WORD = struct.Struct("<Q")


class _Looked(NamedTuple):
    """What a structure was when it was last looked at: its bytes, those words of it that may be pointers, which of
    them were, and the bytes with these moved."""

    data: bytes
    possible: tuple[int, ...]
    own: tuple[int, ...]
    moved: bytes


class RecordedStructures:
    """Those in `memory`. Most are the same from one firing to the next, so what was made of one is remembered."""

    def __init__(self, memory: MachineMemory) -> None:
        self._memory = memory
        self._known: dict[tuple[int, int], _Looked] = {}

    def read(self, pointer: int) -> MemoryRead | None:
        """What lies at an address of the machine's; None where nothing does."""
        looked = self._look(pointer)
        return MemoryRead(pointer + ELSEWHERE, looked.moved) if looked is not None else None

    def behind(self, pointers: Sequence[int]) -> list[MemoryRead]:
        """What the pointers lead to, and what that leads to. Structures lie close together, so memory that is behind
        several pointers is in one of these once."""
        found = set(pointers)
        for pointer in pointers:
            looked = self._look(pointer)
            if looked is not None:
                found.update(looked.own)
        spans = ((start, self._look(start, end - start)) for start, end in _united(sorted(found)))
        return [MemoryRead(start + ELSEWHERE, looked.moved) for start, looked in spans if looked is not None]

    def moved(self, data: bytes) -> bytes:
        """Whole words, with the pointers among them moved."""
        return self._moved(data, self._own(_possible(data)))

    def _look(self, pointer: int, size: int = _STRUCTURE) -> _Looked | None:
        region = self._memory.regions.get(pointer >> OFFSET_BITS)
        at = pointer & OFFSET_MASK
        data = bytes(region[at : at + size]) if region is not None else b""
        data = data[: len(data) & -_WORD.size]
        if not data:
            return None
        known = self._known.get((pointer, size))
        possible = known.possible if known is not None and known.data == data else _possible(data)
        # Regions come and go, so what was no pointer may have become one.
        own = self._own(possible)
        if known is not None and known.data == data and known.own == own:
            return known
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        looked = self._known[pointer, size] = _Looked(data, possible, own, self._moved(data, own))
        return looked

    def _own(self, words: Sequence[int]) -> tuple[int, ...]:
        regions = self._memory.regions
        return tuple([word for word in words if word >> OFFSET_BITS in regions])

    def _moved(self, data: bytes, own: Sequence[int]) -> bytes:
        if not own:
            return data
        are_own = frozenset(own)
        words = [word + ELSEWHERE if word in are_own else word for (word,) in _WORD.iter_unpack(data)]
        return struct.pack(f"<{len(words)}Q", *words)


def _united(pointers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Where what lies behind pointers, which are in order, begins and ends. What is no whole number of words from
    where it begins is apart, since pointers are looked for word by word."""
    start = end = -1
    for pointer in pointers:
        if start >= 0 and pointer <= end and not (pointer - start) % _WORD.size:
            end = pointer + _STRUCTURE
            continue
        if start >= 0:
            yield start, end
        start, end = pointer, pointer + _STRUCTURE
    if start >= 0:
        yield start, end


def _possible(data: bytes) -> tuple[int, ...]:
    """Words that are as high as the addresses of regions."""
    return tuple([word for (word,) in _WORD.iter_unpack(data) if word >= FIRST_ADDRESS])
