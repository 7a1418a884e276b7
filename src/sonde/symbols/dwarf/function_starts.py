"""Where functions without symbols begin: stripped files describe the frames of each (.eh_frame, LSB 10.6)."""

from __future__ import annotations

from sonde.symbols.dwarf import frame_table
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.frame_table import FrameTable
from sonde.symbols.dwarf.frames import FrameDescriptions
from sonde.symbols.dwarf.unwind_rows import LARGEST, SECTION
from sonde.symbols.elf.file import ElfFile


class FunctionStarts:
    """Those of a file. What is moved out of a function, as code that is seldom run, begins where it stands."""

    def __init__(self, file: ElfFile) -> None:
        """Raises ElfError."""
        self._frames: FrameDescriptions | None = None
        section, header = file.find_section(SECTION), file.find_section(frame_table.SECTION)
        if section is not None:
            listed = file.contents(header, LARGEST) if header is not None else b""
            table = FrameTable(listed, header.address) if header is not None and frame_table.entries(listed) else None
            data = file.contents(section, LARGEST)
            self._frames = FrameDescriptions(data, section.address, True, table, file.costs, table is None)

    def start(self, address: int) -> int | None:
        """The link-time address at which the function begins that has another one in it; None if nothing tells."""
        try:
            found = self._frames.extent(address) if self._frames is not None else None
        except DebugInfoError:
            return None
        return found[0] if found is not None else None
