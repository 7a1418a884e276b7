"""Structures by name in the DWARF of an object: its BTF has only those that maps, functions and global variables lead
to, and what programs write is mostly a variable of theirs.

The object is not linked. Places in other sections of debug information are right as they are: relocations are REL, so
the addend is in the section, and each section begins at 0.
"""

from __future__ import annotations

from sonde.model.types import Struct, Type
from sonde.objects.elf import ObjectFile
from sonde.objects.errors import ObjectError
from sonde.symbols.dwarf.abbreviations import AT_NAME
from sonde.symbols.dwarf.compression import debug_sections
from sonde.symbols.dwarf.errors import DebugInfoError, damaged
from sonde.symbols.dwarf.source import EntrySource
from sonde.symbols.dwarf.types import Types
from sonde.symbols.elf.errors import CostError
from sonde.symbols.elf.file import ElfError

_WHERE = "the object"
_SECONDS = 8.0


class DebugTypes:
    """Read when it is first asked. An object without DWARF has no structures."""

    def __init__(self, file: ObjectFile) -> None:
        self._file = file
        self._types = Types()
        self._source: EntrySource | None = None

    def structure(self, name: str) -> Type | None:
        """The structure or union of that name that has members, or the typedef of one. Raises ObjectError."""
        try:
            with damaged(_WHERE, ElfError):
                return self._structure(name)
        except (DebugInfoError, ElfError, CostError) as error:
            raise ObjectError(f"its debug information cannot be read: {error}") from None

    def _structure(self, name: str) -> Type | None:
        if self._source is None:
            sections = debug_sections(self._file.elf, lambda section: section.startswith(".debug_"))
            # Whoever has named the object waits for it: the kernel's types, which a program includes, take a while.
            self._file.elf.costs.allow(_SECONDS)
            self._source = EntrySource(_WHERE, sections, costs=self._file.elf.costs)
        wanted = name.encode()
        for unit in self._source.units:
            for each in self._source.types(unit):
                if self._source.string(unit, each.attributes, AT_NAME) == wanted:
                    found = self._types.of_entry(self._source.entry(each.offset))
                    if isinstance(found, Struct) and found.size and found.members:
                        return found
        return None
