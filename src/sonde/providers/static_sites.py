"""The sites of static probes (USDT), as the notes of an object tell them, held against the object's code and data."""

from __future__ import annotations

from sonde.arch import instructions, operands
from sonde.model import types
from sonde.model.probe import StaticSite
from sonde.model.types import Type, Typedef
from sonde.symbols.elf.stapsdt import code_offset, counter_offset, data_address
from sonde.symbols.elf.static_note import Note
from sonde.symbols.functions import CodeObject

ARGUMENT_TYPES: dict[tuple[int, bool], Type] = {
    (size, signed): Typedef(f"{'' if signed else 'u'}int{8 * size}_t", base)
    for size, signed, base in (
        (1, True, types.SCHAR), (1, False, types.UCHAR), (2, True, types.SHORT), (2, False, types.USHORT),
        (4, True, types.INT), (4, False, types.UINT), (8, True, types.LONG), (8, False, types.ULONG),
    )
}  # fmt: skip
"""The type of an argument by its size in bytes and whether it is signed."""


class SiteError(Exception):
    """A note leads to what is no instruction or no counter; its text says which."""


def site_of(code: CodeObject, note: Note) -> StaticSite:
    """Where a note says that its probe is, with the places of its arguments. Raises SiteError or
    CostError."""
    offset = code_offset(code.loaded.file, note.location)
    if offset is None or not _is_instruction(code, note.location):
        raise SiteError(f"its address 0x{note.location:x} is not that of an instruction")
    semaphore = 0
    if note.semaphore:
        found = counter_offset(code.loaded.file, note.semaphore)
        if found is None:
            raise SiteError(f"what counts its users, at 0x{note.semaphore:x}, is in no data of the file")
        semaphore = found
    arguments = tuple(
        operands.parse(text, note.location, lambda name: data_address(code.symbol_files, name))
        for text in note.arguments.split()
    )
    return StaticSite(offset, semaphore, arguments)


def _is_instruction(code: CodeObject, address: int) -> bool:
    """A breakpoint in the middle of an instruction would change it: what is in a known function is looked for among its
    instructions, else it must be the nop that sys/sdt.h puts there."""
    function = code.containing(address)
    if function is None:
        return code.loaded.file.bytes_at(address, 1) == bytes((instructions.NOP,))
    found = code.instructions(function).get(address - function.address)
    return found is not None and found.is_probeable
