"""The maps by which stacks are walked, filled from a procfs of the test's own."""

import os
import struct
import subprocess
import sys
from collections import Counter

import pytest
from support.symbols.made_unwind_rows import unwind_rows

from sonde.model.named_maps import (
    UNWIND_BLOCKS,
    UNWIND_CUT,
    UNWIND_FILE,
    UNWIND_FILES,
    UNWIND_MAPPINGS,
    UNWIND_OBJECT,
    UNWIND_OBJECTS,
    UNWIND_PAGE,
    UNWIND_PROCESSES,
    UNWIND_ROWS,
    UNWIND_RULES,
    UNWIND_WANTED,
)
from sonde.symbols.elf.file import ElfFile
from sonde.symbols.mappings import parse_maps
from sonde.symbols.process_events import Exited, Forked, Mapped
from sonde.symbols.unwinding import unwind_objects, unwind_tables
from sonde.symbols.unwinding.unwind_objects import Pages
from sonde.symbols.unwinding.unwind_tables import UnwindTables

BY_FILE = {UNWIND_OBJECTS: 256, UNWIND_ROWS: 4096, UNWIND_BLOCKS: 64, UNWIND_RULES: 256, UNWIND_FILES: 64}
BY_PROCESS = {**BY_FILE, UNWIND_PROCESSES: 10, UNWIND_MAPPINGS: 64}


class Maps:
    """What is written, by map and key, and what programs would find there."""

    def __init__(self):
        self.written = {(UNWIND_CUT, bytes(4)): bytes(8)}
        self.writes = 0

    def write(self, name, key, value):
        self.written[name, key] = value
        self.writes += 1

    def remove(self, name, key):
        self.written.pop((name, key), None)

    def read(self, name):
        return [(key, value) for (each, key), value in self.written.items() if each == name]

    def process(self, pid):
        """(start, end, bias, object, 0) of each mapping."""
        value = self.written.get((UNWIND_PROCESSES, struct.pack("<Q", pid)))
        if value is None:
            return None
        first, count = struct.unpack("<II", value)
        return list(struct.iter_unpack("<QQQII", self.pages(UNWIND_MAPPINGS)[32 * first : 32 * (first + count)]))

    def pages(self, name):
        pages = dict(self.read(name))
        assert all(len(page) == UNWIND_PAGE for page in pages.values())
        # Descriptions stand at the end.
        return b"".join(pages.get(struct.pack("<I", number), b"") for number in range(len(pages)))

    def object(self, number):
        """The blocks, rows and rules of an object, as many as a file of that size has, and nothing of another's."""
        row, block, blocks, rule, *_ = self.words(number)
        words = self.pages(UNWIND_BLOCKS)[4 * block : 4 * (block + blocks + 1)]
        rows = self.pages(UNWIND_ROWS)[4 * row : 4 * (row + int.from_bytes(words[-4:], "little"))]
        most = max(int.from_bytes(rows[at + 2 : at + 4], "little") for at in range(0, len(rows), 4))
        return words, rows, self.pages(UNWIND_RULES)[16 * rule : 16 * (rule + most + 1)]

    def words(self, number):
        return UNWIND_OBJECT.unpack(self.written[UNWIND_OBJECTS, struct.pack("<I", number)])

    def want(self, key, value):
        """As a program does."""
        self.written[UNWIND_WANTED, key] = value
        cut = int.from_bytes(self.written[UNWIND_CUT, bytes(4)], "little") + 1
        self.written[UNWIND_CUT, bytes(4)] = struct.pack("<Q", cut)

    def file(self, key):
        value = self.written.get((UNWIND_FILES, key))
        return None if value is None else int.from_bytes(value, "little")


@pytest.fixture
def maps():
    return Maps()


