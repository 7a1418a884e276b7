"""Programs with static probes, damaged: each is listed, with fewer probes perhaps, or refused with one message."""

import os
import random
import shutil
import sys
from pathlib import Path

import pytest
from support.machine import compilers

from sonde import others
from sonde.formats.static_header import HeaderParameter, Provided, header
from sonde.model.errors import SourceError
from sonde.providers.pattern import Pattern
from sonde.providers.static_files import StaticFiles
from sonde.providers.usdt import StaticProbes
from sonde.symbols.code_objects import CodeObjects
from sonde.symbols.elf.file import ElfFile
from sonde.symbols.mappings import Mapping

NUMBER = HeaderParameter("integer", 4, True)
PROBES = [Provided("store", "start", ()), Provided("store", "look-up", (NUMBER, HeaderParameter("pointer", 8), NUMBER))]

PROGRAM = r"""
static int table[8];
__attribute__((noinline)) int look(int n) { STORE_LOOK_UP(n, table, table[n & 7]); return table[n & 3]; }
int main(int count, char **words) { STORE_START(); return look(count) + look(count + 1); }
"""


@pytest.fixture(scope="module")
def program():
    return Path(compilers.built("program.c", header(PROBES) + PROGRAM, "gcc", "-O2"))


def found(path, name=""):
    probes = StaticProbes(CodeObjects())
    matched = probes.match("", "usdt", Pattern("usdt", str(path), "", name))
    return [(each.name, [argument.native for argument in probes.arguments(each)]) for each in matched]


def test_whole(program):
    assert [(name, len(types)) for name, types in found(program)] == [("start", 0), ("look-up", 3)] or [
        (name, len(types)) for name, types in found(program)
    ] == [("look-up", 3), ("start", 0)]


def areas(data):
    elf = ElfFile(data)
    sections = [each for each in elf.sections if each.size and each.kind != 8]
    notes = [(each.offset, each.size) for each in sections if each.name == ".note.stapsdt"]
    tables = [(each.offset, each.size) for each in sections if each.name in (".symtab", ".strtab", ".dynsym")]
    assert notes
    return [(0, 64), (64, 56 * 8), *tables, *notes * 8]


@pytest.mark.share(1)
@pytest.mark.parametrize("seed", range(4))
def test_damage(program, tmp_path, seed):
    """150 files each."""
    chance = random.Random(seed)
    whole = program.read_bytes()
    places = areas(whole)
    path = tmp_path / "damaged"
    outcomes = set()
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 1, 2, 8))):
            start, size = chance.choice(places)
            at = start + chance.randrange(size)
            data[at] = chance.choice((data[at] ^ 1 << chance.randrange(8), 0, 0xFF))
        if chance.random() < 0.1:
            del data[chance.randrange(len(data)) :]
        path.unlink(missing_ok=True)
        path.write_bytes(data)
        for name in ("", "look-up"):
            try:
                outcomes.add(len(found(path, name)))
            except SourceError as error:
                outcomes.add(f"{name}: {'cannot be used' in error.text}")
    assert outcomes == {0, 1, 2, "look-up: True"}


@pytest.mark.parametrize("opening", range(3))
def test_what_is_read_is_what_is_probed(program, tmp_path, monkeypatch, opening):
    """Also where its owner puts another file in its place, at any moment."""
    place, away = tmp_path / "mapped", tmp_path / "away"
    shutil.copy2(program, place)
    own, opened = os.open, []

    def opens(path, *flags, **more):
        if len(opened) == opening:
            place.rename(away)
            place.symlink_to(sys.executable)
        opened.append(path)
        return own(path, *flags, **more)

    status = place.stat()
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
    # Whatever is mounted by others.
    monkeypatch.setattr(others, "may_wait", lambda path: False)
    monkeypatch.setattr(os, "open", opens)
    found = StaticFiles().file(os.getpid(), Mapping(0, 4096, 0, device, status.st_ino, str(place), True))
    monkeypatch.undo()
    assert found is None or os.path.samestat(os.stat(found.path), status)
    assert (found is None) == (opening == 0)
