"""The sites of all static probes of a program, whoever has described them."""

from __future__ import annotations

from sonde.arch import object_files
from sonde.symbols.elf import dof, stapsdt
from sonde.symbols.elf.file import ElfFile
from sonde.symbols.elf.static_note import Note

SECTIONS = (stapsdt.SECTION, dof.SECTION)
"""A file without any of these has none."""


def notes_of(file: ElfFile) -> list[Note]:
    """Those of its notes, then those of DOF. Raises ElfError."""
    found = stapsdt.notes_of(file)
    if file.machine == object_files.MACHINE and file.is_64_bit:
        found += dof.notes_of_dof(file)
    return found
