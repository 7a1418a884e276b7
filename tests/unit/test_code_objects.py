"""Functions of ELF files, and of files that are damaged."""

import os
import random
from pathlib import Path

import pytest
from support.machine import compilers

from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.symbols.elf.indirect import FunctionSlots, Loaded, bias_of, chosen
from sonde.symbols.functions import PROGRAM, CodeObject

SOURCE = """
static int one(int n) { return n + 1; }
static void *choose(void) { return one; }
int work(int n) __attribute__((ifunc("choose")));
int twice(int n) { return work(n) * 2; }
int again(int n) __attribute__((weak, alias("twice")));
int main() { return twice(3); }
"""
MUTATIONS = int(os.environ.get("SONDE_ELF_MUTATIONS", "400"))


@pytest.fixture(scope="module")
def program():
    return Path(compilers.built("program.c", SOURCE, "gcc", "-O1")).read_bytes()


def code_object(data, bias=0):
    file = ElfFile(data)
    return CodeObject(PROGRAM, "", Loaded(file, bias), (file,))


def test_functions_have_their_best_name(program):
    found = code_object(program)
    (twice,) = found.find("twice")
    assert found.find("again") == (twice,)
    assert found.names(twice) == {"twice", "again"}
    assert [function.name for function in found.functions if function.address == twice.address] == ["twice"]
    assert found.containing(twice.address + twice.size - 1) == twice
    assert found.containing(twice.address - 1) != twice
    assert next(iter(found.instructions(twice))) == 0
    assert found.first_instruction(twice) == found.instructions(twice)[0]


def test_what_an_indirect_function_is(program):
    """By the word that the dynamic linker would have written, wherever the file is loaded."""
    bias = 0x5555_0000_0000
    found = code_object(program, bias)
    (work,) = found.find("work")
    (one,) = found.find("one")
    assert work.is_indirect
    assert not one.is_indirect
    names = found.names(work)
    slots = FunctionSlots([found.loaded])
    addresses = list(slots.of(bias + work.address, names))
    assert addresses
    for value, expected in ((bias + one.address, one.address), (bias + work.address, None), (7, None), (None, None)):
        words = dict.fromkeys(addresses, value)
        assert chosen(found.loaded, work.address, names, slots, words.get) == expected
    assert found.resolved(work, one.address) == one._replace(name="work")


def test_where_a_file_is_loaded(program):
    file = ElfFile(program)
    (segment,) = (each for each in file.segments if each.flags & 1)
    offset = segment.offset & -4096
    assert bias_of(file, 0x7000_0000 + (segment.address & -4096), offset) == 0x7000_0000
    with pytest.raises(ElfError):
        bias_of(file, 0x7000_0000, 1 << 40)


def test_damaged_files(program):
    """Bytes changed anywhere, most where the tables are, and ends cut off: an error of its own, or an answer."""
    random_ = random.Random(5)
    tables = [*range(64), *range(64, 1000), *range(len(program) - 4000, len(program))]
    answers = 0
    for _ in range(MUTATIONS):
        data = bytearray(program)
        for _ in range(random_.randint(1, 8)):
            where = random_.choice(tables) if random_.random() < 0.8 else random_.randrange(len(data))
            data[where] = random_.choice((0, 0xFF, random_.randrange(256), data[where] ^ 1 << random_.randrange(8)))
        if random_.random() < 0.2:
            del data[random_.randrange(len(data)) :]
        try:
            found = code_object(bytes(data))
            for function in found.functions[:40]:
                found.instructions(function)
                found.first_instruction(function)
            slots = FunctionSlots([found.loaded])
            for function in found.functions:
                chosen(found.loaded, function.address, found.names(function), slots, lambda address: address)
            bias_of(found.loaded.file, 4096, 4096)
        except ElfError:
            continue
        answers += 1
    assert answers > MUTATIONS / 10
