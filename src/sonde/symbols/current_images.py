"""What every process executes at present, told apart also where code takes the place of other code.

An exec gives a process another mark (`images.py`). Where a process only puts a library into the place of another one,
the kernel's mark stays, and an address of before would get the name of what is there now. So whoever follows a process
step by step gives it another mark there, too: the number of its *generation* is added to the kernel's.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable

from sonde.symbols.images import mark_in, mark_of
from sonde.symbols.mappings import VDSO, Mapping, MappingTable, differ
from sonde.symbols.process_events import Executed, Exited, Forked, Mapped, MappingsSnapshot, ProcessEvent

_MARK = (1 << 32) - 1

_MOST = 1 << 14
"""Processes that are known: of those that were heard of first nothing is known in the end."""

_GONE = 64
"""Processes of which the first thread has ended that are known yet: others may go on."""


class CurrentImage:
    """`table` has the executable mappings of the generation; `base` is the kernel's mark, 0 if it is not known."""

    __slots__ = ("_is_shared", "base", "before", "generation", "table")

    def __init__(
        self, base: int = 0, generation: int = 0, table: MappingTable | None = None, before: CurrentImage | None = None
    ) -> None:
        """`before` is what the process had before it executed this, until its vdso is known."""
        self.base, self.generation, self.before = base, generation, before
        self.table = table if table is not None else MappingTable()
        self._is_shared = False
        if before is not None:
            before.before = None

    @property
    def mark(self) -> int:
        return (self.base + self.generation) & _MARK

    def fork(self) -> CurrentImage:
        """That of a child; the table is copied when one of them changes it."""
        made = CurrentImage(self.base, self.generation, self.table)
        made._is_shared = self._is_shared = True
        return made

    def add(self, mappings: Iterable[Mapping]) -> bool:
        """Whether any takes the place of other code."""
        replaces = False
        if self._is_shared:
            self.table, self._is_shared = self.table.copy(), False
        for each in mappings:
            replaces = replaces or any(differ(each, other) for other in self.table.between(each.start, each.end))
            self.table.add(each)
        return replaces


class CurrentImages:
    """Those of all processes, by what happens to them in the order of time."""

    def __init__(self) -> None:
        self._of: OrderedDict[int, CurrentImage] = OrderedDict()
        self._gone: deque[tuple[int, CurrentImage]] = deque()

    def mark(self, pid: int) -> int:
        """The mark of what the process executes now, 0 if that is not known."""
        found = self._of.get(pid)
        return found.mark if found is not None else 0

    def mapping(self, pid: int, address: int) -> Mapping | None:
        """What the process has mapped there now, and may execute."""
        found = self._of.get(pid)
        return found.table.find(address) if found is not None else None

    def generation(self, pid: int) -> int:
        found = self._of.get(pid)
        return found.generation if found is not None else 0

    def advance(self, pid: int) -> int:
        """Begin another generation of a process and give its number."""
        image = self._image(pid)
        image.generation += 1
        return image.generation

    def take(self, event: ProcessEvent) -> ProcessEvent:
        """What has happened next, as it is to be told to `Images`."""
        match event:
            case Mapped(_, pid, mapping):
                image = self._image(pid)
                if mapping.path == VDSO:
                    return self._begun(event, image)
                if mapping.executable and image.add((mapping,)):
                    image.generation += 1
                    return event._replace(mark=image.mark)
            case Executed(_, pid):
                known = self._of.get(pid)
                self._put(pid, CurrentImage(before=known))
            case Forked(_, pid, parent):
                known = self._of.get(parent)
                if known is not None:
                    self._put(pid, known.fork())
            case Exited(_, pid):
                self._exited(pid)
            case MappingsSnapshot(_, pid, mark, mappings):
                return event._replace(mark=self._seen(pid, mark or mark_in(mappings), mappings))
        return event

    @staticmethod
    def _begun(event: Mapped, image: CurrentImage) -> Mapped:
        """A program begins. Where addresses are not randomised it has the vdso of the one before."""
        image.base, before = mark_of(event.mapping.start), image.before
        is_same = before is not None and before.base == image.base
        image.generation, image.before = before.generation + 1 if before is not None and is_same else 0, None
        image.add((event.mapping,))
        return event._replace(mark=image.mark) if is_same else event

    def _seen(self, pid: int, base: int, mappings: Iterable[Mapping]) -> int:
        """The mark of a process with these mappings, and no others."""
        image = self._image(pid)
        if image.base != base:
            image = CurrentImage(base)
            self._put(pid, image)
        code = [each for each in mappings if each.executable]
        if image.add(code):
            image.generation += 1
            image.table = MappingTable()
            image.add(code)
        return image.mark

    def _exited(self, pid: int) -> None:
        known = self._of.get(pid)
        if known is not None:
            self._gone.append((pid, known))
        if len(self._gone) > _GONE:
            pid, known = self._gone.popleft()
            if self._of.get(pid) is known:
                del self._of[pid]

    def _image(self, pid: int) -> CurrentImage:
        found = self._of.get(pid)
        if found is None:
            found = CurrentImage()
            self._put(pid, found)
        return found

    def _put(self, pid: int, image: CurrentImage) -> None:
        self._of[pid] = image
        while len(self._of) > _MOST:
            self._of.popitem(last=False)
