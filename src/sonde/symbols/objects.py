"""The ELF files behind what processes have mapped, each opened once for all processes."""

from __future__ import annotations

import os
import stat
from collections import Counter, OrderedDict
from collections.abc import Callable

from sonde import others
from sonde.symbols import mappings
from sonde.symbols.elf.errors import CostError
from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.symbols.elf.symbol_files import with_symbols
from sonde.symbols.mappings import DELETED, VDSO, Mapping
from sonde.symbols.object_names import ObjectNames
from sonde.typed import NamedTuple
from sonde.untrusted import kernel_text

_LARGEST_VDSO = 1 << 20
_PROC = "/proc"

KEPT = 400
"""Files that are opened before anybody asks for a name in them: each takes a descriptor."""

_MOST_OPEN = KEPT + 100
"""Files that are open; the ones that have not been asked for longest are closed, and opened again where they still
are."""

_MOST_UNREADABLE = 1 << 14
_MOST_PINNED, _LOOK = 64 << 20, 16
"""Bytes of disks that files take which were deleted while they were open here, and after how many that are opened it is
looked at."""

_FEW_GIVEN_UP, _SHORT_TIME, _MANY_GIVEN_UP = 3, 0.1, 30
"""Files of one user that took too long, after which others of that user get so many seconds, and after which none is
read: a user can have any number."""

_MOST_HELD = 128 << 20
"""Bytes of all objects' tables, and of parts of their files, that are kept beside those of the one that is read."""


class _Key(NamedTuple):
    device: str
    inode: int
    path: str
    generation: int


def _key(mapping: Mapping) -> _Key:
    # Programs of another word size have another vdso.
    generation = mapping.end - mapping.start if mapping.path == VDSO else mapping.generation
    return _Key(mapping.device, mapping.inode, mapping.path, generation)


