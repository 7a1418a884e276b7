"""The names by which descriptions may mean a probe of a process, besides those that the probe has: a function's other
symbols, and what else its file is called. A replay may be where neither the process nor the file is."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from sonde import others
from sonde.engines.fired import OtherNames
from sonde.model.probe import Probe, StaticProbe, Uprobe
from sonde.symbols.code_objects import CodeObjects
from sonde.symbols.elf.errors import CostError
from sonde.symbols.elf.library_search import spellings
from sonde.symbols.functions import PROGRAM, CodeObject

_STATIC = "usdt"
"""The provider whose probes have that of the source in the place of a function."""

_ROOT = re.compile(r"/proc/[0-9]+/root(?=/)")


def other_names(probes: Sequence[Probe]) -> tuple[OtherNames, ...]:
    """Those of probes of this machine, as far as their files tell."""
    objects = CodeObjects()
    found = []
    for place, probe in enumerate(probes):
        firing = probe.firing
        if not isinstance(firing, (Uprobe, StaticProbe)):
            continue
        modules = _without(_modules(firing, probe.module), probe.module)
        functions: tuple[str, ...] = ()
        if not (isinstance(firing, StaticProbe) and probe.provider.startswith(_STATIC)):
            offsets = (firing.offset,) if isinstance(firing, Uprobe) else [each.offset for each in firing.sites]
            file = next(iter(objects.files(firing.path)), None)
            functions = _without(_functions(file, probe.function, offsets), probe.function) if file else ()
        if modules or functions:
            found.append(OtherNames(place, modules, functions))
    return tuple(found)


def _without(names: Iterable[str], own: str) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys(names) if name != own)


def _modules(firing: Uprobe | StaticProbe, module: str) -> Iterator[str]:
    """What a description may call the file: as libraries are called, by its path, and the program itself PROGRAM."""
    path = others.real_path(firing.path)
    where = path[found.end() :] if (found := _ROOT.match(path)) else path
    yield where
    if module == PROGRAM or (firing.pid and _is_program(firing)):
        yield PROGRAM
        yield os.path.basename(where)
        return
    yield from spellings(os.path.basename(module))
    yield from spellings(os.path.basename(where))


def _is_program(firing: Uprobe | StaticProbe) -> bool:
    try:
        return others.is_same(firing.path, f"/proc/{firing.pid}/exe")
    except OSError:
        return False


def _functions(file: CodeObject, function: str, offsets: Iterable[int]) -> Iterator[str]:
    """All names of the function, and, where another one was chosen for it (STT_GNU_IFUNC), those of both."""
    try:
        for each in file.find(function):
            yield from sorted(file.names(each))
        for offset in offsets:
            address = file.loaded.file.address_at(offset)
            there = file.containing(address) if address is not None else None
            if there is not None:
                yield from sorted(file.names(there))
    except CostError:
        return
