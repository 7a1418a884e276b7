"""Tables made of frame descriptions, against the reader of debug information and against what damage does to them."""

import random
import struct
from array import array
from itertools import pairwise
from pathlib import Path

import pytest
from support.machine import compilers
from support.symbols.made_unwind_rows import unwind_rows

from sonde.model.location import Binary, Constant, Register
from sonde.symbols.dwarf import frame_rules
from sonde.symbols.dwarf.frame_rules import (
    AT_FRAME,
    AT_STACK,
    BEGINNING,
    BY_FRAME_ADDRESS,
    BY_FRAME_POINTER,
    END,
    FROM_BASE,
    FROM_FRAME,
    FROM_REGISTER,
    FROM_STACK,
    LINKAGE,
    NONE,
    UNKNOWN,
    Rule,
)
from sonde.symbols.dwarf.frames import FrameDescriptions
from sonde.symbols.dwarf.unwind_rows import NO_ROWS, RULE, UnwindRows
from sonde.symbols.elf.file import ElfFile
from sonde.symbols.elf.go_objects import is_go
from sonde.symbols.object_names import ObjectNames

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
def program():
    return Path(compilers.built("program.c", SOURCE, "gcc", "-O2", "-w")).read_bytes()


def read(rows):
    """(file offset, rule) of each row. Those of a block stand together, and the first is for its beginning."""
    if rows == NO_ROWS:
        return []
    rules = [
        Rule(kind, offset, more, rbp, by & 15, rbx, by >> 4)
        for offset, rbp, rbx, more, kind, by in RULE.iter_unpack(rows.rules)
    ]
    blocks, words = array("I", rows.blocks), array("I", rows.rows)
    assert blocks[0] == 0
    assert blocks[-1] == len(words)
    found = []
    for block, (first, end) in enumerate(pairwise(blocks)):
        assert words[first] & 0xFFFF == 0
        found += [(block << 16 | word & 0xFFFF, rules[word >> 16]) for word in words[first:end]]
    return found