class Objects:
    """Files are looked for where they still are: under their path, if that is still the same file, or through the
    process, if that still runs. `is_file` says whether what is at a path is a mapping's file, `most` how many bytes are
    kept of all."""

    def __init__(
        self, proc: str = _PROC, is_file: Callable[[str, Mapping], bool] | None = None, most: int | None = None,
        is_vdso: Callable[[ElfFile], bool] | None = None,
    ) -> None:  # fmt: skip
        """`is_vdso` says whether this process's vdso is that of all processes that are asked for."""
        self._proc = proc
        self._most = _MOST_HELD if most is None else most
        self._is_file = is_file or _has_inode
        self._is_vdso = is_vdso
        self._opened: OrderedDict[_Key, ElfFile] = OrderedDict()
        self._unreadable: set[_Key] = set()
        self._symbols: dict[_Key, tuple[ElfFile, ...]] = {}
        self._paths: dict[_Key, str] = {}
        self._names: dict[_Key, ObjectNames] = {}
        self._refused: dict[str, str] = {}
        self._looks = 0
        self._given_up: Counter[int] = Counter()
        """Files that took too long and are closed, by their owners."""

    def file(self, pid: int, mapping: Mapping) -> ElfFile | None:
        """The file of a mapping of a process, None if it cannot be read or is not ELF."""
        key = _key(mapping)
        found = self._opened.get(key)
        if found is not None:
            self._opened.move_to_end(key)
        elif key not in self._unreadable:
            found = self._open(pid, mapping)
            if found is not None:
                self._opened[key] = found
                self._make_room()
            elif len(self._unreadable) < _MOST_UNREADABLE:
                self._unreadable.add(key)
        return found

    def keep(self, pid: int, mapping: Mapping) -> None:
        """Open the file of a mapping while the process still runs and the file is there, unless many are open."""
        if mapping.path.startswith("/") and len(self._opened) < KEPT:
            self.file(pid, mapping)

    def symbols(self, pid: int, mapping: Mapping) -> tuple[ElfFile, ...]:
        """The files that have symbols for a mapping's file, the best first: of a stripped one its debug file, or what
        its .gnu_debugdata section holds, and itself for its dynamic symbols."""
        key = _key(mapping)
        if key not in self._symbols:
            file = self.file(pid, mapping)
            if file is None:
                return ()
            with file.costs:
                self._symbols[key] = self._with_symbols(pid, key, file)
        return self._symbols[key]

    def _with_symbols(self, pid: int, key: _Key, file: ElfFile) -> tuple[ElfFile, ...]:
        path, root = self._paths.get(key, ""), f"{self._proc}/{pid}/root"
        if not path:
            return (file,)
        inside = path.startswith((root, f"{self._proc}/{pid}/map_files"))
        return with_symbols(file, path, root if inside else "")

    def names(self, pid: int, mapping: Mapping) -> ObjectNames | None:
        """The names in a mapping's file, None if it cannot be read."""
        key = _key(mapping)
        found = self._names.get(key)
        if found is None:
            file = self.file(pid, mapping)
            if file is None:
                return None
            found = self._names[key] = ObjectNames(file, self.symbols(pid, mapping), self._paths.get(key, ""))
            self._make_room()
        return found

    def refused(self) -> list[tuple[str, str]]:
        """The paths of the objects that could not be read to the end as it takes too much, and why."""
        for key, file in self._opened.items():
            self._note(key, file)
        return list(self._refused.items())

    def _note(self, key: _Key, file: ElfFile) -> None:
        names = self._names.get(key)
        reason = file.costs.reason or (names.inline_costs.reason if names else "")
        if reason:
            self._refuse(key.path, reason)

    def _refuse(self, path: str, reason: str) -> None:
        if len(self._refused) < _MOST_UNREADABLE:
            self._refused[path] = reason

    def _held(self, key: _Key) -> int:
        names = self._names.get(key)
        costs = self._opened[key].costs
        return costs.taken + costs.buffered + (names.inline_costs.taken if names else 0)

    def _make_room(self) -> None:
        """Close the files that have not been asked for longest, but not the last one."""
        held = sum(map(self._held, self._opened))
        while len(self._opened) > _MOST_OPEN or (held > self._most and len(self._opened) > 1):
            key = next(iter(self._opened))
            held -= self._held(key)
            self._close(key)
        self._looks += 1
        if not self._looks % _LOOK:
            self._free_disk()

    def _free_disk(self) -> None:
        """Close files that were deleted, as far as their room on disks is more than that of a few."""
        pinned = {key: size for key, file in self._opened.items() if (size := file.pinned)}
        total = sum(pinned.values())
        for key, size in pinned.items():
            if total <= _MOST_PINNED:
                break
            self._close(key)
            total -= size

    def _close(self, key: _Key) -> None:
        gone = self._opened.pop(key)
        self._note(key, gone)
        self._given_up[gone.owner] += bool(gone.costs.reason)
        self._symbols.pop(key, None)
        self._names.pop(key, None)
        self._paths.pop(key, None)

    def _open(self, pid: int, mapping: Mapping) -> ElfFile | None:
        if mapping.path == VDSO:
            return self._known_vdso(pid, mapping)
        for path in self._candidates(pid, mapping):
            try:
                file = ElfFile.open(path)
                self._limit(file)
                with file.costs:
                    file.check()
            except CostError as error:
                self._refuse(mapping.path, str(error))
                return None
            except (OSError, ElfError):
                continue
            self._paths[_key(mapping)] = path
            return file
        return None

    def _limit(self, file: ElfFile) -> None:
        """Limit the time for a file of another user if earlier files of that user took too long. Raises CostError."""
        if file.is_trusted:
            return
        here = sum(each.owner == file.owner and bool(each.costs.reason) for each in self._opened.values())
        count = here + self._given_up[file.owner]
        if count >= _MANY_GIVEN_UP:
            file.costs.refuse(f"{_MANY_GIVEN_UP} other files of its owner took too long")
        elif count >= _FEW_GIVEN_UP:
            file.costs.limit(_SHORT_TIME)

    def _candidates(self, pid: int, mapping: Mapping) -> list[str]:
        """Where the file may be read: under its path, through the mapping, which works for deleted files, or in the
        process's own mount namespace."""
        paths = []
        if not mapping.path.endswith(DELETED) and self._is_file(mapping.path, mapping):
            paths.append(mapping.path)
        inside = f"{self._proc}/{pid}/root{mapping.path}"
        through = f"{self._proc}/{pid}/map_files/{mapping.start:x}-{mapping.end:x}"
        return paths + [path for path in (through, inside) if self._is_file(path, mapping)]

    def _known_vdso(self, pid: int, mapping: Mapping) -> ElfFile | None:
        if self._is_vdso is None:
            return self._vdso(str(pid), mapping) or self._vdso("self", mapping)
        found = self._vdso("self", mapping)
        try:
            return found if found is not None and self._is_vdso(found) else None
        except ElfError:
            return None

    def _vdso(self, process: str, mapping: Mapping) -> ElfFile | None:
        size = mapping.end - mapping.start
        if size > _LARGEST_VDSO:
            return None
        try:
            if process != "self":
                return ElfFile(others.memory(int(process), mapping.start, size))
            own = self._proc if self._is_vdso is None else _PROC
            with open(f"{own}/self/mem", "rb", buffering=0) as memory:
                return ElfFile(os.pread(memory.fileno(), size, _own_vdso(own, size)))
        except (OSError, ElfError, OverflowError):
            return None


def _own_vdso(proc: str, size: int) -> int:
    """Where this process's vdso is, that of all others with the same word size. Raises OSError."""
    for mapping in mappings.parse_maps(kernel_text(f"{proc}/self/maps")):
        if mapping.path == VDSO and mapping.end - mapping.start == size:
            return mapping.start
    raise FileNotFoundError("no vdso of this size")


def root_of(pid: int, proc: str = "/proc") -> str:
    """What to put before a path of a process to find it there: "" where its / is ours, in the same mount namespace."""
    root = f"{proc}/{pid}/root"
    try:
        theirs, ours = others.stat(root), os.stat("/")
        is_same = os.readlink(f"{proc}/{pid}/ns/mnt") == os.readlink(f"{proc}/self/ns/mnt")
    except OSError:
        return ""
    return "" if is_same and (theirs.st_dev, theirs.st_ino) == (ours.st_dev, ours.st_ino) else root


def _has_inode(path: str, mapping: Mapping) -> bool:
    return is_inode(path, mapping.inode)


def is_inode(path: str, inode: int) -> bool:
    """Whether the regular file of that number is at a path: a FIFO would block whoever opens it."""
    try:
        found = others.stat(path)
    except (OSError, ValueError):
        return False
    return found.st_ino == inode and stat.S_ISREG(found.st_mode)
