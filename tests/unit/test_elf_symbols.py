"""ELF symbols against nm and readelf, on a program compiled here and on the system's own files."""

import lzma
import mmap
import os
import re
import shutil
import struct
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.machine import compilers, packages
from support.symbols.listed_symbols import symbols

from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.symbols.elf.symbol_table import STT_FUNC
from sonde.symbols.mappings import Mapping, parse_maps
from sonde.symbols.object_names import ObjectNames
from sonde.symbols.objects import Objects
from sonde.symbols.process import ProcessNames
from sonde.symbols.symbolizer import SystemSymbolizer

SOURCE = """
#include <unistd.h>
int counter = 5;
static int hidden(int x) { return x * 3; }
int work(int x) { return hidden(x) + counter; }
int same(int x) __attribute__((alias("work")));
int main(int argc, char **argv)
{
    char byte;
    if (write(1, "up\\n", 3) == 3)
        return read(0, &byte, 1) == 7 ? work(argc) : 0;
    return 1;
}
"""

needs_compiler = packages.needs("gcc", "nm", "readelf", "strip")


def run(*arguments):
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module", params=["-pie", "-no-pie"])
def program(request, tmp_path_factory):
    directory = tmp_path_factory.mktemp("elf")
    (directory / "p.c").write_text(SOURCE)
    run("gcc", "-O0", "-Wl,--build-id", request.param, "-o", str(directory / "p"), str(directory / "p.c"))
    return str(directory / "p")


def nm(path, *options):
    """(address, type letter, name) of the defined symbols."""
    lines = (line.split() for line in run("nm", "--defined-only", *options, path).splitlines())
    return [(int(address, 16), letter, name.partition("@")[0]) for address, letter, name in lines if letter != "a"]


@needs_compiler
def test_symbols_are_those_of_nm(program):
    found = {(symbol.address, symbol.name) for symbol in symbols(ElfFile.open(program))}
    assert found == {(address, name) for address, _, name in nm(program)}


@needs_compiler
def test_every_byte_of_a_function_has_its_name(program):
    file = ElfFile.open(program)
    (work,) = (symbol for symbol in file.find("hidden"))
    assert work.kind == STT_FUNC
    for offset in range(work.size):
        assert file.symbolize(work.address + offset) == ("hidden", offset)
    assert file.symbolize(work.address + work.size) != ("hidden", work.size)


@needs_compiler
def test_of_two_names_one_is_chosen_always(program):
    file = ElfFile.open(program)
    (work,) = file.find("work")
    assert file.symbolize(work.address + 1) == ("work", 1)
    assert file.find("same")[0].address == work.address
    assert file.find("nothing") == ()


@needs_compiler
def test_segments_are_those_of_readelf(program):
    pattern = re.compile(r"LOAD\s+(0x\w+) (0x\w+) 0x\w+ (0x\w+) (0x\w+) (...)")
    wanted = [
        (*(int(value, 16) for value in groups[:4]), "E" in groups[4])
        for groups in pattern.findall(run("readelf", "-lW", program))
    ]
    segments = ElfFile.open(program).segments
    assert [(s.offset, s.address, s.file_size, s.memory_size, bool(s.flags & 1)) for s in segments] == wanted


@needs_compiler
def test_offsets_and_addresses(program):
    file = ElfFile.open(program)
    (main,) = file.find("main")
    offset = file.offset_of(main.address)
    assert file.address_at(offset) == main.address
    with open(program, "rb") as raw:
        raw.seek(offset)
        assert raw.read(1)[0] in (0xF3, 0x55)  # endbr64 or push %rbp
    assert file.address_at(1 << 40) is None
    assert file.offset_of(1 << 40) is None


@needs_compiler
def test_build_id(program):
    assert ElfFile.open(program).build_id == re.search(r"Build ID: (\w+)", run("readelf", "-n", program))[1]


@needs_compiler
def test_a_stripped_program_has_its_dynamic_symbols(program, tmp_path):
    stripped = str(tmp_path / "stripped")
    run("strip", "-o", stripped, program)
    file = ElfFile.open(stripped)
    assert ElfFile.open(program).has_symbol_table
    assert not file.has_symbol_table
    assert {symbol.name for symbol in symbols(file)} == {name for _, _, name in nm(stripped, "-D")}


