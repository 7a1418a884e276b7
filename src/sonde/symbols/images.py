"""What every process has had mapped, from the start of a session on, also when it has executed another program or has
ended since.

A *process* of a stack is a number that identifies more than a pid: its lower half is the pid, its upper half the *mark*
of what the process executed when the stack was taken, 0 if that is not known. The mark is the page of the vdso, which
the kernel maps at another random place at each exec, and the process's *generation*, a number that grows where code
takes the place of other code.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from sonde.arch import pages
from sonde.model.named_maps import GENERATION_SLOTS
from sonde.symbols.mappings import VDSO, Mapping, MappingTable, differ
from sonde.symbols.process_events import Executed, Exited, Forked, Mapped, MappingsSnapshot, ProcessEvent
from sonde.typed import NamedTuple

_PAGE_BITS = pages.PAGE_BITS

_PID = (1 << 32) - 1

RETAINED = 300_000
"""Mappings of past images that are kept, about 300 bytes each, though stacks of all of them may still be shown."""

_MOST_GENERATIONS = 1 << 20
"""Of the present image, behind the last one that was told of its slot: marks of other images are farther away, as the
vdso may be at 2^28 places and more."""

_MOST_OF_ONE = 1 << 15
"""Images of one pid that are kept: anybody can make any number."""

_MOST_PROCESSES = 1 << 16
"""Processes that are taken to run: a recording can tell of any number that never end."""

SPARE = 16_000
"""Mappings of past images that are kept without asking who may still show their stacks."""


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
    """What a process has mapped from an exec, or from when code has taken the place of other code, to the next, or to
    the process's end."""

    __slots__ = ("_is_shared", "base", "end", "first", "is_past", "is_told", "is_whole", "named", "table", "told")

    def __init__(self, table: MappingTable | None = None, base: int = 0, is_whole: bool = True) -> None:
        self.base = base
        """The page of the vdso, 0 if it is not known."""
        self.first = 0
        """Its first generation."""
        self.told = 0
        """The generation of the mapping that was told last."""
        self.end: int | None = None
        """The generation of another image after its last one, if there is one."""
        self.named: int | None = None
        """Where in the map of code that the process has compiled (`perf_map.py`) lines of the next image begin."""
        self.is_told = False
        """Whether an engine has told what is mapped, so that it tells of each change, too."""
        self.is_whole = is_whole
        """False if mappings from before the session are missing."""
        self.table = MappingTable() if table is None else table
        self.table.present += 1
        self._is_shared = False
        self.is_past = False

    @property
    def mark(self) -> int:
        """That of its first generation."""
        return self.base + self.first & _PID

    def has(self, mark: int, told: int) -> bool:
        """Whether one of its generations has the mark; `told` is the last one that is known of its process's slot."""
        if not self.base:
            return mark == self.mark
        end = max(self.first, told) + _MOST_GENERATIONS if self.end is None else self.end
        return mark - self.mark & _PID < end - self.first

    def find(self, address: int) -> Mapping | None:
        return self.table.find(address)

    def objects(self) -> list[Mapping]:
        """The mappings that may be of ELF files."""
        return [mapping for mapping in self.table if mapping.is_object]

    def add(self, mapping: Mapping) -> None:
        if self._is_shared:
            table = self.table.copy()
            self._count(-1)
            self.table, self._is_shared = table, False
            self._count(1)
        self.table.add(mapping)
        if mapping.path == VDSO:
            self.base = mark_of(mapping.start)

    def is_replaced_by(self, mapping: Mapping) -> bool:
        """Whether the mapping takes the place of other code."""
        return any(differ(mapping, other) for other in self.table.between(mapping.start, mapping.end))

    def replace(self, mapping: Mapping, generation: int) -> Image:
        """The image from when the mapping took the place of other code, in that generation."""
        made = self.fork()
        made.add(mapping)
        made.first = generation
        made.is_told = True
        return made

    def complete(self, mark: int, mappings: Iterable[Mapping]) -> None:
        """All that is mapped at a time. With a mark of 0 somebody has looked at what the process has by now: that may
        be more than has been told, and does not change it."""
        keeps = not mark and self.is_told
        base = mark_in(mappings)
        for mapping in mappings:
            known = self.table.find(mapping.start)
            if mapping.executable and (known is None or (not keeps and known._replace(generation=0) != mapping)):
                self.add(mapping)
        self.is_told = self.is_told or bool(mark)
        if mark:
            self.first = mark - base & _PID
        elif not keeps:
            self.first = 0
        self.base, self.is_whole = base, True

    def fork(self, generation: int | None = None) -> Image:
        """That of a child, in that generation or in its parent's; the table is copied when one of them changes it."""
        made = Image(self.table, self.base, self.is_whole)
        made.is_told = self.is_told
        made.first = self.first if generation is None else generation
        made._is_shared = self._is_shared = True
        return made

    def retire(self) -> None:
        """It has become a past one."""
        self._count(-1)
        self.is_past = True
        self._count(1)

    def revive(self) -> None:
        """Its process is there after all."""
        self._count(-1)
        self.is_past = False
        self._count(1)

    def drop(self) -> None:
        """It is given up."""
        self._count(-1)

    def _count(self, change: int) -> None:
        if self.is_past:
            self.table.past += change
        else:
            self.table.present += change


