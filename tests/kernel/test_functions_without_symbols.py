"""Functions without symbols: by their object and where they begin in it, in every run and on both engines alike."""

import re
import subprocess

import pytest
from support.command.command import sonde
from support.machine import compilers

SOURCE = """
#include <unistd.h>
static __attribute__((noinline)) int inner(int n) { volatile int sum = n; return sum + getppid(); }
static __attribute__((noinline)) int outer(int n) { volatile int sum = n; return inner(n) + inner(sum) + 1; }
int main(int count, char **words) { return outer(count) == 0; }
"""
TEXT = """
syscall::getppid:entry /pid == $target/ { @a[ustack(5)] = count(); @b[usym(ucaller)] = count(); }
syscall::getppid:entry /pid == $target/ { @c[ufunc(ucaller)] = count(); @d[umod(ucaller)] = count(); ustack(5); }
"""


def built():
    """The program without symbols, and what its functions are called."""
    whole = compilers.built("whole.c", SOURCE, "gcc", "-O2")
    stripped = compilers.built("whole.c", SOURCE, "gcc", "-O2", "-s")
    listed = subprocess.run(["nm", whole], capture_output=True, text=True, check=True).stdout
    starts = {
        name: int(address, 16) for address, _, name in (line.split() for line in listed.splitlines() if line[0] != " ")
    }
    module = stripped.rpartition("/")[2]
    return stripped, {name: f"{module}+{starts[name]:#x}" for name in ("inner", "outer", "main")}


@pytest.mark.long
def test_names_are_starts_in_text_and_pictures(tmp_path):
    """Wherever the kernel has put the program, so two runs of it print the same."""
    program, names = built()
    shown = []
    for engine in ("kernel", "embedded"):
        folded = tmp_path / engine
        done = sonde("--engine", engine, "-q", "-c", program, "-n", TEXT, "--folded", f"@a:{folded}")
        shown.append((sorted(done.stdout.split("\n")), folded.read_text()))
    assert shown[0] == shown[1]
    lines, calls = [each.strip() for each in shown[0][0]], shown[0][1]
    for name in ("inner", "outer", "main"):
        assert any(re.fullmatch(rf"{re.escape(names[name])}\+0x[0-9a-f]+", each) for each in lines), lines
    assert len([each for each in lines if re.fullmatch(rf"{re.escape(names['inner'])}\s+2", each)]) == 2
    module = names["inner"].partition("+")[0]
    assert any(re.fullmatch(rf"{re.escape(module)}\s+2", each) for each in lines)
    assert ";".join(f"{module}`{names[each]}" for each in ("main", "outer", "inner")) in calls


def test_bpftraces_programs_have_the_same_names():
    program, names = built()
    text = "t:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack(2)] = count(); }"
    done = sonde("bt", "-e", text, "-c", program)
    assert re.search(rf"\n +getppid\+\d+\n +{re.escape(names['inner'])}\+\d+\n\]: 2", done.stdout), done.stdout
