"""perf.data files of sessions: shown again they are as they were, with the samples, however much of them is left."""

import contextlib
import io
import json
import os
import random
import re
import struct
import subprocess

import pytest
from support.files.damage import damaged
from support.files.recordings import TRAILER, Recording, timed
from support.files.records import conversions, integer
from support.machine import packages
from support.suite.example_counts import count_of

from sonde.cli.messages import FatalError, Messages
from sonde.cli.read import read_file
from sonde.formats import perf_events as perf
from sonde.formats import perf_made_records as made
from sonde.formats.perf_data_reader import PerfDataReader
from sonde.library.errors import Error
from sonde.model.records import (
    AggregationSpec,
    ClearAction,
    CommandAction,
    ExitAction,
    Field,
    OtherAction,
    PrintaAction,
    PrintfAction,
)
from sonde.recording import hardware, running
from sonde.recording.file import PerfDataFile, RecordingError
from sonde.recording.summary import Summary
from sonde.symbols.elf.notes import note_of

pytestmark = pytest.mark.examples

SAY = PrintfAction(conversions(("n ", "d"), ("\n", "")), (integer(16, 8),))
LAYOUTS = [(1, 24, (SAY,)), (2, 16, (PrintaAction(None, (0,)), ClearAction(0)))]
AGGREGATION = AggregationSpec("a", "sum", (), (Field(0, 8, "string"),), 8, 1, "a", True)
ZEROS = struct.pack("<q", 0)


def say(number):
    return struct.pack("<q", number)


def read(path, capfd):
    """What `sonde read` prints, and says of the file."""
    capfd.readouterr()
    assert read_file(["-q", str(path)], Messages("sonde")) == 0
    return capfd.readouterr()


def record_some(path):
    """Two rounds: samples between records of programs, a process that starts another one, and one lost record."""
    recording = Recording(path, LAYOUTS[:1])
    recording.program(2000, 1, say(1))
    recording.sample(1000, 100)
    recording.sample(3000, 100, cpu=1)
    recording.other(timed(made.fork(200, 100, 200, 100, TRAILER), 3500))
    recording.other(timed(made.comm(200, 200, b"child", TRAILER), 3600))
    recording.look()
    recording.program(5000, 1, say(3), cpu=1)
    recording.program(4000, 1, say(2))
    recording.sample(4500, 200)
    recording.sample(6000, 200)
    recording.other(timed(made.lost(12, 3, TRAILER), 6500))
    recording.look()
    return recording.finish(lost=5)


def events(text):
    """Times of samples in µs, and numbers that records say."""
    return [int(time or number) for time, number in re.findall(r"0\.00000(\d):|^n (\d+)$", text, re.MULTILINE)]


def test_samples_and_records_are_shown_in_the_order_of_their_times(tmp_path, capfd):
    text, summary = record_some(tmp_path / "p.data")
    assert sorted(text.split()) == ["1", "2", "3", "n", "n", "n"]
    assert str(summary) == "4 samples, 3 records of programs, 5 samples and 0 records lost"
    shown = read(tmp_path / "p.data", capfd)
    assert events(shown.out) == [1, 1, 3, 2, 4, 3, 6]
    assert re.findall(r"^ *(\w+) +\d+/\d+ +\[00(\d)\]", shown.out, re.MULTILINE) == [
        ("early", "0"), ("early", "1"), ("child", "0"), ("child", "0"),
    ]  # fmt: skip
    assert "5 records were lost" in shown.err


def test_aggregations_are_shown_as_they_were(tmp_path, capfd):
    """Printed and cleared again and again, with samples between."""
    recording = Recording(tmp_path / "p.data", LAYOUTS, [AGGREGATION])
    tracing = recording.session.tracing
    for number, time in enumerate((2000, 4000, 6000), 1):
        tracing.write_map("a", b"x".ljust(8, b"\0"), struct.pack("<Q", 10 * number))
        recording.sample(time - 500, 100)
        recording.program(time, 2)
        recording.program(time + 100, 1, say(number))
        recording.look()
    text, _ = recording.finish()
    assert re.findall(r"x +(\d+)", text) == ["10", "20", "30"]
    shown = read(tmp_path / "p.data", capfd)
    rest = "".join(line for line in shown.out.splitlines(keepends=True) if "profile-997" not in line)
    assert rest == text
    assert shown.out.count("profile-997") == 3
    assert not shown.err


