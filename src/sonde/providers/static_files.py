"""Files with static probes (USDT) that processes have mapped, each read once for all processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property

from sonde import others
from sonde.model.probe import StaticPattern, StaticSite
from sonde.providers.installed_files import has_section, with_sections
from sonde.providers.pattern import matcher
from sonde.providers.static_sites import SiteError, site_of
from sonde.symbols.elf.errors import CostError
from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.symbols.elf.file_bytes import FileBytes
from sonde.symbols.elf.indirect import Loaded
from sonde.symbols.elf.static_note import Note
from sonde.symbols.elf.static_notes import SECTIONS, notes_of
from sonde.symbols.elf.symbol_files import with_symbols
from sonde.symbols.functions import CodeObject
from sonde.symbols.mappings import DELETED, Mapping, maps_text, parse_maps
from sonde.symbols.objects import is_inode, root_of
from sonde.typed import NamedTuple, TypeAlias
from sonde.untrusted import kernel_text, lines, open_held

_SEPARATOR = 6
"""Words of a line of mountinfo before the optional ones, which end with a dash."""

_MOST_KNOWN = 1 << 16
"""Mappings of files that are remembered as looked at; then all are forgotten, and looked at once more."""


class NamedSite(NamedTuple):
    """A site, and the names of its probe but for the process's number behind the provider."""

    provider: str
    module: str
    function: str
    name: str
    site: StaticSite


_Identity: TypeAlias = "tuple[int, ...]"
"""Which file it is to the kernel."""


class StaticFile:
    """A file with notes of static probes. `path` opens it, and goes on to when its processes have ended; `found` is
    where it lay, beginning with `root`, the directory that is / for its process."""

    def __init__(self, descriptor: int, found: str, root: str, name: str, file: ElfFile, notes: list[Note]) -> None:
        self.path = f"/proc/self/fd/{descriptor}"
        self.found = found
        self.name = name
        self.notes = notes
        self._root = root
        self._file = file
        self._functions: dict[int, tuple[str, ...]] = {}
        self._sites: dict[Note, StaticSite | None] = {}

    @cached_property
    def _code(self) -> CodeObject:
        symbols = with_symbols(self._file, self.found, self._root)
        return CodeObject(self.name, self.path, Loaded(self._file, 0), symbols, self.found, self._root)

    def matching(self, pattern: StaticPattern, process: str = "") -> list[NamedSite]:
        """The sites that a description matches, of any process, or of the one with this number. One whose note leads
        nowhere is left out. Raises CostError."""
        with self._file.costs:
            return [self._named(note) for note in self._matching(pattern, process) if self._site(note) is not None]

    def _matching(self, pattern: StaticPattern, process: str) -> Iterator[Note]:
        is_function = matcher(pattern.function)
        for note in self._candidates(pattern, process):
            if any(map(is_function, self._names(note.location))):
                yield note

    def _candidates(self, pattern: StaticPattern, process: str) -> Iterator[Note]:
        if not matcher(pattern.module)(self.name):
            return
        is_name = matcher(pattern.name)
        for note in self.notes:
            if (is_name(shown_name(note.name)) or is_name(note.name)) and (
                matcher(pattern.provider)(note.provider + process) if process else is_every(pattern, note.provider)
            ):
                yield note

    def _names(self, address: int) -> tuple[str, ...]:
        """Those of the function that an address is in, the one that it is called by first; "" where it is in none."""
        known = self._functions
        if address not in known:
            found = self._code.containing(address)
            known[address] = (found.name, *self._code.names(found)) if found else ("",)
        return known[address]

    def _site(self, note: Note) -> StaticSite | None:
        if note not in self._sites:
            try:
                self._sites[note] = site_of(self._code, note)
            except SiteError:
                self._sites[note] = None
        return self._sites[note]

    def _named(self, note: Note) -> NamedSite:
        site = self._site(note)
        assert site is not None
        return NamedSite(note.provider, self.name, self._names(note.location)[0], shown_name(note.name), site)


def shown_name(name: str) -> str:
    """As D has it: a dash cannot be written in C."""
    return name.replace("__", "-")


def is_every(pattern: StaticPattern, provider: str) -> bool:
    """Whether the description matches a provider whatever the number of the process behind it is."""
    if pattern.pid:
        return matcher(pattern.provider)(provider)
    return not pattern.provider or (pattern.provider.endswith("*") and matcher(pattern.provider)(provider))


