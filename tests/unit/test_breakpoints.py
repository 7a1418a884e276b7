"""Lines become the addresses where gdb breaks, and line tables are those of pyelftools."""

import re

import pytest
from support.symbols.compiled_objects import C_SOURCE, CXX_SOURCE, compiled, needs_gcc, needs_gdb, output

from sonde.symbols.dwarf.breakpoints import stops
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.information import open_information

pytestmark = needs_gcc


@pytest.mark.share(3)
@pytest.mark.parametrize("flags", [("-O0",), ("-O2",), ("-O3",), ("-O2", "-gdwarf-4"), ("-O2", "-gdwarf-3")])
def test_rows_are_those_of_pyelftools(flags):
    from elftools.elf.elffile import ELFFile

    path = compiled(*flags)
    information = open_information(path)
    ((_, table, numbers),) = information.lines.tables("program.c")
    with open(path, "rb") as file:
        dwarf = ELFFile(file).get_dwarf_info()
        program = next(each for each in map(dwarf.line_program_for_CU, dwarf.iter_CUs()) if each)
        states = [each.state for each in program.get_entries() if each.state]
    assert [tuple(row[:5]) for row in table.rows()] == [
        (each.address, each.file, each.line, bool(each.is_stmt), each.end_sequence) for each in states
    ]
    assert {table.files[number].rpartition("/")[2] for number in numbers} == {"program.c"}


def breaks_of_gdb(path, name, lines):
    """Line -> addresses, of gdb's own breakpoints."""
    commands = [argument for line in lines for argument in ("-ex", f"break {name}:{line}")]
    text = output("gdb", "-batch", "-nx", *commands, "-ex", "info breakpoints", path)
    found, current = {}, None
    for row in text.splitlines():
        main = re.match(r"(\d+)\s+breakpoint\s+keep y\s+(\S+)", row)
        part = re.match(r"(\d+)\.\d+\s+y\s+(0x\S+)", row)
        if main:
            current = lines[int(main[1]) - 1]
            found[current] = {int(main[2], 16)} if main[2].startswith("0x") else set()
        elif part:
            found[current].add(int(part[2], 16))
    return found


@pytest.mark.share(1)
@needs_gdb
@pytest.mark.parametrize("language", ["c", "c++"])
@pytest.mark.parametrize(
    "flags",
    [("-O0",), ("-O1",), ("-O2",), ("-O3",), ("-O3", "-funroll-loops"), ("-O2", "-gdwarf-4"), ("-O2", "-gsplit-dwarf")],
)
def test_breakpoints_are_those_of_gdb(language, flags):
    path = compiled(*flags, language=language)
    name, source = ("program.c", C_SOURCE) if language == "c" else ("program.cc", CXX_SOURCE)
    information = open_information(path)
    with_code = {
        row.line
        for _, table, numbers in information.lines.tables(name)
        for row in table.rows()
        if row.file in numbers and row.is_statement and not row.ends and information.is_code(row.address)
    }
    lines = sorted(with_code & set(range(1, source.count("\n") + 1)))
    assert len(lines) > 10
    found = {line: {each.address for each in stops(information, name, line)} for line in lines}
    assert found == breaks_of_gdb(path, name, lines)


def test_a_line_without_code_is_the_next_one_with_code():
    lines = C_SOURCE.split("\n")
    wanted = lines.index("    sink = a;") + 1
    (stop,) = stops(open_information(compiled("-O0")), "program.c", wanted - 1)
    assert stop.line in (wanted - 1, wanted)
    with pytest.raises(DebugInfoError, match=r"has no code for line 10000 of program\.c"):
        stops(open_information(compiled("-O0")), "program.c", 10000)
    with pytest.raises(DebugInfoError, match=r"has no source file other\.c"):
        stops(open_information(compiled("-O0")), "other.c", 1)
