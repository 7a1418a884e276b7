"""Global and static variables of programs and libraries in probe lines: those that no scope around the place has.

A line is about all processes that run its file, and the file may be anywhere in each. So the way to a variable begins
at the program counter, which is at the place of the line.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonde.arch import object_files
from sonde.model.location import Address, Constant, InMemory, Load, Piece, binary
from sonde.model.types import size_of
from sonde.objects.errors import ObjectError
from sonde.objects.lines import WantedVariable
from sonde.providers.placement import Surroundings, placed
from sonde.symbols.dwarf.attributes import text
from sonde.symbols.dwarf.points import CodePoint, Points
from sonde.symbols.dwarf.scopes import DebugVariable
from sonde.symbols.dwarf.source_lines import is_file
from sonde.symbols.elf.indirect import relocations

_FEW = 4
"""Ways to write a variable that a message has."""


def global_variable(points: Points, point: CodePoint, wanted: WantedVariable) -> DebugVariable | None:
    """The variable of that name: of the file that is named, else of the source file of the place, else of any; None
    if there is none. Raises ObjectError for one of several, and DebugInfoError."""
    found = [each.variable for each in points.globals_named(wanted.name)]
    if wanted.file:
        found = [each for each in found if is_file(_source(each), wanted.file)]
        if not found:
            raise ObjectError(f"{wanted.text}: {wanted.file} of {points.path} has no variable {wanted.name}")
    own = [each for each in found if each.entry.cu.cu_offset == point.function.cu.cu_offset]
    chosen = own if len(own) == 1 else found
    if len(chosen) > 1:
        if not wanted.file and any(each.name == wanted.name for each in points.elsewhere(point)):
            return None  # The function's own is meant, which is not there.
        ways = sorted({f"{file}@{wanted.text}" for file in map(_source, chosen) if file})
        text = f"{wanted.text}: {len(chosen)} files have a static variable of that name"
        more = f", or one of {len(ways) - _FEW} more" if len(ways) > _FEW else ""
        raise ObjectError(text, f"write {' or '.join(ways[:_FEW])}{more}")
    return chosen[0] if chosen else None


def global_pieces(points: Points, variable: DebugVariable, around: Surroundings) -> tuple[Piece, ...] | None:
    """Where it is, as a program can fetch it, None if it is optimised out. Raises UnsupportedError, DebugInfoError."""
    pieces = points.pieces(variable, CodePoint(variable.name, 0, variable.entry, ()))
    return placed(_found_by_slot(pieces, around), around, size_of(variable.type))


def _found_by_slot(pieces: Sequence[Piece], around: Surroundings) -> tuple[Piece, ...]:
    """A variable that a library gives to others may be in the program instead, which has a copy of it: the library's
    own code finds it by a word that the dynamic linker fills in."""
    place = pieces[0].place
    if around.is_program or not isinstance(place, InMemory) or not isinstance(place.address, Address):
        return tuple(pieces)
    symbol = around.file.symbolize(place.address.value)
    if symbol is None:
        return tuple(pieces)
    name, distance = symbol
    for slot, kind, number, addend in relocations(around.file):
        if kind in object_files.OF_SYMBOLS and not addend and around.file.dynamic_name(number) == name:
            return (Piece(InMemory(binary("plus", Load(Address(slot), 8), Constant(distance)))),)
    return tuple(pieces)


def _source(variable: DebugVariable) -> str:
    return text(variable.entry.cu.get_top_DIE(), "DW_AT_name")
