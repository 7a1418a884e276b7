"""What is kept of all objects, and of all perf maps, has a bound: the ones that were asked for last stay."""

import os
import shutil

import pytest
from support.symbols.compiled_objects import compiled, needs_gcc

from sonde.symbols import objects, perf_map
from sonde.symbols.elf.file import ElfFile
from sonde.symbols.mappings import Mapping
from sonde.symbols.objects import Objects
from sonde.symbols.perf_map import CompiledCode, Home, PerfMap

pytestmark = needs_gcc


@pytest.fixture
def mappings(tmp_path):
    """Of 23 programs that are alike."""
    found = []
    for number in range(23):
        path = str(tmp_path / f"program{number}")
        shutil.copy(compiled("-O0"), path)
        found.append(Mapping(0x400000, 0x500000, 0, "00:00", os.stat(path).st_ino, path, True))
    return found


def named(files, mapping):
    (main,) = ElfFile.open(mapping.path).find("main")
    names = files.names(os.getpid(), mapping)
    return names.symbolize(main.address)


def descriptors():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("bound", [("_MOST_OPEN", 5), ("_MOST_HELD", 1 << 16)])
def test_few_files_are_open_at_a_time_and_all_are_named(mappings, monkeypatch, bound):
    monkeypatch.setattr(objects, *bound)
    files, before = Objects(), descriptors()
    for _ in range(2):
        for each in mappings:
            assert named(files, each) == ("main", 0)
            assert descriptors() - before <= 8
    assert files.refused() == []


def test_an_object_that_was_given_up_is_told_also_after_it_was_closed(mappings, monkeypatch):
    monkeypatch.setattr(objects, "_MOST_OPEN", 3)
    files = Objects()
    file = files.file(os.getpid(), mappings[0])
    file.costs.allow(-1000)
    assert files.names(os.getpid(), mappings[0]).symbolize(0x1139) is None
    for each in mappings[1:]:
        assert named(files, each) == ("main", 0)
    ((path, reason),) = files.refused()
    assert path == mappings[0].path
    assert "more than 2 seconds" in reason


@pytest.fixture
def maps(tmp_path):
    (tmp_path / "tmp").mkdir()
    for number in range(1, 24):
        text = b"".join(b"%x 40 function%d_%d\n" % (64 * n, number, n) for n in range(1001))
        (tmp_path / "tmp" / f"perf-{number}.map").write_bytes(text)
    return tmp_path


def test_perf_maps_have_a_bound_together(maps, monkeypatch):
    monkeypatch.setattr(perf_map, "_HELD", 100_000)
    homes = {number: Home(number, os.getuid(), str(maps)) for number in range(1, 24)}
    monkeypatch.setattr(perf_map, "home_of", lambda pid, proc: homes[pid])
    code = CompiledCode()
    for _ in range(2):
        for number in homes:
            found = code.symbolize(number, 64 * 7 + 1)
            assert found == (f"perf-{number}.map", f"function{number}_7", 1)
            assert sum(each.held for each in code._maps.values()) <= 100_000
    assert code.refused() == []


def test_a_map_of_too_many_lines_is_told_and_read_as_far_as_it_may_be(maps, monkeypatch):
    monkeypatch.setattr(perf_map, "_MOST_LINES", 500)
    monkeypatch.setattr(perf_map, "_BLOCK", 1 << 10)
    found = PerfMap(Home(1, os.getuid(), str(maps)))
    assert found.refresh()
    assert found.symbolize(64 * 7) == ("function1_7", 0)
    assert found.symbolize(64 * 900) is None
    assert "more than 500 lines" in found.refused


def test_a_user_has_few_files_that_take_too_long(mappings, monkeypatch):
    """Then the others of that user get less time, and then none."""
    monkeypatch.setattr(objects, "_MANY_GIVEN_UP", 6)
    monkeypatch.setattr(ElfFile, "is_trusted", False)
    files, given = Objects(), []
    for each in mappings[:8]:
        file = files.file(os.getpid(), each)
        given.append(None if file is None else file.costs.left)
        if file is not None:
            file.costs.allow(-1000)
            assert files.names(os.getpid(), each).symbolize(0x1139) is None
    assert [each is None for each in given] == [False] * 6 + [True] * 2
    assert min(given[:3]) > objects._SHORT_TIME >= max(given[3:6])
    assert len(files.refused()) == 8


def test_files_that_were_deleted_take_little_room_on_disks(mappings, monkeypatch):
    """Those that were asked for last are open: sonde would keep the room of any number."""
    monkeypatch.setattr(objects, "_LOOK", 1)
    size = os.stat(mappings[0].path).st_blocks * 512
    monkeypatch.setattr(objects, "_MOST_PINNED", 4 * size)
    files, before = Objects(), descriptors()
    for each in mappings:
        assert named(files, each) == ("main", 0)
        os.unlink(each.path)
    assert descriptors() - before <= 6
    assert files.file(os.getpid(), mappings[-1]) is not None