@needs_compiler
def test_a_stripped_program_with_its_symbols_compressed(program, tmp_path):
    with open(program, "rb") as file:
        (tmp_path / "symbols.xz").write_bytes(lzma.compress(file.read()))
    path = str(tmp_path / "p")
    section = f".gnu_debugdata={tmp_path}/symbols.xz"
    run("objcopy", "--strip-all", "--add-section", section, program, path)
    mapping = Mapping(0, 1, 0, "fd:01", os.stat(path).st_ino, path, True)
    (work,) = ElfFile.open(program).find("work")
    files = Objects().symbols(os.getpid(), mapping)
    assert [file.symbolize(work.address) for file in files] == [("work", 0), None]


@needs_compiler
def test_names_in_a_running_process_and_after_it(program):
    child = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert child.stdout.readline() == b"up\n"
        file = ElfFile.open(program)
        (work,) = file.find("work")
        with open(f"/proc/{child.pid}/maps") as maps:
            text = next(m for m in parse_maps(maps.read()) if m.path == program and m.executable)
        address = text.start + file.offset_of(work.address) - text.offset
        symbolizer = SystemSymbolizer()
        assert symbolizer.user(child.pid, address + 3) == (program, "work", 3)
        assert symbolizer.user(child.pid, 8) is None
    finally:
        child.communicate(b"x")
        child.stdout.close()
    assert symbolizer.user(child.pid, address + 4) == (program, "work", 4)
    assert not symbolizer.remember(child.pid)
    assert SystemSymbolizer().user(child.pid, address) is None


@needs_compiler
def test_a_deleted_program_still_has_names(program, tmp_path):
    copy = str(tmp_path / "copy")
    shutil.copy(program, copy)
    child = subprocess.Popen([copy], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        child.stdout.readline()
        os.unlink(copy)
        file = ElfFile.open(program)
        (work,) = file.find("work")
        with open(f"/proc/{child.pid}/maps") as maps:
            text = next(m for m in parse_maps(maps.read()) if m.path.startswith(copy) and m.executable)
        address = text.start + file.offset_of(work.address) - text.offset
        found = SystemSymbolizer().user(child.pid, address)
    finally:
        child.communicate(b"x")
        child.stdout.close()
    if os.geteuid():
        assert found[0] == copy
    else:
        assert found == (copy, "work", 0)


def test_this_process():
    import ctypes

    address = ctypes.cast(ctypes.CDLL(None).getpid, ctypes.c_void_p).value
    path, name, offset = SystemSymbolizer().user(os.getpid(), address)
    assert os.path.basename(path).startswith("libc")
    assert name.endswith("getpid")
    assert offset == 0


def test_the_vdso_has_symbols():
    with open("/proc/self/maps") as maps:
        vdso = [mapping for mapping in parse_maps(maps.read()) if mapping.path == "[vdso]"]
    if not vdso:
        pytest.skip("no vdso is mapped here")
    names = {symbol.name for symbol in symbols(Objects().file(os.getpid(), vdso[0]))}
    assert "__vdso_clock_gettime" in names


def test_maps():
    text = (
        "00400000-00401000 r--p 00000000 fd:01 17 /bin/a b\n"
        "00401000-00402000 r-xp 00001000 fd:01 17 /bin/a b\n"
        "7ffe00000000-7ffe00001000 rw-p 00000000 00:00 0 \n"
        "7fff00000000-7fff00001000 rw-p 00000000 00:00 0 [stack]\n"
        "7fff10000000-7fff10001000 r-xp 00000000 fd:01 18 /tmp/odd\\012name (deleted)\n"
    )
    mappings = parse_maps(text)
    assert mappings[1] == Mapping(0x401000, 0x402000, 0x1000, "fd:01", 17, "/bin/a b", True)
    assert [mapping.path for mapping in mappings[2:]] == ["", "[stack]", "/tmp/odd\nname (deleted)"]


def test_without_a_readable_object_there_is_its_path_and_offset(tmp_path):
    directory = tmp_path / "7"
    directory.mkdir()
    (directory / "maps").write_text(
        "1000-2000 r-xp 00003000 fd:01 17 /gone/away\n2000-3000 rw-p 00000000 00:00 0 [heap]\n"
    )
    names = ProcessNames(proc=str(tmp_path))
    assert names.symbolize(7, 0x1010) == ("/gone/away", None, 0x3010)
    assert names.symbolize(7, 0x2010) is None
    assert names.symbolize(7, 0x3010) is None


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"#!/bin/sh\n" * 10, b"\x7fELF\2\1\1" + b"\0" * 20])
def test_what_is_not_elf_is_refused(data):
    with pytest.raises(ElfError):
        ElfFile(data)


