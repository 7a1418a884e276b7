"""Static probes of programs (USDT), made as descriptions ask for them: `PROVIDER1234:OBJECT:FUNCTION:NAME` for one
process, or, by the name `usdt`, `usdt1234:OBJECT:PROVIDER:NAME` and, for whoever runs the file's code,
`usdt:/path/of/file:PROVIDER:NAME`.

They are in the notes of the objects that the process has mapped, or will by the name of a file. OBJECT is as pid probes
have it, FUNCTION the one that the probe's site is in, and in NAME two underscores of the source are a dash. The sites
of a probe in one function, by the name `usdt` in one object, are one probe, whatever their arguments' places.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property

from sonde.model.catalog import TypedArgument
from sonde.model.errors import BAD_OBJECT, NOT_PROBEABLE, OWN_PROCESS, SourceError
from sonde.model.probe import Probe, StaticPattern, StaticProbe, StaticSite
from sonde.providers.pattern import Pattern, matcher, plain
from sonde.providers.provider import STATIC, USDT
from sonde.providers.static_files import NamedSite, StaticFile, StaticFiles, is_every, shown_name
from sonde.providers.static_sites import ARGUMENT_TYPES, SiteError, site_of
from sonde.providers.user_functions import objects_called
from sonde.symbols.code_objects import CodeObjects
from sonde.symbols.elf.errors import CostError
from sonde.symbols.elf.file import ElfError
from sonde.symbols.elf.stapsdt import SECTION
from sonde.symbols.elf.static_note import Note
from sonde.symbols.elf.static_notes import notes_of
from sonde.symbols.functions import CodeObject
from sonde.typed import NamedTuple

_ANY = ARGUMENT_TYPES[8, True]
_FEW = 12

MOST_ARGUMENTS = 12
"""Arguments that sys/sdt.h has macros for."""


class _Place(NamedTuple):
    """A note that a description matches: its object, and the function that it is in."""

    object: CodeObject
    note: Note
    function: str


class _File(NamedTuple):
    """A path that opens a file, and the device and inode number of the file that was read."""

    path: str
    identity: tuple[int, int]


class _Wanted(NamedTuple):
    """A description: process `pid` (0: all), its provider's name or a glob for it, and the other fields.

    `is_usdt`: it is written by the name `usdt`, and its function is the provider.
    """

    pid: int
    provider: str
    module: str
    function: str
    name: str
    is_usdt: bool


def _file(each: CodeObject) -> _File:
    return _File(each.path, each.identity)


def _affordable(file: StaticFile, wanted: StaticPattern, process: str) -> list[NamedSite]:
    """The sites of a file that a description matches; none where telling takes too much, as a session then says."""
    try:
        return file.matching(wanted, process)
    except CostError:
        return []


class StaticProbes:
    """Keeps the probes it has made, so that each has one identifier."""

    def __init__(self, objects: CodeObjects) -> None:
        self._objects = objects
        self._probes: list[Probe] = []
        self._known: dict[tuple[str, str, str, str, StaticProbe], Probe] = {}
        self._notes: dict[_File, list[Note]] = {}
        self._awaited: dict[StaticPattern, Probe] = {}
        self._counts: dict[StaticPattern, int] = {}
        self._files = StaticFiles()

    def match(self, process: str, provider: str, pattern: Pattern) -> list[Probe]:
        """The probes of a process, by its number, that a pattern matches; `provider` is that without the number.

        With no number they are those of a file. None of a process that is not there or may not be looked at. A probe
        whose note leads nowhere is an error where it is named, and left out where a glob matches it. Raises
        SourceError.
        """
        pid = self._pid(process) if process else 0
        if process and not pid:
            return []
        wanted = _Wanted(pid, provider, *pattern[1:], False)
        if provider == STATIC:
            wanted = wanted._replace(provider=pattern.function, function="", is_usdt=True)
        found: dict[tuple[_File, tuple[str, str, str, str]], list[StaticSite]] = {}
        for place in self._matching(wanted):
            try:
                here = site_of(place.object, place.note)
            except SiteError as error:
                if plain(pattern.name):
                    raise _damaged(place, str(error)) from None
                continue
            found.setdefault((_file(place.object), _names(place, wanted)), []).append(here)
        return [self._probe(StaticProbe(pid, file.path, tuple(dict.fromkeys(sites)), file.identity), names)
                for (file, names), sites in found.items()]  # fmt: skip

    def everywhere(self, pattern: Pattern) -> list[Probe]:
        """The probes that a pattern matches in all processes that run, but this one: those of a process apart."""
        wanted = StaticPattern(*pattern)
        found: dict[tuple[int, str, tuple[str, str, str, str]], list[StaticSite]] = {}
        if self._objects.is_own_namespace():
            for pid, files in self._running:
                for file in files:
                    for provider, module, function, name, site in _affordable(file, wanted, str(pid)):
                        names = f"{provider}{pid}", module, function, name
                        found.setdefault((pid, file.path, names), []).append(site)
        made = [self._probe(StaticProbe(pid, path, tuple(dict.fromkeys(sites))), names)
                for (pid, path, names), sites in found.items()]  # fmt: skip
        self._counts[wanted] = sum(
            is_every(wanted, provider.removesuffix(str(pid))) for pid, _, (provider, *_) in found
        )
        return made

    @cached_property
    def _running(self) -> list[tuple[int, list[StaticFile]]]:
        """The processes that ran when this was asked first, with their files: all descriptions are of the same."""
        return [(pid, self._files.of(pid)) for pid in self._files.processes()]

    def count(self, probe: Probe) -> int:
        """How many of the probes that one of `awaited` stands for there were when they were last looked for."""
        return self._counts.get(probe.firing, 0) if isinstance(probe.firing, StaticPattern) else 1

    def awaited(self, pattern: Pattern, process: str = "") -> Probe | None:
        """What stands for all that a pattern with a glob for its provider matches, whatever the process's number; or
        for what it matches in a process, by its number, where the provider is without that. None if there is none."""
        pid = self._pid(process) if process else 0
        if process and not pid:
            return None
        firing = StaticPattern(*pattern, pid)
        if firing not in self._awaited:
            names = f"{pattern.provider or '*'}{process}", pattern.module, pattern.function, pattern.name
            self._awaited[firing] = Probe(self._number(), *names, firing)
            self._probes.append(self._awaited[firing])
        return self._awaited[firing]

    def is_awaited(self, probe: Probe, pattern: Pattern) -> bool:
        """Whether `awaited` stands for a probe of `everywhere`."""
        if not isinstance(probe.firing, StaticProbe) or not probe.firing.pid:
            return False
        return is_every(StaticPattern(*pattern), probe.provider.removesuffix(str(probe.firing.pid)))

    def by_id(self, identifier: int) -> Probe | None:
        index = identifier - USDT.first
        return self._probes[index] if 0 <= index < len(self._probes) else None

    def arguments(self, probe: Probe) -> tuple[TypedArgument, ...]:
        """`args[]` of the types that the notes tell; int64_t where sites differ, so that any of them fits."""
        if isinstance(probe.firing, StaticPattern):
            return tuple(TypedArgument(_ANY, _ANY, number) for number in range(MOST_ARGUMENTS))
        assert isinstance(probe.firing, StaticProbe)
        sites = [site.arguments for site in probe.firing.sites]
        common = []
        for number in range(min(map(len, sites), default=0)):
            found = {(each[number].size, each[number].is_signed) for each in sites}
            type_ = ARGUMENT_TYPES[found.pop()] if len(found) == 1 else _ANY
            common.append(TypedArgument(type_, type_, number))
        return tuple(common)

    def mismatch(self, process: str, provider: str, pattern: Pattern) -> str:
        """Why a description matches no probe, for people."""
        pid = self._pid(process) if process else 0
        if process and not pid:
            return f"there is no process {process[:10]} whose mappings can be read"
        objects = self._chosen(pid, pattern.module)
        if not objects:
            return f"there is no program or library {pattern.module}"
        where = f"process {pid}" if pid else pattern.module
        there = sorted({note.provider for each in objects for note in self._of(each)})
        if not there:
            return f"{where} has no static probes (notes in section {SECTION})"
        if not any(map(matcher(pattern.function if provider == STATIC else provider), there)):
            return f"the static probes of {where} are of {', '.join(there[:_FEW])}{' ...' * (len(there) > _FEW)}"
        return f"sonde -l -n '{provider}{process}:{pattern.module}::' shows the static probes there"

    def nobody_has(self, pattern: Pattern) -> str:
        """Why a glob for the providers of all processes matches no probe, for people."""
        there = sorted({probe.provider for probe in self.everywhere(Pattern(pattern.provider))})
        if not there:
            return f"no process that runs has static probes of {pattern.provider}, which -Z would wait for"
        return f"sonde -l -P '{pattern.provider}' shows the static probes that processes have"

    def _pid(self, process: str) -> int:
        """The process, 0 if there is none of that number here that may be looked at."""
        if process == str(os.getpid()):
            raise SourceError(OWN_PROCESS, f"process {process} is the tracer itself", about=(process,))
        if len(process) > 10 or not self._objects.is_own_namespace():
            return 0
        try:
            self._objects.of(int(process))
        except OSError:
            return 0
        return int(process)

    def _matching(self, wanted: _Wanted) -> Iterator[_Place]:
        is_provider, is_function = matcher(wanted.provider), matcher(wanted.function)
        is_name = matcher(wanted.name)
        for each in self._chosen(wanted.pid, wanted.module):
            for note in self._of(each):
                if is_provider(note.provider) and (is_name(shown_name(note.name)) or is_name(note.name)):
                    function = each.containing(note.location)
                    if function is None:
                        if is_function(""):
                            yield _Place(each, note, "")
                    elif is_function(function.name) or any(map(is_function, each.names(function))):
                        yield _Place(each, note, function.name)

    def _chosen(self, pid: int, module: str) -> list[CodeObject]:
        if not pid:
            if plain(module) is None:
                hint = f"the module is the path of a file, {STATIC}:/path/of/file:PROVIDER:NAME, or a program of PATH"
                raise SourceError(BAD_OBJECT, "a probe in a file needs that file's name", hint=hint)
            return self._objects.files(module)
        found = objects_called(self._objects.of(pid), module)
        return found if found or not plain(module) else self._objects.to_come(pid, module)

    def _of(self, each: CodeObject) -> list[Note]:
        file = _file(each)
        if file not in self._notes:
            try:
                self._notes[file] = notes_of(each.loaded.file)
            except ElfError:
                self._notes[file] = []
        return self._notes[file]

    def _probe(self, firing: StaticProbe, names: tuple[str, str, str, str]) -> Probe:
        key = *names, firing
        found = self._known.get(key)
        if found is None:
            found = Probe(self._number(), *names, firing)
            self._known[key] = found
            self._probes.append(found)
        return found

    def _number(self) -> int:
        number = USDT.first + len(self._probes)
        if number > USDT.last:
            raise SourceError(NOT_PROBEABLE, f"more than {USDT.last - USDT.first + 1} static probes")
        return number


def _names(place: _Place, wanted: _Wanted) -> tuple[str, str, str, str]:
    """The four names of the probe."""
    provider, name = place.note.provider, shown_name(place.note.name)
    if wanted.is_usdt:
        return f"{STATIC}{wanted.pid or ''}", place.object.name, provider, name
    return f"{provider}{wanted.pid}", place.object.name, place.function, name


def _damaged(place: _Place, why: str) -> SourceError:
    note = place.note
    text = f"probe {note.provider}:{place.object.name}::{shown_name(note.name)} cannot be used: {why}"
    return SourceError(NOT_PROBEABLE, text)