def test_what_a_program_did_is_shown_and_not_done(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    did = (
        CommandAction("system", conversions(("echo x >> acted\x1b", "")), ()),
        CommandAction("freopen", conversions(("reopened", "")), ()), OtherAction("ftruncate", ()),
    )  # fmt: skip
    recording = Recording(tmp_path / "p.data", [(1, 16, did), (2, 24, (SAY,))])
    recording.program(1000, 1)
    recording.program(2000, 2, say(5))
    recording.look()
    recording.finish()
    made = sorted(os.listdir())
    assert made == ["acted\x1b", "p.data", "reopened"]
    for name in (made[0], made[2]):
        os.unlink(name)
    shown = read(tmp_path / "p.data", capfd)
    lines = [line for line in shown.out.splitlines() if line]
    assert lines == ['# system("echo x >> acted\\x1b")', '# freopen("reopened")', "# ftruncate()", "n 5"]
    assert "3 actions were shown" in shown.err
    assert os.listdir() == ["p.data"]
    with pytest.raises(FatalError, match="Destructive actions not allowed"):
        read_file(["--act", "p.data"], Messages("sonde"))
    assert read_file(["--act", "-wq", "p.data"], Messages("sonde")) == 0
    assert sorted(os.listdir()) == made
    assert "n 5" in (tmp_path / "reopened").read_text()


def test_perf_sees_no_records_in_which_nothing_is_recorded(tmp_path, capfd):
    """exit(), printa(), clear() ... stand in the file for sonde alone, between those that it shares with perf."""
    stop = [(3, 24, (ExitAction(integer(16, 4)),)), (4, 24, (SAY, ExitAction(integer(16, 4)))), (5, 16, ())]
    recording = Recording(tmp_path / "p.data", [*LAYOUTS, *stop], [AGGREGATION])
    for number, (layout, payload) in enumerate([(1, say(1)), (2, b""), (2, b""), (4, say(2)), (3, say(0))]):
        recording.program(1000 * number, layout, payload)
        recording.sample(1000 * number + 500, 100)
    recording.look()
    _, summary = recording.finish()
    assert (summary.samples, summary.records) == (5, 2)
    with open(tmp_path / "p.data", "rb") as file:
        found = [record.type for record in PerfDataReader(file).records()]
    assert found.count(perf.RECORD_SAMPLE) == 7
    assert [line for line in read(tmp_path / "p.data", capfd).out.split("\n") if line.startswith("n ")] == [
        "n 1",
        "n 2",
    ]


def test_samples_alone_are_shown_before_the_aggregations_left(tmp_path, capfd):
    """Nothing that a program records stands between them, nor behind."""
    recording = Recording(tmp_path / "p.data", LAYOUTS, [AGGREGATION])
    for time in (1000, 2000):
        recording.sample(time, 100)
        recording.look()
    recording.session.tracing.write_map("a", b"x".ljust(8, b"\0"), struct.pack("<Q", 2))
    recording.sample(3000, 100)
    text, _ = recording.finish()
    assert re.findall(r"x +(\d+)", text) == ["2"]
    lines = [line for line in read(tmp_path / "p.data", capfd).out.splitlines() if line]
    assert ["profile-997" in line for line in lines] == [True] * 3 + [False]
    recording = Recording(tmp_path / "q.data", LAYOUTS[:1])
    recording.sample(1000, 100)
    recording.look()
    recording.finish()
    assert events(read(tmp_path / "q.data", capfd).out) == [1]


@pytest.mark.long
def test_a_file_cut_anywhere_is_readable_up_to_there(tmp_path, capfd):
    """In what is left every sample and record stands as in the whole, nothing else does, and it is told."""
    record_some(tmp_path / "p.data")
    whole = (tmp_path / "p.data").read_bytes()
    start = PerfDataReader(io.BytesIO(whole)).header.data.offset
    complete = read(tmp_path / "p.data", capfd).out.splitlines()
    found = 0
    for length in range(start, len(whole), 8):
        (tmp_path / "cut").write_bytes(whole[: length + 3])
        shown = read(tmp_path / "cut", capfd)
        lines = shown.out.splitlines()
        assert set(lines) <= set(complete)
        assert len(lines) >= found
        found = len(lines)
        assert "cut off" in shown.err or lines == complete
    assert found == len(complete)
    for length in range(0, start, 5):
        (tmp_path / "cut").write_bytes(whole[:length])
        with pytest.raises((FatalError, Error), match=r"no perf\.data file|cut off|damaged|cannot be"):
            read(tmp_path / "cut", capfd)


def test_a_damaged_file_is_shown_or_refused_in_words(tmp_path, capfd):
    record_some(tmp_path / "p.data")
    whole = (tmp_path / "p.data").read_bytes()
    chance = random.Random(6)
    for _ in range(count_of(400)):
        (tmp_path / "damaged").write_bytes(damaged(whole, [(0, 120), (120, len(whole) - 120)], chance))
        with contextlib.suppress(FatalError, Error):
            read(tmp_path / "damaged", capfd)


def test_a_recording_that_is_given_up_is_whole_up_to_its_last_round(tmp_path, capfd):
    """As after SIGKILL: nothing closes the file."""
    recording = Recording(tmp_path / "p.data", LAYOUTS[:1])
    recording.program(1000, 1, say(1))
    recording.sample(1500, 100)
    recording.look()
    recording.program(2000, 1, say(2))
    shown = read(tmp_path / "p.data", capfd)
    assert events(shown.out) == [1, 1]
    assert "was not ended properly" in shown.err
    recording.finish()


def test_a_file_that_takes_no_more_ends_with_a_whole_round(tmp_path, capfd):
    recording = Recording(tmp_path / "p.data", LAYOUTS[:1])
    recording.program(1000, 1, say(1))
    recording.look()
    size = (tmp_path / "p.data").stat().st_size
    recording.program(2000, 1, say(2))
    reader = os.open(tmp_path / "p.data", os.O_RDONLY)
    kept = os.dup(recording.file._descriptor)
    # One that cannot be written to, in the place of one whose disk is full.
    os.dup2(reader, recording.file._descriptor)
    recording.look()
    assert recording.file.failure
    recording.finish()
    os.close(reader)
    os.close(kept)
    assert (tmp_path / "p.data").stat().st_size == size
    assert events(read(tmp_path / "p.data", capfd).out) == [1]


@packages.needs("perf")
def test_perf_reads_what_is_written(tmp_path):
    _, summary = record_some(tmp_path / "p.data")
    shown = subprocess.run(["perf", "script", "-i", tmp_path / "p.data"], capture_output=True, text=True, check=True)
    assert shown.stdout.count("profile:::profile-997:") == summary.samples == 4
    assert shown.stdout.count(" sonde:") == 3
    assert re.search(r"child +200 .* profile:::profile-997: +401000 \[unknown\] \(/nowhere/program\)", shown.stdout)
    header = subprocess.run(
        ["perf", "report", "--header-only", "-i", tmp_path / "p.data"], capture_output=True, text=True, check=True
    )
    assert "cmdline : sonde record" in header.stdout
    assert "perf version : sonde 1.0" in header.stdout
    assert re.search(r"total memory : \d+ kB", header.stdout)


def test_files_are_of_those_that_were_sampled(tmp_path):
    recording = Recording(tmp_path / "p.data", LAYOUTS[:1])
    recording.other(timed(made.mapping(300, 1 << 20, 2 << 20, 0, (0, 0), 1, 5, b"/not/sampled", TRAILER), 500))
    recording.other(timed(made.fork(200, 100, 200, 100, TRAILER), 600))
    recording.other(timed(made.mapping(200, 1 << 20, 2 << 20, 0, (0, 0), 1, 5, b"/child/only", TRAILER), 700))
    recording.other(timed(made.mapping(200, 3 << 20, 4 << 20, 0, (0, 0), 1, 5, b"//anon", TRAILER), 700))
    recording.sample(1000, 200)
    recording.finish()
    with open(tmp_path / "p.data", "rb") as file:
        assert Summary(PerfDataReader(file).pieces()).files == ["/child/only", "/nowhere/program"]


@pytest.mark.parametrize("path", ["/dev/null", "/dev/tty", "/nowhere/at/all", "/"])
def test_what_cannot_be_the_file_is_refused(path):
    with pytest.raises(RecordingError, match=r"no regular file|failed to open"):
        PerfDataFile(path, "1.0", [])


def test_build_ids_in_notes():
    other = struct.pack("=III", 6, 4, 1) + b"Linux\0\0\0" + ZEROS[:4]
    wanted = struct.pack("=III", 4, 20, 3) + b"GNU\0" + bytes(range(20))
    assert note_of(other + wanted) == bytes(range(20))
    assert note_of(other) == note_of(b"") == b""
    assert note_of(struct.pack("=III", 0xFFFFFFFF, 4, 3)) == b""


def leaves(value, path=()):
    """The places of all values in JSON."""
    yield path
    if isinstance(value, (list, dict)):
        for key in range(len(value)) if isinstance(value, list) else value:
            yield from leaves(value[key], (*path, key))


VALUES = (-1, 0, 7, 1 << 63, "", "x", "int", "*", None, True, [], {}, 1.5, "stack", "long_string", {"bytes": "AAAA"},
          {"class": "Field", "values": []})  # fmt: skip


def test_a_description_without_sense_is_refused_or_shown(tmp_path, capfd):
    """It is not a traceback, whatever is said of records: code is generated of that."""
    recording = Recording(tmp_path / "p.data", LAYOUTS, [AGGREGATION])
    recording.session.tracing.write_map("a", b"x".ljust(8, b"\0"), struct.pack("<Q", 1))
    recording.program(1000, 1, say(1))
    recording.program(1100, 2)
    recording.look()
    recording.finish()
    whole = (tmp_path / "p.data").read_bytes()
    (size,) = struct.unpack_from("<Q", whole, 112)
    described = whole[120 : 120 + size]
    places = [path for path in leaves(json.loads(described)) if path]
    chance = random.Random(7)
    refused = 0
    for _ in range(400):
        description = json.loads(described)
        *way, last = chance.choice(places)
        container = description
        for key in way:
            container = container[key]
        container[last] = chance.choice(VALUES)
        made_of = json.dumps(description).encode()
        if len(made_of) > size:
            continue
        (tmp_path / "q.data").write_bytes(whole[:120] + made_of.ljust(size) + whole[120 + size :])
        try:
            read(tmp_path / "q.data", capfd)
        except (FatalError, Error):
            refused += 1
    assert refused > 100


KALLSYMS = """ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81a00000 T _etext
ffffffffc0010000 t some_function	[some]
ffffffffc0020100 t bpf_prog_2_second	[bpf]
ffffffffc0020000 t bpf_prog_1_first	[bpf]
"""
MAPS = """00400000-00401000 r--p 00000000 fe:01 77 /bin/some thing
00401000-00403000 r-xp 00001000 fe:01 77 /bin/some thing
7f0000000000-7f0000001000 r-xp 00000000 fe:01 78 /lib/gone.so (deleted)
7f0000002000-7f0000003000 rwxp 00000000 00:00 0
7ffc00000000-7ffc00001000 r-xp 00000000 00:00 0 [vdso]
"""


def test_processor_and_memory(tmp_path):
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nmodel name\t: Some: thing\nmodel name\t: other\n")
    (tmp_path / "meminfo").write_text("MemTotal:        1234 kB\nMemFree: 5 kB\n")
    assert (hardware.processor(str(tmp_path)), hardware.memory(str(tmp_path))) == ("Some: thing", 1234)
    assert (hardware.processor(str(tmp_path / "no")), hardware.memory(str(tmp_path / "no"))) == ("", 0)


def test_what_runs_when_recording_begins(tmp_path):
    """Kernel, BPF programs, modules, threads and mappings, as records that perf writes for them."""
    (tmp_path / "kallsyms").write_text(KALLSYMS)
    (tmp_path / "modules").write_text(
        "some 8192 0 - Live 0xffffffffc0010000\nhidden 4096 0 - Live 0x0000000000000000\n"
    )
    for tid in (7, 8):
        (tmp_path / f"7/task/{tid}").mkdir(parents=True)
        (tmp_path / f"7/task/{tid}/comm").write_text(f"thread {tid}\n")
    (tmp_path / "7/stat").write_text("7 (thread) 7) S 5 7 7 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 99 0 0\n")
    (tmp_path / "7/maps").write_text(MAPS)
    (tmp_path / "9").mkdir()
    found = [(struct.unpack_from("=IHH", data), data) for data in running.records(TRAILER, str(tmp_path))]
    assert all(size == len(data) and data.endswith(bytes(TRAILER)) for (*_, size), data in found)

    def of(kind, form, name):
        """Fields and names of the records of a kind."""
        bodies = [data[8 : len(data) - TRAILER] for (number, *_), data in found if number == kind]
        return [(*struct.unpack_from(form, body), body[name:].partition(b"\0")[0].decode()) for body in bodies]

    assert of(perf.RECORD_MMAP, "=iIQQQ", 32) == [
        (-1, 0, 0xFFFFFFFF81000000, 0xA00000, 0xFFFFFFFF81000000, "[kernel.kallsyms]_text"),
        (-1, 0, 0xFFFFFFFFC0010000, 8192, 0, "[some]"),
    ]
    assert of(perf.RECORD_KSYMBOL, "=QIHH", 16) == [
        (0xFFFFFFFFC0020000, 0x100, 1, 0, "bpf_prog_1_first"),
        (0xFFFFFFFFC0020100, 0x10000, 1, 0, "bpf_prog_2_second"),
    ]
    assert of(perf.RECORD_FORK, "=IIII", 24) == [(7, 5, 7, 5, ""), (7, 7, 8, 7, "")]
    assert of(perf.RECORD_COMM, "=II", 8) == [(7, 7, "thread 7"), (7, 8, "thread 8")]
    assert of(perf.RECORD_MMAP2, "=IIQQQIIQQII", 64) == [
        (7, 7, 0x401000, 0x2000, 0x1000, 0xFE, 1, 77, 0, 5, 2, "/bin/some thing"),
        (7, 7, 0x7F0000000000, 0x1000, 0, 0xFE, 1, 78, 0, 5, 2, "/lib/gone.so"),
        (7, 7, 0x7F0000002000, 0x1000, 0, 0, 0, 0, 0, 5, 2, "//anon"),
        (7, 7, 0x7FFC00000000, 0x1000, 0, 0, 0, 0, 0, 5, 2, "[vdso]"),
    ]
