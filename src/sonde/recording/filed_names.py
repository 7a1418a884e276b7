"""Names for the addresses of a file that another machine may have written, or this one long ago.

A file that a process had mapped gives names if it has the build id that was recorded, or, where none was, is still the
same one: it has the inode, and has not been written to since. The running kernel gives names if it has the recorded
build id, or, where none was recorded, stands where the recorded one stood; it may be elsewhere in memory by now. What
runs here is not asked: its processes are others.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping as Table

from sonde import others
from sonde.recording.running import KERNEL
from sonde.symbols.build_ids import build_id, notes_of_kernel
from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.symbols.kallsyms import Kallsyms
from sonde.symbols.mappings import VDSO, Mapping
from sonde.symbols.objects import Objects, is_inode
from sonde.symbols.process import ProcessNames
from sonde.symbols.symbolizer import SymbolsOfKernel, SystemSymbolizer
from sonde.typed import BinaryIO

_NO_PROCESSES = os.devnull
"""In the place of /proc: below it there is nothing."""
_OWN = "vmlinux"


class RecordedKernel:
    """The kernel that was recorded: `build_id` of it, b"" where that is not told; where a symbol was in it (`mapped`,
    as perf tells), by its name."""

    def __init__(self, build_id_: bytes, kallsyms: Kallsyms | None = None, has_modules: bool = True) -> None:
        """`has_modules`: where the kernel is where it was, so are they."""
        self._build_id, self._has_modules = build_id_, has_modules
        self._kallsyms = kallsyms or Kallsyms()
        self._symbol, self._address = "", 0
        self._distance: int | None = None
        self._has_looked = False

    def mapped(self, path: str, address: int) -> None:
        """That the kernel's text is mapped: behind its name stands a symbol's, which was at this address."""
        if path.startswith(KERNEL) and not self._symbol:
            self._symbol, self._address = path.removeprefix(KERNEL), address

    def symbolize(self, address: int) -> tuple[str, str, int] | None:
        """The name that it has in the running kernel, None if that is another one, or may be."""
        if not self._has_looked and self._symbol:
            self._has_looked, self._distance = True, self._find_distance()
        if self._distance is None:
            return None
        found = self._kallsyms.symbolize(address + self._distance)
        # Modules are moved by themselves.
        return found if found is not None and (found[0] == _OWN or (self._has_modules and not self._distance)) else None

    def _find_distance(self) -> int | None:
        own = self._kallsyms.find(self._symbol, _OWN)
        if own is None or not own.address:
            return None
        distance = own.address - self._address
        if not self._build_id:
            return 0 if not distance else None
        return distance if build_id(notes_of_kernel()) == self._build_id.hex() else None


def last_written(file: BinaryIO) -> int | None:
    """When a recording was written, in ns since 1970; None for one that comes through a pipe."""
    try:
        found = os.fstat(file.fileno())
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns if stat.S_ISREG(found.st_mode) else None


def filed_objects(build_ids: Table[str, bytes], kernel: str, written: int | None = None) -> Objects:
    """The files that are still those that were mapped. `build_ids` are theirs, by their paths; more may be told
    later. `kernel` is that of the kernel in hexadecimal, whose vdso is this one's where the same one runs. `written`:
    when the recording was, in ns since 1970."""

    def is_file(path: str, mapping: Mapping) -> bool:
        wanted = build_ids.get(mapping.path)
        if wanted is None:
            return is_inode(path, mapping.inode) and (written is None or _changed(path) <= written)
        try:
            file = ElfFile.open(path)
            with file.costs:
                return file.build_id == wanted.hex()
        except (OSError, ElfError, ValueError):
            return False

    def is_vdso(file: ElfFile) -> bool:
        wanted = build_ids.get(VDSO)
        if wanted is None:
            return bool(kernel) and build_id(notes_of_kernel()) == kernel
        return file.build_id == wanted.hex()

    return Objects(_NO_PROCESSES, is_file, is_vdso=is_vdso)


def _changed(path: str) -> int:
    """When the content of a file was last written, in ns since 1970."""
    try:
        return others.stat(path).st_mtime_ns
    except OSError:
        return 0


def names_of(kernel: SymbolsOfKernel, objects: Objects, demangles: bool = True) -> SystemSymbolizer:
    """What names addresses; `objects` are `filed_objects`."""
    processes = ProcessNames(objects, proc=_NO_PROCESSES)
    return SystemSymbolizer(kernel, processes, demangles)
