"""Static probes (USDT) that sections and probe lines name: their sites in a file, and arguments by name."""

from __future__ import annotations

import os
import re

from sonde.model.location import lowest
from sonde.model.probe import StaticArgument, StaticSite, Uprobe
from sonde.objects.errors import ObjectError
from sonde.objects.lines import ProbeLine, WantedVariable
from sonde.objects.paths import FoundVariable, Reached, follow
from sonde.objects.traceable_code import TraceableCode
from sonde.objects.user import EVERY_PROCESS, found_file
from sonde.providers.static_sites import ARGUMENT_TYPES, SiteError, site_of
from sonde.symbols.dwarf.expressions import UnsupportedError
from sonde.symbols.dwarf.fetching import steps
from sonde.symbols.elf.file import ElfError
from sonde.symbols.elf.static_notes import notes_of

_ARGUMENT = re.compile(r"arg\d+")


def static_sites(path: str, provider: str, name: str, section: str, traceable: TraceableCode) -> tuple[StaticSite, ...]:
    """All sites of a probe in the file. Raises ObjectError."""
    if not os.path.isfile(path):
        raise ObjectError(f"{section}: there is no file {path}")
    code = traceable.functions_of(path, section)
    try:
        known = notes_of(code.loaded.file)
    except ElfError as error:
        raise ObjectError(f"{section}: {path}: {error}") from None
    notes = [each for each in known if (each.provider, each.name) == (provider, name)]
    if not notes:
        there = sorted({f"{each.provider}:{each.name}" for each in known})
        hint = f"it has {', '.join(there[:12])}" if there else "it has no static probes (notes in .note.stapsdt)"
        raise ObjectError(f"{section}: {path} has no static probe {provider}:{name}", hint)
    try:
        return tuple(dict.fromkeys(site_of(code, each) for each in notes))
    except SiteError as error:
        raise ObjectError(f"{section}: {provider}:{name} of {path} cannot be used: {error}") from None


def section_sites(
    rest: str, section: str, traceable: TraceableCode
) -> tuple[tuple[Uprobe, ...], tuple[StaticSite, ...]]:
    """The firings of `PATH:PROVIDER:NAME` in every process, and their sites. Raises ObjectError."""
    path, _, names = rest.partition(":")
    provider, colon, name = names.partition(":")
    if not (path and provider and colon and name):
        raise ObjectError(f"{section} does not name a static probe", 'write SEC("usdt/PATH:PROVIDER:NAME")')
    where = found_file(path)
    sites = static_sites(where, provider, name, section, traceable)
    return tuple(firing(where, each, section, traceable) for each in sites), sites


def firing(path: str, site: StaticSite, section: str, traceable: TraceableCode) -> Uprobe:
    """The uprobe at a site of the file, in every process. Raises ObjectError."""
    file = traceable.functions_of(path, section).identity
    return Uprobe(EVERY_PROCESS, path, site.offset, "static", site.semaphore, file=file)


def is_argument(wanted: WantedVariable) -> bool:
    """Whether it is called as arguments of static probes are, `arg0` and so on."""
    return _ARGUMENT.fullmatch(wanted.name) is not None


def static_argument(line: ProbeLine, site: StaticSite, wanted: WantedVariable) -> FoundVariable:
    """An argument of the static probe that a line names, at one of its sites. Raises ObjectError."""
    names = [f"arg{number}" for number in range(len(site.arguments))]
    if wanted.name not in names:
        known = ", ".join(names) or "no arguments"
        raise ObjectError(f"{line.function} has no argument {wanted.name}", f"it has {known}")
    argument: StaticArgument = site.arguments[names.index(wanted.name)]
    if argument.value is None:
        raise ObjectError(f"{wanted.text} of {line.function} cannot be had: {argument.reason}")
    kind = ARGUMENT_TYPES[argument.size, argument.is_signed]
    try:
        return follow(Reached(kind, steps(lowest(argument.value, argument.size)), False), wanted)
    except UnsupportedError as error:
        raise ObjectError(f"{wanted.text} of {line.function}: {error}") from None
