"""DOF that is damaged: what is read of it are sites of the file or nothing, and no error but those of ELF files."""

import random
from pathlib import Path

import pytest
from support.command.command import build
from support.machine import packages
from test_dof_probes import NATIVE, dof, program_text

from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.symbols.elf.static_notes import notes_of

DAMAGES = 1500


def places(data):
    """Where the DOF of a file is."""
    start = data.index(b"\x7fDOF")
    return start, start + len(dof("shop", "sale", "item__sold", NATIVE, NATIVE, range(8), (44,))[0])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    packages.require("gcc")
    directory = tmp_path_factory.mktemp("dof")
    return Path(build(directory, "shop", program_text(NATIVE, range(8)), "-no-pie", "-fno-PIE")).read_bytes()


def test_what_is_whole(whole):
    (note,) = notes_of(ElfFile(whole))
    assert (note.provider, note.name) == ("shop", "item__sold")
    assert note.arguments.startswith("-4@%edi 8@%rsi 1@%dl -8@%rcx 8@%r8 -2@%r9w -8@0(%rsp) -4@8(%rsp)")


@pytest.mark.share(1)
@pytest.mark.parametrize("seed", range(3))
def test_damaged(whole, seed):
    draw = random.Random(seed)
    start, end = places(whole)
    read = 0
    for _ in range(DAMAGES):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 4)):
            at = draw.randrange(start, end)
            data[at] = draw.choice((0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)))
        try:
            found = notes_of(ElfFile(bytes(data)))
        except ElfError:
            continue
        read += bool(found)
        assert len(found) < 1 << 17
    assert read, "some damage does no harm"
