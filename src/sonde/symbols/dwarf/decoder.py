"""pyelftools' view of debug information: the one module that imports it, when a file is opened."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator, Mapping
from types import ModuleType

from sonde.arch import object_files
from sonde.symbols.elf.file_bytes import Part, Window
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

_STANDARD = {"DW_FORM_GNU_str_index": "DW_FORM_strx", "DW_FORM_GNU_addr_index": "DW_FORM_addrx"}
"""Forms of GNU's split units of version 4, which pyelftools does not read, by those of DWARF 5 that mean the same."""


def open_dwarf(sections: Mapping[str, Part], address_size: int, shared: Any = None) -> Any:
    """A DWARFInfo over sections by their names; `shared` is that of the file that dwz made for several."""
    with _without_debugging_aids():
        # Without what it imports for debugging.
        from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo

    given = {
        parameter: DebugSectionDescriptor(_stream(sections[name]), name, None, len(sections[name]), 0)
        if name in sections
        else None
        for parameter, name in _PARAMETERS.items()
    }
    config = DwarfConfig(True, object_files.ELFTOOLS[address_size], address_size)
    dwarf: Any = DWARFInfo(config=config, **given, **dict.fromkeys(_ABSENT))
    dwarf.supplementary_dwarfinfo = shared
    return dwarf


class _WindowStream:
    """As much of a binary file as pyelftools asks for."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._at = 0

    def seek(self, at: int, whence: int = 0) -> int:
        self._at = at + (0, self._at, len(self._window))[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        found = self._window[self._at : self._at + size] if size >= 0 else self._window[self._at :]
        self._at += len(found)
        return found


def _stream(data: Part) -> Any:
    return _WindowStream(data) if isinstance(data, Window) else io.BytesIO(data)


@contextlib.contextmanager
def _without_debugging_aids() -> Iterator[None]:
    """pyelftools imports pdb, for who debugs parsers, and pprint, for texts of what it has parsed: a quarter of
    the time that it takes to be imported. Neither is needed here; the texts are made by pprint when they are wanted."""
    missing = [name for name in ("pdb", "pprint") if name not in sys.modules]
    for name in missing:
        module: Any = ModuleType(name)
        module.pformat = _pformat
        sys.modules[name] = module
    try:
        yield
    finally:
        for name in missing:
            del sys.modules[name]


def _pformat(*values: Any, **settings: Any) -> str:
    import pprint  # tools for debugging alone need it

    return pprint.pformat(*values, **settings)


def prepare(unit: Any, first: int, places: Mapping[int, int]) -> None:
    """Tell a unit where its first entry is, and the declarations of its abbreviations in .debug_abbrev, behind their
    codes. pyelftools takes the headers of units of types of DWARF 4 for those of others, which are shorter."""
    unit.cu_die_offset = first
    unit._abbrev_table = _Declarations(places, unit)


class _Declarations:
    """The abbreviations of a unit for pyelftools, each decoded when an entry is: a table has hundreds, and decoding
    them takes longer than all that is asked about the unit."""

    def __init__(self, places: Mapping[int, int], unit: Any) -> None:
        self._places = places
        self._unit = unit
        self._known: dict[int, Any] = {}

    def get_abbrev(self, code: int) -> Any:
        """As AbbrevTable has it. Raises KeyError."""
        from elftools.dwarf.abbrevtable import AbbrevDecl  # see open_dwarf()

        if code not in self._known:
            stream = self._unit.dwarfinfo.debug_abbrev_sec.stream
            stream.seek(self._places[code])
            declaration = self._unit.structs.Dwarf_abbrev_declaration.parse_stream(stream)
            for each in declaration.attr_spec:
                each.form = _STANDARD.get(each.form, each.form)
            self._known[code] = AbbrevDecl(code, declaration)
        return self._known[code]


def give_bases(unit: Any, bases: Mapping[str, int]) -> None:
    """Tell a split unit, before any of its entries is decoded, the bases that its skeleton has or that are implied.

    Its first entry has indexes itself, so that pyelftools has to know them before it has read the entry to the end:
    the entry is put in its cache untranslated, and translated then.
    """
    from elftools.dwarf.die import DIE, AttributeValue  # see open_dwarf()

    first = DIE(unit, unit.dwarfinfo.debug_info_sec.stream, unit.cu_die_offset)
    for name, value in bases.items():
        first.attributes.setdefault(name, AttributeValue(name, "DW_FORM_sec_offset", value, value, 0, 0))
    unit._dielist.insert(0, first)
    unit._diemap.insert(0, unit.cu_die_offset)
    first._translate_indirect_attributes()
