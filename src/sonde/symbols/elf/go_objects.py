"""Programs of Go: they have no .eh_frame, keep frame pointers, and run parts of themselves on stacks of threads.

The runtime changes from a goroutine's stack to its thread's for what needs room, and back (systemstack, mcall and
morestack of the package runtime), as does who asks the vdso for the time. The frame pointer is left as it is, so it
leads from one stack to the other, to lower addresses as well as to higher ones.
"""

from __future__ import annotations

from sonde.symbols.elf.file import ElfFile
from sonde.symbols.elf.go_functions import go_functions

_SECTIONS = frozenset((".gopclntab", ".data.rel.ro.gopclntab", ".note.go.buildid"))

_OUTERMOST = (
    "runtime.goexit.abi0", "runtime.goexit", "runtime.mstart.abi0", "runtime.mstart"
)  # fmt: skip
"""Goroutines and threads begin in them. What the frame pointer is there a new thread has from the one that made it."""

OUTERMOST_SIZE = 16
"""Bytes of code that each of them has at least, with what stands between functions."""


def is_go(file: ElfFile) -> bool:
    """Raises ElfError."""
    return any(each.name in _SECTIONS for each in file.sections)


def outermost(file: ElfFile) -> tuple[int, ...]:
    """The link-time addresses of the functions that goroutines and threads begin in. Raises ElfError."""
    if not is_go(file):
        return ()
    found = set(file.table.addresses(_OUTERMOST).values())
    functions = go_functions(file) if not found else None
    return tuple(sorted(found or (functions.addresses(_OUTERMOST) if functions is not None else ())))
