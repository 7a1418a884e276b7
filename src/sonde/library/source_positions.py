"""Files and lines of frames, from the debug information of the objects that they are in."""

from __future__ import annotations

from sonde.report.symbolizer import Symbolizer
from sonde.symbols.dwarf import errors
from sonde.symbols.dwarf import information as dwarf_information
from sonde.symbols.elf import file
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.symbols.dwarf.information import DebugInformation

_MOST_OBJECTS = 64

NOWHERE = ("", 0)


class SourcePositions:
    """Looks places up once; where there is no debug information, or it is damaged, they have none."""

    def __init__(self, symbolizer: Symbolizer) -> None:
        self._symbolizer = symbolizer
        self._objects: dict[str, DebugInformation | None] = {}

    def find(self, process: int, address: int) -> tuple[str, int]:
        """The source file and line of an address of a process, "" and 0 where they are not known or it is the
        kernel's (-1)."""
        place = self._symbolizer.place(process, address) if process >= 0 else None
        if place is None:
            return NOWHERE
        # Imports that most runs do without.

        path, linked = place
        try:
            with errors.damaged(path, OSError, file.ElfError):
                information = self._information(path)
                return (information.position_of(linked) if information is not None else None) or NOWHERE
        except (errors.DebugInfoError, file.ElfError, OSError):
            # Nothing is lost but the line; the frame has its function.
            self._objects[path] = None
            return NOWHERE

    def _information(self, path: str) -> DebugInformation | None:
        if path not in self._objects:
            if len(self._objects) >= _MOST_OBJECTS:
                self._objects.clear()
            self._objects[path] = dwarf_information.open_information(path)
        return self._objects[path]
