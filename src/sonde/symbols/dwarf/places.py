"""Where a variable is at an address: its location expression in the surroundings of its function."""

from __future__ import annotations

from functools import cached_property

from sonde.model.location import InMemory, InRegister, IsBytes, Nowhere, Piece, Register, Value
from sonde.model.types import size_of
from sonde.symbols.dwarf import frame_table
from sonde.symbols.dwarf.attributes import number, source_of, text
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.expressions import BaseType, ExpressionSurroundings, evaluate
from sonde.symbols.dwarf.frame_table import FrameTable
from sonde.symbols.dwarf.frames import FrameDescriptions
from sonde.symbols.dwarf.information import DebugInformation
from sonde.symbols.dwarf.scopes import DebugVariable, frame_base
from sonde.typed import Any

_FLOATS = ("DW_ATE_float", 4, 3)


_LARGEST = 64 << 20
"""Bytes of a section of frames that are read."""


class Places:
    """Evaluates places in one object; frame descriptions are read once."""

    def __init__(self, information: DebugInformation) -> None:
        self._information = information

    def of(self, variable: DebugVariable, function: Any, address: int) -> tuple[Piece, ...]:
        """The pieces of a variable at a link-time address. Raises DebugInfoError for what cannot be evaluated."""
        if variable.constant is not None:
            value = variable.constant
            if isinstance(value, int):
                size = size_of(variable.type) or 8
                value = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
            return (Piece(IsBytes(value)),)
        code = next((each.expression for each in variable.locations if each.start <= address < each.end), b"")
        if not code:
            return (Piece(Nowhere()),)
        return evaluate(code, self.surroundings(variable.entry, function, address))

    def surroundings(self, entry: Any, function: Any, address: int) -> ExpressionSurroundings:
        """What expressions of an entry refer to at an address of a function that is not inlined."""
        source = source_of(entry)
        unit = source.unit_at(entry.offset)
        if unit.sizes.address != 8:
            raise DebugInfoError("variables of 32-bit programs are not supported")
        return ExpressionSurroundings(
            lambda: self._frame_base(entry, function, address),
            lambda: self.cfa(address),
            lambda index: source.indexed_address(unit, index),
            lambda offset: _base_type(entry, offset),
        )

    def cfa(self, address: int) -> Value:
        """The canonical frame address. Raises DebugInfoError where nothing describes it."""
        for each in self._frames:
            rule = each.rule(address)
            if rule is not None:
                if rule.expression:
                    raise DebugInfoError("the frame at this address is described by an expression")
                return rule.value
        raise DebugInfoError(f"nothing describes the frame at {address:#x}")

    def saved(self, address: int) -> dict[int, int | None]:
        """Where the caller's registers are kept at an address, as offsets from the frame address (Frames.saved)."""
        for each in self._frames:
            found = each.saved(address)
            if found is not None:
                return found
        raise DebugInfoError(f"nothing describes the frame at {address:#x}")

    def _frame_base(self, entry: Any, function: Any, address: int) -> Value:
        code = frame_base(function)
        if not code:
            raise DebugInfoError("the function has no frame base")

        def endless() -> Value:
            raise DebugInfoError("the frame base refers to itself")

        around = self.surroundings(entry, function, address)._replace(frame_base=endless)
        (piece,) = evaluate(code, around)
        if isinstance(piece.place, InRegister):
            return Register(piece.place.number)
        if isinstance(piece.place, InMemory):
            return piece.place.address
        raise DebugInfoError("the frame base is no address")

    @property
    def _frame_table(self) -> FrameTable | None:
        elf = self._information.elf
        section = elf.find_section(frame_table.SECTION)
        data = elf.contents(section, _LARGEST) if section is not None else None
        return FrameTable(data, section.address) if data and section is not None else None

    @cached_property
    def _frames(self) -> list[FrameDescriptions]:
        found, elf = [], self._information.elf
        section = elf.find_section(".eh_frame")
        data = elf.contents(section, _LARGEST) if section is not None else None
        if data and section is not None:
            found.append(FrameDescriptions(data, section.address, True, self._frame_table, elf.costs))
        other = self._information.main.sections.get(".debug_frame")
        if other:
            found.append(FrameDescriptions(other, 0, False, costs=elf.costs))
        return found


def _base_type(entry: Any, offset: int) -> BaseType:
    base = source_of(entry).entry(entry.cu.cu_offset + offset)
    encoding = number(base, "DW_AT_encoding")
    size = number(base, "DW_AT_byte_size")
    if base.tag != "DW_TAG_base_type" or not size:
        raise DebugInfoError(f"a location expression takes {text(base, 'DW_AT_name') or base.tag} for a number")
    return BaseType(size, encoding in (5, 6, 13), encoding in _FLOATS)
