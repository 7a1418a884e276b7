"""Rows of frame descriptions, against the reader of debug information and against what damage does to them."""

import random
import subprocess
from itertools import pairwise

import packages
import pytest

from sonde.location import Binary, Constant, Register
from sonde.symbols.dwarf.frames import Frames
from sonde.symbols.dwarf.unwind_rows import (
    AT_FRAME,
    BY_FRAME_ADDRESS,
    BY_RBP,
    END,
    FROM_FRAME,
    FROM_STACK,
    LINKAGE,
    ROW,
    unwind_rows,
)
from sonde.symbols.elf import ElfFile

SOURCE = r"""
#include <stdio.h>
#include <string.h>
__attribute__((noinline)) int aligned(int n, const char *text) {
    int block[16] __attribute__((aligned(64)));
    char more[n + 10];
    memset(block, n, sizeof block);
    strcpy(more, text);
    return block[n & 15] + puts(more);
}
__attribute__((noinline)) int varying(int n) {
    char more[n + 10];
    memset(more, n, sizeof more);
    return puts(more) + more[n];
}
__attribute__((noinline)) int many(int a, int b, int c, int d, int e, int f, int g, int h) {
    return printf("%d", a) * b + printf("%d", c) * d + printf("%d", e) * f + printf("%d", g) * h;
}
int main(int count, char **words) {
    return aligned(count, words[0]) + varying(count) + many(1, 2, 3, 4, 5, 6, 7, count);
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    packages.require("gcc")
    directory = tmp_path_factory.mktemp("rows")
    source = directory / "program.c"
    source.write_text(SOURCE)
    made = directory / "program"
    subprocess.run(["gcc", "-O2", "-w", "-o", made, source], check=True)
    return made.read_bytes()


def read(rows):
    return list(ROW.iter_unpack(rows))


def test_rows_are_what_the_descriptions_say(program):
    """At each address that a row begins at, and in the middle; the first of equal rows is the only one."""
    file = ElfFile(program)
    section = next(each for each in file.sections if each.name == ".eh_frame")
    frames = Frames(file.contents(section), section.address, True)
    rows = read(unwind_rows(file, 0))
    assert len(rows) > 20
    for (address, offset, saved, kind, by), after in zip(rows, [*rows[1:], (rows[-1][0] + 1,)], strict=True):
        for where in {address, (address + after[0]) // 2, after[0] - 1}:
            rule = frames.rule(where)
            if kind in (FROM_STACK, FROM_FRAME):
                assert rule is not None
                assert (rule.register, rule.offset) == (7 if kind == FROM_STACK else 6, offset)
                assert rule.value == Binary("plus", Register(rule.register), Constant(offset)) or not offset
                assert (frames.saved(where) or {}).get(6) == (saved if by == BY_FRAME_ADDRESS else None)
            elif kind in (AT_FRAME, LINKAGE):
                assert rule is not None
                assert rule.expression
    assert [row[:1] + row[3:] for row in rows] == sorted(row[:1] + row[3:] for row in rows)
    assert all(one[1:] != other[1:] for one, other in pairwise(rows))
    assert {kind for *_, kind, _ in rows} == {END, FROM_STACK, FROM_FRAME, AT_FRAME, LINKAGE}
    assert BY_RBP in {by for *_, by in rows}


def test_the_table_begins_at_the_object(program):
    file = ElfFile(program)
    rows = read(unwind_rows(file, 0))
    moved = read(unwind_rows(file, 0x800))
    assert [(address + 0x800, *rest) for address, *rest in moved] == rows
    assert unwind_rows(file, 1 << 50) == b""


@pytest.mark.parametrize("seed", range(4))
def test_damage(program, seed):
    """Whatever is wrong with the descriptions, there are rows in order, perhaps fewer, and no error."""
    chance = random.Random(seed)
    file = ElfFile(program)
    sections = {each.name: each for each in file.sections}
    section = sections[".eh_frame"]
    whole = len(unwind_rows(file, 0))
    different = 0
    for _ in range(150):
        data = bytearray(program)
        for _ in range(chance.choice((1, 2, 8))):
            at = section.offset + chance.randrange(section.size)
            data[at] = chance.choice((data[at] ^ 1 << chance.randrange(8), 0, 0xFF, 0x80))
        rows = unwind_rows(ElfFile(bytes(data)), 0)
        addresses = [row[0] for row in read(rows)]
        assert addresses == sorted(set(addresses))
        different += len(rows) != whole
    assert different
