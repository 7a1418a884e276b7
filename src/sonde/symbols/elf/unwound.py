"""Functions that exceptions begin in or clean up in: those that call what throws, or what goes on with unwinding.

Only direct calls and jumps are looked at, at the speed of memory; bytes that look like one of them but are none lead
nowhere, or leave out a function too many.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable

from sonde.arch import instructions
from sonde.symbols.elf.file import ElfFile
from sonde.symbols.elf.plt import Linkage

UNWOUND = re.compile(
    r"_Unwind_(Resume|RaiseException|ForcedUnwind|Backtrace)|__cxa_(throw|rethrow|bad_cast|bad_typeid|call_unexpected)"
    r"|_ZSt\d+(__throw_|rethrow_exception)|(__)?pthread_(exit|unwind)|__do_cancel"
)
"""Functions that begin to unwind the stack with their own frame on it, or that only such functions are called by: the
unwinder finds the kernel's address in the place of the caller's, and gives up (std::terminate)."""

_EXECUTABLE = 4
_MOST = 64 << 20
"""Bytes of a section that are looked at."""


def unwound(file: ElfFile, starts: Iterable[int], named: Callable[[int], str]) -> frozenset[int]:
    """Those of the functions that begin at `starts`, link-time addresses; `named` gives the name at one. Raises
    ElfError."""
    addresses = sorted(starts)
    linkage = Linkage(file)
    throwing: dict[int, bool] = {}

    def throws(target: int) -> bool:
        if target not in throwing:
            entry = linkage.symbolize(target)
            name = entry[0].removesuffix("@plt") if entry else named(target)
            throwing[target] = UNWOUND.match(name) is not None
        return throwing[target]

    found: set[int] = set()
    for section in file.sections:
        if not section.flags & _EXECUTABLE or section.name.startswith(".plt"):
            continue
        for at, target in instructions.calls(file.contents(section, _MOST), section.address):
            file.costs.check()
            if throws(target):
                index = bisect_right(addresses, at) - 1
                found.update(addresses[max(index, 0) : index + 1])
    return frozenset(found)
