"""-h and -G: programs in C and C++ whose probes come from the header that sonde writes."""

import subprocess

import pytest
from support.command.command import SONDE, environment, sonde
from support.machine import packages

PROVIDER = """
typedef int number_t;
enum colour { RED, GREEN };
provider store {
    probe start();
    probe many(char c, unsigned char u, short s, number_t i, uint64_t l, const char *text, int *p, enum colour e,
        double d, long a, long b);
    probe look__up(long key);
};
"""

PROGRAM = r"""
#include "store.h"
#include <cstdio>
static int number = -70000;
static __attribute__((noinline)) void unused(long key) { STORE_LOOK_UP(key); }
int main(int count, char **words) {
    STORE_START();
    if (STORE_MANY_ENABLED())
        STORE_MANY((char)(count - 3), 250, -300, number, 1ull << 40, words[0], &number, (enum colour)count, 0.5, -1,
                   count);
    unused(STORE_LOOK_UP_ENABLED() ? 5 : 6);
    printf("%d\n", (int)STORE_MANY_ENABLED());
    return 0;
}
"""


@pytest.fixture
def header(tmp_path):
    packages.require("gcc")
    script = tmp_path / "store.d"
    script.write_text(PROVIDER)
    done = subprocess.run([SONDE, "-h", "-s", script], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return tmp_path / "store.h"


def compiled(directory, language, level):
    """A program of two files that include the header, twice each."""
    text = PROGRAM.replace("<cstdio>", "<stdio.h>") if language == "c" else PROGRAM
    source = directory / f"program.{language}"
    source.write_text('enum colour { RED, GREEN };\n#include "store.h"\n' + text)
    other = directory / f"other.{language}"
    other.write_text('enum colour { RED, GREEN };\n#include "store.h"\nint other(void) { STORE_START(); return 0; }\n')
    program = directory / "program"
    command = ["gcc" if language == "c" else "g++", level, "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]
    subprocess.run([*command, "-o", program, source, other], check=True)
    return str(program)


@pytest.mark.share(1)
@pytest.mark.parametrize(("language", "level"), [("c", "-O0"), ("c", "-O2"), ("cc", "-O0"), ("cc", "-O3")])
def test_a_program_with_the_header(tmp_path, header, language, level):
    program = compiled(tmp_path, language, level)
    text = r"""
    store$target:::start { printf("%s\n", probefunc); }
    store$target:::many { printf("%d %d %d %d %d %s %d %d %x %d %d\n", arg0, arg1, arg2, arg3, arg4, copyinstr(arg5),
        *(int *)copyin(arg6, 4), arg7, arg8, arg9, arg10); }
    store$target:::look-up { printf("%s %d\n", probefunc, arg0); }
    """
    out = sonde("-qn", text, "-c", program).stdout.splitlines()
    half = 0x3FE0000000000000
    many = f"-2 250 -300 -70000 {1 << 40} {program} -70000 1 {half:x} -1 1"
    assert out.count("1") == 1
    called = "unused" if language == "c" else "_ZL6unusedl"
    assert [line for line in out if line not in ("", "1")] == ["main", many, f"{called} 5"]
    assert subprocess.run([program], capture_output=True, text=True).stdout == "0\n"


MAPPED = """
provider shop {
    probe sale(int number, long price, const char *name, short left) : (const char *name, short left, int number,
        int number);
    probe closed(int number) : (void);
};
"""


def test_tracers_see_what_the_second_list_of_a_probe_says(tmp_path):
    packages.require("gcc")
    script, source, program = tmp_path / "shop.d", tmp_path / "program.c", tmp_path / "program"
    script.write_text(MAPPED)
    sonde("-h", "-s", str(script), "-o", str(tmp_path / "shop.h"))
    source.write_text(
        '#include "shop.h"\n'
        'int main(int count, char **words) { SHOP_SALE(count + 6, 1l << 40, "cup", -3); SHOP_CLOSED(5); return 0; }\n'
    )
    subprocess.run(["gcc", "-O2", "-Wall", "-Werror", "-o", program, source], check=True)
    text = r"""
    shop$target:::sale { printf("%s %d %d %d", copyinstr(arg0), args[1], args[2], args[3]); }
    shop$target:::closed { printf(" closed"); }
    """
    assert sonde("-qn", text, "-c", str(program)).stdout.strip() == "cup -3 7 7 closed"
    listed = sonde("-lvn", "shop$target:::sale", "-c", str(program)).stdout
    assert [line.split()[-1] for line in listed.splitlines() if "args[" in line][1:] == [
        "int16_t",
        "int32_t",
        "int32_t",
    ]


def test_the_object_has_the_counters(tmp_path, header):
    """It goes with the header, whose counters are weak, and with programs that only declare them."""
    script = tmp_path / "store.d"
    made = tmp_path / "counters.o"
    sonde("-G", "-o", str(made), "-s", str(script))
    source = tmp_path / "user.c"
    source.write_text(
        'extern unsigned short store_look__up_semaphore __attribute__((visibility("hidden")));\n'
        "int main() { return store_look__up_semaphore + store_look__up_semaphore; }\n"
    )
    program = tmp_path / "user"
    subprocess.run(["gcc", "-o", program, source, made], check=True)
    assert subprocess.run([program]).returncode == 0
    shown = subprocess.run(["readelf", "-sW", made], capture_output=True, text=True, check=True)
    assert shown.stderr == ""
    assert sum("HIDDEN" in line and "_semaphore" in line for line in shown.stdout.splitlines()) == 3
