"""Which functions' inlined copies an address is in (DWARF 5, 3.3.8)."""

from __future__ import annotations

from sonde.symbols.dwarf.attributes import chain, name_of, ranges_of, source_of, text
from sonde.symbols.dwarf.errors import DebugInfoError, damaged
from sonde.symbols.dwarf.information import DebugInformation, open_information
from sonde.symbols.elf.costs import Costs
from sonde.symbols.elf.file import ElfError
from sonde.typed import Any

_INLINED, _BLOCK = "DW_TAG_inlined_subroutine", "DW_TAG_lexical_block"
_DEEPEST = 128


class Inlines:
    """Those of one object. What is damaged has none."""

    def __init__(self, information: DebugInformation) -> None:
        self._information = information
        self._children: dict[int, list[tuple[Any, tuple[tuple[int, int], ...]]]] = {}

    def at(self, address: int) -> tuple[str, ...]:
        """The names of the functions, as the linker would have them, the innermost first; () if it is in none."""
        try:
            with damaged(self._information.path, ElfError):
                return tuple(reversed(self._copies(address)))
        except (DebugInfoError, ElfError):
            return ()

    def _copies(self, address: int) -> list[str]:
        entry = self._information.function_at(address)
        found: list[str] = []
        for _ in range(_DEEPEST):
            inner = [] if entry is None else self._inner(entry)
            entry = next((each for each, ranges in inner if any(a <= address < b for a, b in ranges)), None)
            if entry is None:
                return found
            if entry.tag == _INLINED:
                found.append(next((name for each in chain(entry) if (name := text(each, "DW_AT_linkage_name"))), ""))
                found[-1] = found[-1] or name_of(entry)
        return []

    def _inner(self, entry: Any) -> list[tuple[Any, tuple[tuple[int, int], ...]]]:
        """The copies and blocks with code directly within an entry, and where it is."""
        source = source_of(entry)
        key = id(source) << 64 | entry.offset
        if key not in self._children:
            inner = (each for each in source.children(entry) if each.tag in (_INLINED, _BLOCK))
            self._children[key] = [(each, ranges_of(each)) for each in inner]
        return self._children[key]


def open_inlines(path: str, costs: Costs | None = None) -> Inlines | None:
    """Those of the object at a path, None if it has no debug information that can be read; `costs` are
    those of the object."""
    try:
        with damaged(path, OSError, ElfError):
            return Inlines(open_information(path, costs=costs))
    except (OSError, ElfError, DebugInfoError):
        return None
