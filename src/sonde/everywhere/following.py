"""Files with static probes that a program waits for: those that processes have mapped when tracing begins, and those
that are mapped later. A uprobe is of a file, so one that is known fires in every process that maps it from then on,
at its first instruction; only a file that no process has had mapped before is attached to when sonde hears of it."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Sequence

from sonde.engines.base import EngineError, ProcessEvents, SiteOfFile, Tracing
from sonde.everywhere.rows import Row, packed
from sonde.probe import Probe, StaticArgument, StaticPattern, StaticProbe
from sonde.probes.static_files import NamedSite, StaticFile, StaticFiles
from sonde.spec import NAMES_MAP, NAMES_ROOM, SITES, ProgramSpec, SitesSpec, TracingSpec
from sonde.symbols.process_events import Mapped
from sonde.typed import NamedTuple

_U32 = struct.Struct("<I")

Learn = Callable[[Sequence[Probe]], None]
"""Tells whoever shows records of probes that were not known before."""


class Late(NamedTuple):
    """A file that was mapped for the first time while tracing, and seconds from then to when its probes fired."""

    path: str
    delay: float


class Summary(NamedTuple):
    """What may be missing: files that came late, those of which some probes could not be attached to and why, files
    that were gone before they could be read, and what processes mapped that is not known."""

    late: tuple[Late, ...]
    refused: tuple[tuple[str, str], ...]
    unreadable: int
    lost: int


class _Found(NamedTuple):
    """A site that is attached to: its row, and where in the file it is."""

    row: Row
    offset: int
    semaphore: int


class Everywhere:
    """Of the one program that serves all of them; `names` are the strings by their numbers, which grow."""

    def __init__(self, spec: TracingSpec, tracing: Tracing, names: list[bytes], learn: Learn) -> None:
        program = awaiting(spec)
        assert program is not None
        assert program.sites is not None
        self._program: ProgramSpec = program
        self._sites: SitesSpec = program.sites
        self._patterns = [p.probe.firing for p in program.probes if isinstance(p.probe.firing, StaticPattern)]
        self._tracing = tracing
        self._names = names
        self._numbers = {name: number for number, name in enumerate(names)}
        self._first_name = len(names)
        self._maps = spec.maps
        self._has_names = any(each.name == NAMES_MAP for each in spec.maps)
        self._learn = learn
        self._probes: dict[tuple[str, str, str, str], Probe] = {}
        self._next = max(probe.id for probe in spec.probes) + 1
        self._table = bytearray(next(each.value_size for each in spec.maps if each.name == self._sites.map))
        self._row_size = len(self._table) // SITES
        self._used = 0
        self._files = StaticFiles()
        self._done: set[StaticFile] = set()
        self._late: list[Late] = []
        self._refused: list[tuple[str, str]] = []
        # Before processes are looked at, so that none is between the two.
        self._events: ProcessEvents | None = tracing.process_events()

    @property
    def descriptors(self) -> Sequence[int]:
        """Readable when a process has mapped something."""
        return self._events.descriptors if self._events is not None else ()

    def begin(self) -> None:
        """Attach to what processes have mapped by now, and to what is installed and they may map: that fires from their
        first instruction on."""
        for pid in self._files.processes():
            for file in self._files.of(pid):
                self._attach(file)
        for file in self._files.installed():
            self._attach(file)
        self._files.unreadable = 0

    def poll(self) -> None:
        """Attach to what processes have mapped since the last time."""
        if self._events is None:
            return
        for event in self._events.read():
            if isinstance(event, Mapped):
                file = self._files.file(event.pid, event.mapping)
                if file is not None and self._attach(file):
                    delay = (time.monotonic_ns() - event.time) / 1e9
                    self._late.append(Late(event.mapping.path, delay))

    def summary(self) -> Summary:
        lost = self._events.lost if self._events is not None else 0
        return Summary(tuple(self._late), tuple(self._refused), self._files.unreadable, lost)

    @property
    def can_follow(self) -> bool:
        """Whether files that are mapped later are heard of."""
        return self._events is not None

    def _attach(self, file: StaticFile) -> bool:
        """Attach to the sites of a file, once; whether there are any."""
        if file in self._done:
            return False
        self._done.add(file)
        found = self._rows(file)
        if not found:
            return False
        room = SITES - self._used
        if len(found) > room:
            text = f"{len(found) - room} of its sites are beyond the {SITES} that there is room for"
            self._refused.append((file.found, text))
            del found[room:]
        first = self._used
        self._used += len(found)
        self._write(first, found)
        places = [SiteOfFile(each.offset, each.semaphore, first + n) for n, each in enumerate(found)]
        try:
            self._tracing.attach_sites(self._program.name, file.path, places)
        except EngineError as error:
            self._refused.append((file.found, error.text))
        return True

    def _rows(self, file: StaticFile) -> list[_Found]:
        """The sites in the order of the file's notes, each once, with the clauses of all patterns that match it."""
        matched: dict[NamedSite, tuple[int, ...]] = {}
        for pattern, mask in zip(self._patterns, self._sites.masks, strict=True):
            for site in file.matching(pattern):
                before = matched.get(site, (0,) * len(mask))
                matched[site] = tuple(one | other for one, other in zip(before, mask, strict=True))
        learned = len(self._probes)
        rows = []
        for named, mask in matched.items():
            names = named.provider, named.module, named.function, named.name
            numbers = tuple(map(self._number, names))
            row = _row(self._probe(file, names).id, numbers, mask, named.site.arguments)
            rows.append(_Found(row, named.site.offset, named.site.semaphore))
        self._learn(list(self._probes.values())[learned:])
        return rows

    def _probe(self, file: StaticFile, names: tuple[str, str, str, str]) -> Probe:
        if names not in self._probes:
            self._probes[names] = Probe(self._next, *names, StaticProbe(0, file.path, ()))
            self._next += 1
        return self._probes[names]

    def _number(self, name: str) -> int:
        """The number of a name, which is a string of the session from then on."""
        text = name.encode()
        if text not in self._numbers:
            self._numbers[text] = len(self._names)
            self._names.append(text)
            if self._has_names and self._numbers[text] < self._first_name + NAMES_ROOM:
                self._write_name(self._numbers[text], text)
        return self._numbers[text]

    def _write_name(self, number: int, text: bytes) -> None:
        size = next(each.value_size for each in self._maps if each.name == NAMES_MAP)
        self._tracing.write_map(NAMES_MAP, _U32.pack(number), text[: size - 1].ljust(size, b"\0"))

    def _write(self, first: int, found: Sequence[_Found]) -> None:
        for number, each in enumerate(found, first):
            row = packed(each.row, self._sites.arguments)
            start = number * self._row_size
            self._table[start : start + len(row)] = row
        self._tracing.write_map(self._sites.map, _U32.pack(0), bytes(self._table))


def _row(identifier: int, names: Sequence[int], mask: tuple[int, ...], arguments: tuple[StaticArgument, ...]) -> Row:
    provider, module, function, name = names
    return Row(identifier, (provider, module, function, name), mask, arguments)


def awaiting(spec: TracingSpec) -> ProgramSpec | None:
    """The program that serves static probes of all processes."""
    return next((program for program in spec.programs if program.sites is not None), None)
