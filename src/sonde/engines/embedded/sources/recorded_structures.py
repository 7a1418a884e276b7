"""Structures that programs follow, as a recording keeps them: they lie in the machine's memory, whose addresses mean
nothing later, so pointers among them are moved to where a replay has regions of its own."""

from __future__ import annotations

import struct
from collections.abc import Sequence

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
        self._known: dict[int, _Looked] = {}

    def read(self, pointer: int) -> MemoryRead | None:
        """What lies at an address of the machine's; None where nothing does."""
        looked = self._look(pointer)
        return MemoryRead(pointer + ELSEWHERE, looked.moved) if looked is not None else None

    def behind(self, pointers: Sequence[int]) -> list[MemoryRead]:
        """What the pointers lead to, and what that leads to."""
        found: dict[int, MemoryRead] = {}
        for _ in range(2):
            following: list[int] = []
            for pointer in pointers:
                looked = self._look(pointer) if pointer not in found else None
                if looked is not None:
                    found[pointer] = MemoryRead(pointer + ELSEWHERE, looked.moved)
                    following += looked.own
            pointers = following
        return list(found.values())

    def moved(self, data: bytes) -> bytes:
        """Whole words, with the pointers among them moved."""
        return self._moved(data, self._own(_possible(data)))

    def _look(self, pointer: int) -> _Looked | None:
        region = self._memory.regions.get(pointer >> OFFSET_BITS)
        at = pointer & OFFSET_MASK
        data = bytes(region[at : at + _STRUCTURE]) if region is not None else b""
        data = data[: len(data) & -_WORD.size]
        if not data:
            return None
        known = self._known.get(pointer)
        possible = known.possible if known is not None and known.data == data else _possible(data)
        # Regions come and go, so what was no pointer may have become one.
        own = self._own(possible)
        if known is not None and known.data == data and known.own == own:
            return known
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        looked = self._known[pointer] = _Looked(data, possible, own, self._moved(data, own))
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


def _possible(data: bytes) -> tuple[int, ...]:
    """Words that are as high as the addresses of regions."""
    return tuple([word for (word,) in _WORD.iter_unpack(data) if word >= FIRST_ADDRESS])
