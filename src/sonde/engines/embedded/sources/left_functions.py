"""Where in files functions are by which a thread leaves others that do not return: longjmp(3), and those of exceptions
(Itanium C++ ABI: Exception Handling, 1.6 and 2.5)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress

from sonde import others
from sonde.arch import long_jumps
from sonde.engines.embedded.tracer.sites import CATCHES, JUMPS, THROWS
from sonde.symbols.elf.errors import CostError
from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.symbols.mappings import maps_text, parse_maps

_KINDS = (
    dict.fromkeys(long_jumps.NAMES, JUMPS)
    | dict.fromkeys(("_Unwind_RaiseException", "_Unwind_Resume_or_Rethrow"), THROWS)
    | {"__cxa_begin_catch": CATCHES}
)
_LIBRARY = re.compile(r"(libc[.-]|ld-musl-|libgcc_s\.|libstdc\+\+\.|libc\+\+abi\.|libunwind\.)[^/]*$")


def places(paths: Iterable[str], pids: Iterable[int]) -> dict[tuple[int, int, int], int]:
    """What is wanted (sites.py) at which device, inode and offset: in these files, of the functions that they have
    themselves, and in the libraries that these processes have mapped, and sonde, as programs that are started later
    will."""
    found: dict[tuple[int, int, int], int] = {}
    for path in sorted({*paths, *(each for pid in (os.getpid(), *pids) for each in _libraries(pid))}):
        with suppress(OSError, ElfError, CostError):
            status = others.stat(path)
            for offset, kind in _offsets(path).items():
                found[status.st_dev, status.st_ino, offset] = kind
    return found


def _libraries(pid: int) -> set[str]:
    try:
        mappings = parse_maps(maps_text(pid))
    except OSError:
        return set()
    root = "" if pid == os.getpid() else f"/proc/{pid}/root"
    return {root + each.path for each in mappings if each.executable and _LIBRARY.search(each.path)}


def _offsets(path: str) -> dict[int, int]:
    """Raises OSError, ElfError, CostError."""
    file = ElfFile.open(path)
    found = {}
    for name, kind in _KINDS.items():
        symbol = file.find_exported(name) if _LIBRARY.search(path) else next(iter(file.find(name)), None)
        offset = file.offset_of(symbol.address) if symbol is not None else None
        if offset is not None:
            found[offset] = kind
    return found
