"""The functions inlined at an address, against binutils' addr2line, at every instruction."""

import re
import subprocess

import pytest
from support.machine import compilers, packages

from sonde.symbols.dwarf.inlines import open_inlines

SOURCE = r"""
#include <stdlib.h>
#include <string.h>
static inline int innermost(int x) { return x * 3 + (x > 7 ? abs(x - 9) : x); }
static inline int middle(int x, int y) {
    int sum = 0;
    for (int i = 0; i < y; i++) {
        int each = innermost(x + i);
        if (each & 1)
            sum += innermost(each);
    }
    return sum;
}
static int both(const char *text) {
    int found = strlen(text);
    return middle(found, 3) + innermost(found);
}
__attribute__((noinline)) int outer(const char *text, int times) { return both(text) + middle(times, times); }
int main(int count, char **words) { return outer(words[0], count) + both("constant"); }
"""

needs = packages.needs("gcc", "addr2line")


@pytest.mark.share(1)
@needs
@pytest.mark.parametrize("flags", [["-O2"], ["-O3", "-gdwarf-4"], ["-O1", "-gno-as-loc-support"]])
def test_against_addr2line(flags):
    program = compilers.built("program.c", SOURCE, "gcc", "-g", *flags)
    listed = subprocess.run(["objdump", "-d", "-j", ".text", program], capture_output=True, text=True, check=True)
    addresses = [int(m[1], 16) for m in re.finditer(r"^ +([0-9a-f]+):\t", listed.stdout, re.MULTILINE)]
    told = subprocess.run(
        ["addr2line", "-a", "-i", "-f", "-e", program], check=True, capture_output=True, text=True,
        input="\n".join(f"{each:x}" for each in addresses),
    ).stdout  # fmt: skip
    parts = re.split(r"^0x([0-9a-f]+)\n", told, flags=re.MULTILINE)[1:]
    expected = {int(at, 16): tuple(text.split("\n")[0:-1:2]) for at, text in zip(parts[::2], parts[1::2], strict=True)}
    inlines = open_inlines(program)
    found = {each: inlines.at(each) for each in addresses}
    assert found == {each: names[:-1] for each, names in expected.items()}
    assert max(map(len, found.values())) >= 2


@needs
def test_without_debug_information_there_is_nothing(tmp_path):
    assert open_inlines(compilers.built("program.c", "int main(void) { return 0; }\n", "gcc")) is None
    assert open_inlines(__file__) is None
    assert open_inlines(str(tmp_path / "missing")) is None
