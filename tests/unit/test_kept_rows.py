"""Unwind tables that are kept between runs: the same as new ones, whole, one's own, and not too many."""

import os
import random
import shutil
import struct
from pathlib import Path

import pytest
from support.machine import compilers
from support.symbols.compiled_objects import needs_gcc
from support.symbols.made_unwind_rows import unwind_rows

from sonde.symbols.dwarf.unwind_rows import make_rows, rows_source
from sonde.symbols.elf.file import ElfFile
from sonde.symbols.unwinding import kept_rows

pytestmark = needs_gcc


def library(count):
    """The path of one with so many functions."""
    text = "".join(f"int f{n}(int x) {{ return x > {n} ? f{n + 1 if n + 1 < count else 0}(x + {n}) : x; }}\n"
                   for n in range(count))  # fmt: skip
    heads = "".join(f"int f{n}(int);\n" for n in range(count))
    return compilers.built("library.c", heads + text, "gcc", "-O0", "-shared", "-fPIC")


@pytest.fixture(scope="module")
def large():
    return ElfFile.open(library(600))


@pytest.fixture(scope="module")
def another():
    return ElfFile.open(library(601))


@pytest.fixture
def counted(monkeypatch):
    """The files of which tables were made."""
    made = []

    def count(source, costs):
        made.append(source)
        return make_rows(source, costs)

    monkeypatch.setattr(kept_rows, "make_rows", count)
    return made


def kept(file, directory):
    found = kept_rows.kept_rows(file, None if directory is None else str(directory))
    if found.rows is not None:
        return found.rows
    making = kept_rows.made_rows(found, file.costs)
    while True:
        try:
            next(making)
        except StopIteration as end:
            return end.value


@pytest.mark.long
def test_they_are_made_once(tmp_path, large, another, counted):
    directory = str(tmp_path / "sonde" / "unwind")
    found = [kept(large, directory) for _ in range(3)]
    assert counted == [rows_source(large)]
    assert found == [unwind_rows(large)] * 3
    assert len(found[0].rows) // 4 > 1000
    assert kept(another, directory) == unwind_rows(another) != found[0]
    assert counted == [rows_source(large), rows_source(another)]
    assert [os.stat(os.path.join(directory, each)).st_mode & 0o777 for each in os.listdir(directory)] == [0o600] * 2


def test_what_is_not_whole_or_not_ones_own_is_made_again(tmp_path, large, counted):
    directory, chance = tmp_path / "unwind", random.Random(1)
    rows = kept(large, directory)
    (path,) = directory.iterdir()
    whole = path.read_bytes()
    for number in range(20):
        data = bytearray(whole[: chance.randrange(len(whole))] if number % 2 else whole)
        if data and not number % 2:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        assert kept(large, directory) == rows
        assert len(counted) == number + 2
    path.chmod(0o666)
    assert kept(large, directory) == rows
    assert len(counted) == 22
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").write_bytes(whole)
    assert kept(large, directory) == rows
    assert len(counted) == 23


def test_where_others_may_write_nothing_is_kept(tmp_path, large, counted):
    directory = tmp_path / "unwind"
    directory.mkdir()
    directory.chmod(0o777)
    assert kept(large, directory) == kept(large, directory)
    assert (len(counted), list(directory.iterdir())) == (2, [])
    # A file in the place of the directory.
    assert kept(large, tmp_path / "large.so" / "x") == unwind_rows(large)


@pytest.mark.long
def test_so_many_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_rows, "_MOST", 3)
    directory = tmp_path / "unwind"
    for count in range(600, 606):
        kept(ElfFile.open(library(count)), directory)
        for number, each in enumerate(sorted(directory.iterdir(), key=lambda path: path.stat().st_mtime_ns)):
            os.utime(each, (number, number))
    assert len(list(directory.iterdir())) == 3


def test_small_tables_are_not_kept(tmp_path):
    small = ElfFile.open(library(3))
    assert kept(small, tmp_path / "unwind") == unwind_rows(small)
    assert not (tmp_path / "unwind").exists()


def with_two_sections(path, genuine):
    """A file whose first section of descriptions is the genuine one's, but says that it has no bytes; the other has
    half of them."""
    data, section = bytearray(genuine.read_bytes()), ElfFile.open(str(genuine)).find_section(".eh_frame")
    (at,), (size, count) = struct.unpack_from("<Q", data, 0x28), struct.unpack_from("<HH", data, 0x3A)
    headers = [data[start : start + size] for start in range(at, at + size * count, size)]
    number = next(n for n, each in enumerate(headers) if struct.unpack_from("<Q", each, 24)[0] == section.offset)
    empty, forged = bytearray(headers[number]), bytearray(headers[number])
    struct.pack_into("<I", empty, 4, 8)  # SHT_NOBITS
    half = section.size // 2 & ~7
    struct.pack_into("<QQ", forged, 24, len(data), half)
    data += data[section.offset : section.offset + half]
    headers[number : number + 1] = [empty, forged]
    names = struct.unpack_from("<H", data, 0x3E)[0]
    struct.pack_into("<Q", data, 0x28, len(data))
    struct.pack_into("<HH", data, 0x3C, len(headers), names + (names > number))
    path.write_bytes(data + b"".join(headers))
    return ElfFile.open(str(path))


