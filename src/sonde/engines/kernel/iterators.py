"""Iterators: programs that the kernel runs for each task, file or element of a map when somebody reads (Linux 5.8,
Documentation/bpf/bpf_iterators.rst)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from sonde.directory_walk import place_of
from sonde.engines.kernel import commands
from sonde.engines.kernel.failures import explain
from sonde.engines.kernel.programs import LoadedProgram
from sonde.model.errors import EngineError
from sonde.model.probe import KernelIterator

_CHUNK = 1 << 16
_OBJECTS = 128
"""For so many objects, each of which a program writes a byte for, it is run at a time."""

_PINS = "/sys/fs/bpf"
_OF_TASKS = ("task", "task_file", "task_vma")
"""Those that a process narrows."""

_WHOLE = {"cgroup": 2}
"""Those that take a word to go over all there is: of control groups, from the root down
(BPF_CGROUP_ITER_DESCENDANTS_PRE, include/uapi/linux/bpf.h)."""


def written(program: LoadedProgram, map_descriptor: int) -> Iterator[bytes]:
    """What the program writes in one run over all there is; `map_descriptor` is the map whose elements it goes through,
    0 for none. Raises EngineError."""
    return _read(program, map_descriptor, 0, _CHUNK)


def fired(program: LoadedProgram, processes: Sequence[int]) -> Iterator[None]:
    """Run the program for all objects, or for those of these processes, if they are such that processes have; rests
    after some of them. Raises EngineError."""
    firing = program.probes[0].probe.firing
    name = firing.name if isinstance(firing, KernelIterator) else ""
    for process in (processes if name in _OF_TASKS else ()) or (0,):
        for _ in _read(program, _WHOLE.get(name, 0), process, _OBJECTS):
            yield


def _read(program: LoadedProgram, of: int, process: int, chunk: int) -> Iterator[bytes]:
    try:
        link = commands.link_iterator(program.descriptor, of, process)
        try:
            opened = commands.create_iterator(link)
        finally:
            os.close(link)
        try:
            while read := os.read(opened, chunk):
                yield read
        finally:
            os.close(opened)
    except OSError as error:
        raise explain(error, f"cannot run iterator {program.spec.name}") from None


def pinned(program: LoadedProgram, pin: str) -> tuple[int, bool, str]:
    """The link of a program that runs whenever somebody reads a file, and the file's path: see `links.Attachment`.
    Raises OSError, and EngineError where there can be no such file."""
    path = pin if pin.startswith("/") else f"{_PINS}/{pin}"
    firing = program.probes[0].probe.firing
    link = commands.link_iterator(
        program.descriptor, _WHOLE.get(firing.name, 0) if isinstance(firing, KernelIterator) else 0
    )
    try:
        with place_of(path) as place:
            commands.pin(link, f"/proc/self/fd/{place.directory}/{place.name}")
    except OSError as error:
        os.close(link)
        why = "it has to be in a BPF file system: mount -t bpf bpf /sys/fs/bpf"
        if isinstance(error, FileExistsError):
            why = "there is such a file already"
        raise EngineError(f"cannot pin iterator {program.spec.name} to {path}: {why} ({error.strerror})") from None
    return link, False, path
