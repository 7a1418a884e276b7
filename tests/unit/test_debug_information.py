"""Debug information is found where gdb finds it, and functions in it as pyelftools finds them."""

import os
import resource
import shutil
import struct
import subprocess
import sys
import time
import zlib
from importlib.util import find_spec
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from support.machine import packages
from support.symbols.compiled_objects import compiled, needs_gcc, output

from sonde.symbols.dwarf.attributes import name_of, ranges_of
from sonde.symbols.dwarf.compression import LARGEST, debug_sections
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.information import open_information
from sonde.symbols.elf.costs import Costs
from sonde.symbols.elf.debug_files import find_debug_file
from sonde.symbols.elf.file import ElfFile, Section

pytestmark = needs_gcc

WAYS = [
    ("-O0",), ("-O2",), ("-O2", "-gdwarf-4"), ("-O2", "-gdwarf-3", "-gstrict-dwarf"), ("-O2", "-gz=zlib"),
    ("-O2", "-gz=zlib-gnu"), ("-O2", "-gsplit-dwarf"), ("-O0", "-fdebug-types-section"), ("-O2", "-flto"),
]  # fmt: skip


def everything(path):
    """Name -> first addresses of all functions that pyelftools finds by looking at every entry."""
    found = {}
    with open(path, "rb") as file:
        dwarf = ELFFile(file).get_dwarf_info()
        for unit in dwarf.iter_CUs():
            for entry in unit.iter_DIEs():
                low = entry.attributes.get("DW_AT_low_pc")
                if entry.tag != "DW_TAG_subprogram" or low is None:
                    continue
                while "DW_AT_name" not in entry.attributes:
                    key = {"DW_AT_abstract_origin", "DW_AT_specification"} & set(entry.attributes)
                    entry = entry.get_DIE_from_attribute(key.pop())
                found.setdefault(entry.attributes["DW_AT_name"].value.decode(), set()).add(low.value)
    return found


@pytest.mark.share(5)
@pytest.mark.parametrize("flags", WAYS, ids="_".join)
def test_functions_are_found_by_name_and_address(flags):
    path = compiled(*flags)
    information = open_information(path)
    with open(path, "rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        symbols = {each.name.partition(".")[0]: each["st_value"] for each in table.iter_symbols()}
    for name in ("eight", "loop", "main"):
        (entry,) = information.functions(name)
        ((start, end), *_) = ranges_of(entry)
        assert start == symbols[name]
        assert name_of(information.function_at(start)) == name
        assert information.function_at(end - 1).offset == entry.offset
    assert information.functions("no_such_function") == []
    assert len(information.inlined("twice")) == 2


@pytest.mark.share(1)
@pytest.mark.parametrize("flags", [("-O0",), ("-O2",), ("-O2", "-gdwarf-4"), ("-O2", "-gsplit-dwarf")], ids="_".join)
def test_functions_of_cxx_are_those_of_pyelftools(flags):
    information = open_information(compiled(*flags, language="c++"))
    for name, starts in everything(compiled(*flags[:1], *flags[1:2], language="c++")).items():
        found = {ranges_of(each)[0][0] for each in information.functions(name)}
        assert found == {each for each in starts if information.is_code(each)}, name
    assert len(information.functions("_ZN4shop7largestIdEET_S1_S1_")) == 1


@pytest.mark.parametrize("remove", [(), (".debug_aranges",)])
def test_every_function_has_its_addresses(tmp_path, remove):
    path = str(tmp_path / "program")
    subprocess.run(["objcopy", *(f"--remove-section={each}" for each in remove), compiled("-O2"), path], check=True)
    information = open_information(path)
    for name, starts in everything(path).items():
        assert {name_of(information.function_at(each)) for each in starts} == {name}


def split_off(tmp_path, *more):
    """A stripped program, and the path of its debug information."""
    path, debug = str(tmp_path / "program"), str(tmp_path / "program.debug")
    shutil.copy(compiled("-O2"), path)
    subprocess.run(["objcopy", "--only-keep-debug", path, debug], check=True)
    subprocess.run(["strip", *more, path], check=True)
    return path, debug


def nowhere(path, tmp_path):
    return find_debug_file(path, ElfFile.open(path), "", (str(tmp_path / "lib"),), str(tmp_path / "cache"))


def place(tmp_path, debug, where):
    where = tmp_path / where
    where.parent.mkdir(parents=True, exist_ok=True)
    os.replace(debug, where)
    return str(where)


def test_a_file_is_found_by_build_id(tmp_path):
    path, debug = split_off(tmp_path)
    assert nowhere(path, tmp_path)[0] is None
    build_id = ElfFile.open(path).build_id
    assert build_id in output("readelf", "-n", path)
    where = place(tmp_path, debug, f"lib/.build-id/{build_id[:2]}/{build_id[2:]}.debug")
    assert nowhere(path, tmp_path)[0].path == where
    information = open_information(path, "", (str(tmp_path / "lib"),), str(tmp_path))
    assert [name_of(each) for each in information.functions("eight")] == ["eight"]


def test_a_file_is_found_in_the_cache_of_debuginfod(tmp_path):
    path, debug = split_off(tmp_path)
    where = place(tmp_path, debug, f"cache/{ElfFile.open(path).build_id}/debuginfo")
    assert nowhere(path, tmp_path)[0].path == where


@pytest.mark.parametrize("where", ["program.debug", ".debug/program.debug", "lib{directory}/program.debug"])
def test_a_file_is_found_by_debug_link(tmp_path, where):
    path, debug = split_off(tmp_path, "-R", ".note.gnu.build-id")
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", path], check=True)
    where = place(tmp_path, debug, where.format(directory=tmp_path))
    assert nowhere(path, tmp_path)[0].path == where
    with open(where, "ab") as file:
        file.write(b"!")
    assert nowhere(path, tmp_path)[0] is None


def test_a_file_of_another_build_is_not_taken(tmp_path):
    path, debug = split_off(tmp_path)
    build_id = ElfFile.open(path).build_id
    shutil.copy(compiled("-O0"), debug)
    place(tmp_path, debug, f"lib/.build-id/{build_id[:2]}/{build_id[2:]}.debug")
    assert nowhere(path, tmp_path)[0] is None


def test_a_link_to_what_is_no_file_does_not_hang(tmp_path):
    path, debug = split_off(tmp_path)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", path], check=True)
    os.remove(debug)
    os.mkfifo(debug)
    assert nowhere(path, tmp_path)[0] is None


def test_without_debug_information_it_is_said_what_it_would_add(tmp_path):
    path, debug = split_off(tmp_path)
    os.remove(debug)
    with pytest.raises(
        DebugInfoError, match=r"has no debug information .*\.build-id/.* would add the names, types and"
    ):
        open_information(path)


def test_a_missing_part_of_split_information_is_named(tmp_path):
    (tmp_path / "a.c").write_text("int main(void) { return 0; }")
    subprocess.run(["gcc", "-g", "-gsplit-dwarf", "-c", "a.c"], cwd=tmp_path, check=True)
    subprocess.run(["gcc", "a.o", "-o", "a"], cwd=tmp_path, check=True)
    for each in tmp_path.glob("*.dwo"):
        each.unlink()
    with pytest.raises(DebugInfoError, match=r"is in a\.dwo, which is not at "):
        open_information(str(tmp_path / "a")).functions("main")


@packages.needs("dwz")
def test_what_dwz_has_moved_to_a_shared_file_is_found(tmp_path):
    for name in ("one", "two"):
        shutil.copy(compiled("-O2"), tmp_path / name)
    subprocess.run(["dwz", "-m", "shared.debug", "one", "two"], cwd=tmp_path, check=True)
    information = open_information(str(tmp_path / "one"))
    assert information.main.shared is not None
    (entry,) = information.functions("eight")
    assert name_of(entry) == "eight"
    os.remove(tmp_path / "shared.debug")
    found, _ = nowhere(str(tmp_path / "one"), tmp_path)
    assert found.missing.endswith("shared.debug")


def test_sparse_files_do_not_take_the_memory_they_claim(tmp_path):
    """A section of 512 GiB that is a hole in the file."""
    path = tmp_path / "program"
    data = bytearray(Path(compiled("-O2")).read_bytes())
    elf = ElfFile(bytes(data))
    size = 512 << 30
    (index,) = (at for at, each in enumerate(elf.sections) if each.name == ".debug_info")
    header = int.from_bytes(data[0x28:0x30], "little") + 64 * index
    data[header + 24 : header + 40] = struct.pack("<QQ", len(data), size)
    path.write_bytes(data)
    os.truncate(path, len(data) + size)
    began, before = time.thread_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DebugInfoError, match="makes no sense"):
        open_information(str(path)).functions("eight")
    assert time.thread_time() - began < 3
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_zstd_is_read_or_said_to_be_missing(tmp_path):
    path = str(tmp_path / "program")
    shutil.copy(compiled("-O2"), path)
    done = subprocess.run(["objcopy", "--compress-debug-sections=zstd", path], capture_output=True)
    if done.returncode:
        pytest.skip("objcopy cannot compress by zstd")
    if any(find_spec(each) for each in ("zstandard", "compression")):
        assert len(open_information(path).functions("eight")) == 1
        return
    with pytest.raises(DebugInfoError, match=r"cannot read: install sonde-trace\[zstd\], or the package zstandard"):
        open_information(path)


