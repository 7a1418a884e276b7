"""The memory of traced threads, with the breakpoints that are in it and the slots that their instructions run in.

A breakpoint is one byte in the place of an instruction's first. The instruction itself runs in a *slot*, in memory that
the process has been made to map for this (`arch/*/displacement.py`), and jumps back from there: so the breakpoint stays
where it is, no thread misses it, and no thread is stopped a second time.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache

from sonde import others
from sonde.arch import displacement, instructions, pages
from sonde.engines.embedded.tracer import injection
from sonde.engines.embedded.tracer.presence import Presence
from sonde.engines.embedded.tracer.sites import BreakpointSite
from sonde.machine import proc
from sonde.symbols.mappings import Mapping, MappingTable, mapping_at, parse_maps, written
from sonde.untrusted import kernel_text

_AREA = 1 << 16
"""Bytes of an area of slots."""

_LONGEST = 16
COUNTER = struct.Struct("=H")
_READ_EXECUTE, _PRIVATE, _ANONYMOUS, _EXACTLY = 5, 0x02, 0x20, 0x100000
"""PROT_READ | PROT_EXEC, MAP_PRIVATE, MAP_ANONYMOUS, MAP_FIXED_NOREPLACE of mmap(2)."""

TRAP = 1 << signal.SIGTRAP - 1
IGNORE = struct.pack("=QQQQ", signal.SIG_IGN, 0, 0, 0)
"""struct sigaction of the kernel: handler, flags, restorer, mask."""

UNTOLD = b"?"
_BREAKPOINT = bytes((instructions.BREAKPOINT,))


@lru_cache(maxsize=1)
def _presence() -> Presence:
    """The guardian's."""
    return Presence()


class Breakpoint:
    """`sites` are told where it is hit, as `number` and by what is `wanted` of them. `returns`: calls may return here.
    `is_own`: the process itself has an instruction of that kind there.
    `slot` is the address at which its instruction goes on, for ptrace, None until it has been hit for the first
    time."""

    __slots__ = ("address", "byte", "is_own", "number", "returns", "sites", "slot", "wanted")

    def __init__(self, address: int, byte: int) -> None:
        self.address = address
        self.byte = byte
        self.is_own = byte == instructions.BREAKPOINT
        self.sites: tuple[BreakpointSite, ...] = ()
        self.number = self.wanted = 0
        self.returns = False
        self.slot: ctypes.c_void_p | None = None


class SlotArea:
    """Memory of the process with slots; `code` is what has been written into those that are taken."""

    __slots__ = ("code", "end", "start")

    def __init__(self, start: int, code: bytes | bytearray = b"") -> None:
        self.start, self.end = start, start + _AREA
        self.code = bytearray(code)

    def has_room(self) -> bool:
        return len(self.code) + displacement.SLOT <= _AREA


