"""What every process has had mapped, from the start of a session on, also when it has executed another program or has
ended since.

A *process* of a stack is a number that identifies more than a pid: its lower half is the pid, its upper half the *mark*
of what the process executed when the stack was taken, 0 if that is not known. The mark is the page of the vdso, which
the kernel maps at another random place at each exec.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from sonde.arch import pages
from sonde.symbols.mappings import VDSO, Mapping, MappingTable
from sonde.symbols.process_events import Executed, Exited, Forked, Mapped, MappingsSnapshot, ProcessEvent

_PAGE_BITS = pages.PAGE_BITS

_PID = (1 << 32) - 1

RETAINED = 300_000
"""Mappings of processes that have ended that are kept, about 300 bytes each."""

_LONG = 256
"""Characters of a name that take as much as a mapping."""


def split(process: int) -> tuple[int, int]:
    """The pid and the mark of a stack's process."""
    return process & _PID, process >> 32


def mark_of(vdso: int) -> int:
    """The mark of a process whose vdso begins at this address."""
    return vdso >> _PAGE_BITS & _PID


def mark_in(mappings: Iterable[Mapping]) -> int:
    """The mark of a process with these mappings, 0 if it has no vdso."""
    return next((mark_of(mapping.start) for mapping in mappings if mapping.path == VDSO), 0)


class Image:
    """What a process has mapped from an exec to the next, or to its end."""

    __slots__ = ("_is_shared", "_table", "base", "is_told", "is_whole", "mark")

    def __init__(self, table: MappingTable | None = None, mark: int = 0, is_whole: bool = True) -> None:
        self.mark = self.base = mark
        """`base` is the kernel's mark, to which that of a generation has been added (`current_images.py`)."""
        self.is_told = False
        """Whether an engine has told what is mapped, so that it tells of each change, too."""
        self.is_whole = is_whole
        """False if mappings from before the session are missing."""
        self._table = MappingTable() if table is None else table
        self._is_shared = False

    def find(self, address: int) -> Mapping | None:
        return self._table.find(address)

    def objects(self) -> list[Mapping]:
        """The mappings that may be of ELF files."""
        return [mapping for mapping in self._table if mapping.is_object]

    def add(self, mapping: Mapping) -> None:
        if self._is_shared:
            self._table, self._is_shared = self._table.copy(), False
        self._table.add(mapping)
        if mapping.path == VDSO:
            self.mark = self.base = mark_of(mapping.start)

    def complete(self, mark: int, mappings: Iterable[Mapping]) -> None:
        """All that is mapped at a time. With a mark of 0 somebody has looked at what the process has by now: that may
        be more than has been told, and does not change it."""
        keeps = not mark and self.is_told
        base = mark_in(mappings)
        for mapping in mappings:
            known = self._table.find(mapping.start)
            if mapping.executable and (known is None or (not keeps and known._replace(generation=0) != mapping)):
                self.add(mapping)
        self.is_told = self.is_told or bool(mark)
        self.mark, self.base, self.is_whole = mark or (self.mark if keeps else base), base, True

    def fork(self) -> Image:
        """That of a child; the table is copied when one of them changes it."""
        made = Image(self._table, self.mark, self.is_whole)
        made.base, made.is_told = self.base, self.is_told
        made._is_shared = self._is_shared = True
        return made

    @property
    def held(self) -> int:
        """How many mappings there would be less without it; those with long names count as several."""
        return 0 if self._is_shared else sum(1 + len(each.path) // _LONG for each in self._table)


def _is_of(image: Image, mark: int, base: int) -> bool:
    """Whether what has these marks is that image, or may be."""
    return (image.mark == mark if mark else image.base == base) or not (image.mark or image.is_whole)


class Images:
    """The images of all processes, each process's in the order of time."""

    def __init__(self, retained: int = RETAINED) -> None:
        self._retained = retained
        self._of: dict[int, list[Image]] = {}
        self._ended: OrderedDict[int, int] = OrderedDict()
        """Processes that have ended, the one first that ended first, and how many mappings they hold."""
        self._held = 0
        self.forgotten = 0
        """Ended processes whose mappings were given up for want of room."""

    def find(self, process: int) -> Image | None:
        """The image of a stack's process: the last one, if its mark tells no other; None if it was never seen."""
        pid, mark = split(process)
        images = self._of.get(pid, ())
        for image in reversed(images):
            if not mark or mark == image.mark:
                return image
        return None

    def all(self, pid: int) -> list[Image]:
        """Those of a process, the last one last."""
        return self._of.get(pid, [])

    def take(self, event: ProcessEvent) -> None:
        """What has happened next."""
        match event:
            case Mapped(_, pid, mapping):
                self._current(pid).add(mapping)
            case Executed(_, pid):
                self._alive(pid).append(Image())
            case Forked(_, pid, parent):
                self._forked(pid, parent)
            case Exited(_, pid):
                self._exited(pid)
            case MappingsSnapshot(_, pid, mark, mappings):
                self._seen(pid, mark, mappings)

    def _current(self, pid: int) -> Image:
        images = self._alive(pid)
        if not images:
            images.append(Image(is_whole=False))
        return images[-1]

    def _alive(self, pid: int) -> list[Image]:
        self._held -= self._ended.pop(pid, 0)
        return self._of.setdefault(pid, [])

    def _forked(self, pid: int, parent: int) -> None:
        images = self._alive(pid)
        known = self._of.get(parent)
        images.append(known[-1].fork() if known else Image(is_whole=False))

    def _seen(self, pid: int, mark: int, mappings: tuple[Mapping, ...]) -> None:
        """A snapshot completes what is known of the same image: what was unmapped before it may still be asked for."""
        images = self._of.setdefault(pid, [])
        base = mark_in(mappings)
        image = next((each for each in reversed(images) if _is_of(each, mark, base)), None)
        if image is None:
            image = Image()
            images.append(image)
        image.complete(mark, mappings)

    def _exited(self, pid: int) -> None:
        images = self._of.get(pid)
        if images is None:
            return
        held = sum(image.held for image in images) + 1
        self._held += held - self._ended.pop(pid, 0)
        self._ended[pid] = held
        while self._held > self._retained and self._ended:
            oldest, held = self._ended.popitem(last=False)
            self._held -= held
            self._of.pop(oldest, None)
            self.forgotten += 1