def test_a_section_that_claims_to_be_huge_is_refused():
    class Object:
        """An object with one compressed section."""

        is_64_bit = True

        def __init__(self, size, content):
            self.costs = Costs()
            self.sections = [Section(".debug_info", 1, 0, 0, 0, 0, 0, 0x800)]
            self._content = struct.pack("<IIQQ", 1, 0, size, 1) + zlib.compress(content)

        def contents(self, section):
            return self._content

    def everything_of(elf):
        return debug_sections(elf, lambda name: True)

    assert everything_of(Object(5, b"12345")) == {".debug_info": b"12345"}
    with pytest.raises(DebugInfoError, match="too large: more than 128 MiB"):
        everything_of(Object(LARGEST + 1, b""))
    for size in (4, 6):
        with pytest.raises(DebugInfoError, match="does not have the size it says"):
            everything_of(Object(size, b"12345"))


def test_what_only_debuggers_of_parsers_need_is_not_imported():
    path = compiled("-O0")
    program = (
        "import sys\n"
        "from sonde.symbols.dwarf.information import open_information\n"
        f"entry = open_information({path!r}).functions('main')[0]\n"
        "assert 'elftools.dwarf.dwarfinfo' in sys.modules\n"
        "assert not {'pdb', 'pprint', 'dataclasses'} & set(sys.modules), set(sys.modules)\n"
        "from elftools.construct.lib.container import Container\n"
        "import pdb, pprint\n"
        "assert pdb.Pdb and pprint.pprint and 'main' in str(Container(name='main'))\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_missing_module_is_no_damage(monkeypatch):
    """Another Python may run sonde than the one for which its requirements were installed."""
    from sonde.symbols.dwarf.errors import damaged

    monkeypatch.setitem(sys.modules, "elftools", None)
    with pytest.raises(DebugInfoError) as caught, damaged("/bin/program"):
        import elftools  # noqa: F401
    assert str(caught.value) == "/bin/program: Python's module elftools is not installed"
