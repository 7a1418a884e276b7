"""Names for addresses of a process: its mappings (/proc/PID/maps, proc_pid_maps(5)) and the files behind them."""

from __future__ import annotations

import os
from bisect import bisect_right

from sonde.symbols.elf import ElfError, ElfFile
from sonde.typed import NamedTuple

_DELETED = " (deleted)"
_DEBUG_FILES = "/usr/lib/debug/.build-id"
_VDSO = "[vdso]"


class Mapping(NamedTuple):
    """Addresses `start` to `end` hold the file's bytes from `offset` on; `path` is "" for anonymous memory and in
    brackets for what the kernel made."""

    start: int
    end: int
    offset: int
    device: str
    inode: int
    path: str
    executable: bool


def parse_maps(text: str) -> tuple[Mapping, ...]:
    """The mappings in the text of a maps file, by address."""
    found = []
    for line in text.splitlines():
        addresses, permissions, offset, device, inode, *path = line.split(None, 5)
        start, _, end = addresses.partition("-")
        name = path[0].replace("\\012", "\n") if path else ""
        executable = "x" in permissions
        found.append(Mapping(int(start, 16), int(end, 16), int(offset, 16), device, int(inode), name, executable))
    return tuple(found)


class Objects:
    """The ELF files behind mappings, each opened once for all processes."""

    def __init__(self, proc: str = "/proc") -> None:
        self._proc = proc
        self._opened: dict[tuple[str, int, str], ElfFile | None] = {}
        self._symbols: dict[tuple[str, int, str], tuple[ElfFile, ...]] = {}

    def file(self, pid: int, mapping: Mapping) -> ElfFile | None:
        """The file of a mapping of a process, None if it cannot be read or is not ELF."""
        key = mapping.device, mapping.inode, mapping.path
        if key not in self._opened:
            self._opened[key] = self._open(pid, mapping)
        return self._opened[key]

    def symbols(self, pid: int, mapping: Mapping) -> tuple[ElfFile, ...]:
        """The files that have symbols for a mapping's file, the best first: of a stripped one its debug file, or what
        its .gnu_debugdata section holds, and itself for its dynamic symbols."""
        key = mapping.device, mapping.inode, mapping.path
        if key not in self._symbols:
            file = self.file(pid, mapping)
            self._symbols[key] = _with_symbols(file) if file else ()
        return self._symbols[key]

    def _open(self, pid: int, mapping: Mapping) -> ElfFile | None:
        if mapping.path == _VDSO:
            return self._vdso(pid, mapping)
        for path in self._candidates(pid, mapping):
            try:
                file = ElfFile.open(path)
                file.check()
            except (OSError, ElfError):
                continue
            return file
        return None

    def _candidates(self, pid: int, mapping: Mapping) -> list[str]:
        """Where the file may be read: under its path if that is still the file, in the process's own mount namespace,
        or through the mapping, which works for deleted files."""
        paths = []
        if not mapping.path.endswith(_DELETED):
            if _inode(mapping.path) == mapping.inode:
                paths.append(mapping.path)
            paths.append(f"{self._proc}/{pid}/root{mapping.path}")
        paths.append(f"{self._proc}/{pid}/map_files/{mapping.start:x}-{mapping.end:x}")
        return paths

    def _vdso(self, pid: int, mapping: Mapping) -> ElfFile | None:
        try:
            with open(f"{self._proc}/{pid}/mem", "rb", buffering=0) as memory:
                return ElfFile(os.pread(memory.fileno(), mapping.end - mapping.start, mapping.start))
        except (OSError, ElfError):
            return None


class ProcessSymbols:
    """One process. What was read of it stays usable after it has ended."""

    def __init__(self, pid: int, objects: Objects, proc: str = "/proc") -> None:
        self._pid = pid
        self._objects = objects
        self._path = f"{proc}/{pid}/maps"
        self._mappings: tuple[Mapping, ...] = ()
        self._starts: list[int] = []

    def refresh(self) -> bool:
        """Read the mappings anew; False, and nothing changed, if the process is gone or may not be looked at."""
        try:
            with open(self._path, encoding="utf-8", errors="surrogateescape") as file:
                mappings = parse_maps(file.read())
        except OSError:
            return False
        if not mappings:
            return False
        self._mappings = mappings
        self._starts = [mapping.start for mapping in mappings]
        return True

    def mapping(self, address: int) -> Mapping | None:
        """The mapping that an address is in; the mappings are read again if none is known."""
        return self._known(address) or (self._known(address) if self.refresh() else None)

    def symbolize(self, address: int) -> tuple[str, str | None, int] | None:
        """The object of an address, the symbol in it and the distance from the symbol's start.

        Without a symbol the distance is the address as the object was linked (its file offset if the object cannot be
        read). None for memory that is no file's, or if the process cannot be asked.
        """
        mapping = self._of_object(address)
        if mapping is None:
            return None
        path, linked, is_linked = self._linked(mapping, address)
        if not is_linked:
            return path, None, linked
        for symbols in self._objects.symbols(self._pid, mapping):
            try:
                found = symbols.symbolize(linked)
            except ElfError:
                continue
            if found:
                return path, *found
        return path, None, linked

    def place(self, address: int) -> tuple[str, int] | None:
        """The object of an address, and the distance that `symbolize` gives where there is no symbol."""
        mapping = self._of_object(address)
        return self._linked(mapping, address)[:2] if mapping else None

    def _of_object(self, address: int) -> Mapping | None:
        """The mapping of an object that an address is in."""
        mapping = self.mapping(address)
        if mapping is None or not mapping.path or (mapping.path[0] == "[" and mapping.path != _VDSO):
            return None
        return mapping

    def _linked(self, mapping: Mapping, address: int) -> tuple[str, int, bool]:
        """The object's path, the address as it was linked, and True; with the file offset, False."""
        path = mapping.path.removesuffix(_DELETED)
        offset = address - mapping.start + mapping.offset
        file = self._objects.file(self._pid, mapping)
        linked = file.address_at(offset) if file else None
        return (path, offset, False) if linked is None else (path, linked, True)

    def _known(self, address: int) -> Mapping | None:
        at = bisect_right(self._starts, address) - 1
        if at >= 0 and address < self._mappings[at].end:
            return self._mappings[at]
        return None


def _inode(path: str) -> int | None:
    try:
        return os.stat(path).st_ino
    except OSError:
        return None


def _with_symbols(file: ElfFile) -> tuple[ElfFile, ...]:
    try:
        extra = None if file.has_symbol_table else _debug_file(file) or _debug_data(file)
    except ElfError:
        extra = None
    return (extra, file) if extra else (file,)


def _debug_file(file: ElfFile) -> ElfFile | None:
    """The separate file of debug information, found by build id as GDB does."""
    if not file.build_id:
        return None
    try:
        return ElfFile.open(f"{_DEBUG_FILES}/{file.build_id[:2]}/{file.build_id[2:]}.debug")
    except (OSError, ElfError):
        return None


def _debug_data(file: ElfFile) -> ElfFile | None:
    """The compressed symbol table some distributions leave in stripped files (GDB manual, MiniDebugInfo)."""
    data = file.section(".gnu_debugdata")
    if data is None:
        return None
    import lzma

    try:
        return ElfFile(lzma.decompress(data))
    except (lzma.LZMAError, ElfError):
        return None
