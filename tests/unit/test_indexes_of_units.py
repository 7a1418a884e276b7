"""Indexes that files have of their own: .debug_names, .gdb_index, .debug_aranges, and tables of strings."""

import random
import re
import shutil
import struct
import subprocess

import pytest
from support.machine import packages
from support.symbols.compiled_objects import needs_gcc
from support.symbols.listed_symbols import symbols

from sonde.symbols.dwarf.aranges import told_ranges
from sonde.symbols.dwarf.attributes import name_of
from sonde.symbols.dwarf.frame_table import FrameTable
from sonde.symbols.dwarf.frames import FrameDescriptions
from sonde.symbols.dwarf.gdb_index import indexed_ranges
from sonde.symbols.dwarf.information import open_information
from sonde.symbols.dwarf.name_index import NameIndex
from sonde.symbols.dwarf.unit_addresses import UnitAddresses
from sonde.symbols.elf.file import ElfFile

pytestmark = needs_gcc

ONE = """
namespace shop { struct Basket { int n; int total(int by) const; static int made; };
inline namespace v1 { template <typename T> __attribute__((noinline)) T twice(T x) { return x + x; } }
int Basket::made = 3; const int limit = 12; static int hidden = 4;
int Basket::total(int by) const { return n * by + twice(by) + hidden + limit; }
static inline int inlined(int x) { return x * 3 + Basket::made; }
int other(int x) { return inlined(x) + inlined(x + 1); } }
"""
TWO = """
namespace shop { struct Basket { int n; int total(int by) const; }; int other(int); }
namespace store { int total(int by) { return by - 1; } }
int main(int count, char **) { shop::Basket b{count}; return b.total(2) + shop::other(3) + store::total(4); }
"""
WAYS = {
    "gcc": ("g++", "-g"), "gcc sections": ("g++", "-g", "-ffunction-sections"), "clang": ("clang++", "-gdwarf-5"),
    "clang 4": ("clang++", "-gdwarf-4"), "clang names": ("clang++", "-gdwarf-5", "-gpubnames"),
    "clang names sections": ("clang++", "-gdwarf-5", "-gpubnames", "-ffunction-sections", "-O1"),
}  # fmt: skip


@pytest.fixture(scope="module", params=WAYS)
def program(request, tmp_path_factory):
    command = WAYS[request.param]
    packages.require(command[0])
    folder = tmp_path_factory.mktemp("program")
    for name, text in (("one", ONE), ("two", TWO)):
        (folder / f"{name}.cc").write_text(text)
        subprocess.run([*command, "-c", "-o", folder / f"{name}.o", folder / f"{name}.cc"], check=True)
    subprocess.run([command[0], "-o", folder / "program", folder / "one.o", folder / "two.o"], check=True)
    return str(folder / "program")


@pytest.mark.share(1)
def test_names_are_found_in_the_units_that_have_them(program):
    information = open_information(program)
    counts = {name: len(information.functions(name)) for name in (
        "total", "shop::Basket::total", "Basket::total", "store::total", "shop::total", "other::total", "twice",
        "shop::twice<int>", "shop::v1::twice", "v1::twice", "v2::twice", "main", "_ZNK4shop6Basket5totalEi", "nothing",
    )}  # fmt: skip
    assert counts == {
        "total": 2, "shop::Basket::total": 1, "Basket::total": 1, "store::total": 1, "shop::total": 0,
        "other::total": 0, "twice": 1, "shop::twice<int>": 1, "shop::v1::twice": 1, "v1::twice": 1, "v2::twice": 0,
        "main": 1, "_ZNK4shop6Basket5totalEi": 1, "nothing": 0,
    }  # fmt: skip
    # Constants are in no index, since they are in no memory.
    for name in ("shop::Basket::made", "limit", "shop::hidden"):
        assert information.variables(name), name


@pytest.mark.share(1)
def test_every_instruction_is_of_the_function_that_its_symbol_says(program):
    information, again = open_information(program), open_information(program)
    names = {
        "_ZNK4shop6Basket5totalEi": "total",
        "_ZN5store5totalEi": "total",
        "_ZN4shop5otherEi": "other",
        "main": "main",
    }
    listed = [each for each in symbols(ElfFile.open(program)) if each.name in names and each.size]
    assert len(listed) == 4
    for each in listed:
        for address in range(each.address, each.address + each.size):
            assert name_of(information.function_at(address)) == names[each.name]
        # Also where nothing has been asked before.
        assert name_of(again.function_at(each.address)) == names[each.name]
        assert information.function_at(each.address + each.size + (1 << 30)) is None


