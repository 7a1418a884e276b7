"""Probes in programs and libraries: uprobe, uretprobe and usdt."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress

from sonde.frontends.bpftrace.check.globs import is_glob
from sonde.frontends.bpftrace.check.scope import AttachedProbes
from sonde.frontends.bpftrace.errors import BtError
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model.catalog import Catalog
from sonde.model.errors import NO_FUNCTION, OUTSIDE_FUNCTION, ProgramError, SourceError
from sonde.model.probe import Probe, Uprobe
from sonde.typed import NamedTuple

_POSITION = re.compile(r"(.+)@([^:@]+):([0-9]{1,9})(?::[0-9]+)?")
"""FILE@SOURCE:LINE, and a column, which does not matter: all places of a line are meant."""

_CPP = "cpp"
_OUTERMOST = "::"
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|[0-9]+")
_MOST_FILES = 4096
_PROCESSES = "/proc/"


class UserPlace(NamedTuple):
    """The file, where in it, and what is added to that: `function` is a name, a source position or, if `is_address`,
    unused for the address `offset`. `is_cpp`: the name is one of the source."""

    path: str
    function: str
    offset: int = 0
    is_address: bool = False
    is_cpp: bool = False


def functions(point: nodes.AttachPoint, kind: str, rest: str, catalog: Catalog, process: int) -> list[AttachedProbes]:
    """The probes of a description. Raises SourceError."""
    place = _place(point, kind, rest)
    if kind == "uretprobe" and (place.offset or place.is_address):
        raise BtError("Offset not allowed", point.at)
    _require_file(point, kind, place.path, catalog)
    found: list[AttachedProbes] = []
    for path, provider in _homes(place.path, process, catalog):
        found += _of_file(point, kind, place._replace(path=path), provider, catalog)
    return found


def _require_file(point: nodes.AttachPoint, kind: str, path: str, catalog: Catalog) -> None:
    """Raises BtError for a path that leads nowhere; names of libraries are looked up."""
    if "/" in path and not is_glob(path) and not catalog.files(path):
        raise BtError(f"{kind.replace('ret', '')} target file '{path}' does not exist or is not executable", point.at)


def _homes(path: str, process: int, catalog: Catalog) -> list[tuple[str, str]]:
    """The files that a path means, and the provider of each: a wildcard alone means all that the process has mapped."""
    if path == "*":
        return [("", f"pid{process}")] if process else []
    if not is_glob(path):
        return [(path, "uprobe")]
    return [(each, "uprobe") for each in catalog.files(path)[:_MOST_FILES]]


def _place(point: nodes.AttachPoint, kind: str, rest: str) -> UserPlace:
    found = _POSITION.fullmatch(rest)
    if found is not None:
        return UserPlace(found[1], f"{found[2]}@{found[3]}")
    path, colon, function = rest.rpartition(":")
    # Names of C++ have colons.
    before, qualifier, name = rest.partition(f":{_CPP}:")
    if qualifier:
        path, function = before, name
    if not colon or not path or not function:
        count = len([each for each in rest.split(":") if each])
        raise BtError(f"{kind} probe type requires 2 or 3 arguments, found {count}", point.at)
    if _NUMBER.fullmatch(function):
        return UserPlace(path, "", int(function, 0) if function != "0" else 0, True)
    name, plus, offset = function.rpartition("+")
    if function.count("+") > 1 and not qualifier:
        raise BtError("Cannot take more than one offset", point.at)
    if plus and _NUMBER.fullmatch(offset):
        return UserPlace(path, name, int(offset, 0), is_cpp=bool(qualifier))
    if plus and name and not qualifier:
        raise BtError(f"Invalid offset: {offset}", point.at)
    return UserPlace(path, function, is_cpp=bool(qualifier))


def _of_file(
    point: nodes.AttachPoint, kind: str, place: UserPlace, provider: str, catalog: Catalog
) -> list[AttachedProbes]:
    if place.is_address:
        return _at_address(point, kind, place, catalog)
    event = "return" if kind == "uretprobe" else "entry"
    if "@" in place.function:
        event = ""
    elif place.offset:
        event = f"{place.offset:x}"
    try:
        probes = _matching(place, provider, event, catalog)
    except SourceError as error:
        if error.kind == NO_FUNCTION and is_glob(point.text):
            return []
        if error.kind == OUTSIDE_FUNCTION and error.about:
            name, size = error.about
            text = f"Offset outside the function bounds ('{name}' size is {size})"
            raise BtError(text, point.at) from None
        raise
    added = f"+{place.offset}" if place.offset else ""
    return _each(point, kind, probes, lambda probe: f"{_path(place, probe)}:{_function(place, probe)}{added}")


def _matching(place: UserPlace, provider: str, event: str, catalog: Catalog) -> Sequence[Probe]:
    """The probes of a name, one of the source as it is from the outermost scope on if there is such a function. Raises
    SourceError."""
    if place.is_cpp:
        try:
            found = catalog.match(provider, place.path, f"{_OUTERMOST}{place.function}", event)
            if found:
                return found
        except SourceError as error:
            if error.kind != NO_FUNCTION:
                raise
    return catalog.match(provider, place.path, place.function, event)


def _at_address(point: nodes.AttachPoint, kind: str, place: UserPlace, catalog: Catalog) -> list[AttachedProbes]:
    try:
        probes = catalog.match("uprobe", place.path, "-", f"{place.offset:x}")
    except SourceError:
        text = f"Could not resolve address: {place.path}:0x{place.offset:x}"
        raise ProgramError(f"ERROR: {text}") from None
    return _each(point, kind, probes, lambda probe: f"{_path(place, probe)}:{place.offset:#x}")


def _path(place: UserPlace, probe: Probe) -> str:
    """As it is written; what stands for several, or is looked for, by the file's own path."""
    if "/" in place.path and not is_glob(place.path):
        return place.path
    if probe.provider == "uprobe":
        return probe.module
    return _home(probe.firing.path) if isinstance(probe.firing, Uprobe) else place.path


