"""The sites that one program serves: its table, and what is attached."""

from __future__ import annotations

import contextlib
import struct

from sonde.engines.base import SiteOfFile, Tracing
from sonde.everywhere.naming import Naming
from sonde.everywhere.rows import SiteRow, packed
from sonde.model.errors import EngineError
from sonde.model.named_maps import SITES
from sonde.model.probe import StaticPattern
from sonde.model.spec import ProgramSpec, SitesSpec, TracingSpec
from sonde.providers.static_files import NamedSite, StaticFile
from sonde.symbols.elf.errors import CostError

_ONLY_KEY = struct.pack("<I", 0)


class SiteTable:
    """Of a program that waits for sites, of the process `pid` or, if that is 0, of all. `refused` has files some of
    whose probes do not fire, and why."""

    def __init__(self, spec: TracingSpec, program: ProgramSpec, tracing: Tracing, naming: Naming) -> None:
        assert program.sites is not None
        self._program = program
        self._sites: SitesSpec = program.sites
        self._patterns = [p.probe.firing for p in program.probes if isinstance(p.probe.firing, StaticPattern)]
        self.pid = self._patterns[0].pid
        self._tracing = tracing
        self._naming = naming
        self._table = bytearray(next(each.value_size for each in spec.maps if each.name == self._sites.map))
        self._row_size = len(self._table) // SITES
        self._used = 0
        self._done: set[StaticFile] = set()
        self.refused: list[tuple[str, str]] = []

    def prepare(self, file: StaticFile) -> None:
        """Read what it takes to attach to a file. Sonde is slower once its own interpreter has probes."""
        with contextlib.suppress(CostError):  # which `attach` tells
            for pattern in self._patterns:
                file.matching(pattern)

    def attach(self, file: StaticFile) -> bool:
        """Attach to the sites of a file, once; whether there are any."""
        if file in self._done:
            return False
        self._done.add(file)
        try:
            matched = self._matched(file)
        except CostError as error:
            self.refused.append((file.found, str(error)))
            return False
        if not matched:
            return False
        room = SITES - self._used
        if len(matched) > room:
            text = f"{len(matched) - room} of its sites are beyond the {SITES} that there is room for"
            self.refused.append((file.found, text))
        first, found = self._used, list(matched.items())[:room]
        self._used += len(found)
        for number, (site, mask) in enumerate(found, first):
            self._put(number, self._row(site, mask))
        self._tracing.write_map(self._sites.map, _ONLY_KEY, bytes(self._table))
        self._naming.tell()
        places = [SiteOfFile(each.site.offset, each.site.semaphore, first + n) for n, (each, _) in enumerate(found)]
        try:
            self._tracing.attach_sites(self._program.name, file.path, places, self.pid)
        except EngineError as error:
            self.refused.append((file.found, error.text))
        return True

    def _matched(self, file: StaticFile) -> dict[NamedSite, tuple[int, ...]]:
        """The sites in the order of the file's notes, each once, with the clauses of all patterns that match it.
        Raises CostError."""
        matched: dict[NamedSite, tuple[int, ...]] = {}
        for pattern, mask in zip(self._patterns, self._sites.masks, strict=True):
            for site in file.matching(pattern):
                before = matched.get(site, (0,) * len(mask))
                matched[site] = tuple(one | other for one, other in zip(before, mask, strict=True))
        return matched

    def _row(self, site: NamedSite, mask: tuple[int, ...]) -> SiteRow:
        number = self._naming.number
        names = number(site.provider), number(site.module), number(site.function), number(site.name)
        probe = self._naming.probe(site.provider, site.module, site.function, site.name)
        return SiteRow(probe.id, names, mask, site.site.arguments)

    def _put(self, number: int, row: SiteRow) -> None:
        content = packed(row, self._sites.arguments)
        start = number * self._row_size
        self._table[start : start + len(content)] = content
