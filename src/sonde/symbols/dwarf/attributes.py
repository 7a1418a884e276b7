"""Reading attributes of decoded entries: texts, references, addresses, ranges (DIEs of pyelftools)."""

from __future__ import annotations

from sonde.symbols.dwarf.errors import DebugInfoError, damaged
from sonde.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sonde.symbols.dwarf.source import Source

_LONGEST_CHAIN = 16
_ORIGINS = ("DW_AT_abstract_origin", "DW_AT_specification")


def source_of(entry: Any) -> Source:
    """The file that an entry is of."""
    source: Source = entry.dwarfinfo.sonde_source
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
    if attribute not in entry.attributes:
        return None
    value = entry.attributes[attribute]
    if value.form == "DW_FORM_ref_sig8" and entry.cu.header.version >= 5:
        return source_of(entry).type_entry(value.raw_value)
    with damaged(source_of(entry).path):
        try:
            return entry.get_DIE_from_attribute(attribute)
        except NotImplementedError:
            raise DebugInfoError("the file that dwz made for several objects is missing") from None


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
    attributes = entry.attributes
    with damaged(source_of(entry).path):
        if "DW_AT_ranges" in attributes:
            lists = entry.dwarfinfo.range_lists()
            if lists is None:
                raise DebugInfoError(f"{source_of(entry).path} has no list of ranges")
            return _based(lists.get_range_list_at_offset(attributes["DW_AT_ranges"].value, entry.cu), entry)
        if "DW_AT_low_pc" not in attributes or "DW_AT_high_pc" not in attributes:
            return ()
        low, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
        return ((low, high.value if high.form.startswith("DW_FORM_addr") else low + high.value),)


def base_address(entry: Any) -> int:
    """What the offsets of a unit's lists count from, unless the list says another."""
    attribute = entry.cu.get_top_DIE().attributes.get("DW_AT_low_pc")
    return attribute.value if attribute is not None else 0


def _based(entries: list[Any], entry: Any) -> tuple[tuple[int, int], ...]:
    base, found = base_address(entry), []
    for each in entries:
        if hasattr(each, "base_address"):
            base = each.base_address
        elif each.end_offset > each.begin_offset:
            start = 0 if each.is_absolute else base
            found.append((each.begin_offset + start, each.end_offset + start))
    return tuple(found)