class CodeSpace:
    """One memory, of the threads of a process or of those that share it (vfork). Raises OSError where it is gone."""

    def __init__(self, pid: int, tid: int) -> None:
        """`tid` is one of its threads."""
        self.pid = pid
        self.pids = {pid}
        """The processes that have it, but what these have made meanwhile: sites of theirs are put in."""
        self.breakpoints: dict[int, Breakpoint] = {}
        self.former: dict[int, int] = {}
        """Where there was one, and the byte that is there again: a thread may have run onto it that has not been heard
        of yet."""
        self.refused: set[int] = set()
        """Where one is wanted and could not be put."""
        self.files: dict[int, tuple[tuple[str, int], bytes]] = {}
        """By the address of a breakpoint or counter the file that it is in (Mapping.file), if any, and the code from
        there on."""
        self.semaphores: dict[int, int] = {}
        """Counters that were counted up, by address, and how far."""
        self.written: frozenset[int] = frozenset()
        """The start addresses of private writable mappings, at the last read of the mappings."""
        self.resumptions: dict[int, displacement.Resumption] = {}
        """By address within slots: where the thread really is."""
        self.trap_action = b""
        """What the process does for SIGTRAP (struct sigaction of the kernel), b"" for the default (trap_action.py)."""
        self.areas: list[SlotArea] = []
        self._call_at = 0
        self._tid = tid
        self._memory = os.open(f"/proc/{tid}/mem", os.O_RDWR | os.O_CLOEXEC)

    def close(self) -> None:
        if self._memory >= 0:
            os.close(self._memory)
            self._memory = -1

    def stand_for(self, pid: int, tid: int) -> None:
        """The process and the thread that /proc has been asked about are gone, or have another memory; these have
        this one."""
        self.pid, self._tid = pid, tid

    def tell(self, of: Breakpoint, sites: Sequence[BreakpointSite]) -> None:
        """The breakpoint is told for these sites, which have one number."""
        of.sites, of.number, of.wanted = tuple(sites), sites[0].number if sites else 0, 0
        for each in sites:
            of.wanted |= each.wanted

    def copy(self, pid: int) -> CodeSpace:
        """That of a process which has just been forked, which may have been copied when less was in this one
        (copied_memory.py)."""
        made = CodeSpace(pid, pid)
        for address, each in self.breakpoints.items():
            copy = made.breakpoints[address] = Breakpoint(address, each.byte)
            made.tell(copy, each.sites)
            copy.returns, copy.slot = each.returns, each.slot
        made.semaphores, made.resumptions = dict(self.semaphores), dict(self.resumptions)
        made.files = dict(self.files)
        made.former, made.trap_action = dict(self.former), self.trap_action
        made.areas, made._call_at = [SlotArea(each.start, each.code) for each in self.areas], self._call_at
        return made

    @property
    def has_slots(self) -> bool:
        return bool(self.areas)

    def unmap(self, tid: int) -> None:
        """Have the stopped thread, the last that was in slots, unmap them; where it may not they stay, and are never
        looked at again. Raises OSError, injection.ThreadEndedError."""
        areas, self.areas = self.areas, []
        if may_be_refused(tid):
            return
        mappings = self.mappings(tid)
        for area in areas:
            if is_there(area, mappings):
                injection.system_call(tid, self._call_at, injection.UNMAP, area.start, _AREA)

    def read(self, address: int, size: int) -> bytes:
        """Raises OSError, also where a page does not come: behind this it can be written to as well."""
        _require_place(address)
        if not _presence().has(self._tid, address, size):
            with suppress(PermissionError, ProcessLookupError):
                # Yama may let the guardian read this and not the reader; or the first thread has ended.
                others.memory(self._tid, address, size, by_itself=False)
        return os.pread(self._memory, size, address)

    def write(self, address: int, data: bytes) -> None:
        _require_place(address)
        os.pwrite(self._memory, data, address)

    def put(self, address: int, mapping: Mapping | None = None) -> Breakpoint:
        """A breakpoint there, if there is none yet. Raises OSError, also for memory that is shared: it would be changed
        for others as well."""
        found = self.breakpoints.get(address)
        if found is None:
            code = self.instruction(address)
            if not code or (mapping is not None and mapping.is_shared):
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            self.files.pop(address, None)
            if mapping is not None and mapping.inode:
                self.files[address] = mapping.file, code
            self.write(address, _BREAKPOINT)
            found = self.breakpoints[address] = Breakpoint(address, code[0])
            self.former.pop(address, None)
        return found

    def remove(self, address: int) -> None:
        """Put back what was there, if nothing else is there meanwhile."""
        self.former[address] = self.breakpoints.pop(address).byte
        self.put_back(address)

    def is_own(self, address: int) -> bool:
        """Whether the process itself has such an instruction where there was a breakpoint."""
        return self.former.get(address) == instructions.BREAKPOINT

    def put_back(self, address: int) -> None:
        """Where there was a breakpoint: what was there before, if the breakpoint is there yet."""
        with suppress(OSError):
            if self.read(address, 1) == _BREAKPOINT:
                self.write(address, bytes((self.former[address],)))

    def count(self, address: int, by: int, mapping: Mapping | None = None) -> None:
        """Add to a semaphore. Raises OSError."""
        data = self.read(address, COUNTER.size)
        if len(data) < COUNTER.size:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self.write(address, COUNTER.pack(COUNTER.unpack(data)[0] + by & 0xFFFF))
        self.semaphores[address] = self.semaphores.get(address, 0) + by
        if mapping is not None:
            self.files[address] = mapping.file, b""

    def restore(self) -> None:
        """Take out all breakpoints, those of a memory that this is a copy of among them, and count semaphores down."""
        with suppress(OSError):
            self.forget_replaced()
        for address in list(self.former):
            self.put_back(address)
        for address in list(self.breakpoints):
            self.remove(address)
        for address, count in list(self.semaphores.items()):
            with suppress(OSError):
                self.count(address, -count)
        self.semaphores.clear()

    def without(self, start: int, end: int) -> None:
        """What was mapped there is gone."""
        for known in (self.breakpoints, self.former, self.semaphores, self.files):
            for address in [each for each in known if start <= each < end]:
                self._forget(address)
        self.refused = {each for each in self.refused if not start <= each < end}

    def mappings(self, tid: int) -> Sequence[Mapping]:
        """As one of its threads has them: the first of a process may have ended before the others. Raises OSError."""
        text = kernel_text(f"/proc/{tid}/maps")
        self.written = written(text)
        return parse_maps(text)

    def mapping_at(self, tid: int, address: int) -> Mapping | None:
        """What a thread has mapped there. Raises OSError."""
        return mapping_at(kernel_text(f"/proc/{tid}/maps"), address)

    def forget_replaced(self) -> None:
        """What was put into files that are no longer mapped there is gone with them: a library may have been closed,
        and something else be in its place. Not so where a program has moved its code, with all that is in it, to
        other memory at the same addresses. Raises OSError."""
        mappings = MappingTable(self.mappings(self.pid)) if self.files else MappingTable()
        if not mappings:
            # The first thread has ended before the others: nobody tells.
            return
        for address, (file, code) in list(self.files.items()):
            found = mappings.find(address)
            is_there = found is not None and (found.file == file or (code and self.code(address, len(code)) == code))
            if not is_there:
                self._forget(address)

    def _forget(self, address: int) -> None:
        for each in (self.files, self.breakpoints, self.former, self.semaphores):
            each.pop(address, None)

    def call_place(self, tid: int, mappings: Sequence[Mapping] = ()) -> int:
        """Where the process can make a system call, 0 if nowhere is known."""
        self._call_at = self._call_at or injection.system_call_place(mappings or self.mappings(tid), self.read)
        return self._call_at

    def instruction(self, address: int) -> bytes:
        """The bytes there as they are without breakpoints."""
        return self.code(address, _LONGEST)

    def code(self, address: int, size: int) -> bytes:
        """So many bytes at most as they are without breakpoints. Raises OSError."""
        data = bytearray(self.read(address, size))
        for at in range(len(data)):
            found = self.breakpoints.get(address + at)
            if found is not None:
                data[at] = found.byte
        return bytes(data)

    def slot_for(self, tid: int, of: Breakpoint) -> ctypes.c_void_p | None:
        """Where the instruction under a breakpoint, at which the thread stands, goes on; None if it cannot run
        elsewhere. Raises OSError, injection.ThreadEndedError."""
        if of.slot is not None:
            return of.slot
        code = self.instruction(of.address)
        for area in self._areas_near(tid, of.address):
            place = area.start + len(area.code)
            found = displacement.displaced(code, of.address, place)
            if found is None:
                return None
            self.write(place, found.code)
            area.code += found.code.ljust(displacement.SLOT, b"\0")
            for each in found.resumptions:
                self.resumptions[place + each.offset] = each
            of.slot = ctypes.c_void_p(place)
            return of.slot
        return None

    def _areas_near(self, tid: int, address: int) -> Iterator[SlotArea]:
        for area in self.areas:
            if abs(area.start - address) < displacement.REACH // 2 and area.has_room():
                yield area
                return
        made = self._map(tid, address)
        if made is not None:
            yield made

    def _map(self, tid: int, address: int) -> SlotArea | None:
        """Have the stopped thread map an area near there."""
        if may_be_refused(tid):
            return None
        mappings = self.mappings(tid)
        call_at = self.call_place(tid, mappings)
        if not call_at:
            return None
        for place in _gaps(mappings, address, proc.heap_start(tid)):
            result = injection.system_call(
                tid, call_at, injection.MAP,
                place, _AREA, _READ_EXECUTE, _PRIVATE | _ANONYMOUS | _EXACTLY, -1, 0,
            )  # fmt: skip
            if result == place:
                area = SlotArea(place)
                self.areas.append(area)
                return area
        return None


