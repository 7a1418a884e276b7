"""However a description spells a place in a process, a replay finds it where the session found it, on both engines: a
function by each of its names, the file by each of its own, an offset in each notation."""

import os
import re
import shutil
from pathlib import Path

import pytest
from support.command.command import sonde
from support.machine import compilers
from support.symbols.static_programs import assembler

LIBRARY = """
int best(int n) { return n + 1; }
int other(int n) __attribute__((alias("best")));
int __hidden(int n) { return n + 2; }
int plain(int n) __attribute__((alias("__hidden"), weak));
static int quick(int n) { return n + 3; }
static void *choose(void) { return quick; }
int picked(int n) __attribute__((ifunc("choose")));
int chosen(int n) __attribute__((alias("picked")));
"""

PROGRAM = (
    assembler("")
    + """
extern "C" { int other(int); int plain(int); int picked(int); }
namespace shop {
    struct Till { int add(int n); };
    __attribute__((noinline)) int Till::add(int n) { asm volatile(""); return n + 4; }
}
extern "C" __attribute__((noinline)) int mark(int n) {
    asm volatile("probe shop, item__sold, 0, -4@%%edi" : : "D"(n));
    asm volatile("probe shop, idle, 0, -4@%%edi" : : "D"(n));
    return n;
}
extern "C" int note(int) __attribute__((alias("mark")));
int main() {
    shop::Till till;
    for (int i = 0; i < 7; i++) {
        other(i); plain(i); picked(i); till.add(i);
        mark(i);
    }
}
"""
)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Copies, as some descriptions are about every process that runs the files."""
    folder, name = tmp_path_factory.mktemp("names"), "libodd.so.1.2"
    words = ["gcc", "-O1", "-w", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", name, "odd.c"]
    library = compilers.kept(words, {"odd.c": LIBRARY}, name)
    flags = ["-O1", "-w", str(library), "-Wl,-rpath,$ORIGIN", "-Wl,-z,now"]
    shutil.copy2(library, folder)
    return Path(shutil.copy2(compilers.built("shop.cc", PROGRAM, "g++", *flags), folder))


RECORDED = (
    "pid$target:libodd.so.1.2:best:entry", "pid$target:libodd.so.1.2:plain:entry",
    "pid$target:libodd.so.1.2:picked:entry", "pid$target:a.out:_ZN4shop4Till3addEi:entry",
    "pid$target:a.out:mark:0", "pid$target:a.out:mark:return", "shop$target::mark:item-sold",
    "usdt$target:a.out:shop:idle", "uprobe:{library}:best:return",
)  # fmt: skip

SPELLED = (
    "pid$target:libodd.so.1.2:other:entry", "pid$target:libodd:best:entry", "pid$target:libodd.so:oth*:entry",
    "pid$target:{library}:other:entry", "pid$target::*ther:entry", "pid$target:libodd*:best:entry",
    "pid$target:libodd:__hidden:entry", "pid$target:libodd:pl*:entry", "pid$target:libodd:chosen:entry",
    "pid$target:a.out:shop::Till::add:entry", "pid$target:a.out:add:entry", "pid$target::*Till*:entry",
    "pid$target:a.out:sho*::add:entry", "pid$target:a.out:mark:0x0", "pid$target:a.out:note:00",
    "pid$target:a.out:no*:return", "shop$target:a.out:note:item__sold", "shop$target:::item*",
    "usdt$target::shop:idle", "usdt$target::sh*:", "uprobe:libodd.so.1.2:other:return", "uprobe:{library}:oth*:return",
    "uprobe:{folder}/../{name}/libodd.so.1.2:other:return",
)  # fmt: skip


def filled(description, program):
    folder = program.parent
    return description.format(library=folder / "libodd.so.1.2", folder=folder, name=folder.name)


def script_of(descriptions, program):
    """Prints how often what each of them means has fired."""
    clauses = [f"{filled(each, program)} {{ @a{at} = count(); }}" for at, each in enumerate(descriptions)]
    shown = "".join(f'printa("%@d ", @a{at});' for at, _ in enumerate(descriptions))
    return " ".join(clauses) + f" END {{ {shown} }}"


def counted(descriptions, *words):
    return dict(zip(descriptions, map(int, sonde("-q", *words).stdout.split()), strict=True))


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_a_place_is_found_by_each_of_its_names(tmp_path, program, engine):
    path = str(tmp_path / "it.rec")
    script = ", ".join(filled(each, program) for each in RECORDED) + "{ @[probefunc, probename] = count(); }"
    live = sonde("-q", "--record", path, "-xengine=" + engine, "-c", str(program), "-n", script).stdout
    assert live.count(" 7\n") == len(RECORDED)
    assert sonde("-q", "--replay", path, "-n", script).stdout == live
    found = counted(SPELLED, "--replay", path, "-n", script_of(SPELLED, program))
    assert {each: count for each, count in found.items() if count != 7} == {}


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_live_a_pattern_finds_what_a_name_finds(program, engine):
    spelled = [each for each in SPELLED if not each.startswith("uprobe:libodd")]
    found = counted(spelled, "-xengine=" + engine, "-c", str(program), "-n", script_of(spelled, program))
    assert {each: count for each, count in found.items() if count != 7} == {"usdt$target::sh*:": 14}


@pytest.mark.long
def test_a_list_has_the_probes_of_processes(tmp_path, program):
    path = str(tmp_path / "it.rec")
    text = "pid$target:libodd.so.1.2:best:entry, shop$target:a.out:mark:item-sold, syscall::mmap:entry {}"
    sonde("-q", "-xengine=embedded", "--record", path, "-c", str(program), "-n", text)
    everything = sonde("--replay", path, "-l").stdout
    for each in ("other entry", "note item-sold", "mmap entry", "dtrace +BEGIN"):
        assert len(re.findall(rf"{each}$", everything, re.MULTILINE)) == 1, each
    of_program = (
        "pid$target:libodd:other:entry",
        "pid*:::entry",
        "*:libodd*::entry",
        "shop$target:::",
        "shop*:::item*",
    )
    for each in of_program:
        rows = sonde("--replay", path, "-l", "-n", each).stdout.splitlines()
        assert len(rows) == 2, each
        number = rows[1].split()[0]
        assert sonde("--replay", path, "-l", "-i", number).stdout.splitlines() == rows
        assert sonde("--replay", path, "-l", each).stdout.splitlines() == rows
    for word in ("other", "item-sold", "libodd.so.1.2"):
        assert len(sonde("--replay", path, "-l", word).stdout.splitlines()) == 2, word


def test_a_file_that_was_written_to_since_gives_no_names(tmp_path):
    """It has the inode still, and no build id that would tell."""
    flags = ["-O0", "-w", "-Wl,--build-id=none"]
    source = "#include <unistd.h>\nint NAME(void) { return getppid(); }\nint main(void) { return !NAME(); }\n"
    first, second = (
        compilers.built("written.c", source, "gcc", *flags, f"-DNAME={name}") for name in ("first", "second")
    )
    program, recording = tmp_path / "written", str(tmp_path / "it.rec")
    shutil.copy(first, program)
    text = "syscall::getppid:entry { @[ustack(3)] = count(); }"
    words = ["-qn", "syscall::getppid:entry /pid == $target/ { ustack(); }", "-o", "/dev/null"]
    sonde("--engine", "embedded", *words, "-c", str(program), "--record", recording)
    assert "written`first+" in sonde("-q", "--replay", recording, "-n", text).stdout
    shutil.copyfile(second, program)
    os.utime(program, ns=(0, os.stat(recording).st_mtime_ns + 1))
    later = sonde("-q", "--replay", recording, "-n", text).stdout
    assert "getppid" in later
    assert "first" not in later
    assert "second" not in later
