"""The pieces of the function that interprets Python's code, beside the one that has its name.

Compilers put elsewhere what is seldom executed. Where symbols tell no more which function such a piece is of, it is
known by two things: its description begins in the middle of a frame, and the function jumps there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from sonde.arch import instructions
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.frames import FrameDescriptions
from sonde.symbols.dwarf.unwind_rows import LARGEST, SECTION
from sonde.symbols.elf.file import ElfFile
from sonde.symbols.elf.symbol_table import ElfSymbol

_MOST_CODE = 1 << 20
_DEFINE_OFFSET = 0x0E
"""DW_CFA_def_cfa_offset: what begins with it is in the middle of a frame."""

_STEP = 500
"""Descriptions after which the costs are looked at."""


def interpreting(file: ElfFile, function: ElfSymbol) -> Iterator[tuple[int, int]]:
    """Where the file has the other pieces of the function: starts and ends. Raises ElfError."""
    named = [each for end in (".cold", ".cold.0") for each in file.find(f"{function.name}{end}")]
    pieces = [(each.address, each.size) for each in named]
    if not file.has_symbol_table:
        pieces = list(_jumped_to(file, function))
    for address, size in pieces:
        begin = file.offset_of(address)
        if begin is not None:
            yield begin, begin + size


def _jumped_to(file: ElfFile, function: ElfSymbol) -> Iterator[tuple[int, int]]:
    """Address and size of pieces that the function jumps to."""
    pieces = sorted(_pieces(file))
    starts = [start for start, _ in pieces]
    found = set()
    for target in instructions.jumps(file.bytes_at(function.address, min(function.size, _MOST_CODE)), function.address):
        index = bisect_right(starts, target) - 1
        if index >= 0 and target < sum(pieces[index]):
            found.add(pieces[index])
    yield from sorted(found)


def _pieces(file: ElfFile) -> Iterator[tuple[int, int]]:
    """Address and size of all code that begins in the middle of a frame."""
    section = file.find_section(SECTION)
    if section is None:
        return
    try:
        descriptions = FrameDescriptions(file.contents(section, LARGEST), section.address, True).descriptions()
        for number, each in enumerate(descriptions):
            if not number % _STEP:
                file.costs.check()
            data, at, end = each.own
            if at < end and data[at] == _DEFINE_OFFSET:
                yield each.start, each.length
    except DebugInfoError:
        # What was found is right as far as it goes.
        return
