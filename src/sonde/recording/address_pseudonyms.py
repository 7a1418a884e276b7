"""Other addresses in the place of those of memory: what lies side by side still does, so that members of structures,
code of a file that is mapped, and stacks are found from their beginnings, and nothing tells where they were."""

from __future__ import annotations

import os
from collections.abc import Callable

from sonde.arch import pages

_KERNEL, _USER_FIRST, _USER_END = 0xFFFF_8000_0000_0000, 1 << 32, 1 << 47
"""Where numbers are taken for addresses: anything of the kernel's, and of a process's where no count comes."""

_KERNEL_PSEUDONYMS = 0xFFFF_C000_0000_0000
"""Those for the kernel's: below, where replays have the memory of their programs, an address would be one of these."""

_LAST = (1 << 64) - (1 << 24)
"""There is nothing of the kernel's above: these are numbers below zero."""

_CHUNK_BITS = 21
"""Chunks of 2 MiB move as they are: the kernel's own objects lie in one, since they are aligned to their size."""

_APART = 64
"""Chunks between two that are not neighbours: as many may come to lie behind one."""

_MOST_AT_ONCE = 4096
"""Chunks of a mapping that get places side by side."""


class AddressPseudonyms:
    """Of one recording. `random` gives so many bytes that nobody knows."""

    def __init__(self, random: Callable[[int], bytes] = os.urandom) -> None:
        # The kernel places its own code and memory in steps of chunks, those of a process in steps of pages.
        pages_of_chunk = _CHUNK_BITS - pages.PAGE_BITS
        self._shift = int.from_bytes(random(2), "little") % (1 << pages_of_chunk) << pages.PAGE_BITS
        self._chunks: dict[int, int] = {}
        self._taken: set[int] = set()
        self._next = {first: (first >> _CHUNK_BITS) + _APART for first in (_KERNEL_PSEUDONYMS, _USER_FIRST)}

    def __call__(self, number: int) -> int:
        """The number itself where it is no address."""
        if number < _USER_FIRST:
            return number
        if _KERNEL <= number < _LAST:
            first, shift = _KERNEL_PSEUDONYMS, 0
        elif number < _USER_END:
            first, shift = _USER_FIRST, self._shift
        else:
            return number
        moved = number + shift
        return self._chunk(moved >> _CHUNK_BITS, first) << _CHUNK_BITS | moved & ((1 << _CHUNK_BITS) - 1)

    def in_memory(self, number: int) -> int:
        """The same of a word of memory."""
        return self(number) if self.is_known(number) else number

    def is_known(self, number: int) -> bool:
        """Whether a word of memory is an address: two small numbers, or some letters, are as high as one of a process,
        so others close to it have to be known."""
        if number >= _USER_END:
            return _KERNEL <= number < _LAST
        return number >= _USER_FIRST and number + self._shift >> _CHUNK_BITS in self._chunks

    def whole(self, start: int, end: int) -> None:
        """What is between is one piece."""
        for count in range(min((end - start >> _CHUNK_BITS) + 1, _MOST_AT_ONCE)):
            self(min(start + (count << _CHUNK_BITS), end - 1))

    def is_text(self, number: int) -> bool:
        """Whether what was taken for an address of code can be none."""
        return _USER_END <= number < _KERNEL

    def _chunk(self, chunk: int, first: int) -> int:
        known = self._chunks.get(chunk)
        if known is None:
            known = self._chunks[chunk] = self._place(chunk, first)
            self._taken.add(known)
        return known

    def _place(self, chunk: int, first: int) -> int:
        for neighbour in (1, -1):
            beside = self._chunks.get(chunk - neighbour)
            if beside is not None and beside + neighbour not in self._taken:
                return beside + neighbour
        found = self._next[first]
        while found in self._taken:
            found += _APART
        self._next[first] = found + _APART
        return found
