"""Modules of the kernel: relocatable files as the linker would have linked them, found where distributions put them, as
a whole or in two files, compressed or not; and the probes and variables that they have."""

import gzip
import lzma
import shutil
import struct
import subprocess

import pytest
from support.symbols.kernel_like import FIRST, FLAGS, line_of, needs_compiler

from sonde.model.errors import SourceError
from sonde.model.location import KernelAddress
from sonde.model.probe import KernelFunction
from sonde.providers.kernel_places import KernelPlaces
from sonde.providers.kernel_variables import KernelVariables
from sonde.providers.pattern import Pattern
from sonde.symbols.dwarf.relocated import relocated
from sonde.symbols.elf.errors import DebugInfoError, ElfError
from sonde.symbols.elf.file import ElfFile
from sonde.symbols.kernel_files import KernelBuild
from sonde.symbols.kernel_objects import KernelObjects

pytestmark = needs_compiler

RELEASE = "6.99-test"
MODULE = FIRST + '\n__attribute__((section(".init.text"))) noinline int begin(void) { return counter; }\n'
LOOP = line_of("total += square")
DEBUG = (".debug_info", ".debug_line", ".debug_loclists", ".debug_loc", ".debug_rnglists", ".debug_ranges",
         ".debug_aranges", ".debug_frame")  # fmt: skip


def run(*words, cwd):
    subprocess.run(words, cwd=cwd, check=True, capture_output=True)


def relocatable(folder, *flags):
    """A module as its build leaves it, with a note of that."""
    (folder / "module.c").write_text(MODULE)
    run("gcc", *FLAGS, "-fno-merge-debug-strings", *flags, "-c", "module.c", "-o", "module.o", cwd=folder)
    (folder / "note").write_bytes(struct.pack("<III4s20s", 4, 20, 3, b"GNU\0", b"build of the module.."))
    note = ("--add-section", ".note.gnu.build-id=note", "--set-section-flags", ".note.gnu.build-id=alloc,readonly")
    run("objcopy", *note, "module.o", "module.ko", cwd=folder)
    data = bytearray((folder / "module.ko").read_bytes())
    # objcopy makes it a section of any kind.
    header = struct.unpack_from("<Q", data, 40)[0]
    for number, section in enumerate(ElfFile(bytes(data)).sections):
        if section.name == ".note.gnu.build-id":
            struct.pack_into("<I", data, header + 64 * number + 4, 7)
    (folder / "module.ko").write_bytes(data)
    return folder / "module.ko"


@pytest.mark.share(3)
@pytest.mark.parametrize("flags", [("-gdwarf-5",), ("-gdwarf-4",), ("-gz",), ("-O0",)], ids=" ".join)
def test_a_relocatable_file_is_as_the_linker_links_it(tmp_path, flags):
    """Each section of debug information, byte for byte."""
    relocatable(tmp_path, *flags)
    # The linker would put equal strings together.
    apart = ("--set-section-flags", ".debug_line_str=readonly,debug,contents")
    run("objcopy", *apart, "module.o", cwd=tmp_path)
    made = relocated(ElfFile.open(str(tmp_path / "module.o")))
    there = [each for each in made.sections if each.flags & 2 and each.size and each.name != ".note.gnu.build-id"]
    placed = "".join(f"{each.name} {each.address:#x} : {{ module.o({each.name}) }}\n" for each in there)
    (tmp_path / "layout").write_text(f"SECTIONS {{\n{placed}}}\n")
    run("ld", "-T", "layout", "-o", "linked", "module.o", "--compress-debug-sections=none", "--no-warn-rwx-segments",
        cwd=tmp_path)  # fmt: skip
    linked = ElfFile.open(str(tmp_path / "linked"))
    compared = 0
    for name in DEBUG:
        assert made.section(name) == linked.section(name), name
        compared += made.section(name) is not None
    assert compared >= 5
    names = {"work", "hidden", "begin", "per_cpu_count"}
    assert {n: made.find(n)[0].address for n in names} == {n: linked.find(n)[0].address for n in names}
    work = made.find("work")[0]
    assert made.bytes_at(work.address, work.size)[:4] == linked.bytes_at(work.address, work.size)[:4]


