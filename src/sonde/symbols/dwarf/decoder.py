"""pyelftools' view of debug information: the one module that imports it, when a file is opened."""

from __future__ import annotations

import io
from collections.abc import Mapping

from sonde.typed import Any

_PARAMETERS = {
    "debug_info_sec": ".debug_info", "debug_abbrev_sec": ".debug_abbrev", "debug_str_sec": ".debug_str",
    "debug_loc_sec": ".debug_loc", "debug_ranges_sec": ".debug_ranges", "debug_addr_sec": ".debug_addr",
    "debug_str_offsets_sec": ".debug_str_offsets", "debug_line_str_sec": ".debug_line_str",
    "debug_loclists_sec": ".debug_loclists", "debug_rnglists_sec": ".debug_rnglists", "debug_types_sec": ".debug_types",
}  # fmt: skip
_ABSENT = (
    "debug_aranges_sec", "debug_frame_sec", "eh_frame_sec", "debug_line_sec", "debug_pubtypes_sec",
    "debug_pubnames_sec", "debug_sup_sec", "gnu_debugaltlink_sec",
)  # fmt: skip


def open_dwarf(sections: Mapping[str, bytes], address_size: int, shared: Any = None) -> Any:
    """A DWARFInfo over sections by their names; `shared` is that of the file that dwz made for several."""
    from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo

    given = {
        parameter: DebugSectionDescriptor(io.BytesIO(sections[name]), name, None, len(sections[name]), 0)
        if name in sections
        else None
        for parameter, name in _PARAMETERS.items()
    }
    config = DwarfConfig(True, "x64" if address_size == 8 else "x86", address_size)
    dwarf = DWARFInfo(config=config, **given, **dict.fromkeys(_ABSENT))
    dwarf.supplementary_dwarfinfo = shared
    return dwarf


def give_bases(unit: Any, bases: Mapping[str, int]) -> None:
    """Tell a split unit, before any of its entries is decoded, the bases that its skeleton has or that are implied.

    Its first entry has indexes itself, so that pyelftools has to know them before it has read the entry to the end:
    the entry is put in its cache untranslated, and translated then.
    """
    from elftools.dwarf.die import DIE, AttributeValue

    first = DIE(unit, unit.dwarfinfo.debug_info_sec.stream, unit.cu_die_offset)
    for name, value in bases.items():
        first.attributes.setdefault(name, AttributeValue(name, "DW_FORM_sec_offset", value, value, 0, 0))
    unit._dielist.insert(0, first)
    unit._diemap.insert(0, unit.cu_die_offset)
    first._translate_indirect_attributes()
