"""Damaged perf.data files: one error or fewer values, no traceback, no hang, no flood of memory.

SONDE_EXAMPLES=2000 changes as many of them, always in the same way.
"""

import random
import struct
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.files import perf_files
from support.files.damage import changed_at
from support.files.perf_files import open_firings
from support.suite.example_counts import count_of
from test_perf_data_input import zstd

from sonde.arch import registers
from sonde.cli.main import main
from sonde.engines.fired import RecordedFiring
from sonde.formats.perf_data import PerfDataError
from sonde.formats.perf_data_input import FiledSampleOf, PerfDataInput
from sonde.symbols.mappings import parse_maps

pytestmark = pytest.mark.examples

SECONDS, MEMORY = 5, 512 << 20
_INTERESTING = (0, 1, 4, 7, 8, 9, 66, 68, 71, 80, 81, 83, 0x7F, 0xFF, 0x8000, 0xFFF8, 0xFFFF, 1 << 31, (1 << 32) - 1)
_WORDS = [(each & (1 << 8 * size) - 1).to_bytes(size, "little") for size in (2, 4, 8) for each in _INTERESTING]


def files():
    """Whole files of each kind."""
    records = perf_files.session()
    found = [perf_files.file(records), perf_files.pipe(records), perf_files.file(records, told=[])]
    found.append(perf_files.file([struct.pack("=IHHQ", 71, 0, 48, 64) + bytes(32 + 64), *records]))
    found.append(with_stacks())
    if any(find_spec(each) for each in ("zstandard", "compression")):
        found.append(perf_files.compressed(records, zstd()))
    return found


def with_stacks():
    """Registers and stacks of this process's own code, which lead somewhere."""
    thread = (10, 10)
    code = next(each for each in parse_maps(Path("/proc/self/maps").read_text()) if each.executable and each.is_object)
    taken = bytearray(registers.SIZE)
    for at, value in ((registers.PROGRAM_COUNTER, code.start + 4096), (registers.STACK_POINTER, 0x7000)):
        taken[at : at + 8] = value.to_bytes(8, "little")
    stack = b"".join((code.start + 256 * n).to_bytes(8, "little") for n in range(64))
    mapping = perf_files.mapped(
        0, thread, code.start, code.end - code.start, code.path.encode(), code.offset, code.inode
    )
    samples = [perf_files.sample_with_stack(100 + n, thread, bytes(taken), stack) for n in range(8)]
    event = perf_files.event_with_stack()
    return perf_files.file([perf_files.named(0, thread, b"name"), mapping, *samples], events=[event])


def damaged(chance, whole):
    """The file, changed in one to four places."""
    data = bytearray(whole)
    for _ in range(chance.randrange(1, 5)):
        if len(data) > 128 and chance.random() < 0.15:
            # The sections of the header.
            at = 16 + 8 * chance.randrange(8)
            data[at : at + 8] = struct.pack("=Q", chance.choice((*_INTERESTING, len(data), 1 << 40, (1 << 64) - 1)))
        else:
            changed_at(data, chance.randrange(len(data) - 8) if len(data) > 16 else 0, 8, _WORDS, chance)
    return bytes(data)


def cases(count, seed):
    chance, whole = random.Random(seed), files()
    for number in range(count):
        yield damaged(chance, whole[number % len(whole)])


def test_numbers_that_nobody_has_are_told_as_others(tmp_path):
    """Of threads, CPUs, priorities and fields that are longer than any integer."""
    large = (1 << 32) - 1
    thread = (large - 1, large)
    told = perf_files.described().replace(b"offset:24;\tsize:4", b"offset:9;\tsize:99")
    features = [(number, told if number == 1 else content) for number, content in perf_files.features()]
    records = [
        perf_files.named(5, thread, b"name", by_exec=True), perf_files.forked(6, thread, (large - 7, large - 8)),
        perf_files.switch((1 << 64) - 1, thread, (b"next", -1), cpu=large), perf_files.ended(7, thread),
        perf_files.sample(perf_files.CLOCK, 8, thread, cpu=large, ip=(1 << 64) - 1),
    ]  # fmt: skip
    path = tmp_path / "file"
    path.write_bytes(perf_files.file(records, features))
    source = open_firings(str(path))
    found = [each for each in source.happenings() if isinstance(each, RecordedFiring)]
    source.close()
    assert {each.thread.tid for each in found} >= {(1 << 31) - 1}
    text = "sched:::on-cpu, profile-999 { @[pid, tid, cpu, execname, ppid] = count(); } tick-1ms { @t = count(); }"
    assert main(["sonde", "--replay", str(path), "-qn", text]) == 0


