"""Reading attributes of decoded entries: texts, references, addresses, ranges (DIEs of pyelftools)."""

from __future__ import annotations

from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.lists import EVERYWHERE, Location
from sonde.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sonde.symbols.dwarf.source import EntrySource

_BLOCKS = ("DW_FORM_exprloc", "DW_FORM_block", "DW_FORM_block1", "DW_FORM_block2", "DW_FORM_block4")
_LISTS = ("DW_FORM_sec_offset", "DW_FORM_loclistx", "DW_FORM_data4", "DW_FORM_data8")
_LONGEST_CHAIN = 16
_UNIT_REFERENCES = frozenset(f"DW_FORM_ref{each}" for each in ("1", "2", "4", "8", "", "_udata"))
_SHARED_REFERENCES = frozenset(("DW_FORM_GNU_ref_alt", "DW_FORM_ref_sup4", "DW_FORM_ref_sup8"))
_ORIGINS = ("DW_AT_abstract_origin", "DW_AT_specification")


def source_of(entry: Any) -> EntrySource:
    """The file that an entry is of."""
    source: EntrySource = entry.dwarfinfo.sonde_source
    return source


def text(entry: Any, attribute: str) -> str:
    """The text of an attribute, "" if it is missing."""
    value = entry.attributes.get(attribute)
    return value.value.decode(errors="replace") if value is not None and isinstance(value.value, bytes) else ""


def number(entry: Any, attribute: str) -> int | None:
    """The value of an attribute that is a number, None if it has none or an expression."""
    value = entry.attributes.get(attribute)
    return int(value.value) if value is not None and isinstance(value.value, (int, bool)) else None


def referred(entry: Any, attribute: str) -> Any:
    """The entry an attribute refers to, None if there is no such attribute. Raises DebugInfoError."""
    value = entry.attributes.get(attribute)
    if value is None:
        return None
    source = source_of(entry)
    if value.form in _UNIT_REFERENCES:
        return source.entry(entry.cu.cu_offset + value.raw_value)
    if value.form == "DW_FORM_ref_addr":
        return source.entry(value.raw_value)
    if value.form == "DW_FORM_ref_sig8":
        return source.type_entry(value.raw_value)
    if value.form in _SHARED_REFERENCES:
        if source.shared is None:
            raise DebugInfoError("the file that dwz made for several objects is missing")
        return source.shared.entry(value.raw_value)
    raise DebugInfoError(f"the debug information of {source.path} refers to an entry by {value.form}")


def chain(entry: Any) -> list[Any]:
    """An entry, and those it completes or is a copy of, the nearest first."""
    found = [entry]
    while len(found) < _LONGEST_CHAIN:
        following = next((each for name in _ORIGINS if (each := referred(found[-1], name)) is not None), None)
        if following is None:
            return found
        found.append(following)
    raise DebugInfoError(f"the debug information of {source_of(entry).path} refers in circles")


def inherited(entry: Any, attribute: str) -> Any:
    """The entry of the chain that has an attribute, None if there is none."""
    return next((each for each in chain(entry) if attribute in each.attributes), None)


def name_of(entry: Any) -> str:
    """The name, also where the entry it completes has it; "" if it has none."""
    owner = inherited(entry, "DW_AT_name")
    return text(owner, "DW_AT_name") if owner is not None else ""


def ranges_of(entry: Any) -> tuple[tuple[int, int], ...]:
    """The link-time addresses of an entry's code, as (start, end). Raises DebugInfoError."""
    if "DW_AT_ranges" not in entry.attributes and "DW_AT_low_pc" not in entry.attributes:
        return ()
    return source_of(entry).ranges_at(entry.offset)


def locations_of(entry: Any, attribute: str = "DW_AT_location") -> tuple[Location, ...]:
    """The locations of a variable by an attribute of its own. Raises DebugInfoError."""
    value = entry.attributes.get(attribute)
    if value is None:
        return ()
    if value.form in _BLOCKS:
        return (Location(*EVERYWHERE, bytes(value.value)),)
    source = source_of(entry)
    unit = source.unit_at(entry.offset)
    if value.form not in _LISTS:
        raise DebugInfoError(f"the debug information of {source.path} has a location of form {value.form}")
    found = source.locations(unit, value.raw_value, value.form == "DW_FORM_loclistx")
    return tuple(each for each in found if each.start < each.end)
