"""The D libraries: sonde's own, and every `.d` file in the directories of -L, whose `depends_on` must be satisfied."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from sonde import arch, resources
from sonde.frontends.d.source import ProgramSource
from sonde.model.errors import ProgramError
from sonde.model.options import OptionTable
from sonde.untrusted import read_regular, text_of

_LARGEST = 4 << 20
"""Bytes of a library."""

_OWN = ("frontends", "d", "library")
"""The directory of the package; what is true of one processor is in one of its own."""


def libraries(options: OptionTable) -> list[ProgramSource]:
    """The libraries, to be parsed as far as they are used. Raises ProgramError."""
    if options.on("nolibs"):
        return []
    found: dict[str, ProgramSource] = {}
    places = _OWN, ("arch", arch.folder(), "library")
    own = {name: place for place in places for name in filter(_is_library, resources.names(*place))}
    for name, directory in sorted(own.items()):
        text, path = resources.text(*directory, name), os.path.join(resources.PLACE, *directory, name)
        found[name] = ProgramSource(text, path, is_own=True)
    for path in options.texts("libdir"):
        for name in _names(path):
            found[name] = _read(os.path.join(path, name))
    _check_dependencies({name: _dependencies(source.text) for name, source in found.items()})
    return list(found.values())


def _is_library(name: str) -> bool:
    return name.endswith(".d")


def _names(directory: str) -> list[str]:
    try:
        return sorted(filter(_is_library, os.listdir(directory)))
    except FileNotFoundError:
        # As with -I, a directory that is not there has nothing to offer.
        return []
    except OSError as error:
        raise ProgramError(f"failed to read library directory {directory}: {error.strerror}") from None


def _read(path: str) -> ProgramSource:
    try:
        return ProgramSource(text_of(read_regular(path, _LARGEST)), path)
    except OSError as error:
        raise ProgramError(f"failed to open {path}: {error.strerror}") from None


def _dependencies(text: str) -> list[str]:
    return re.findall(r"^#\s*pragma\s+D\s+depends_on\s+library\s+(\S+)", text, re.MULTILINE)


def _check_dependencies(needs: Mapping[str, list[str]]) -> None:
    """Every library needed is there, and none needs itself."""
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            chain = " -> ".join((*path[path.index(name) :], name))
            raise ProgramError(f"failed to load libraries: they depend on each other: {chain}")
        if name in done:
            return
        for needed in needs[name]:
            if needed not in needs:
                raise ProgramError(f"failed to load library {name}: it depends on {needed}, which is not there")
            visit(needed, (*path, name))
        done.add(name)

    for name in needs:
        visit(name, ())