def most_memory():
    """Bytes, since the last time."""
    text = Path("/proc/self/status").read_text()
    found = next(int(line.split()[1]) << 10 for line in text.split("\n") if line.startswith("VmHWM"))
    Path("/proc/self/clear_refs").write_text("5")
    return found


def test_a_reader_ends_with_values_or_one_error(tmp_path):
    """No sample has more than the file has, and fewer records than there are bytes for are told."""
    path = tmp_path / "file"
    refused = shortened = 0
    before = most_memory()
    for data in cases(count_of(400), 5):
        path.write_bytes(data)
        begun, count = time.process_time(), 0
        try:
            with open(path, "rb") as opened:
                file = PerfDataInput(opened)
                for each in file.values():
                    count += 1
                    if isinstance(each, FiledSampleOf):
                        assert each.event < len(file.events)
                        assert len(each.sample.raw) <= 1 << 16
                shortened += bool(file.damage)
        except PerfDataError as error:
            refused += bool(str(error))
        assert count <= 64 + len(data) // 8
        assert time.process_time() - begun < SECONDS
        assert most_memory() < before + MEMORY
    assert refused > 20
    assert shortened > 20


def test_firings_end_with_one_error_or_fewer(tmp_path):
    """What cannot be told is left out, and said."""
    path = tmp_path / "file"
    before, found, refused, damaged_, unwound = most_memory(), 0, 0, 0, 0
    for data in cases(count_of(200), 6):
        path.write_bytes(data)
        begun = time.process_time()
        try:
            source = open_firings(str(path))
        except PerfDataError as error:
            refused += bool(str(error))
            continue
        try:
            for each in source.happenings():
                if isinstance(each, RecordedFiring):
                    found += 1
                    unwound += each.unwound is not None and len(each.unwound()) > 1
                    assert 0 <= each.probe < len(source.probes)
                    assert len(each.thread.comm) <= 15
            damaged_ += bool(source.damage)
        finally:
            source.close()
        assert time.process_time() - begun < SECONDS
        assert most_memory() < before + MEMORY
    assert min(found, refused, damaged_, unwound) > 10


@pytest.mark.share(1)
@pytest.mark.parametrize("seed", range(2))
def test_the_command_ends_with_one_message_or_none(tmp_path, capfd, seed):
    path = tmp_path / "file"
    text = (
        "sdt:sched::sched_switch { @[args->next_pid, stringof(args->prev_comm)] = count(); }"
        "profile-999 { @b[ustack()] = count(); } syscall::openat: { @c[arg0, execname] = count(); }"
    )
    told = 0
    for data in cases(count_of(24) // 2, 200 + seed):
        path.write_bytes(data)
        begun = time.process_time()
        status = main(["sonde", "-Z", "--replay", str(path), "-qn", text])
        errors = capfd.readouterr().err
        assert "Traceback" not in errors
        assert time.process_time() - begun < SECONDS
        assert status in (0, 1)
        assert bool(errors) or not status
        told += status
    assert told > count_of(24) // 8


def test_a_file_of_many_tiny_records_is_read_in_little_memory(tmp_path):
    """A record of 8 bytes takes more in memory than in the file."""
    records = struct.pack("=IHH", 9, 0, 8) * 100_000
    path = tmp_path / "file"
    path.write_bytes(perf_files.file([records]))
    before = most_memory()
    with open(path, "rb") as opened:
        file = PerfDataInput(opened)
        assert list(file.values()) == []
    assert file.strange == 100_000
    assert most_memory() < before + (64 << 20)


@pytest.mark.long
def test_a_round_without_end_is_read_in_little_memory(tmp_path):
    """Whoever writes no ends of rounds gets the records in the order of time as far as there is room."""
    one = perf_files.named(1, (5, 5), b"name")
    path = tmp_path / "file"
    path.write_bytes(perf_files.file([one] * 300_000))
    before = most_memory()
    with open(path, "rb") as opened:
        assert sum(1 for _ in PerfDataInput(opened).values()) == 300_000
    assert most_memory() < before + (300 << 20)


def test_a_gap_of_years_has_so_many_ticks_and_no_more(tmp_path, capfd):
    """A time that was damaged is no reason to count for hours."""
    times = [10**9, 10**9 + 5 * 10**6, 10**12, 10**18, 10**19]
    records = [perf_files.sample(perf_files.CLOCK, time_, (7, 7)) for time_ in times]
    path = tmp_path / "file"
    path.write_bytes(perf_files.file(records))
    begun = time.process_time()
    text = "tick-1ms { @ = count(); } profile-999 { @p = count(); }"
    assert main(["sonde", "--replay", str(path), "-qn", text]) == 0
    assert time.process_time() - begun < SECONDS
    ticks, samples = (int(word) for word in capfd.readouterr().out.split())
    assert samples == len(times)
    assert 30_000 < ticks < 35_000