@example([(39, 128)], True)
@example([(47, 128)], True)
@given(st.lists(st.tuples(st.integers(0, 1 << 30), st.integers(0, 255)), min_size=1, max_size=8), st.booleans())
def test_damaged_files_never_raise_anything_else(damage, in_header):
    data = bytearray(small_elf())
    for at, value in damage:
        data[at % (64 if in_header else len(data))] = value
    mapped = mmap.mmap(-1, len(data))
    mapped.write(bytes(data))
    try:
        file = ElfFile(mapped)
        file.check()
        file.symbolize(0x1004)
        _ = file.build_id
    except ElfError:
        pass


def small_elf():
    """A header, one loadable segment, and a symbol table with the function f of 16 bytes at 0x1000, whose section is
    not described."""
    program = struct.pack("<IIQQQQQQ", 1, 5, 0, 0x1000, 0x1000, 64, 64, 4096)
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 3, 0x1000, 16)
    strings = b"\0f\0.symtab\0.note.gnu.build-id\0"
    note = struct.pack("<III", 4, 4, 3) + b"GNU\0" + b"\1\2\3\4"
    at = 64 + len(program)
    sections = [
        struct.pack("<IIQQQQIIQQ", 3, 2, 0, 0, at, len(symbols), 1, 0, 8, 24),
        struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, at + len(symbols), len(strings), 0, 0, 1, 0),
        struct.pack("<IIQQQQIIQQ", 11, 7, 0, 0, at + len(symbols) + len(strings), len(note), 0, 0, 4, 0),
    ]
    table = at + len(symbols) + len(strings) + len(note)
    head = b"\x7fELF\2\1\1" + bytes(9)
    header = head + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, table, 0, 64, 56, 1, 64, 3, 1)
    return header + program + symbols + strings + note + b"".join(sections)


def test_a_file_written_by_hand():
    file = ElfFile(small_elf())
    assert file.symbolize(0x100F) == ("f", 15)
    assert file.symbolize(0x1010) is None
    assert file.build_id == "01020304"
    assert file.offset_of(0x1001) == 1


NAMELESS = {
    "plain.c": """
static __attribute__((noinline)) int inner(int n) { volatile int sum = n; return sum * 3; }
static __attribute__((noinline, cold)) void unlikely(void) { __builtin_trap(); }
__attribute__((noinline)) int outer(int n) { if (n < 0) unlikely(); return inner(n) + 1; }
""",
    "main.c": "int outer(int); int main(int count, char **words) { return outer(count); }",
}


def nameless(*options):
    """A program of NAMELESS, and it without symbols."""
    words = ["gcc", "-O2", *options, *NAMELESS, "-o", "nameless"]
    return compilers.kept(words, NAMELESS, "nameless"), compilers.kept([*words, "-s"], NAMELESS, "nameless")


@pytest.mark.parametrize("options", [(), ("-no-pie",), ("-static",), ("-Wl,--no-eh-frame-hdr",)], ids=" ".join)
def test_functions_without_symbols_are_told_by_their_starts(options):
    """Every byte of a function is of the one that begins where its symbol was."""
    whole, stripped = (ElfFile.open(str(each)) for each in nameless(*options))
    names = ObjectNames(stripped, [stripped])
    starts = [whole.find(each)[0] for each in ("inner", "outer", "unlikely", "main")]
    for symbol in starts:
        assert symbol.size
        for address in range(symbol.address, symbol.address + symbol.size):
            assert names.symbolize(address) is None
            assert names.start(address) == symbol.address
    assert names.start(1) is None


def test_marks_of_link_time_optimization_name_nothing():
    """They stand in debug information, whose offsets are addresses of code in a program that is large enough."""
    path, _ = map(str, nameless("-flto", "-g", "-no-pie", "-Wl,-Ttext-segment=0"))
    file = ElfFile.open(path)
    marks = [line.split() for line in run("readelf", "-sW", path).splitlines() if re.search(r"\.c\.[0-9a-f]{8}$", line)]
    assert len(marks) == 2
    for _, value, _, _, _, _, _, mark in marks:
        found = file.symbolize(int(value, 16))
        assert found is None or found[0] != mark
        assert file.find(mark) == ()
    assert file.symbolize(file.find("main")[0].address + 1) == ("main", 1)