def _require_place(address: int) -> None:
    """Raises OSError for an address that no file can be read at (off_t), as a register may have it."""
    if address >> 63:
        raise OSError(errno.EIO, os.strerror(errno.EIO))


def may_be_refused(tid: int) -> bool:
    """Whether the thread has a seccomp filter of its own, which may end it for a call that it would not make."""
    found, own = proc.status(tid), proc.status(os.getpid())
    if found.get("Seccomp", "0") == "0":
        return False
    more = int(found.get("Seccomp_filters", "2")) - int(own.get("Seccomp_filters", "0"))
    return found["Seccomp"] != "2" or more > 1


def is_there(area: SlotArea, mappings: Sequence[Mapping]) -> bool:
    """Whether the area is there yet: the process may have mapped something else."""
    return any(
        each.start <= area.start and area.end <= each.end and each.executable and not each.path for each in mappings
    )


def initial_trap_action(tid: int) -> bytes:
    """What a process does for SIGTRAP, as far as /proc tells: a handler, which it does not, is UNTOLD. Raises
    OSError."""
    found = proc.status(tid)
    if int(found["SigIgn"], 16) & TRAP:
        return IGNORE
    return UNTOLD if int(found["SigCgt"], 16) & TRAP else b""


_TRIED = 4
_LOWEST = 1 << 16


_GROWTH = 1 << 29
"""Bytes that are left to the heap above its end."""


def _gaps(mappings: Sequence[Mapping], address: int, heap: int) -> Iterator[int]:
    """Places for an area, the nearest to the address first, a page apart from what is mapped; not right below what may
    grow, nor where the heap grows, which begins at `heap`."""
    found = []
    end, top = _LOWEST, max([heap, *(each.end for each in mappings if each.path == "[heap]")])
    for each in mappings:
        for low, high in _free(end, each.start, top):
            if high - low >= _AREA + 2 * pages.PAGE:
                found.append(low + pages.PAGE)
                found.append(high - pages.PAGE - _AREA if "stack" not in each.path else low + pages.PAGE)
        end = max(end, each.end)
    near = sorted((abs(place - address), place) for place in found)
    for distance, place in near[:_TRIED]:
        if distance < displacement.REACH // 2:
            yield place


def _free(low: int, high: int, top: int) -> tuple[tuple[int, int], ...]:
    """The parts of a gap between mappings that the heap does not need, whose end is `top`."""
    if not low <= top < high:
        return ((low, high),)
    return (low, top & -pages.PAGE), (min((top & -pages.PAGE) + _GROWTH, high), high)