@pytest.mark.share(1)
@packages.needs("gdb-add-index")
def test_the_index_of_gdb_has_the_addresses_of_units(program, tmp_path):
    path = str(tmp_path / "program")
    shutil.copy(program, path)
    subprocess.run(["gdb-add-index", path], check=True, capture_output=True)
    elf = ElfFile.open(path)
    told = sorted(indexed_ranges(elf.section(".gdb_index")))
    plain = open_information(program)
    # gdb has variables of clang's units there as well.
    code = {address: unit for low, high, unit in told for address in range(low, high) if plain.is_code(address)}
    ranges = [each for each in plain._unit_ranges() if plain.is_code(each[0])]
    assert {address: unit for low, high, unit in ranges for address in range(low, high)} == code
    aranges = elf.section(".debug_aranges")
    if aranges:
        assert sorted(each for each in told_ranges(aranges) if plain.is_code(each[0])) == sorted(ranges)
    bare = str(tmp_path / "bare")
    subprocess.run(["objcopy", "--remove-section=.debug_aranges", path, bare], check=True)
    information = open_information(bare)
    (main,) = (each for each in symbols(elf) if each.name == "main")
    assert name_of(information.function_at(main.address + 2)) == "main"


def places_of(name, strings):
    """Where `name` stands: as the first string, after another, or as the end of a longer one that a linker shared."""
    places = [found.start() for found in re.finditer(re.escape(name + b"\0"), strings)]
    assert places
    return places


@pytest.mark.share(1)
def test_an_index_leaves_out_units_without_the_name(program):
    information = open_information(program)
    index = information.main.name_index
    assert (index is not None) == (".debug_names" in information.main.sections)
    if index is None:
        return
    strings = information.main.sections[".debug_str"]
    assert index.units == {each.offset for each in information.main.units}
    assert len(index.units_with(places_of(b"main", strings))) == 1
    assert index.units_with(places_of(b"total", strings)) == index.units
    assert index.units_with([0x7FFFFFFF, 1 << 40]) == set()


def merged_index(units, entries):
    """One index of several units: `entries` are (place of the name, units)."""
    declarations = b"\x01\x2e\x01\x0b\x03\x13\0\0" + b"\0"
    pool, offsets = b"", []
    for _, found in entries:
        offsets.append(len(pool))
        pool += b"".join(b"\x01" + bytes((unit,)) + struct.pack("<I", 77) for unit in found) + b"\0"
    body = struct.pack("<HH7I", 5, 0, len(units), 0, 0, 0, len(entries), len(declarations), 4) + b"LLVM"
    body += struct.pack(f"<{len(units)}I", *units) + struct.pack(f"<{len(entries)}I", *(place for place, _ in entries))
    body += struct.pack(f"<{len(entries)}I", *offsets) + declarations + pool
    return struct.pack("<I", len(body)) + body


def test_an_index_of_several_units_tells_them_apart():
    data = merged_index((0, 100, 200), [(5, (0,)), (9, (1, 2)), (0x0500, (2,))])
    index = NameIndex(data)
    assert index.units == {0, 100, 200}
    assert [index.units_with([place]) for place in (5, 9, 0x500, 7)] == [{0}, {100, 200}, {200}, set()]
    # A number that is no unit rules none out.
    assert NameIndex(merged_index((0, 100), [(5, (3,))])).units_with([5]) == {0, 100}
    assert NameIndex(data + merged_index((300,), [(5, (0,))])).units_with([5]) == {0, 300}


def test_damaged_indexes_are_passed_over():
    chance = random.Random(5)
    whole = merged_index((0, 100, 200), [(5, (0,)), (9, (1, 2)), (77, (2,))])
    for _ in range(3000):
        data = bytearray(whole[: chance.randrange(len(whole))] if chance.random() < 0.2 else whole)
        for _ in range(chance.choice((1, 2, 8))):
            if data:
                data[chance.randrange(len(data))] = chance.choice((0, 0xFF, 0x80, chance.randrange(256)))
        NameIndex(bytes(data)).units_with([5, 9, 77])
        list(indexed_ranges(bytes(data)))
        FrameTable(bytes(data), 0).description(100)


def test_ranges_that_overlap_are_all_told():
    chance = random.Random(6)
    ranges = [(start, start + chance.randrange(1, 60), n) for n in range(80) for start in [chance.randrange(1000)]]
    found = UnitAddresses(lambda: iter(ranges))
    for address in range(1100):
        assert sorted(found.units(address)) == [n for low, high, n in ranges if low <= address < high]


@pytest.mark.share(2)
def test_the_table_of_frames_leads_to_what_a_search_finds(program):
    elf = ElfFile.open(program)
    sections = {each.name: each for each in elf.sections}
    data, address = elf.section(".eh_frame"), sections[".eh_frame"].address
    table = FrameTable(elf.section(".eh_frame_hdr"), sections[".eh_frame_hdr"].address)
    searching = FrameDescriptions(data, address, True)
    functions = [each for each in symbols(elf) if each.name in ("main", "_ZN4shop5otherEi")]
    assert len(functions) == 2
    for each in functions:
        # Everything before and behind what the table tells is cut off.
        only = FrameDescriptions(data, address, True, table)
        only._searched = None
        for at in range(each.address, each.address + each.size):
            assert searching.rule(at) == only.rule(at)
