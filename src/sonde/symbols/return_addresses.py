"""Where the address of a function's caller is at an instruction, by the frame descriptions of its file."""

from __future__ import annotations

from sonde.arch import unwinding
from sonde.symbols.dwarf import errors, frame_table, frames, unwind_rows
from sonde.symbols.elf import file as elf_file
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.symbols.dwarf.frames import FrameDescriptions
    from sonde.symbols.elf.file import ElfFile

BY_FRAME_POINTER = -1


class ReturnAddresses:
    """Opens each file once, when it is first asked for."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[ElfFile, FrameDescriptions] | None] = {}

    def distance(self, path: str, offset: int) -> int | None:
        """Bytes from the stack pointer up to the return address, at the instruction at an offset in the file;
        BY_FRAME_POINTER if the function has its frame pointer there, None if it is not known."""
        try:
            if path not in self._files:
                self._files[path] = _opened(path)
            found = self._files[path]
            address = found[0].address_at(offset) if found is not None else None
            rule = found[1].rule(address) if found is not None and address is not None else None
        except (OSError, elf_file.ElfError, errors.DebugInfoError):
            return None
        if rule is None or rule.expression:
            return None
        if rule.register == unwinding.FRAME_POINTER:
            return BY_FRAME_POINTER
        distance = rule.offset + unwinding.RETURN_OFFSET
        return distance if rule.register == unwinding.STACK_POINTER and distance >= 0 else None


def _opened(path: str) -> tuple[elf_file.ElfFile, frames.FrameDescriptions] | None:
    file = elf_file.ElfFile.open(path)
    section = file.find_section(unwind_rows.SECTION)
    if section is None:
        return None
    header = file.find_section(frame_table.SECTION)
    table = None
    if header is not None:
        table = frame_table.FrameTable(file.contents(header, unwind_rows.LARGEST), header.address)
    return file, frames.FrameDescriptions(
        file.contents(section, unwind_rows.LARGEST), section.address, True, table, file.costs
    )
