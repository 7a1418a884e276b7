"""Memory that a system call's arguments point to, read by the guardian while the thread stands at the call's entry.

It is read into the places of the shared memory (stops.py), behind which the thread may go on: what a program asks for
was there when the thread stopped. As in memory.py remote pieces end where pages do, so what can be read before memory
ends is read.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from mmap import mmap

from sonde.arch import address_space, pages, registers
from sonde.engines.embedded.tracer import plan, stops
from sonde.engines.embedded.tracer.memory import LOWEST, ProcessMemory
from sonde.engines.embedded.tracer.plan import EntryFetch
from sonde.typed import Any

_ONE, _TWO = struct.Struct("=4Q"), struct.Struct("=6Q")
"""struct iovec: that of sonde's memory, then those of the thread's."""

_PAGE = pages.PAGE
_IOVEC = 16
_FIRST_ARGUMENT = 4
"""The word of struct ptrace_syscall_info."""

_U64 = 0xFFFF_FFFF_FFFF_FFFF

_Transfer = Callable[[int, int, int], int]
"""(thread, the place's offset in the shared memory, address) -> bytes read."""


class Fetcher:
    """What the plan wants read, by system call; `words`: struct ptrace_syscall_info of the thread that has stopped."""

    def __init__(self, memory: mmap, words: memoryview, fetches: dict[int, tuple[EntryFetch, ...]]) -> None:
        self._words = words
        # A fetch, which is a page at most, may begin just below the end of what a process can have.
        self._end = address_space.own_address_space().user_end + _PAGE
        self._memory = memoryview(memory)
        self._start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        self._places = len(memory) - stops.PLACES * stops.PLACE
        self._vectors = ctypes.create_string_buffer(3 * _IOVEC)
        begin = ctypes.addressof(self._vectors)
        self._local, self._remote = ctypes.c_void_p(begin), ctypes.c_void_p(begin + _IOVEC)
        # As ptrace.prepared(): arguments of at most 31 bits as they are, and no errno.
        self._call: Any = ctypes.PyDLL(None)["process_vm_readv"]
        self._slow = ProcessMemory()
        self._all = self._memory.cast("Q")
        self._by_site: dict[int, tuple[tuple[int, int, int, _Transfer], ...]] = {}
        self._by_call = {number: self._prepared(each) for number, each in fetches.items()}

    def want_sites(self, fetches: dict[int, tuple[EntryFetch, ...]]) -> None:
        """What is to be read behind registers, by the numbers of sites: behind the registers in the record's place."""
        self._by_site = {
            number: tuple(
                (fetch.argument, fetch.offset, registers.USER_SIZE + offset, self._transfer(fetch.size))
                for fetch, offset in zip(each, plan.offsets(each), strict=False)
            )
            for number, each in fetches.items()
        }

    def fetch_at_site(self, number: int, tid: int, place: int) -> int:
        """Fill the place, which begins with the thread's registers: the lengths as stops.HIT has them."""
        at = self._places + place * stops.PLACE
        words, first, lengths, shift = self._all, at // stops.WORD, 0, 0
        for register, behind, offset, transfer in self._by_site.get(number, ()):
            lengths |= transfer(tid, at + offset, words[first + register] + behind & _U64) << shift
            shift += 16
        return lengths

    def __contains__(self, number: int) -> bool:
        return number in self._by_call

    def fetch(self, number: int, tid: int, place: int) -> int:
        """Fill the place for the thread's call of that number: the lengths as stops.ENTRY has them."""
        at = self._places + place * stops.PLACE
        words, lengths, shift = self._words, 0, 0
        for argument, behind, offset, transfer in self._by_call[number]:
            lengths |= transfer(tid, at + offset, words[argument] + behind & _U64) << shift
            shift += 16
        return lengths

    def _prepared(self, fetches: tuple[EntryFetch, ...]) -> tuple[tuple[int, int, int, _Transfer], ...]:
        return tuple(
            (_FIRST_ARGUMENT + fetch.argument, fetch.offset, offset, self._transfer(fetch.size))
            for fetch, offset in zip(fetches, plan.offsets(fetches), strict=False)
        )

    def _transfer(self, size: int) -> _Transfer:
        """Reads `size` bytes, which is at most a page."""
        call, local, remote, vectors, start = self._call, self._local, self._remote, self._vectors, self._start
        end, is_there = self._end, self._slow.presence.has
        pack_one, pack_two, slowly = _ONE.pack_into, _TWO.pack_into, self._slowly

        def transfer(tid: int, to: int, address: int) -> int:
            first = _PAGE - address % _PAGE
            if address + size > end:
                return 0
            if address < LOWEST or not is_there(tid, address, size):
                return slowly(tid, to, address, size)
            if first >= size:
                pack_one(vectors, 0, start + to, size, address, size)
                done: int = call(tid, local, 1, remote, 1, 0)
            else:
                pack_two(vectors, 0, start + to, size, address, first, address + first, size - first)
                done = call(tid, local, 1, remote, 2, 0)
            return done if done >= 0 else slowly(tid, to, address, size)

        return transfer

    def _slowly(self, tid: int, to: int, address: int, size: int) -> int:
        """Where nothing is there, or the system call is not permitted."""
        try:
            data = self._slow.read_available(tid, address, size)
        except OSError:
            return 0
        self._memory[to : to + len(data)] = data
        return len(data)
