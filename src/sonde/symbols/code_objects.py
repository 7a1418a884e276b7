"""The programs and libraries of processes, and files that probes are put in without a process."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable

from sonde import others
from sonde.symbols.elf.debug_files import open_regular
from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.symbols.elf.indirect import FunctionSlots, Loaded, bias_of, chosen
from sonde.symbols.elf.symbol_files import with_symbols
from sonde.symbols.functions import PROGRAM, CodeFunction, CodeObject
from sonde.symbols.mappings import Mapping, parse_maps
from sonde.symbols.objects import Objects, is_inode, root_of
from sonde.untrusted import kernel_text

_ROOT = re.compile(r"/proc/[0-9]+/root(?=/)")


class CodeObjects:
    """Those of all processes that are asked about."""

    def __init__(self, proc: str = "/proc") -> None:
        self._proc = proc
        self._files = Objects(proc)
        self._known: dict[tuple[int, str, int, str], CodeObject | None] = {}

    def is_own_namespace(self) -> bool:
        """Whether processes have the numbers there that they have for us."""
        try:
            return os.readlink(f"{self._proc}/self") == str(os.getpid())
        except OSError:
            return False

    def of(self, pid: int) -> list[CodeObject]:
        """The objects that a process has mapped, by address. Raises OSError if it may not be looked at."""
        directory = f"{self._proc}/{pid}"
        mappings = parse_maps(kernel_text(f"{directory}/maps"))
        program = os.readlink(f"{directory}/exe")
        found = []
        for mapping in mappings:
            key = pid, mapping.device, mapping.inode, mapping.path
            if mapping.executable and mapping.path.startswith("/"):
                if key not in self._known:
                    self._known[key] = self._object(pid, mapping, mapping.path == program)
                each = self._known[key]
                if each is not None and each not in found:
                    found.append(each)
        return found

    def to_come(self, pid: int, name: str) -> list[CodeObject]:
        """The files that a process has not mapped and may come to load under a name, or, if that is a path, this one.

        Raises OSError if it may not be looked at.
        """
        from sonde.symbols.elf import library_search  # an import that most runs do without

        root = root_of(pid, self._proc)
        if name.startswith("/"):
            return self._unmapped([root + name], os.path.basename, root)
        if len(self.of(pid)) == 1:
            return []  # A static program has no dynamic linker that could load anything.
        program = os.readlink(f"{self._proc}/{pid}/exe").removesuffix(" (deleted)")
        there = [(program if each.name == PROGRAM else each.where, each.loaded.file) for each in self.of(pid)]
        there.sort(key=lambda each: each[0] != program)
        found = library_search.of_process(name, pid, root, there, self._proc)
        return self._unmapped(found, os.path.basename, root)

    def files(self, name: str) -> list[CodeObject]:
        """The file at a path, or those that a name means: programs of PATH, else libraries where they usually are."""
        if "/" in name:
            found = _ROOT.match(name)
            return self._unmapped([os.path.abspath(name)], str, found[0] if found else "")
        from sonde.symbols.elf import library_search  # an import that most runs do without

        program = _program(name)
        return self._unmapped(
            [program] if program else library_search.in_directories(name, "", library_search.USUAL), str, ""
        )

    def _unmapped(self, paths: Iterable[str], called: Callable[[str], str], root: str) -> list[CodeObject]:
        """Those of the paths that are ELF files, each once; `called` makes a name of a path."""
        found: dict[tuple[int, int], CodeObject] = {}
        for path in paths:
            file = open_regular(path)
            if file is not None and file.identity not in found:
                found[file.identity] = CodeObject(
                    called(path), path, Loaded(file, 0), with_symbols(file, path, root), path, root
                )
        return list(found.values())

    def slots(self, pid: int) -> FunctionSlots:
        """Where a process keeps addresses of functions. Raises OSError or ElfError."""
        return FunctionSlots(each.loaded for each in self.of(pid))

    def behind(self, pid: int, each: CodeObject, function: CodeFunction, slots: FunctionSlots) -> CodeFunction | None:
        """What an indirect function has been resolved to in a process, None if nothing tells. Raises OSError."""
        names = each.names(function)
        address = chosen(each.loaded, function.address, names, slots, lambda at: _word(pid, at))
        return None if address is None else each.resolved(function, address)

    def _object(self, pid: int, mapping: Mapping, is_program: bool) -> CodeObject | None:
        path, root = self._path(pid, mapping, is_program), root_of(pid, self._proc)
        file = self._file(pid, mapping, path)
        if file is None:
            return None
        try:
            loaded = Loaded(file, bias_of(file, mapping.start, mapping.offset))
        except ElfError:
            return None
        name = PROGRAM if is_program else os.path.basename(mapping.path.removesuffix(" (deleted)"))
        found = root + mapping.path if is_inode(root + mapping.path, mapping.inode) else path
        return CodeObject(name, path, loaded, with_symbols(file, found, root), found, root)

    def _file(self, pid: int, mapping: Mapping, path: str) -> ElfFile | None:
        """The file of a mapping, if it is the one at a path."""
        file = self._files.file(pid, mapping)
        if file is None:
            return None
        try:
            status = others.stat(path)
        except OSError:
            return None
        if file.identity != (status.st_dev, status.st_ino):
            # Another file under the path that is mapped, or this one under another device, as in an overlayfs.
            file = open_regular(path)
        return file if file is not None and file.identity[1] == mapping.inode else None

    def _path(self, pid: int, mapping: Mapping, is_program: bool) -> str:
        """Through the process, whose mount namespace and root directory may be other ones."""
        if is_program:
            return f"{self._proc}/{pid}/exe"
        mapped = f"{self._proc}/{pid}/map_files/{mapping.start:x}-{mapping.end:x}"
        return mapped if others.exists(mapped) else f"{self._proc}/{pid}/root{mapping.path}"


def _program(name: str) -> str | None:
    """The program that a shell would start."""
    for directory in os.get_exec_path():
        path = os.path.join(directory, name)
        if others.is_file(path) and os.access(path, os.X_OK):
            return path
    return None


def _word(pid: int, address: int) -> int | None:
    try:
        data = others.memory(pid, address, 8)
    except (OSError, ValueError, OverflowError):
        return None
    return int.from_bytes(data, "little") if len(data) == 8 else None