def test_rows_are_what_the_descriptions_say(program):
    """At each offset that a row begins at, and in the middle; only the first of a block may repeat the one before."""
    file = ElfFile(program)
    section = next(each for each in file.sections if each.name == ".eh_frame")
    frames = FrameDescriptions(file.contents(section), section.address, True)
    rows = read(unwind_rows(file))
    assert len(rows) > 20
    for (start, rule), (after, _) in zip(rows, [*rows[1:], (rows[-1][0] + 1, None)], strict=True):
        for offset in {start, (start + after) // 2, after - 1}:
            where = file.address_at(offset)
            found = None if where is None else frames.rule(where)
            if rule.kind in (FROM_STACK, FROM_FRAME):
                assert (found.register, found.offset) == (7 if rule.kind == FROM_STACK else 6, rule.offset)
                assert found.value == Binary("plus", Register(found.register), Constant(rule.offset)) or not rule.offset
                saved = frames.saved(where) or {}
                assert saved.get(6) == (rule.pointer if rule.pointer_by == BY_FRAME_ADDRESS else None)
                assert saved.get(3) == (rule.base if rule.base_by == BY_FRAME_ADDRESS else None)
            elif rule.kind in (AT_FRAME, LINKAGE):
                assert found.expression
            elif rule.kind == NONE:
                assert found is None
    assert [offset for offset, _ in rows] == sorted({offset for offset, _ in rows})
    assert all(one[1] != other[1] for one, other in pairwise(rows) if other[0] & 0xFFFF)
    assert {rule.kind for _, rule in rows} == {NONE, END, FROM_STACK, FROM_FRAME, FROM_REGISTER, AT_FRAME, LINKAGE}
    assert BY_FRAME_POINTER in {rule.pointer_by for _, rule in rows}


GO = "package main\n\nfunc main() { println(1) }\n"


@pytest.mark.parametrize("linked", [(), ("-ldflags=-s",)])
def test_what_threads_and_goroutines_begin_in_has_no_caller(linked):
    """Programs of Go have nothing else described; without symbols the runtime's table names them."""
    files = {"begins.go": GO, "go.mod": "module begins\n\ngo 1.19\n"}
    file = ElfFile(Path(compilers.kept(["go", "build", *linked, "-o", "begins"], files, "begins")).read_bytes())
    rows = read(unwind_rows(file))
    ends = [offset for offset, rule in rows if rule.kind == END]
    names = [ObjectNames(file, [file]).symbolize(file.address_at(offset)) for offset in ends]
    assert sorted((name.removesuffix(".abi0"), offset) for name, offset in names) == [
        ("runtime.goexit", 0), ("runtime.mstart", 0)
    ]  # fmt: skip
    assert {rule.kind for _, rule in rows} <= {END, NONE}
    assert is_go(file)


def uleb(number):
    return bytes((number,)) if number < 0x80 else bytes((number & 0x7F | 0x80,)) + uleb(number >> 7)


CASES = {
    "the dynamic linker counts from rbx": (b"\x0d\x03", Rule(FROM_BASE, 8)),
    "another register, by its place in pt_regs": (b"\x0c\x0a\x00", Rule(FROM_REGISTER, 0, 56)),
    "r15 and more": (b"\x0c\x0f\x20", Rule(FROM_REGISTER, 32, 0)),
    "a vector register": (b"\x0c\x11\x20", Rule(UNKNOWN)),
    "an offset with a sign": (b"\x13\x7e", Rule(FROM_STACK, 16)),
    "a register and an offset with a sign": (b"\x12\x06\x7e", Rule(FROM_FRAME, 16)),
    "a word at rbp": (b"\x0f\x03\x76\x78\x06", Rule(AT_FRAME, -8)),
    "a word at rsp and a number": (b"\x0f\x05\x77\x18\x06\x23\x08", Rule(AT_STACK, 24, 8)),
    "an expression of another kind": (b"\x0f\x02\x76\x78", Rule(UNKNOWN)),
    "an empty expression": (b"\x0f\x00", Rule(UNKNOWN)),
    "a linkage table": (b"\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22", Rule(LINKAGE, 8, 11)),
    "one for indirect branch tracking": (
        b"\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x39\x2a\x33\x24\x22",
        Rule(LINKAGE, 8, 9),
    ),
    "nearly one": (b"\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x34\x24\x22", Rule(UNKNOWN)),
    "rbp and rbx saved": (b"\x86\x02\x83\x03", Rule(FROM_STACK, 8, 0, -16, BY_FRAME_ADDRESS, -24, BY_FRAME_ADDRESS)),
    "rbx saved, and restored": (b"\x83\x02\xc3", Rule(FROM_STACK, 8)),
    "by long numbers": (b"\x05\x03\x02\x06\x03\x05\x06\x02", Rule(FROM_STACK, 8, 0, -16, BY_FRAME_ADDRESS)),
    "rbp by rbp": (b"\x10\x06\x02\x76\x00", Rule(FROM_STACK, 8, 0, 0, BY_FRAME_POINTER)),
    "no return address": (b"\x07\x10", Rule(END)),
    "a return address elsewhere": (b"\x90\x02", Rule(END)),
    "too far": (b"\x0e" + uleb(1 << 31), Rule(UNKNOWN)),
    "a number that is too large": (b"\x0f\x07\x77\x18\x06\x23" + uleb(1 << 15), Rule(UNKNOWN)),
    "kept and back": (b"\x0a\x0e\x40\x0b", Rule(FROM_STACK, 8)),
    "arguments on the stack": (b"\x2e\x10\x0e\x18", Rule(FROM_STACK, 24)),
}


@pytest.mark.parametrize("case", CASES)
def test_instructions(case):
    """One description each, with factors 1 and -8 as on x86-64."""
    code, expected = CASES[case]
    _, state = frame_rules.run(code, 1, -8, BEGINNING)
    assert frame_rules.rule(state) == expected


def test_advances():
    """By the opcode itself, one, two and four bytes."""
    code = b"\x41\x0e\x10\x02\xf0\x0e\x18\x03\x00\x01\x0e\x20\x04\x00\x00\x01\x00\x0e\x28"
    found, _ = frame_rules.run(code, 1, -8, BEGINNING)
    assert [(at, state[1]) for at, state in found] == [
        (0, 8), (1, 16), (0xF1, 24), (0x1F1, 32), (0x101F1, 40)
    ]  # fmt: skip


def test_files_of_other_machines_have_none(program):
    other = bytearray(program)
    other[18:20] = struct.pack("<H", 183)
    assert unwind_rows(ElfFile(bytes(other))) == NO_ROWS


@pytest.mark.share(3)
@pytest.mark.parametrize("seed", range(4))
def test_damage(program, seed):
    """Whatever is wrong with the descriptions, there are rows in order, perhaps fewer, and no error."""
    chance = random.Random(seed)
    file = ElfFile(program)
    sections = {each.name: each for each in file.sections}
    section = sections[".eh_frame"]
    whole = unwind_rows(file)
    different = 0
    for _ in range(150):
        data = bytearray(program)
        for _ in range(chance.choice((1, 2, 8))):
            at = section.offset + chance.randrange(section.size)
            data[at] = chance.choice((data[at] ^ 1 << chance.randrange(8), 0, 0xFF, 0x80))
        rows = unwind_rows(ElfFile(bytes(data)))
        assert isinstance(rows, UnwindRows)
        offsets = [offset for offset, _ in read(rows)]
        assert offsets == sorted(set(offsets))
        different += rows != whole
    assert different
