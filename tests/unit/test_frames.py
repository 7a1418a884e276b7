"""The rule for the frame address at every row of frame descriptions, against pyelftools' tables."""

import pytest
from support.symbols.compiled_objects import compiled, needs_gcc
from support.symbols.listed_symbols import symbols

from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.frames import FrameDescriptions
from sonde.symbols.elf.file import ElfFile

pytestmark = needs_gcc

WAYS = [
    ("c", ("-O0",), ".eh_frame"), ("c", ("-O2",), ".eh_frame"), ("c++", ("-O2",), ".eh_frame"),
    ("c", ("-O2", "-fno-asynchronous-unwind-tables", "-gdwarf-4"), ".debug_frame"),
]  # fmt: skip


def frames_of(path, section):
    elf = ElfFile.open(path)
    (found,) = [each for each in elf.sections if each.name == section]
    is_eh = section == ".eh_frame"
    return FrameDescriptions(elf.section(section), found.address if is_eh else 0, is_eh)


@pytest.mark.parametrize(("language", "flags", "section"), WAYS)
def test_rules_are_those_of_pyelftools(language, flags, section):
    from elftools.dwarf.callframe import FDE
    from elftools.elf.elffile import ELFFile

    path = compiled(*flags, language=language)
    frames = frames_of(path, section)
    rows = 0
    with open(path, "rb") as file:
        dwarf = ELFFile(file).get_dwarf_info()
        entries = dwarf.EH_CFI_entries() if section == ".eh_frame" else dwarf.CFI_entries()
        for entry in entries:
            if not isinstance(entry, FDE):
                continue
            table = entry.get_decoded().table
            finish = entry["initial_location"] + entry["address_range"]
            # That of a procedure linkage table without entries has a row behind its end.
            table = [row for row in table if row["pc"] < finish]
            ends = [row["pc"] for row in table[1:]] + [finish]
            for row, end in zip(table, ends, strict=True):
                for address in (row["pc"], end - 1):
                    rule = frames.rule(address)
                    if row["cfa"].expr is not None:
                        assert rule.expression == bytes(row["cfa"].expr)
                    else:
                        assert (rule.register, rule.offset) == (row["cfa"].reg, row["cfa"].offset)
                rows += 1
    assert rows > 10


def test_where_nothing_is_described_there_is_no_rule():
    frames = frames_of(compiled("-O0"), ".eh_frame")
    assert frames.rule(0) is None
    assert frames.rule(1 << 40) is None


def test_descriptions_that_are_cut_off_are_an_error():
    elf = ElfFile.open(compiled("-O0"))
    (found,) = [each for each in elf.sections if each.name == ".eh_frame"]
    data = elf.section(".eh_frame")
    address = next(each.address for each in symbols(elf) if each.name == "main")
    for size in range(20, len(data) - 60, 7):
        try:
            FrameDescriptions(data[:size], found.address, True).rule(address)
        except DebugInfoError as error:
            assert "cut off" in str(error)  # noqa: PT017 - most of the lengths are no error