def test_a_file_of_two_sections_is_not_taken_for_the_one_that_its_first_is_of(tmp_path, large):
    """What is hashed is what rows are made of: both are read once, by one function."""
    hostile = with_two_sections(tmp_path / "hostile.so", Path(library(600)))
    assert [each.name for each in hostile.sections].count(".eh_frame") == 2
    forged = kept(hostile, tmp_path / "unwind")
    assert forged == unwind_rows(hostile) != unwind_rows(large)
    assert kept(large, tmp_path / "unwind") == unwind_rows(large)
    assert kept(hostile, tmp_path / "unwind") == forged


@pytest.mark.parametrize("part", ["data", "address", "segments"])
def test_all_that_rows_are_made_of_is_in_the_name(large, part):
    source = rows_source(large)
    first, *rest = source.segments
    other = {
        "data": source.data[:-1] + b"x",
        "address": source.address + 8,
        "segments": (first._replace(file_size=first.file_size + 1), *rest),
    }[part]
    assert kept_rows._name(source) == kept_rows._name(rows_source(large))
    assert kept_rows._name(source._replace(**{part: other})) != kept_rows._name(source)


is_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of other users")


@pytest.mark.long
@is_root
@pytest.mark.parametrize("whose", ["his", "everybody's"])
def test_files_of_others_push_nothing_out(tmp_path, monkeypatch, large, counted, whose):
    monkeypatch.setattr(kept_rows, "_MOST", 1)
    directory = tmp_path / "unwind"
    kept(large, directory)
    before = [*directory.iterdir()]
    for count in (600, 607):
        path = tmp_path / f"{count}.so"
        shutil.copy2(library(count), path)
        if whose == "his":
            os.chown(path, 65534, 65534)
        else:
            path.chmod(0o666)
        file = ElfFile.open(str(path))
        assert not file.is_trusted
        assert kept(file, directory) == unwind_rows(file)
    assert [*directory.iterdir()] == before
    # Of the same descriptions they have the same rows, which are there.
    assert len(counted) == 2


def test_nothing_else_is_removed(tmp_path, monkeypatch, large):
    monkeypatch.setattr(kept_rows, "_MOST", 1)
    directory = tmp_path / "unwind"
    directory.mkdir()
    for each in ("notes", "0" * 39, "0" * 41, "f" * 40):
        (directory / each).write_text("")
        os.utime(directory / each, (1, 1))
    kept(large, directory)
    assert {"notes", "0" * 39, "0" * 41} <= {each.name for each in directory.iterdir()}
    assert not (directory / ("f" * 40)).exists()


@is_root
@pytest.mark.parametrize("way", ["his", "link"])
def test_a_cache_in_another_users_home_is_none(tmp_path, monkeypatch, large, counted, way):
    """As sudo has it that keeps HOME: he may lead root elsewhere, and have root's files there removed."""
    monkeypatch.setattr(kept_rows, "_MOST", 1)
    home, precious = tmp_path / "home", tmp_path / "precious"
    (precious / "unwind").mkdir(parents=True)
    (home / ".cache").mkdir(parents=True)
    for each in range(5):
        (precious / "unwind" / f"{each:040}").write_text("")
    if way == "link":
        (home / ".cache" / "sonde").symlink_to(precious)
        os.chown(home / ".cache" / "sonde", 65534, 65534, follow_symlinks=False)
    else:
        os.chown(home, 65534, 65534)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(home))
    for _ in range(2):
        assert kept(large, None) == unwind_rows(large)
    assert len(counted) == 2
    assert len([*(precious / "unwind").iterdir()]) == 5
    assert [each.name for each in (home / ".cache").iterdir()] == (["sonde"] if way == "link" else [])


def test_a_home_that_is_missing_is_not_made(tmp_path, monkeypatch, large, counted):
    home = tmp_path / "home"
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(home))
    for _ in range(2):
        assert kept(large, None) == unwind_rows(large)
    assert len(counted) == 2
    assert not home.exists()
    home.mkdir()
    kept(large, None)
    assert list((home / ".cache/sonde/unwind").iterdir())
