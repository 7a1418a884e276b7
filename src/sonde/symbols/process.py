"""Names for addresses of processes, of those that run and of those that have ended."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable

from sonde.recent import Recent
from sonde.symbols.elf.file import ElfError
from sonde.symbols.images import Image, Images, split
from sonde.symbols.mappings import DELETED, Mapping, maps_text, origin, parse_maps
from sonde.symbols.objects import Objects
from sonde.symbols.perf_map import CompiledCode
from sonde.symbols.process_events import Exited, Mapped, MappingsSnapshot, ProcessEvent
from sonde.symbols.same_names import SameNames
from sonde.typed import NamedTuple

_MOST_SETTLED = 1 << 14

_PATIENCE = 20
"""A process's mappings are not read again before so many times the time has passed that reading took."""


class CodePlace(NamedTuple):
    """Where an address lies: the mapping of an object, and the address as the object was linked, or, if the object
    cannot be read (`is_linked` is False), the offset in its file."""

    mapping: Mapping
    linked: int
    is_linked: bool

    @property
    def path(self) -> str:
        return self.mapping.path.removesuffix(DELETED)


class ProcessNames:
    """A *process* is what `images` calls so: a pid, and in the upper half perhaps the mark of an image."""

    def __init__(self, objects: Objects | None = None, images: Images | None = None, proc: str = "/proc") -> None:
        self._objects = objects or Objects(proc)
        self._images = images if images is not None else Images()
        self._proc = proc
        self._compiled = CompiledCode(proc)
        self._read_again: dict[int, float] = {}
        self._settled: Recent[int, bool] = Recent(_MOST_SETTLED)
        self._same = SameNames(self._images, self._settle, self._origin)
        self._pull: Callable[[], Iterable[ProcessEvent]] = tuple

    def follow(self, pull: Callable[[], Iterable[ProcessEvent]]) -> None:
        """Ask `pull` what has happened when an address is not known."""
        self._pull = pull

    def take(self, event: ProcessEvent) -> None:
        """What has happened next."""
        self._images.take(event)
        if isinstance(event, Mapped):
            self._objects.keep(event.pid, event.mapping)
            if event.mapping.may_be_compiled or not event.mapping.is_object:
                self._compiled.expect(event.pid)
        elif isinstance(event, MappingsSnapshot):
            if event.mark:
                # By an engine that looks at what it traces.
                self._keep(event.pid, event.mappings)
            if any(each.executable and each.may_be_compiled for each in event.mappings):
                self._compiled.expect(event.pid)
        elif isinstance(event, Exited):
            self._read_again.pop(event.pid, None)
            self._compiled.end(event.pid)

    def follow_compiled(self, advance: Callable[[int], int | None]) -> bool:
        """Look at the maps of code that processes have compiled; whether there are any. Where code has got another name
        `advance` begins a new generation of the process and gives its number, None if nobody records it."""
        while self._images.uncounted:
            advance(self._images.uncounted.pop())
        for pid, place in self._compiled.moved(self._program_of):
            generation = advance(pid)
            if generation is not None:
                self._images.rename_code(pid, generation, place)
        return self._compiled.are_growing

    def _program_of(self, pid: int) -> int:
        image = self._images.present(pid)
        return pid if image is None else image.base << 32 | pid

    def _compiled_name(self, process: int, address: int) -> tuple[str, str, int] | None:
        image = self._images.find(process)
        if image is None:
            return self._compiled.symbolize(process, address)
        return self._compiled.symbolize(image.base << 32 | split(process)[0], address, image.named)

    def _origin(self, pid: int, image: Image, address: int) -> object:
        """What names an address in an image."""
        mapping = image.find(address)
        found = origin(mapping) if mapping is not None else None
        if found is not None and mapping is not None and not mapping.may_be_compiled:
            return found
        return self._compiled.symbolize(image.base << 32 | pid, address, image.named) or found

    def close(self) -> None:
        """Close files."""
        self._compiled.close()

    def release(self, held: Callable[[], Collection[int]]) -> None:
        """Give up what processes had mapped of which nobody can ask for names any more, if that is much; `held` as in
        `Images.release`."""
        if self._images.are_many:
            self._images.release(held(), self._running())
        self._images.settle()

    def _running(self) -> frozenset[int] | None:
        """The processes that there are, None if that is not known."""
        try:
            names = os.listdir(self._proc) if self._proc else []
        except OSError:
            return None
        return frozenset(int(each) for each in names if each.isdigit()) or None

    @property
    def changes(self) -> int:
        """Another number each time that an address may have got another name."""
        return self._compiled.changes

    def refused(self) -> list[tuple[str, str]]:
        """The paths of files that could not be read to the end as it takes too much, and why."""
        return [*self._objects.refused(), *self._compiled.refused()]

    @property
    def forgotten(self) -> int:
        """Past images of processes that were given up for want of room."""
        return self._images.forgotten

    def look(self, pid: int) -> bool:
        """Read what a process has mapped; False if it is gone or may not be looked at."""
        began = time.monotonic()
        try:
            mappings = parse_maps(maps_text(pid, self._proc))
        except OSError:
            return False
        if not mappings:
            return False
        self.take(MappingsSnapshot(0, pid, 0, mappings))
        now = time.monotonic()
        self._read_again[pid] = now + _PATIENCE * (now - began)
        return True

    def keep_files(self, pid: int) -> None:
        """Open the files that a process has mapped: they may be deleted, or written anew, before names are wanted."""
        for image in self._images.all(pid):
            self._keep(pid, image.objects())

    def _keep(self, pid: int, mappings: Iterable[Mapping]) -> None:
        for mapping in mappings:
            if mapping.executable:
                self._objects.keep(pid, mapping)

    def symbolize(self, process: int, address: int) -> tuple[str, str | None, int] | None:
        """The object of an address, the symbol in it and the distance from the symbol's start.

        Without a symbol the distance is the address as the object was linked (its file offset if the object cannot be
        read). None for memory that is no file's, or if nothing is known of the process.
        """
        place = self.place(process, address)
        if place is None:
            return self._compiled_name(process, address)
        if place.is_linked:
            names = self._objects.names(split(process)[0], place.mapping)
            found = names.symbolize(place.linked) if names else None
            return (place.path, *found) if found else (place.path, None, place.linked)
        return self._compiled_name(process, address) or (place.path, None, place.linked)

    def start(self, process: int, address: int) -> int | None:
        """The link-time address at which a function without a symbol begins, None if that is not known."""
        place = self.place(process, address)
        names = self._objects.names(split(process)[0], place.mapping) if place and place.is_linked else None
        return names.start(place.linked) if names and place else None

    def inlined(self, process: int, address: int) -> tuple[str, ...]:
        """The functions whose inlined copies an address is in, the innermost first."""
        place = self.place(process, address)
        names = self._objects.names(split(process)[0], place.mapping) if place and place.is_linked else None
        return names.inlined(place.linked) if names and place else ()

    def mapping(self, process: int, address: int) -> Mapping | None:
        """What a process has, or had, mapped at an address."""
        place = self.place(process, address)
        return place.mapping if place is not None else None

    def build(self, process: int, address: int) -> tuple[str, int] | None:
        """The build id of the file that an address is in, and the offset in that file."""
        mapping = self.mapping(process, address)
        try:
            file = self._objects.file(split(process)[0], mapping) if mapping is not None else None
            found = file.build_id if file is not None else None
        except ElfError:
            return None
        return (found, address - mapping.start + mapping.offset) if found and mapping is not None else None

    def code(self, process: int, address: int, size: int) -> bytes:
        """What the file of an address has there, b"" if it is in none."""
        place = self.place(process, address)
        file = self._objects.file(split(process)[0], place.mapping) if place and place.is_linked else None
        try:
            return file.bytes_at(place.linked, size) if file and place else b""
        except ElfError:
            return b""

    def place(self, process: int, address: int) -> CodePlace | None:
        """Where an address lies, None if it is in no object."""
        pid, _ = split(process)
        self._settle(process)
        found = self._known(process, address)
        if found is None:
            self._take_all()
            found = self._known(process, address)
        if found is None and time.monotonic() >= self._read_again.get(pid, 0) and self.look(pid):
            found = self._known(process, address)
        return found

    def canonical(self, stack: bytes) -> bytes:
        """The one of all stacks (`consume/stacks.py`) of a process in which each address has the same name."""
        return self._same.canonical(stack)

    def _settle(self, process: int) -> None:
        """Take up what the process had mapped when it was seen like this for the first time: what it has mapped since
        another generation may not be known yet."""
        if process >> 32 and self._settled.get(process) is None:
            self._settled.put(process, True)
            self._take_all()

    def _take_all(self) -> None:
        for event in self._pull():
            self.take(event)

    def _known(self, process: int, address: int) -> CodePlace | None:
        image = self._images.find(process)
        return None if image is None else self._within(image, split(process)[0], address)

    def _within(self, image: Image, pid: int, address: int) -> CodePlace | None:
        mapping = image.find(address)
        if mapping is not None:
            return self._in_mapping(pid, mapping, address) if mapping.is_object else None
        return self._in_data(image, pid, address)

    def _in_mapping(self, pid: int, mapping: Mapping, address: int) -> CodePlace:
        offset = address - mapping.start + mapping.offset
        try:
            file = self._objects.file(pid, mapping)
            linked = file.address_at(offset) if file else None
        except ElfError:
            linked = None
        return CodePlace(mapping, offset, False) if linked is None else CodePlace(mapping, linked, True)

    def _in_data(self, image: Image, pid: int, address: int) -> CodePlace | None:
        """Data lie where code and the object's segments say: only what may be executed is followed."""
        for mapping in image.objects():
            try:
                file = self._objects.file(pid, mapping)
                linked = file.address_at(mapping.offset) if file else None
                if file is None or linked is None:
                    continue
                at = address - mapping.start + linked
                if any(s.address <= at < s.address + s.memory_size for s in file.segments):
                    return CodePlace(mapping, at, True)
            except ElfError:
                continue
        return None
