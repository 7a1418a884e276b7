"""Perf's records of mappings, exec, fork and exit taken apart, and what follows processes by them."""

import struct

import pytest

from sonde.engines.kernel.process_records import decode
from sonde.formats.perf_ring import PerfRecord
from sonde.symbols.following import Following
from sonde.symbols.mappings import Mapping
from sonde.symbols.process import ProcessNames
from sonde.symbols.process_events import Executed, Exited, Forked, Mapped

MMAP2, COMM, FORK, EXIT = 10, 3, 7, 4
COMM_EXEC, BUILD_ID = 1 << 13, 1 << 14


def trailer(pid, time):
    return struct.pack("=IIQ", pid, pid, time)


def mapped(name, protection=5, pid=7):
    padded = name + b"\0" * (8 - len(name) % 8)
    head = struct.pack("=IIQQQIIQQII", pid, 8, 0x1000, 0x2000, 0x3000, 0xFD, 1, 99, 5, protection, 2)
    return head + padded + trailer(pid, 1234)


@pytest.mark.parametrize(
    ("kind", "misc", "body", "expected"),
    [
        (MMAP2, 2, mapped(b"/bin/x"),
         Mapped(1234, 7, Mapping(0x1000, 0x3000, 0x3000, "fd:01", 99, "/bin/x", True, 5))),
        (MMAP2, 2, mapped(b"//anon"), Mapped(1234, 7, Mapping(0x1000, 0x3000, 0x3000, "fd:01", 99, "", True, 5))),
        (MMAP2, 2, mapped(b"/tmp/\xff"),
         Mapped(1234, 7, Mapping(0x1000, 0x3000, 0x3000, "fd:01", 99, "/tmp/\udcff", True, 5))),
        (MMAP2, 2, mapped(b"/bin/x", protection=3), None),
        (MMAP2, 2 | BUILD_ID, mapped(b"/bin/x"), None),
        (COMM, COMM_EXEC, struct.pack("=II", 7, 7) + b"name\0\0\0\0" + trailer(7, 55), Executed(55, 7)),
        (COMM, 0, struct.pack("=II", 7, 7) + b"name\0\0\0\0" + trailer(7, 55), None),
        (FORK, 0, struct.pack("=IIIIQ", 9, 7, 9, 7, 66) + trailer(7, 66), Forked(66, 9, 7)),
        (FORK, 0, struct.pack("=IIIIQ", 7, 7, 9, 7, 66) + trailer(7, 66), None),
        (EXIT, 0, struct.pack("=IIIIQ", 9, 7, 9, 7, 77) + trailer(9, 77), Exited(77, 9)),
        (EXIT, 0, struct.pack("=IIIIQ", 9, 9, 10, 9, 77) + trailer(9, 77), None),
        (9, 0, b"", None),
    ],
)  # fmt: skip
def test_records(kind, misc, body, expected):
    assert decode(PerfRecord(kind, misc, memoryview(body))) == expected


def test_what_processes_have_mapped_of_one_file_shares_its_names():
    first, second = (decode(PerfRecord(MMAP2, 2, memoryview(mapped(b"/bin/x", pid=pid)))).mapping for pid in (7, 8))
    assert first.path is second.path
    assert first.device is second.device


class Told:
    """A source that tells what it is given."""

    lost = 3
    descriptors = (5,)

    def __init__(self):
        self.events = []

    def read(self):
        events, self.events = self.events, []
        return events

    def advance(self, pid):
        return None


def process(proc, pid, maps):
    (proc / str(pid)).mkdir()
    (proc / str(pid) / "maps").write_text(maps)


def test_what_ran_before_and_what_comes(tmp_path):
    process(tmp_path, 7, "1000-2000 r-xp 00000000 fd:01 17 /gone/early\n")
    (tmp_path / "self").mkdir()
    names, source = ProcessNames(proc=str(tmp_path)), Told()

    class Names:
        follow, take, forgotten = names.follow, names.take, names.forgotten
        remember, follow_compiled = staticmethod(names.look), staticmethod(names.follow_compiled)

    following = Following(source, Names(), [], str(tmp_path))
    (tmp_path / "7" / "maps").unlink()
    assert names.symbolize(7, 0x1010)[0] == "/gone/early"
    source.events = [Forked(1, 8, 7), Executed(2, 8)]
    following.poll()
    assert names.symbolize(7, 0x1010)[0] == "/gone/early"
    assert names.symbolize(8, 0x1010) is None
    # What nobody has polled for yet is asked for where an address is not known.
    source.events = [Mapped(3, 8, Mapping(0x1000, 0x2000, 0, "fd:01", 18, "/gone/late", True))]
    assert names.symbolize(8, 0x1010)[0] == "/gone/late"
    assert following.losses() == 3
    assert following.descriptors == (5,)


def test_without_a_source_the_traced_processes_are_looked_at(tmp_path):
    process(tmp_path, 7, "1000-2000 r-xp 00000000 fd:01 17 /gone/early\n")
    looked = []

    class Names:
        forgotten = 0
        remember = staticmethod(looked.append)

    following = Following(None, Names(), [7, 9], str(tmp_path))
    following.poll()
    assert looked == [7, 9, 7, 9]
    assert following.losses() == 0
    assert following.descriptors == ()