@pytest.fixture(scope="module")
def process():
    """One with libraries of all sizes, whatever the tests before have loaded into their own."""
    words = [sys.executable, "-c", "import ctypes, ssl; print(flush=True); input()"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        yield child.pid
        child.kill()


def of(maps, room, proc="/proc"):
    return UnwindTables(room, maps.read, maps.write, maps.remove, proc)


def settled(tables):
    while tables.patience == 0:
        tables.poll([])


def objects_of(pid):
    with open(f"/proc/{pid}/maps") as file:
        return [each for each in parse_maps(file.read()) if each.executable and each.path.startswith("/")]


def name_of(mapping):
    """What programs call a file, from what stat(2) says."""
    status = os.stat(mapping.path)
    seconds, nanoseconds = divmod(status.st_ctime_ns, 10**9)
    device = os.major(status.st_dev) << 20 | os.minor(status.st_dev)
    return UNWIND_FILE.pack(status.st_ino, seconds, device, nanoseconds)


@pytest.mark.long
def test_files_of_a_process(maps, process):
    """Each has its tables before anything fires, once, whoever has mapped it, and they are those of the file."""
    tables = of(maps, BY_FILE)
    tables.take(process)
    mappings = objects_of(process)
    assert len({each.path for each in mappings}) > 2
    # By descriptions at least, at once.
    early = {each.path: maps.words(maps.file(name_of(each))) for each in mappings}
    assert all(blocks or pairs for _, _, blocks, _, _, pairs, *_ in early.values())

    assert maps.file(UNWIND_FILE.pack(0, 0, 0, 0))
    settled(tables)
    numbers = {each.path: maps.file(name_of(each)) for each in mappings}
    for path, number in numbers.items():
        assert maps.object(number) == tuple(unwind_rows(ElfFile.open(path)))
    before = len(maps.read(UNWIND_OBJECTS))
    tables.take(process)
    assert len(maps.read(UNWIND_OBJECTS)) == before
    assert (tables.lost, tables.cut) == (0, 0)


@pytest.mark.long
def test_files_of_processes_that_run_already(maps, process):
    """Programs know them before they have met one, as far as there is time, and without waiting for their rows."""
    tables = of(maps, BY_FILE)
    tables.prepare([process, 1 << 30], 60)
    mappings = objects_of(process)
    early = [maps.words(maps.file(name_of(each))) for each in mappings]
    assert all(blocks or pairs for _, _, blocks, _, _, pairs, *_ in early)
    # Rows are still to be made of those that have descriptions alone, if any has.
    assert tables.patience == 0 or all(blocks for _, _, blocks, *_ in early)
    settled(tables)
    for each in mappings:
        assert maps.object(maps.file(name_of(each))) == tuple(unwind_rows(ElfFile.open(each.path)))


def test_what_runs_already_is_not_waited_for_without_end(maps, process):
    tables = of(maps, BY_FILE)
    tables.prepare([process], 0)
    assert not maps.writes
    tables.prepare([process], 0.01)
    first = maps.writes
    tables.prepare([process], 60)
    assert maps.writes > first


def test_what_programs_have_met_comes_first(maps, process):
    """Before what they may meet, of which there may be a lot."""
    tables = of(maps, BY_FILE)
    *others, largest = sorted(objects_of(process), key=lambda each: os.path.getsize(each.path))
    for each in (*others, largest):
        tables.expect(process, each)
    maps.want(b"a" * 24, struct.pack("<QQ", process, largest.start))
    tables.answer()
    tables._step()
    assert maps.file(b"a" * 24)
    assert {maps.file(name_of(each)) for each in others if each.path != largest.path} == {None}


def test_small_files_that_were_met_do_not_wait_for_large_ones(maps, process, monkeypatch):
    tables = of(maps, BY_FILE)
    small, *large = sorted(objects_of(process), key=lambda each: os.path.getsize(each.path))
    large = [each for each in large if each.path != small.path]
    monkeypatch.setattr(unwind_tables, "_SMALL", os.path.getsize(small.path))
    for each in (*large, small):
        tables.expect(process, each, True)
    while maps.file(name_of(small)) is None:
        tables._step()
        assert {maps.file(name_of(each)) for each in large} == {None}


def test_files_that_programs_have_met(maps, process):
    """A file is known by what the program calls it, whatever that is: in containers numbers differ. What else the
    process has mapped is soon met too."""
    tables = of(maps, BY_FILE)
    *others, mapping = objects_of(process)
    for number, key in enumerate((b"a" * 24, b"b" * 24)):
        maps.want(key, struct.pack("<QQ", process, mapping.start))
        tables.poll([])
        settled(tables)
        assert maps.object(maps.file(key)) == tuple(unwind_rows(ElfFile.open(mapping.path)))
        assert dict(maps.read(UNWIND_WANTED))[key] == bytes(16)
        assert tables.cut == number + 1
        assert None not in [maps.file(name_of(each)) for each in others]
    assert maps.file(b"a" * 24) == maps.file(b"b" * 24) == maps.file(name_of(mapping))


def test_processes_that_have_ended(maps, process, tmp_path):
    """What they had mapped is asked of whoever has followed them."""
    tables = of(maps, BY_FILE, str(tmp_path))
    mapping = objects_of(process)[-1]
    tables.follow([], lambda pid, address: mapping if (pid, address) == (9, mapping.start) else None)
    maps.want(b"a" * 24, struct.pack("<QQ", 9, mapping.start))
    maps.want(b"b" * 24, struct.pack("<QQ", 8, mapping.start))
    for _ in range(3):
        tables.poll([])
    while tables.patience == 0:
        tables.poll([])
    assert maps.file(b"a" * 24)
    assert maps.file(b"b" * 24) is None


def test_while_nothing_is_wanted_nothing_is_done(maps):
    tables = of(maps, BY_FILE)
    maps.want(b"a" * 24, struct.pack("<QQ", 1 << 30, 0))
    tables.poll([])
    before = maps.writes
    assert before == 1
    for _ in range(10):
        tables.poll([])
    assert maps.writes == before


def test_code_without_a_file_is_known_to_have_no_tables(maps, tmp_path):
    """So that it is not asked for again and again."""
    procfs(tmp_path, 1, anonymous(0x1000))
    maps.want(b"c" * 24, struct.pack("<QQ", 1, 0x1000))
    of(maps, BY_FILE, str(tmp_path)).poll([])
    assert maps.file(b"c" * 24) == 0


def test_the_family_of_a_traced_process(maps):
    """What it and its children map is made known then; what others map is not."""
    tables = of(maps, BY_FILE)
    take = tables.follow([1], lambda pid, address: None)
    first, *_, last = objects_of(os.getpid())
    take(Mapped(0, 2, first))
    tables.poll([])
    assert maps.file(name_of(first)) is None
    take(Forked(0, 2, 1))
    for each in (first, last):
        take(Mapped(0, 2, each))
    while tables.patience == 0:
        tables.poll([])
    assert maps.file(name_of(first))
    assert maps.file(name_of(last))


def test_objects_for_which_there_is_no_room(maps, process, monkeypatch):
    """Rows that have no room leave what has descriptions with these, as some objects of some machines, unless the rows
    have been kept, as those that take long are."""
    monkeypatch.setenv("HOME", "/nonexistent")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    tables = of(maps, BY_FILE)
    tables.take(process)
    are_described = any(maps.words(maps.file(name_of(each)))[5] for each in objects_of(process))
    for name, room in ((UNWIND_OBJECTS, 1), (UNWIND_ROWS, 0), (UNWIND_BLOCKS, 0), (UNWIND_RULES, 0)):
        maps.written = {(UNWIND_CUT, bytes(4)): bytes(8)}
        tables = of(maps, {**BY_FILE, name: room})
        tables.poll([process])
        settled(tables)
        assert tables.lost > 0
        numbers = {maps.file(name_of(each)) for each in objects_of(process)} - {0}
        assert all(maps.words(number)[5] for number in numbers)
        assert bool(numbers) == (are_described and name in (UNWIND_BLOCKS, UNWIND_RULES))


def test_what_may_be_met_leaves_room_for_what_is_met(maps, process):
    """A busy machine has more objects than there is room for; those in stacks get their tables all the same."""
    mappings = objects_of(process)
    tables = of(maps, {**BY_FILE, UNWIND_OBJECTS: 4})
    tables.prepare([process], 60)
    settled(tables)
    assert tables.lost == 0
    left = [each for each in mappings if maps.file(name_of(each)) is None]
    assert len({each.path for each in left}) > 1
    maps.want(b"a" * 24, struct.pack("<QQ", process, left[0].start))
    tables.answer()
    settled(tables)
    assert maps.object(maps.file(b"a" * 24)) == tuple(unwind_rows(ElfFile.open(left[0].path)))
    assert tables.lost == 0


def test_few_tables_are_half_made_at_a_time(maps, process, monkeypatch):
    """Each of them is in memory, as much as its object is large."""
    monkeypatch.setattr(unwind_tables, "_AT_ONCE", 2)
    monkeypatch.setenv("HOME", "/nonexistent")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    tables = of(maps, BY_FILE)
    for each in objects_of(process):
        tables.expect(process, each)
    assert len(tables._urgent) > 4
    steps, most = Counter(), 0
    while queue := tables._hurried or tables._urgent or tables._jobs:
        steps[queue[0].object] += 1
        tables._step()
        # Those that programs know by their descriptions are as many as have room for these.
        begun = (
            sum(steps[each.object] > 0 for each in tables._urgent),
            sum(steps[each.object] > 1 for each in tables._jobs),
        )
        most = max(most, *begun)
    assert 0 < most <= 2


def test_objects_that_found_no_room_among_those_that_wait_are_asked_for_again(maps, process, monkeypatch):
    monkeypatch.setattr(unwind_tables, "_MOST_WAITING", 4)
    tables, mappings = of(maps, BY_FILE), objects_of(process)
    files = {each.path for each in mappings}
    for each in mappings:
        tables.expect(process, each)
    assert len(tables._waiting) == 2
    for _ in files:
        for each in mappings:
            tables.expect(process, each, True)
        assert len(tables._waiting) <= 4
        settled(tables)
    assert all(maps.file(name_of(each)) for each in mappings)
    assert not tables._waiting
    assert not tables._met


def test_objects_without_tables_are_known_up_to_a_number(maps, process, monkeypatch):
    monkeypatch.setattr(unwind_tables, "_MOST_WITHOUT", 4)
    tables, mappings = of(maps, {**BY_FILE, UNWIND_OBJECTS: 1}), objects_of(process)
    assert len({each.path for each in mappings}) > 4
    for _ in range(2):
        for each in mappings:
            tables.expect(process, each, True)
        settled(tables)
    assert not tables._known
    assert len(tables._without) <= 4
    assert {maps.file(name_of(each)) for each in mappings} == {0}


def test_pages_that_were_lent_are_used_again(maps, monkeypatch):
    """Descriptions stand behind all rows, and where they were others may stand when rows have taken their place."""
    written, now = {}, [0.0]
    monkeypatch.setattr(unwind_objects.time, "monotonic", lambda: now[0])
    pages = Pages(UNWIND_ROWS, 8, lambda name, key, value: written.__setitem__(int.from_bytes(key, "little"), value))
    first, second = pages.lend(b"a" * (UNWIND_PAGE + 1)), pages.lend(b"b" * UNWIND_PAGE)
    assert (first, second) == (6 * UNWIND_PAGE, 5 * UNWIND_PAGE)
    assert pages.lend(bytes(6 * UNWIND_PAGE)) is None
    assert pages.has_room(bytes(5 * UNWIND_PAGE))
    assert not pages.has_room(bytes(5 * UNWIND_PAGE + 1))
    pages.append(b"c" * UNWIND_PAGE)
    assert pages.lend(bytes(4 * UNWIND_PAGE)) == UNWIND_PAGE
    assert written[0] == b"c" * UNWIND_PAGE
    assert written[7] == b"a".ljust(UNWIND_PAGE, b"\0")
    for _ in range(2):
        pages.give_back()
    assert pages.lend(b"d") is None
    pages.give_back()
    assert pages.lend(b"d") is None
    now[0] += 0.15
    assert pages.lend(b"d") == 7 * UNWIND_PAGE


def test_mappings_of_processes(maps):
    """Where programs cannot look at mappings, they are there by address."""
    tables = of(maps, BY_PROCESS)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as traced:
        traced.stdin.write(b"begun")
        traced.stdin.flush()
        traced.stdout.read(5)
        tables.poll([traced.pid])
        mappings = maps.process(traced.pid)
        assert len(mappings) > 2
        assert mappings == sorted(mappings)
        for each in objects_of(traced.pid):
            start, end, bias, number, _ = next(row for row in mappings if row[0] == each.start)
            assert (end, bias) == (each.end, each.start - each.offset)
            assert maps.object(number) == tuple(unwind_rows(ElfFile.open(each.path)))
            assert start < end
        traced.stdin.close()
    with subprocess.Popen(["sleep", "60"]) as other:
        maps.want(struct.pack("<Q", other.pid), struct.pack("<Q", 1))
        tables.poll([])
        other.kill()
    assert maps.process(other.pid)
    assert maps.read(UNWIND_WANTED) == [(struct.pack("<Q", other.pid), bytes(8))]
    assert tables.lost == 0


def test_objects_of_this_process_take_no_room(maps):
    """Clocks tick in it: what it has mapped is known, the tables are another's. A child is looked at when it is the
    command."""
    tables = of(maps, BY_PROCESS)
    maps.want(struct.pack("<Q", os.getpid()), struct.pack("<Q", 1))
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.read(reader, 1)
        os._exit(0)
    tables.poll([child])
    assert maps.process(child) is None
    os.write(writer, b" ")
    os.waitpid(child, 0)
    for each in reader, writer:
        os.close(each)
    assert {row[0] for row in maps.process(os.getpid())} >= {each.start for each in objects_of(os.getpid())}
    assert {row[3] for row in maps.process(os.getpid())} == {0}
    assert not maps.read(UNWIND_ROWS)


def procfs(directory, pid, lines):
    (directory / str(pid)).mkdir(exist_ok=True)
    (directory / str(pid) / "maps").write_text("".join(f"{line}\n" for line in lines))


def anonymous(*starts):
    return [f"{start:x}-{start + 4096:x} r-xp 00000000 00:00 0" for start in starts]


def test_more_mappings_than_there_were(maps, tmp_path):
    """They take the place of the former ones, or another if that is too small; another process's stay."""
    tables = of(maps, {**BY_PROCESS, UNWIND_PROCESSES: 2, UNWIND_MAPPINGS: 1}, str(tmp_path))
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
    tables = of(maps, {**BY_PROCESS, UNWIND_PROCESSES: 2, UNWIND_MAPPINGS: 1}, str(tmp_path))
    procfs(tmp_path, 1, [])
    tables.take(1)
    assert maps.process(1) == [(0, 0, 0, 0, 0)]


def test_processes_that_have_ended_leave_their_room(maps, tmp_path):
    """However many there have been."""
    tables = of(maps, {**BY_PROCESS, UNWIND_PROCESSES: 2, UNWIND_MAPPINGS: 1}, str(tmp_path))
    take = tables.follow((), lambda pid, address: None)
    for pid in range(1, 200):
        starts = [0x1000 * (pid + number) for number in range(1 + pid % 5)]
        procfs(tmp_path, pid, anonymous(*starts))
        tables.take(pid)
        assert [each[0] for each in maps.process(pid)] == starts
        if pid > 1:
            take(Exited(0, pid - 1))
            assert maps.process(pid - 1) is None
    assert tables.lost == 0
