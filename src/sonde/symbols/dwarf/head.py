"""What the first entry of a unit says that all of its other entries depend on."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from sonde.symbols.dwarf import abbreviations as at
from sonde.symbols.dwarf.scan import Attributes
from sonde.symbols.dwarf.units import DebugUnit
from sonde.typed import Protocol


class AttributeValues(Protocol):
    """Reads attributes; as source.Source does, whose bases are those of split units."""

    @property
    def bases(self) -> Mapping[str, int] | None: ...

    def number(self, unit: DebugUnit, attributes: Attributes, *kinds: int) -> int | None: ...

    def address(self, unit: DebugUnit, attributes: Attributes, attribute: int) -> int | None: ...

    def string(self, unit: DebugUnit, attributes: Attributes, *kinds: int) -> bytes | None: ...


class Head:
    """What the first entry of a unit says: its own `low` address, and where what it refers to by indexes is.

    Split units do not say it themselves: their skeletons do, or it is implied."""

    def __init__(self, source: AttributeValues, unit: DebugUnit, tag: int, attributes: Attributes) -> None:
        self._source, self._unit, self.attributes = source, unit, attributes
        self.tag = tag
        header = 8 if unit.sizes.offset == 4 else 16
        self.string_base = self._base(
            "DW_AT_str_offsets_base", header if unit.sizes.version >= 5 else 0, at.AT_STRING_BASE
        )
        self.address_base = self._base("DW_AT_addr_base", 0, at.AT_ADDRESS_BASE, at.AT_GNU_ADDRESS_BASE)
        self.ranges_base = self._base("DW_AT_rnglists_base", 0, at.AT_RANGES_BASE)
        self.locations_base = self._base("DW_AT_loclists_base", 0, at.AT_LOCATIONS_BASE)

    def _base(self, name: str, implied: int, *kinds: int) -> int:
        value = self._source.number(self._unit, self.attributes, *kinds)
        return value if value is not None else (self._source.bases or {}).get(name, implied)

    @cached_property
    def low(self) -> int:
        """What the offsets of the unit's lists count from, unless the list says another."""
        own = self._source.address(self._unit, self.attributes, at.AT_LOW_PC)
        return own if own is not None else (self._source.bases or {}).get("DW_AT_low_pc", 0)

    @property
    def directory(self) -> str:
        return self._text(at.AT_DIRECTORY)

    @property
    def split_name(self) -> str:
        """The file of a split unit, "" if this is no skeleton."""
        return self._text(at.AT_DWO_NAME, at.AT_GNU_DWO_NAME)

    @property
    def split_id(self) -> int:
        """The id of the split unit by which skeletons of DWARF 4 name it; those of DWARF 5 have it in the header."""
        return self._unit.dwo_id or self._source.number(self._unit, self.attributes, at.AT_GNU_DWO_ID) or 0

    @property
    def statements(self) -> int | None:
        """Where the unit's lines are in .debug_line."""
        return self._source.number(self._unit, self.attributes, at.AT_STATEMENTS)

    def _text(self, *kinds: int) -> str:
        return (self._source.string(self._unit, self.attributes, *kinds) or b"").decode(errors="replace")
