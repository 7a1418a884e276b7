"""Unwind tables that are kept between runs: the same as new ones, whole, one's own, and not too many."""

import os
import random
import subprocess

import pytest
from support.symbols.compiled_objects import needs_gcc
from support.symbols.made_unwind_rows import unwind_rows

from sonde.symbols.dwarf.unwind_rows import make_rows, rows_source
from sonde.symbols.elf.file import ElfFile
from sonde.symbols.unwinding import kept_rows

pytestmark = needs_gcc


def object_of(path, count, more=""):
    text = "".join(f"int f{n}(int x) {{ return x > {n} ? f{n + 1 if n + 1 < count else 0}(x + {n}) : x; }}\n"
                   for n in range(count))  # fmt: skip
    heads = "".join(f"int f{n}(int);\n" for n in range(count))
    source = path.with_suffix(".c")
    source.write_text(heads + text + more)
    subprocess.run(["gcc", "-O0", "-shared", "-fPIC", "-o", path, source], check=True)
    return ElfFile.open(str(path))


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    return object_of(tmp_path_factory.mktemp("large") / "large.so", 600)


@pytest.fixture(scope="module")
def another(tmp_path_factory):
    return object_of(tmp_path_factory.mktemp("another") / "another.so", 601)


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
    found = kept_rows.kept_rows(file, str(directory))
    if found.rows is not None:
        return found.rows
    making = kept_rows.made_rows(found, file.costs)
    while True:
        try:
            next(making)
        except StopIteration as end:
            return end.value


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
        kept(object_of(tmp_path / f"{count}.so", count), directory)
        for number, each in enumerate(sorted(directory.iterdir(), key=lambda path: path.stat().st_mtime_ns)):
            os.utime(each, (number, number))
    assert len(list(directory.iterdir())) == 3


def test_small_tables_are_not_kept(tmp_path):
    small = object_of(tmp_path / "small.so", 3)
    assert kept(small, tmp_path / "unwind") == unwind_rows(small)
    assert not (tmp_path / "unwind").exists()
