"""`globals->NAME`: static and global data of the object that a probe is in, or what that refers to in others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sonde.arch import object_files
from sonde.model.catalog import Located
from sonde.model.errors import UNKNOWN_VARIABLE, SourceError
from sonde.model.location import Address, Constant, InMemory, Piece
from sonde.model.probe import Probe, Uprobe
from sonde.model.types import UCHAR, UINT, ULONG, USHORT, size_of
from sonde.providers.placement import Surroundings, placed, surroundings
from sonde.providers.unavailable import unavailable
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.points import CodePoint, Points
from sonde.symbols.dwarf.scopes import DebugVariable
from sonde.symbols.elf.file import ElfError
from sonde.symbols.elf.indirect import relocations
from sonde.symbols.elf.symbol_table import STT_OBJECT
from sonde.symbols.functions import PROGRAM, CodeObject

_UNSIGNED = {size_of(kind): kind for kind in (UCHAR, USHORT, UINT, ULONG)}

Objects = Callable[[], Sequence[CodeObject]]
"""All that the process has mapped; none if it is not known which process that is."""
PointsOf = Callable[[CodeObject, Objects], Points]


class Globals:
    """Those of all objects; `points` gives what debug information tells of one, or raises an error of it."""

    def __init__(self, points: PointsOf) -> None:
        self._points = points

    def find(self, probe: Probe, point: CodePoint, home: CodeObject, around: Surroundings, name: str, mapped: Objects
             ) -> Located:  # fmt: skip
        """The variable of that name: of the probe's own source file, of its object, of others. Raises SourceError."""
        asked = f"globals->{name} at {probe}"
        found = self._defined(home, name, mapped)
        if found:
            return self._located(nearest(found, point, asked), home, around, mapped, asked)
        for other in mapped():
            found = () if other is home else self._elsewhere(other, name, mapped)
            if len(found) == 1:
                assert isinstance(probe.firing, Uprobe)
                where = surroundings(probe.firing._replace(kind="return"), other, 0)
                return self._located(found[0], other, where, mapped, asked)
        text = f"there is no variable {name} for {asked}"
        hint = f"{self._points(home, mapped).path} defines no variable of that name outside of functions"
        raise SourceError(UNKNOWN_VARIABLE, text, hint=hint, about=(asked,))

    @staticmethod
    def symbol(probe: Probe, home: CodeObject, around: Surroundings, name: str, mapped: Objects) -> Located:
        """What the object's symbol table has of that name, as an unsigned integer of its size, of 64 bits if there is
        none so large. Raises SourceError."""
        found = next((each for each in home.loaded.file.find(name) if each.kind == STT_OBJECT), None)
        if found is None:
            hint = f"the symbol table of {home.path} has no variable of that name"
            raise SourceError(UNKNOWN_VARIABLE, f"there is no symbol {name} at {probe}", hint=hint, about=(name,))
        pieces: tuple[Piece, ...] = (Piece(InMemory(Address(found.address))),)
        if not around.is_program:
            pieces = _copied(pieces, home, mapped())
        kind = _UNSIGNED.get(found.size, ULONG)
        fetched = placed(pieces, around, size_of(kind))
        assert fetched is not None
        return Located(kind, fetched)

    def _defined(self, home: CodeObject, name: str, mapped: Objects) -> Sequence[DebugVariable]:
        return [each.variable for each in self._points(home, mapped).globals_named(name)]

    def _elsewhere(self, other: CodeObject, name: str, mapped: Objects) -> Sequence[DebugVariable]:
        """Those of an object that may have no debug information."""
        try:
            return self._defined(other, name, mapped)
        except (OSError, ElfError, DebugInfoError):
            return ()

    def _located(
        self, variable: DebugVariable, home: CodeObject, around: Surroundings, mapped: Objects, asked: str
    ) -> Located:
        pieces = self._points(home, mapped).pieces(variable, CodePoint(variable.name, 0, variable.entry, ()))
        if not around.is_program:
            pieces = _copied(pieces, home, mapped())
        fetched = placed(pieces, around, size_of(variable.type))
        if fetched is None:
            raise unavailable(asked, "it is optimised out")
        return Located(variable.type, fetched)


def nearest(found: Sequence[DebugVariable], point: CodePoint, asked: str) -> DebugVariable:
    """The only one, or that of the file that the probe is in."""
    own = [each for each in found if each.entry.cu.cu_offset == point.function.cu.cu_offset]
    if len(found) == 1 or len(own) == 1:
        return (own or found)[0]
    why = f"{len(found)} files have a static variable of that name"
    raise unavailable(asked, why, "a probe in a function of its file knows which is meant")


def _copied(pieces: tuple[Piece, ...], home: CodeObject, objects: Iterable[CodeObject]) -> tuple[Piece, ...]:
    """The pieces of a library's variable, which may be in the program instead."""
    place = pieces[0].place
    if not isinstance(place, InMemory) or not isinstance(place.address, Address):
        return pieces
    named = home.loaded.file.symbolize(place.address.value)
    program = next((each for each in objects if each.name == PROGRAM), None)
    if named is None or program is None:
        return pieces
    file, bias = program.loaded
    for slot, kind, symbol, _ in relocations(file):
        if kind == object_files.COPY and file.dynamic_name(symbol).partition("@")[0] == named[0]:
            return (Piece(InMemory(Constant(slot + bias + named[1]))),)
    return pieces