LABELS = """
    .text
    .globl sized, marked, table_end
sized: .cfi_startproc
    nop
label:
    nop
    nop
    ret
    .cfi_endproc
    .type sized, @function
    .size sized, .-sized
marked:
    nop
    .type marked, @function
.Lhidden: .cfi_startproc
    nop
    ret
    .cfi_endproc
"""


def test_a_symbol_without_a_size_names_no_other_function():
    """A label in a function, and a mark before one that has no symbol."""
    files = {"labels.s": LABELS, "main.c": "int sized(void); int main(void) { return sized(); }"}
    file = ElfFile.open(str(compilers.kept(["gcc", "main.c", "labels.s", "-o", "labels"], files, "labels")))
    names = ObjectNames(file, [file])
    (sized,), (marked,) = file.find("sized"), file.find("marked")
    assert (sized.size, marked.size) == (4, 0)
    assert names.symbolize(sized.address + 2) == ("sized", 2)
    assert names.symbolize(marked.address) == ("marked", 0)
    assert names.symbolize(marked.address + 1) is None
    assert names.start(marked.address + 2) == marked.address + 1


def test_cut_off_files_are_refused():
    with open(sys.executable, "rb") as file:
        head = file.read(80)
    with pytest.raises(ElfError):
        _ = ElfFile(head).segments


@pytest.mark.share(2)
@needs_compiler
@pytest.mark.parametrize("flags", [["-Wl,-z,lazy"], ["-Wl,-z,now"], ["-fcf-protection=full", "-Wl,-z,ibtplt"]])
def test_entries_of_linkage_tables(tmp_path, flags):
    source, program = tmp_path / "calls.c", str(tmp_path / "calls")
    source.write_text(
        '#include <stdio.h>\n#include <stdlib.h>\nint main(void) { puts(getenv("x") ? "" : "y"); return 0; }\n'
    )
    run("gcc", "-O1", "-o", program, source, *flags)
    run("strip", program)
    listed = run("objdump", "-d", program)
    places = {int(m[1], 16): m[2] for m in re.finditer(r"^([0-9a-f]{16}) <(\w+@plt)>:$", listed, re.MULTILINE)}
    assert {"puts@plt", "getenv@plt"} <= set(places.values())
    file = ElfFile.open(program)
    names = ObjectNames(file, [file])
    for address, name in places.items():
        assert names.symbolize(address) == (name, 0)
        assert names.symbolize(address + 7) == (name, 7)


def test_names_are_found_by_a_search_and_by_an_index_alike(program):
    table = ElfFile.open(program).table
    names = sorted({symbol.name.partition("@")[0] for symbol in symbols(table)})
    searched = [ElfFile.open(program).table.named(name) for name in names]
    assert [table.named(name) for name in names] == searched
    assert {each for found in searched for each in found} == set(symbols(table))


THREAD_DATA = (
    "__thread char before[3] = {1}; __thread long counted = 5; int main(void) { return counted == before[0]; }"
)


@needs_compiler
def test_thread_local_variables_are_below_the_thread_pointer(tmp_path):
    """The block ends there; what is not linked yet has no block, and places that count from its beginning."""
    source = tmp_path / "threads.c"
    source.write_text(THREAD_DATA)
    run("gcc", "-o", tmp_path / "threads", source)
    run("gcc", "-c", "-o", tmp_path / "threads.o", source)
    table = run("readelf", "--wide", "--segments", tmp_path / "threads")
    size, alignment = (int(text, 16) for text in re.search(r"TLS +(?:\w+ +){4}(\w+) +R +(\w+)", table).groups())
    symbols = run("readelf", "--wide", "--symbols", tmp_path / "threads")
    place = int(re.search(r"(\w+) +\d+ TLS .* counted$", symbols, re.MULTILINE)[1], 16)
    file = ElfFile.open(str(tmp_path / "threads"))
    assert file.thread_offset("counted") == place - -(-size // alignment) * alignment
    assert file.thread_offset("main") is None
    loose = run("readelf", "--wide", "--symbols", tmp_path / "threads.o")
    expected = int(re.search(r"(\w+) +\d+ TLS .* counted$", loose, re.MULTILINE)[1], 16)
    assert ElfFile.open(str(tmp_path / "threads.o")).thread_offset("counted") == expected