def _home(path: str) -> str:
    """Where a file lies that is opened through its process."""
    if path.startswith(_PROCESSES):
        with suppress(OSError):
            return os.readlink(path)
    return path


def _function(place: UserPlace, probe: Probe) -> str:
    return probe.function if is_glob(place.function) else place.function


def _each(
    point: nodes.AttachPoint, kind: str, found: Sequence[Probe], text: Callable[[Probe], str]
) -> list[AttachedProbes]:
    return [AttachedProbes(point, f"{kind}:{text(probe)}", kind, (probe,)) for probe in found]


def static(point: nodes.AttachPoint, kind: str, rest: str, catalog: Catalog, process: int) -> list[AttachedProbes]:
    """The static probes of a description: of files, or of the process that is traced. Raises SourceError."""
    fields = rest.split(":")
    if len(fields) not in (2, 3) or not all((fields[0], fields[-1])):
        raise BtError(f"usdt probe type requires 2 or 3 arguments, found {len([x for x in fields if x])}", point.at)
    path, name, namespace = fields[0], fields[-1], fields[1] if len(fields) == 3 else ""
    _require_file(point, kind, path, catalog)
    if path == "*" and not process:
        return _everywhere(point, kind, namespace, name, catalog)
    if path == "*":
        homes = [("", f"usdt{process}")]
    else:
        homes = [(each, "usdt") for each, _ in _homes(path, 0, catalog)]
    found: list[AttachedProbes] = []
    for home, provider in homes:
        probes = catalog.match(provider, home, namespace, name)
        place = UserPlace(home or path, name)
        found += _each(point, kind, probes, lambda probe, at=place: f"{_path(at, probe)}:{_named(probe)}")  # type: ignore[misc]
    return found


def _everywhere(
    point: nodes.AttachPoint, kind: str, namespace: str, name: str, catalog: Catalog
) -> list[AttachedProbes]:
    """What stands for the static probes of all processes, those to come included."""
    probe = catalog.awaited(f"{namespace or '*'}*" if not is_glob(namespace) else namespace, "", "", name)
    return [AttachedProbes(point, f"{kind}:*:{namespace or '*'}:{name}", kind, (probe,))] if probe else []


def _named(probe: Probe) -> str:
    return f"{probe.function}:{probe.name}"
