"""The files that recorded probes are in: firings call them as the recorded processes did, by names in /proc, which are
nowhere, or others', when the recording is replayed."""

from __future__ import annotations

from collections.abc import Iterable

from sonde import others
from sonde.model.probe import Probe, StaticProbe, Uprobe
from sonde.recording.build_ids import of_files
from sonde.typed import NamedTuple


class ProbedFile(NamedTuple):
    """What firings call a file, where it lay, and its build id in hexadecimal."""

    name: str
    path: str
    build_id: str


def probed_files(probes: Iterable[Probe]) -> tuple[ProbedFile, ...]:
    """Those of probes of this machine that have a build id: others could not be told from what takes their place."""
    names = {each.firing.path: None for each in probes if isinstance(each.firing, (Uprobe, StaticProbe))}
    return tuple(
        ProbedFile(name, others.real_path(name), found.id.hex()) for name in names for found in of_files((name,))
    )


def still_there(files: Iterable[ProbedFile], name: str) -> str:
    """Where the file lies that firings call so; "" where it is not there, or another one."""
    return next((each.path for each in files if each.name == name and _build_id(each.path) == each.build_id), "")


def _build_id(path: str) -> str:
    return next((found.id.hex() for found in of_files((path,))), "")