@pytest.mark.parametrize("damage", ["cut", "symbol", "place"])
def test_a_damaged_relocatable_file_is_refused(tmp_path, damage):
    data = bytearray(relocatable(tmp_path).read_bytes())
    if damage == "cut":
        data = data[: len(data) // 2]
    else:
        table = next(each for each in ElfFile(bytes(data)).sections if each.name == ".rela.debug_info")
        where = table.offset + (12 if damage == "symbol" else 0)
        struct.pack_into("<I", data, where, 0xFFFFFFF)
    with pytest.raises(ElfError):
        relocated(ElfFile(bytes(data)))


def installed(folder, way):
    """A machine's files with a loaded module `my_mod`, and what its kernel shows."""
    source = folder / "source"
    source.mkdir()
    path = relocatable(source)
    debug = folder / "root/usr/lib/debug/lib/modules" / RELEASE / "kernel/drivers"
    plain = folder / "root/lib/modules" / RELEASE / "kernel/drivers"
    debug.mkdir(parents=True)
    plain.mkdir(parents=True)
    if way == "whole":
        shutil.copy(path, debug / "my-mod.ko")
    elif way == "unstripped":
        (plain / "my-mod.ko.xz").write_bytes(lzma.compress(path.read_bytes()))
    else:
        run("objcopy", "--only-keep-debug", "module.ko", "module.debug", cwd=source)
        run("strip", "--strip-debug", "module.ko", "-o", "stripped.ko", cwd=source)
        shutil.copy(source / "module.debug", debug / "my-mod.ko.debug")
        stripped = (source / "stripped.ko").read_bytes()
        end, packed = {
            "two files": ("", stripped), "xz": (".xz", lzma.compress(stripped)), "gz": (".gz", gzip.compress(stripped)),
        }[way]  # fmt: skip
        (plain / f"my-mod.ko{end}").write_bytes(packed)
    shown = folder / "sys/module/my_mod"
    (shown / "notes").mkdir(parents=True)
    (shown / "initstate").write_text("live\n")
    (shown / "notes/.note.gnu.build-id").write_bytes((source / "note").read_bytes())
    (folder / "kallsyms").write_text("".join(f"ffffffffc0{n:06x} t {name}\t[my_mod]\n" for n, name in enumerate(
        ("work", "same", "listed", "quiet", "begin"), 1)))  # fmt: skip
    return KernelObjects(build=KernelBuild(RELEASE, str(folder / "root")), sys=str(folder / "sys"))


@pytest.fixture(params=["whole", "unstripped", "two files", "xz", "gz"])
def objects(request, tmp_path):
    return installed(tmp_path, request.param)


@pytest.mark.share(2)
def test_places_and_variables_of_a_module(objects, tmp_path):
    places = KernelPlaces(objects, str(tmp_path / "kallsyms"))
    (probe,) = places.match(Pattern("fbt", "my_mod", f"module.c@{LOOP}", ""))
    assert probe.firing == KernelFunction("my_mod", "work", False, True, True, probe.firing.offset)
    assert places.match(Pattern("fbt", "", f"module.c@{LOOP}", "")) == [probe]
    (same,) = places.match(Pattern("fbt", "", "work", f"{probe.firing.offset:x}"))
    assert same.firing == probe.firing
    variables = KernelVariables(places)
    assert not variables.find(probe, "locals", "square").is_user
    found = variables.find(probe, "globals", "hidden")
    home = objects.of("my_mod")
    hidden = home.loaded.file.find("hidden")[0].address
    (symbol,) = {symbol for symbol in ("counter", "hidden") if found.pieces[0].place.address.symbol.endswith(symbol)}
    address = found.pieces[0].place.address
    assert address == KernelAddress(f"my_mod`{symbol}", hidden - home.loaded.file.find(symbol)[0].address)


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("function", "name", "why"),
    [("listed", "0", "NOKPROBE_SYMBOL"), ("quiet", "0", "noinstr"), ("begin", "0", "runs once, at the beginning")],
)
def test_sections_of_a_module_tell_what_cannot_be_probed(objects, tmp_path, function, name, why):
    places = KernelPlaces(objects, str(tmp_path / "kallsyms"))
    with pytest.raises(SourceError) as error:
        places.match(Pattern("fbt", "my_mod", function, name))
    assert why in error.value.hint


@pytest.mark.share(3)
def test_data_per_cpu_of_a_module_are_refused(objects, tmp_path):
    places = KernelPlaces(objects, str(tmp_path / "kallsyms"))
    (probe,) = places.match(Pattern("fbt", "", "work", "0"))
    with pytest.raises(SourceError, match="per-CPU"):
        KernelVariables(places).find(probe, "globals", "per_cpu_count")


def test_the_file_of_another_build_is_passed_over_and_named(tmp_path):
    objects = installed(tmp_path, "whole")
    note = tmp_path / "sys/module/my_mod/notes/.note.gnu.build-id"
    note.write_bytes(note.read_bytes()[:-1] + b"?")
    with pytest.raises(DebugInfoError) as error:
        objects.of("my_mod")
    assert "my-mod.ko (of another build, " in str(error.value)


def test_what_is_not_loaded_is_looked_for_by_its_name(tmp_path):
    objects = installed(tmp_path, "whole")
    with pytest.raises(DebugInfoError, match="no debug information of module other"):
        objects.of("other")


def test_relocatable_files_have_variables(capfd, tmp_path):
    from sonde.cli.main import main

    path = relocatable(tmp_path)
    assert main(["sonde", "vars", str(path), f"module.c@{LOOP}"]) == 0
    out, _ = capfd.readouterr()
    assert "variable   square       long                  here" in out
