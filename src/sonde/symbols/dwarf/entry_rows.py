"""Where functions have their return addresses when they begin, by the first rows of their frame descriptions.

Some begin otherwise than by a call: the parts that compilers move out of functions (.cold) and labels that are jumped
to have the frame of who jumped, and what signal handlers return to has the kernel's. The word at the stack pointer is
any value there.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from sonde.arch import unwinding
from sonde.symbols.dwarf import frame_table
from sonde.symbols.dwarf.compression import debug_sections
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.frame_table import FrameTable
from sonde.symbols.dwarf.frames import FrameAddress, FrameDescriptions, FrameRow
from sonde.symbols.dwarf.unwind_rows import LARGEST, SECTION
from sonde.symbols.elf.errors import CostError
from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.symbols.elf.file_bytes import Part

NOT_DESCRIBED, AT_STACK_POINTER, ELSEWHERE = range(3)

_DEBUG_SECTION = ".debug_frame"
_NOBITS = 8
_RELATIVE = 0x1B
"""How linkers have addresses: as signed numbers of four bytes, counted from their own places."""

_LENGTHS = struct.Struct("<IIi")
"""Of a description: its length, how far back what it has in common with others is, and its first address."""

_START = 8
"""Where that address is."""

_OWN, _SHORT = 17, 0x80
"""Where its own instructions begin, behind so many bytes more as the one before says, if it is less than that."""

_ADVANCES = frozenset(bytes((0x40 + delta,)) for delta in range(1, 0x40))
"""Instructions that end the first row (DW_CFA_advance_loc)."""


class EntryRows:
    """Of one file, as it is asked. What makes no sense there describes nothing."""

    def __init__(self, file: ElfFile, others: Sequence[ElfFile] = ()) -> None:
        """`others` are files with its debug information, which may describe what .eh_frame does not. Raises
        ElfError."""
        self._called = unwinding.AT_CALLED[file.is_64_bit]
        self._files = (file, *(each for each in others if each is not file))
        self._listed, self._quick = _opened(file)

    def at(self, address: int) -> int:
        """AT_STACK_POINTER, ELSEWHERE or NOT_DESCRIBED, of a link-time address. Raises CostError."""
        if self._quick is not None and self._quick.is_plain(address, self._is_called):
            return AT_STACK_POINTER
        row = self._row(address)
        if row is None:
            return NOT_DESCRIBED
        return AT_STACK_POINTER if self._is_called(row) else ELSEWHERE

    def has_return_address(self, address: int, register: int, distance: int) -> bool:
        """True if the return address is `distance` bytes above the register with this DWARF number when the instruction
        at a link-time address is executed. Raises CostError."""
        row = self._row(address)
        _, _, returned, offset = self._called
        return (
            row is not None
            and row.rule == FrameAddress(register, distance - offset)
            and row.saved.get(returned) == offset
        )

    def _row(self, address: int) -> FrameRow | None:
        for each in self._tables:
            try:
                row = each.row(address)
            except CostError:
                raise
            except DebugInfoError:
                continue
            if row is not None:
                return row
        return None

    @property
    def _tables(self) -> Iterator[FrameDescriptions]:
        if self._listed is not None:
            yield self._listed
        yield from self._of_debug_files

    @cached_property
    def _of_debug_files(self) -> tuple[FrameDescriptions, ...]:
        return tuple(_of_debug_files(self._files))

    def _is_called(self, row: FrameRow) -> bool:
        pointer, distance, address, offset = self._called
        return not row.is_signal and row.rule == FrameAddress(pointer, distance) and row.saved.get(address) == offset


class _Beginnings:
    """The descriptions that .eh_frame_hdr lists, as far as nearly all of them are: a look at each."""

    def __init__(self, descriptions: FrameDescriptions, data: Part, address: int, table: FrameTable) -> None:
        self._descriptions, self._data, self._address, self._table = descriptions, data, address, table
        self._commons: dict[int, bool] = {}

    def is_plain(self, address: int, is_called: Callable[[FrameRow], bool]) -> bool:
        """Whether one begins there whose first row is what it has in common with others, and passes the test. Raises
        CostError."""
        where = self._table.description(address)
        at = -1 if where is None else where - self._address
        if not 0 <= at < len(self._data) - _OWN:
            return False
        length, back, start = _LENGTHS.unpack(self._data[at : at + _LENGTHS.size])
        before, end = self._data[at + _OWN - 1], min(at + 4 + length, len(self._data))
        if self._address + at + _START + start != address or before >= _SHORT:
            return False
        common = at + 4 - back
        if common not in self._commons:
            self._commons[common] = self._has_test(common, is_called)
        own = self._data[at + _OWN + before : end]
        return self._commons[common] and (own[:1] in _ADVANCES or not any(own))

    def _has_test(self, at: int, is_called: Callable[[FrameRow], bool]) -> bool:
        try:
            common, row = self._descriptions.common_row(at)
        except CostError:
            raise
        except DebugInfoError:
            return False
        return common.has_size and common.encoding == _RELATIVE and common.code > 0 and is_called(row)


def _opened(file: ElfFile) -> tuple[FrameDescriptions | None, _Beginnings | None]:
    """Those of .eh_frame."""
    sections = {each.name: each for each in file.sections if each.kind != _NOBITS}
    section, header = sections.get(SECTION), sections.get(frame_table.SECTION)
    if section is None:
        return None, None
    data = file.part(section)
    listed = file.contents(header, LARGEST) if header is not None else b""
    if header is None or not frame_table.entries(listed):
        return FrameDescriptions(data, section.address, True, costs=file.costs), None
    table = FrameTable(listed, header.address)
    descriptions = FrameDescriptions(data, section.address, True, table, file.costs, searches=False)
    return descriptions, _Beginnings(descriptions, data, section.address, table)


def _of_debug_files(files: Sequence[ElfFile]) -> Iterator[FrameDescriptions]:
    for each in files:
        try:
            data = debug_sections(each, (_DEBUG_SECTION,).__contains__).get(_DEBUG_SECTION)
        except CostError:
            raise
        except (ElfError, DebugInfoError):
            continue
        if data:
            yield FrameDescriptions(data, 0, False, costs=each.costs)
