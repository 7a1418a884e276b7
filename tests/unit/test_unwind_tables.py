"""The maps by which stacks are walked, filled from a procfs of the test's own."""

import os
import struct

import pytest

from sonde.spec import UNWIND_MAPPINGS, UNWIND_PAGE, UNWIND_PROCESSES, UNWIND_ROWS, UNWIND_WANTED
from sonde.symbols.dwarf.unwind_rows import ROW
from sonde.symbols.unwind_tables import UnwindTables


class Maps:
    """What is written, by map and key."""

    def __init__(self):
        self.written = {}

    def write(self, name, key, value):
        self.written[name, key] = value

    def read(self, name):
        return [(key, value) for (each, key), value in self.written.items() if each == name]

    def process(self, pid):
        """(start, end, bias, first row, rows) of each mapping."""
        value = self.written.get((UNWIND_PROCESSES, struct.pack("<Q", pid)))
        if value is None:
            return None
        first, count = struct.unpack("<II", value)
        pages = dict(self.read(UNWIND_MAPPINGS))
        data = b"".join(pages[struct.pack("<I", number)] for number in range(len(pages)))
        return list(struct.iter_unpack("<QQQII", data[32 * first : 32 * (first + count)]))

    def rows(self):
        pages = dict(self.read(UNWIND_ROWS))
        assert all(len(page) == UNWIND_PAGE for page in pages.values())
        return list(ROW.iter_unpack(b"".join(pages[struct.pack("<I", number)] for number in range(len(pages)))))


@pytest.fixture
def maps():
    return Maps()


def test_our_own_process(maps):
    """Every file's rows are in order and written once, whoever maps it; wanted processes are answered."""
    tables = UnwindTables((10, 64, 4096), maps.read, maps.write)
    tables.poll([os.getpid()])
    mappings = maps.process(os.getpid())
    assert len(mappings) > 2
    assert mappings == sorted(mappings)
    rows = maps.rows()
    with_rows = [each for each in mappings if each[4]]
    assert with_rows
    for _, _, _, first, count in with_rows:
        addresses = [row[0] for row in rows[first : first + count]]
        assert addresses == sorted(set(addresses))
    before = len(maps.read(UNWIND_ROWS))
    maps.write(UNWIND_WANTED, struct.pack("<Q", os.getppid()), struct.pack("<Q", 1))
    tables.poll([])
    assert maps.process(os.getppid())
    assert maps.read(UNWIND_WANTED) == [(struct.pack("<Q", os.getppid()), bytes(8))]
    assert len(maps.read(UNWIND_ROWS)) >= before
    assert tables.lost == 0


def procfs(directory, pid, lines):
    (directory / str(pid)).mkdir(exist_ok=True)
    (directory / str(pid) / "maps").write_text("".join(f"{line}\n" for line in lines))


def anonymous(*starts):
    return [f"{start:x}-{start + 4096:x} r-xp 00000000 00:00 0" for start in starts]


def test_more_mappings_than_there_were(maps, tmp_path):
    """They take the place of the former ones, or another if that is too small; another process's stay."""
    tables = UnwindTables((2, 1, 1), maps.read, maps.write, str(tmp_path))
    procfs(tmp_path, 1, anonymous(0x1000))
    procfs(tmp_path, 2, anonymous(0x5000))
    procfs(tmp_path, 3, [])
    for pid in (1, 2, 3, 4):
        tables.take(pid)
    assert [each[0] for each in maps.process(1)] == [0x1000]
    assert (maps.process(3), maps.process(4), tables.lost) == (None, None, 1)
    for count in (2, 3, 9):
        procfs(tmp_path, 1, anonymous(*(0x1000 * number for number in range(1, count + 1))))
        tables.take(1)
        assert [each[0] for each in maps.process(1)] == [0x1000 * number for number in range(1, count + 1)]
        assert [each[0] for each in maps.process(2)] == [0x5000]
    procfs(tmp_path, 1, anonymous(*(0x1000 * number for number in range(1, 100))))
    tables.take(1)
    assert (len(maps.process(1)), tables.lost) == (9, 2)


def test_a_process_without_memory_has_no_others(maps, tmp_path):
    tables = UnwindTables((2, 1, 1), maps.read, maps.write, str(tmp_path))
    procfs(tmp_path, 1, [])
    tables.take(1)
    assert maps.process(1) == [(0, 0, 0, 0, 0)]
