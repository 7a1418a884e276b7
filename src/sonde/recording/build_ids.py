"""Build ids: of the kernel, its modules, and the files that processes have mapped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sonde import others
from sonde.formats.perf_features import BuildId
from sonde.recording.running import KERNEL, modules
from sonde.symbols.build_ids import build_id, notes_of_kernel, notes_of_module
from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.symbols.mappings import Mapping
from sonde.symbols.objects import is_inode


def of_kernel() -> Iterator[BuildId]:
    """Those of the running kernel and its modules."""
    sources = [(KERNEL, notes_of_kernel())]
    sources += [(each.path, notes_of_module(each.name)) for each in modules()]
    for path, notes in sources:
        found = build_id(notes)
        if found:
            yield BuildId(path, bytes.fromhex(found), True)


def of_files(paths: Iterable[str]) -> Iterator[BuildId]:
    """Those of files that have one and can be read."""
    for path in paths:
        if not others.is_file(path):
            continue
        try:
            found = ElfFile.open(path).build_id
        except (OSError, ElfError):
            continue
        if found:
            yield BuildId(path, bytes.fromhex(found), False)


def of_mapping(mapping: Mapping) -> str:
    """That of the file that is mapped, in hexadecimal; "" where it has none, or is not at its path."""
    if not is_inode(mapping.path, mapping.inode):
        return ""
    return next((each.id.hex() for each in of_files((mapping.path,))), "")
