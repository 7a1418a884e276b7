"""The source file and line of each address, beside what binutils' addr2line finds."""

import subprocess

import pytest
from support.machine import compilers, packages

from sonde.symbols.dwarf.information import open_information

SOURCE = r"""
#include <stdio.h>
static inline int twice(int n) {
    return n + n;
}
struct pair { int a, b; };
__attribute__((noinline)) static int summed(const struct pair *each, int count) {
    int total = 0;
    for (int place = 0; place < count; place++)
        if (each[place].a > 2)
            total += twice(each[place].b);
        else
            total -= each[place].a;
    return total;
}
int main(int count, char **words) {
    struct pair pairs[3] = {{1, 2}, {count, 4}, {5, 6}};
    printf("%d\n", summed(pairs, 3));
    return 0;
}
"""


@pytest.mark.share(2)
@packages.needs("gcc", "objdump")
@pytest.mark.parametrize("options", [["-O0"], ["-O2"], ["-O2", "-gdwarf-4"], ["-O3", "-flto"]])
def test_every_instruction_has_the_line_of_addr2line(options):
    path = compilers.built("pairs.c", SOURCE, "gcc", "-g", *options)
    listed = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], check=True, capture_output=True, text=True)
    addresses = [
        int(line.partition(":")[0], 16) for line in listed.stdout.splitlines() if line[:1] == " " and ":\t" in line
    ]
    assert len(addresses) > 50
    words = ["addr2line", "-e", path, *map(hex, addresses)]
    found = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split("\n")
    information = open_information(path)
    wrong = []
    for address, line in zip(addresses, found, strict=False):
        file, _, number = line.partition(" ")[0].rpartition(":")
        wanted = (file.rpartition("/")[2], int(number)) if number.isdigit() and int(number) else None
        position = information.position_of(address)
        own = (position[0].rpartition("/")[2], position[1]) if position else None
        if wanted and wanted[0] == "<artificial>":
            # What addr2line calls a file that link-time optimization has moved.
            wanted = "pairs.c", wanted[1]
        if own != wanted:
            wrong.append((hex(address), own, wanted))
    assert not wrong


@packages.needs("gcc")
def test_split_units_have_the_lines_of_whole_ones(tmp_path):
    """The code is the same; the table stays in the object."""
    (tmp_path / "pairs.c").write_text(SOURCE)
    found = []
    for options in ([], ["-gsplit-dwarf"]):
        command = ["gcc", "-g", "-O2", *options, "-o", "pairs", "pairs.c"]
        subprocess.run(command, cwd=tmp_path, check=True)
        information = open_information(str(tmp_path / "pairs"))
        (low, high), *_ = information.executable[:1] or [(0, 0)]
        found.append([information.position_of(address) for address in range(low, high)])
    assert found[0] == found[1]
    assert len(set(found[0])) > 10
