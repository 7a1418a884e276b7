"""The programs and libraries of processes, and files that probes are put in without a process."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from glob import escape as glob_escaped
from glob import glob as files_like

from sonde import others
from sonde.symbols.elf import library_search
from sonde.symbols.elf.debug_files import open_regular
from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.symbols.elf.indirect import FunctionSlots, Loaded, bias_of, chosen
from sonde.symbols.elf.symbol_files import with_symbols
from sonde.symbols.functions import PROGRAM, CodeFunction, CodeObject
from sonde.symbols.mappings import Mapping, directories, maps_text, parse_maps
from sonde.symbols.objects import Objects, is_inode, root_of
from sonde.untrusted import read_kernel

_PROC = "/proc/"
_WILD = re.compile(r"[*?\[]")
_ROOT = re.compile(r"/proc/[0-9]+/root(?=/)")


class CodeObjects:
    """Those of all processes that are asked about."""

    def __init__(self, proc: str = "/proc") -> None:
        self._proc = proc
        self._files = Objects(proc)
        self._known: dict[tuple[int, str, int, str], CodeObject | None] = {}
        self.process = 0
        """The process that is traced, 0 without one: a path means what that finds there."""

    def is_own_namespace(self) -> bool:
        """Whether processes have the numbers there that they have for us."""
        try:
            return os.readlink(f"{self._proc}/self") == str(os.getpid())
        except OSError:
            return False

    def of(self, pid: int) -> list[CodeObject]:
        """The objects that a process has mapped, by address. Raises OSError if it may not be looked at."""
        mappings = parse_maps(maps_text(pid, self._proc))
        program = self._program(pid)
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

    def _program(self, pid: int) -> str:
        """The path of what a process executes. Raises OSError."""
        return os.readlink(f"{self._living(pid)}/exe")

    def _living(self, pid: int) -> str:
        """The directory in which /proc tells what a process executes. Raises OSError."""
        return next(filter(_has_program, directories(pid, self._proc)), f"{self._proc}/{pid}")

    def to_come(self, pid: int, name: str, fits: Callable[[str], bool] | None = None) -> list[CodeObject]:
        """The files that a process has not mapped and may come to load under a name, or, if that is a path, this one.
        With `fits` they are those whose names begin so and fit.

        Raises OSError if it may not be looked at.
        """
        root = root_of(pid, self._proc)
        if name.startswith("/"):
            return self._unmapped([root + name], os.path.basename, root)
        if len(self.of(pid)) == 1:
            return []  # A static program has no dynamic linker that could load anything.
        program = self._program(pid).removesuffix(" (deleted)")
        there = [(program if each.name == PROGRAM else each.where, each.loaded.file) for each in self.of(pid)]
        there.sort(key=lambda each: each[0] != program)
        found = library_search.of_process(name, pid, root, there, self._proc, fits)
        return self._unmapped(found, os.path.basename, root)

    def files(self, name: str) -> list[CodeObject]:
        """The file at a path, or those that a name means: programs of PATH, else libraries where they usually are.

        Those of the process that is traced come first, where it has another root directory.
        """
        if "/" in name:
            path = os.path.abspath(name)
            found = _ROOT.match(name)
            theirs = self._of_process(name)
            if theirs is not None:
                return self._unmapped([theirs], lambda _: path, self._root)
            return self._unmapped([path], str, found[0] if found else "")

        for root in dict.fromkeys((self._root, "")):
            program = _program(name, self._search_path() if root else os.get_exec_path(), root)
            paths = [program] if program else library_search.in_directories(name, root, library_search.USUAL)
            there = self._unmapped(paths, lambda path, root=root: path.removeprefix(root), root)  # type: ignore[misc]
            if there:
                return there
        return []

    def paths(self, pattern: str) -> list[str]:
        """The files at a path, which may have wildcards, as `files` finds them, in the order of their names."""
        if not _WILD.search(pattern):
            is_there = self._of_process(pattern) is not None or others.exists(pattern)
            return [pattern] if is_there else []
        for root in dict.fromkeys((self._root if _is_of_root(pattern) else "", "")):
            found = [each for each in files_like(glob_escaped(root) + pattern) if others.is_file(each)]
            if found:
                return sorted(each.removeprefix(root) for each in found)
        return []

    @property
    def _root(self) -> str:
        return root_of(self.process, self._proc) if self.process else ""

    def _of_process(self, path: str) -> str | None:
        """Where the process's own file is that lies at a path for it; None where it has no other root directory than
        this process, or no such file. A relative path is one of this process, if there is such a file."""
        root = self._root
        if not root or path.startswith(_PROC) or (not path.startswith("/") and others.exists(path)):
            return None
        try:
            found = others.real_path(os.path.join("/", path), root)
        except OSError:
            return None
        return found if others.exists(found) else None

    def _search_path(self) -> list[str]:
        """Where the process looks for programs."""
        try:
            environment = read_kernel(f"{self._proc}/{self.process}/environ").split(b"\0")
        except OSError:
            environment = []
        found = next((os.fsdecode(each[5:]) for each in environment if each.startswith(b"PATH=")), os.defpath)
        return [each for each in found.split(os.pathsep) if each.startswith("/")]

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
        is_writable = mapping.is_writable or mapping.is_shared
        return CodeObject(name, path, loaded, with_symbols(file, found, root), found, root, is_writable=is_writable)

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
        living = self._living(pid)
        if is_program:
            return f"{living}/exe"
        mapped = f"{self._proc}/{pid}/map_files/{mapping.start:x}-{mapping.end:x}"
        return mapped if others.exists(mapped) else f"{living}/root{mapping.path}"


def _program(name: str, directories: Iterable[str], root: str) -> str | None:
    """The program that a shell would start, below `root`, which is / for it."""
    for directory in directories:
        path = os.path.join(directory, name)
        with suppress(OSError):
            found = others.real_path(path, root) if root else path
            if others.is_file(found) and os.access(found, os.X_OK):
                return found
    return None


def _is_of_root(path: str) -> bool:
    """Whether a path begins at the root directory, and is not of /proc, which shows processes by our numbers."""
    return path.startswith("/") and not path.startswith(_PROC)


def _word(pid: int, address: int) -> int | None:
    try:
        data = others.memory(pid, address, 8)
    except (OSError, ValueError, OverflowError):
        return None
    return int.from_bytes(data, "little") if len(data) == 8 else None


def _has_program(directory: str) -> bool:
    try:
        os.readlink(f"{directory}/exe")
    except OSError:
        return False
    return True