def _is_of(image: Image, mark: int, base: int) -> bool:
    """Whether what has these marks is that image, or may be."""
    return (image.mark == mark if mark else image.base == base) or not (image.base or image.is_whole)


class _Place(NamedTuple):
    """Where an image is among those of its pid: whether its vdso is known, its mark, and its number."""

    has_base: bool
    mark: int
    number: int


class _Lineage:
    """The images of a pid, in the order of time, and by their marks."""

    def __init__(self) -> None:
        self.images: list[Image] = []
        self._places: dict[bool, list[_Place]] = {False: [], True: []}
        """Sorted; those without a base have one generation alone."""
        self._place_of: dict[Image, _Place] = {}
        self._by_number: dict[int, Image] = {}
        self._next = 0

    def append(self, image: Image) -> None:
        self.images.append(image)
        self._put(image, self._next)
        self._next += 1

    def remove(self, image: Image) -> None:
        self.images.remove(image)
        del self._by_number[self._take(image)]

    def update(self, image: Image) -> None:
        """Note the mark of an image, which may be another one."""
        if self._place_of[image][:2] != (bool(image.base), image.mark):
            self._put(image, self._take(image))

    def find(self, mark: int, told: int) -> Image | None:
        """The image whose first generation is the last one up to that with the mark, if it has that; of several the
        last one. Marks follow each other in a circle, as numbers of 32 bits."""
        for has_base, places in self._places.items():
            if places:
                at = bisect_right(places, _Place(has_base, mark, self._next)) - 1
                image = self._by_number[places[at].number]
                if image.has(mark, told):
                    return image
        return None

    def earlier(self, image: Image) -> Iterator[Image]:
        """The images of the same exec that had earlier generations, the first one first."""
        if not image.base:
            return
        places, end = self._places[True], self._place_of[image]
        start = _Place(True, image.base & _PID, 0)
        ranges = [(start, end)] if start <= end else [(start, _Place(True, _PID + 1, 0)), (_Place(True, 0, 0), end)]
        for low, high in ranges:
            for at in range(bisect_left(places, low), bisect_left(places, high)):
                found = self._by_number[places[at].number]
                if found.base == image.base:
                    yield found

    def _put(self, image: Image, number: int) -> None:
        place = _Place(bool(image.base), image.mark, number)
        self._place_of[image] = place
        self._by_number[number] = image
        insort(self._places[place.has_base], place)

    def _take(self, image: Image) -> int:
        place = self._place_of.pop(image)
        places = self._places[place.has_base]
        del places[bisect_left(places, place)]
        return place.number


