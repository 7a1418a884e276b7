"""Build ids: of the kernel, its modules, and the files that processes have mapped."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator

from sonde.formats.perf_features import BuildId
from sonde.recording.running import KERNEL, modules
from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.untrusted import read_kernel

_NOTE = struct.Struct("=III")
_GNU_BUILD_ID = 3


def note_of(data: bytes) -> bytes:
    """The build id in ELF notes, b"" if there is none."""
    at = 0
    while at + _NOTE.size <= len(data):
        name_size, size, kind = _NOTE.unpack_from(data, at)
        start = at + _NOTE.size + (name_size + 3 & ~3)
        if kind == _GNU_BUILD_ID and data[at + _NOTE.size :][:name_size] == b"GNU\0":
            return data[start : start + size]
        at = start + (size + 3 & ~3)
    return b""


def of_kernel() -> Iterator[BuildId]:
    """Those of the running kernel and its modules."""
    sources = [(KERNEL, "/sys/kernel/notes")]
    sources += [(each.path, f"/sys/module/{each.name}/notes/.note.gnu.build-id") for each in modules()]
    for path, notes in sources:
        try:
            found = note_of(read_kernel(notes))
        except OSError:
            continue
        if found:
            yield BuildId(path, found, True)


def of_files(paths: Iterable[str]) -> Iterator[BuildId]:
    """Those of files that have one and can be read."""
    for path in paths:
        if not os.path.isfile(path):
            continue
        try:
            found = ElfFile.open(path).build_id
        except (OSError, ElfError):
            continue
        if found:
            yield BuildId(path, bytes.fromhex(found), False)
