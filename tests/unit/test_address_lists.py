"""Lists of ranges and of locations, and scans of entries, are those of pyelftools; forms of split units by hand."""

import pytest
from support.symbols.compiled_objects import compiled, needs_gcc

from sonde.symbols.dwarf.attributes import locations_of, ranges_of
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.information import open_information
from sonde.symbols.dwarf.lists import ListReader, Location, locations, ranges, split_locations

WAYS = [
    ("c variables", ("-O2",)), ("c variables", ("-O2", "-gdwarf-4")), ("c variables", ("-O2", "-gdwarf-3")),
    ("c++ variables", ("-O2",)), ("c++ variables", ("-O3", "-gdwarf-4")),
]  # fmt: skip


def of_pyelftools(path):
    """Offset of an entry -> its ranges, and its locations, in the words of pyelftools."""
    from elftools.elf.elffile import ELFFile

    with open(path, "rb") as file:
        dwarf = ELFFile(file).get_dwarf_info()
        all_ranges, all_locations = dwarf.range_lists(), dwarf.location_lists()
        for unit in dwarf.iter_CUs():
            low = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
            start = low.value if low else 0
            for entry in unit.iter_DIEs():
                found = entry.attributes.get("DW_AT_ranges")
                if found:
                    yield entry, based(all_ranges.get_range_list_at_offset(found.value, unit), start)
                found = entry.attributes.get("DW_AT_location")
                if found and found.form in ("DW_FORM_sec_offset", "DW_FORM_loclistx", "DW_FORM_data4"):
                    yield entry, based(all_locations.get_location_list_at_offset(found.value, entry), start)


def based(entries, base):
    found = []
    for each in entries:
        if hasattr(each, "base_address"):
            base = each.base_address
        elif hasattr(each, "begin_offset"):
            start = 0 if each.is_absolute else base
            code = (bytes(each.loc_expr),) if hasattr(each, "loc_expr") else ()
            if each.begin_offset < each.end_offset:
                found.append((each.begin_offset + start, each.end_offset + start, *code))
    return found


@pytest.mark.share(1)
@needs_gcc
@pytest.mark.parametrize(("language", "flags"), WAYS, ids=str)
def test_lists_are_those_of_pyelftools(language, flags):
    path = compiled(*flags, language=language)
    main = open_information(path).main
    count = 0
    for entry, expected in of_pyelftools(path):
        ours = main.entry(entry.offset)
        assert ours.tag == entry.tag
        found = ranges_of(ours) if "DW_AT_ranges" in entry.attributes else locations_of(ours)
        assert [tuple(each) for each in found] == expected
        count += 1
    assert count > 50


def reader(data, base=0x1000):
    return ListReader(bytes(data), ".debug_x", 8, base, lambda index: 0x4000 + 0x100 * index)


def word(number):
    return number.to_bytes(8, "little")


def test_every_kind_of_entry_has_its_meaning():
    data = bytes([1, 2, 4, 8, 0x10, 1, 0x50])  # From the address with index 2: +8 to +0x10.
    data += bytes([2, 1, 3, 1, 0x51, 3, 1, 0x20, 1, 0x52, 5, 1, 0x53])
    data += bytes([6]) + word(0x9000) + bytes([4, 1, 2, 1, 0x54])
    data += bytes([9, 1, 2, 7]) + word(0x10) + word(0x20) + bytes([1, 0x55])
    data += bytes([8]) + word(0x30) + bytes([0x81, 1, 2, 0x30, 0x9F, 0])
    assert list(locations(reader(data), 0)) == [
        Location(0x4208, 0x4210, b"\x50"),
        Location(0x4100, 0x4300, b"\x51"),
        Location(0x4100, 0x4120, b"\x52"),
        Location(0, 1 << 64, b"\x53"),
        Location(0x9001, 0x9002, b"\x54"),
        Location(0x10, 0x20, b"\x55"),
        Location(0x30, 0xB1, b"\x30\x9f"),
    ]
    data = bytes([4, 1, 2, 1, 3, 4, 1, 1, 5]) + word(0x70) + bytes([4, 1, 9, 6]) + word(1) + word(5)
    data += bytes([7]) + word(0x60) + bytes([3, 2, 0, 1, 3, 4, 5, 0])
    assert ranges(reader(data), 0) == (
        (0x1001, 0x1002), (0x71, 0x79), (1, 5), (0x60, 0x63), (0x4000, 0x4100), (0x4400, 0x4405),
    )  # fmt: skip


def test_entries_of_split_units_of_version_4():
    data = bytes([4]) + bytes([1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0x50]) + bytes([1, 3])
    data += bytes([4]) + bytes([1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0x51]) + bytes([3, 1, 8, 0, 0, 0, 1, 0, 0x52])
    data += bytes([2, 1, 2, 1, 0, 0x53, 0])
    assert list(split_locations(reader(data), 0)) == [
        Location(0x1001, 0x1002, b"\x50"),
        Location(0x4301, 0x4302, b"\x51"),
        Location(0x4100, 0x4108, b"\x52"),
        Location(0x4100, 0x4200, b"\x53"),
    ]


@pytest.mark.share(1)
@pytest.mark.parametrize("data", [b"", b"\x04", b"\x04\x80", b"\x04\x01\x02\x05\x30", b"\x0a", b"\x07" + b"\0" * 4])
def test_lists_that_are_cut_off_or_not_known_are_refused(data):
    with pytest.raises(DebugInfoError, match=r"section \.debug_x"):
        list(locations(reader(data), 0))