class Images:
    """The images of all processes, each process's in the order of time.

    Those that processes have no more, past images, are kept as long as stacks of them may be shown. Who knows which
    these are says so (`release`) where there are many of them (`are_many`).
    """

    def __init__(self, retained: int = RETAINED, spare: int = SPARE) -> None:
        self._retained, self._spare = retained, spare
        self._of: dict[int, _Lineage] = {}
        self._told: defaultdict[int, int] = defaultdict(int)
        """The last generation that is known, by the slot of its process."""
        self._past: dict[Image, tuple[int, int]] = {}
        """Past images, those that have been so for longest first: pid, and their number."""
        self._ever = self._settled = 0
        self.held = 0
        """Mappings that past images take: one for each image, and those of tables that no present image shares."""
        self._due = spare
        self.uncounted: set[int] = set()
        """Processes in which code has taken the place of other code without a generation of its own, for who counts
        to begin the next one: what was made executable after it was mapped is counted by nobody (mprotect(2))."""
        self.replaced = 0
        """How often code has taken the place of other code."""
        self.forgotten = 0
        """Past images that were given up for want of room though their stacks may be shown."""

    def __len__(self) -> int:
        return sum(len(each.images) for each in self._of.values())

    def find(self, process: int) -> Image | None:
        """The image of a stack's process: the last one, if its mark tells no other; None if it was never seen."""
        pid, mark = split(process)
        known = self._of.get(pid)
        if known is None:
            return None
        return known.find(mark, self._told[pid % GENERATION_SLOTS]) if mark else known.images[-1]

    def all(self, pid: int) -> list[Image]:
        """Those of a process, the last one last."""
        known = self._of.get(pid)
        return known.images if known is not None else []

    def earlier(self, pid: int, image: Image, most: int) -> list[Image]:
        """The first images, up to so many, that the process had since the same exec before one of them."""
        known = self._of.get(pid)
        return list(islice(known.earlier(image), most)) if known is not None else []

    def take(self, event: ProcessEvent) -> None:
        """What has happened next."""
        match event:
            case Mapped(_, pid, mapping, mark, generation):
                self._map(pid, mapping, mark, generation)
            case Executed(_, pid, generation):
                self._tell(pid, generation or 0)
                image = Image()
                # The first mapping of the program begins another one.
                image.first = 0 if generation is None else generation + 1
                self._begin(pid, image)
            case Forked(_, pid, parent, generation):
                self._tell(pid, generation or 0)
                known = self.present(parent)
                self._begin(pid, known.fork(generation) if known else Image(is_whole=False))
                if known:
                    self._charge(known.table)
            case Exited(_, pid):
                self._end(pid)
            case MappingsSnapshot(_, pid, mark, mappings):
                self._seen(pid, mark, mappings)
        while self.held > self._retained and self._past:
            self._drop(next(iter(self._past)))
            self.forgotten += 1

    def present(self, pid: int) -> Image | None:
        """What a process has mapped last."""
        known = self._of.get(pid)
        return known.images[-1] if known is not None else None

    def rename_code(self, pid: int, generation: int, named: int) -> None:
        """Code that a process has compiled has got other names, in that generation; before that, those in its map up to
        the place `named`."""
        self._tell(pid, generation)
        image = self._current(pid)
        image.named = named
        made = image.fork(generation)
        made.is_told = True
        self._begin(pid, made)
        self._charge(image.table)
        self.replaced += 1

    @property
    def are_many(self) -> bool:
        """Whether past images should be given up as far as nobody can ask for them."""
        return self.held >= self._due

    def settle(self) -> None:
        """What is past now may be released from here on: stacks that were being recorded are known by then."""
        self._settled = self._ever

    def release(self, held: Iterable[int], running: Collection[int] | None = None) -> None:
        """Give up past images, the oldest first, until half of the spare room is free. Those that stacks of `held`
        processes need stay; `held` has words, pid and mark, or pid alone for the last image. `running` are the pids
        there are, if that is known: whatever else is taken for present has ended unheard."""
        for pid in () if running is None else [each for each in self._of if each not in running]:
            self._end(pid)
        needed = set(map(self.find, held))
        for image, (_, number) in list(self._past.items()):
            if self.held <= self._spare // 2 or number >= self._settled:
                break
            if image not in needed:
                self._drop(image)
        self._due = max(self.held + self._spare // 2, self._spare)

    def _map(self, pid: int, mapping: Mapping, mark: int, generation: int) -> None:
        image = self._current(pid)
        self._tell(pid, generation)
        is_new, first = bool(mark) and mark != image.mark, generation
        if is_new:
            # The vdso of a program that has just been executed tells the base.
            base = mark_of(mapping.start) if mapping.path == VDSO else image.base
            first = mark - base & _PID
            self._tell(pid, first)
        elif mapping.path != VDSO and image.is_replaced_by(mapping):
            is_counted = generation > image.told or pid in self.uncounted or not generation
            is_new = generation > image.first or not is_counted
            if not is_counted:
                self.uncounted.add(pid)
                first = max(image.first, image.told) + 1
        if is_new:
            is_ahead = first > generation and not mark
            image = self._begin(pid, image.replace(mapping, first))
            image.told = first if is_ahead else generation
            self.replaced += 1
        else:
            self._add(pid, image, mapping)
            image.is_told = image.is_told or generation > 0
            image.told = max(image.told, generation)

    def _tell(self, pid: int, generation: int) -> None:
        slot = pid % GENERATION_SLOTS
        if generation > self._told[slot]:
            self._told[slot] = generation

    def _add(self, pid: int, image: Image, mapping: Mapping) -> None:
        before = image.table
        image.add(mapping)
        self._of[pid].update(image)
        self._charge(before)

    def _current(self, pid: int) -> Image:
        image = self.present(pid)
        if image is None:
            return self._begin(pid, Image(is_whole=False))
        if image.is_past:
            # Its first thread has ended, and others go on.
            del self._past[image]
            self.held -= 1
            image.revive()
            self._charge(image.table)
        return image

    def _begin(self, pid: int, image: Image) -> Image:
        """The image that a process has from here on."""
        self._end(pid)
        known = self._of.setdefault(pid, _Lineage())
        if known.images and known.images[-1].first < image.first:
            known.images[-1].end = image.first
        known.append(image)
        if len(known.images) > _MOST_OF_ONE:
            self._drop(known.images[0])
            self.forgotten += 1
        if len(self._of) > _MOST_PROCESSES:
            # The one that began first, or that was taken for past longest ago, has no more that is present.
            first = next(iter(self._of))
            self._of[first] = self._of.pop(first)
            self._end(first)
        return image

    def _end(self, pid: int) -> None:
        """The last image of a process becomes a past one."""
        image = self.present(pid)
        if image is None or image.is_past:
            return
        image.retire()
        self._past[image] = pid, self._ever
        self._ever += 1
        self.held += 1
        self._charge(image.table)

    def _drop(self, image: Image) -> None:
        pid, _ = self._past.pop(image)
        self.held -= 1
        image.drop()
        self._charge(image.table)
        known = self._of[pid]
        known.remove(image)
        if not known.images:
            del self._of[pid]

    def _charge(self, table: MappingTable) -> None:
        """Count a table that past images alone have."""
        due = 0 if table.present or not table.past else table.size
        self.held += due - table.charged
        table.charged = due

    def _seen(self, pid: int, mark: int, mappings: tuple[Mapping, ...]) -> None:
        """A snapshot completes what is known of the same image: what was unmapped before it may still be asked for."""
        base = mark_in(mappings)
        image = next((each for each in reversed(self.all(pid)) if _is_of(each, mark, base)), None)
        found = image or self._begin(pid, Image())
        before = found.table
        found.complete(mark, mappings)
        self._of[pid].update(found)
        self._charge(before)
        self._charge(found.table)