class StaticFiles:
    """Those of all processes that are asked about."""

    def __init__(self, proc: str = "/proc") -> None:
        self._proc = proc
        self._known: dict[tuple[str, int, int], StaticFile | None] = {}
        self._files: dict[_Identity, StaticFile] = {}
        self.unreadable = 0
        """Files that were gone, with their process, before they could be looked at."""
        self.given_up: dict[str, str] = {}
        """Files whose notes take too much to read, and why."""

    def processes(self) -> list[int]:
        """The processes that run, but this one."""
        found = (int(name) for name in os.listdir(self._proc) if name.isdigit())
        return [pid for pid in found if pid != os.getpid()]

    def of(self, pid: int) -> list[StaticFile]:
        """The files with static probes that a process has mapped; none of one that has ended or is not to be read."""
        try:
            mappings = parse_maps(maps_text(pid, self._proc))
        except OSError:
            return []
        found: dict[int, StaticFile] = {}
        for mapping in mappings:
            file = self.file(pid, mapping) if mapping.executable else None
            if file is not None:
                found[id(file)] = file
        return list(found.values())

    def installed(self) -> Iterator[StaticFile]:
        """Those where programs and libraries are installed, whether a process has mapped them or not."""
        for path in with_sections(SECTIONS):
            try:
                descriptor, status = others.held(path)
            except OSError:
                continue
            found = self._read(os.getpid(), path, path, descriptor, status)
            if found is not None:
                yield found

    def file(self, pid: int, mapping: Mapping) -> StaticFile | None:
        """The file of a mapping, None if there are no static probes in it or it cannot be read."""
        if not mapping.path.startswith("/"):
            return None
        key = mapping.device, mapping.inode, mapping.generation
        if key not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[key] = self._find(pid, mapping)
        return self._known[key]

    def _find(self, pid: int, mapping: Mapping) -> StaticFile | None:
        for path in self._paths(pid, mapping):
            try:
                descriptor, status = others.held(path)
            except OSError:
                continue
            # Whoever owns the path may have put something else there.
            if status.st_ino == mapping.inode:
                return self._read(pid, mapping.path, path, descriptor, status)
            os.close(descriptor)
        self.unreadable += 1
        return None

    def _read(
        self, pid: int, called: str, path: str, descriptor: int, status: os.stat_result
    ) -> StaticFile | None:  # fmt: skip
        """The file that a descriptor, which this takes, has, None if it has no static probes. What is read is what is
        probed, whatever lies at the path by then."""
        file = self._opened(descriptor, path)
        notes = self._notes(file, called) if file is not None else []
        identity = _identity(descriptor, status, pid, self._proc) if notes else ()
        if file is None or not notes or identity in self._files:
            os.close(descriptor)
        else:
            root = root_of(pid, self._proc)
            inside = root if root and path.startswith(root) else ""
            name = os.path.basename(others.real_path(called) if called == path else called.removesuffix(DELETED))
            self._files[identity] = StaticFile(descriptor, path, inside, name, file, notes)
        return self._files.get(identity)

    def _opened(self, descriptor: int, path: str) -> ElfFile | None:
        """None if it has no section for static probes."""
        try:
            reading = open_held(descriptor, path)
            try:
                return ElfFile(FileBytes(os.dup(reading))) if has_section(reading, SECTIONS) else None
            finally:
                os.close(reading)
        except OSError:
            self.unreadable += 1
        except ElfError:
            pass  # a damaged file has no probes
        return None

    def _notes(self, file: ElfFile, path: str) -> list[Note]:
        try:
            with file.costs:
                return notes_of(file)
        except CostError as error:
            self.given_up[path] = str(error)
        except OSError:
            self.unreadable += 1
        except ElfError:
            pass  # a damaged file has no probes
        return []

    def _paths(self, pid: int, mapping: Mapping) -> list[str]:
        """Where the file may be read: under its path, through the mapping, and in the process's own namespace."""
        here = mapping.path
        through = f"{self._proc}/{pid}/map_files/{mapping.start:x}-{mapping.end:x}"
        inside = f"{self._proc}/{pid}/root{mapping.path}"
        return [path for path in (here, through, inside) if is_inode(path, mapping.inode)]


def _identity(descriptor: int, status: os.stat_result, pid: int, proc: str) -> _Identity:
    """Uprobes are of the file that has the bytes. Each overlayfs shows that of a lower layer under a device number of
    its own, and as the file that it is in all else."""
    if os.major(status.st_dev) == 0 and _is_overlay(descriptor, pid, proc):
        return -1, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    return status.st_dev, status.st_ino


def _is_overlay(descriptor: int, pid: int, proc: str) -> bool:
    """Whether a file of a process is in an overlayfs, as its mounts tell (proc_pid_mountinfo(5)). A file has not always
    the device number of its mount."""
    try:
        information = kernel_text(f"/proc/self/fdinfo/{descriptor}")
        mounts = kernel_text(f"{proc}/{pid}/mountinfo")
    except OSError:
        return False
    mount = next((line.split()[1] for line in lines(information) if line.startswith("mnt_id:")), "")
    for line in lines(mounts):
        words = line.split(" ")
        if words[0] == mount and "-" in words[_SEPARATOR:]:
            return words[words.index("-", _SEPARATOR) + 1] == "overlay"
    return False
