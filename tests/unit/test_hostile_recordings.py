"""Recordings through `sonde.read`: whatever is in a file, the events of what makes sense, then one message or one
error; in bounded memory.

A longer run: SONDE_EXAMPLES=2000 pytest tests/unit/test_hostile_recordings.py
"""

import json
import os
import random
import resource
import subprocess
import sys
import threading
import time

import pytest
from support.files.damage import damaged
from support.files.hostile_recordings import changed_perf_data, files
from support.files.recordings import Recording
from support.files.records import conversions, integer
from support.suite.example_counts import count_of
from test_damaged_recordings import changed_blocks, changed_bytes, changed_description
from test_damaged_recordings import recordings as _recordings

import sonde
from sonde import others
from sonde.model.records import Field, PrintaAction, PrintfAction

pytestmark = pytest.mark.examples

recordings = _recordings
SECONDS = 5
MIB = 1 << 20
LEAST, TIMES = 96 * MIB, 16
"""Memory that reading a file may take: so much, and so many times what it has on the disk."""

SAY = PrintfAction(conversions(("n ", "d"), (" ", "s")), (integer(16, 4), Field(20, 4, "interned")))


def perf_data(path):
    """Records of a program, samples and looks at an aggregation."""
    from test_raw import AGGREGATION

    made = Recording(path, [(1, 24, (SAY,)), (2, 16, (PrintaAction(None, (0,)),))], [AGGREGATION], (b"zero", b"one"))
    for number in range(40):
        made.sample(100 * number, 7)
        made.program(100 * number + 50, 1, bytes([number, 0, 0, 0, number % 2, 0, 0, 0]))
        made.session.tracing.write_map("a", b"x" * 8, bytes([number]) + bytes(7))
        if number % 5 == 0:
            made.program(100 * number + 60, 2)
            made.look()
    made.finish()
    return path.read_bytes()


def outcome(path):
    """The events, and the error that ended them, "" if none did."""
    found, texts = [], []
    try:
        for event in sonde.read(str(path)):
            found.append(type(event))
            texts += [event.text] if isinstance(event, sonde.Message) else []
        assert found[-1] is sonde.Exit
        error = ""
    except sonde.ScriptError as reason:
        error = str(reason) or "nothing is said"
    assert not any("\n" in text for text in [*texts, error])
    return found, error


def readers():
    """Threads that still read."""
    return [each for each in threading.enumerate() if each.name == "sonde-read"]


def watched(path, chance_of):
    """(how many were refused, how many told of damage) of so many changed files."""
    refused = told = 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(count_of(200)):
        path.write_bytes(chance_of(number))
        begin = time.process_time()
        found, error = outcome(path)
        assert time.process_time() - begin < SECONDS, number
        refused += bool(error)
        told += sonde.Message in found
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert (after - before) * 1024 < LEAST
    assert not readers()
    return refused, told


@pytest.mark.long
def test_damaged_raw_files_are_read_or_refused_in_words(recordings, tmp_path):
    chance = random.Random(17)
    names = list(recordings)

    def change(number):
        how = (changed_bytes, changed_description, changed_blocks)[number % 3]
        return how(recordings[chance.choice(names)], chance)

    refused, told = watched(tmp_path / "damaged", change)
    assert refused > count_of(200) / 10
    assert told > count_of(200) / 10


def test_damaged_perf_data_files_are_read_or_refused_in_words(tmp_path):
    chance = random.Random(19)
    whole = perf_data(tmp_path / "whole")
    areas = [(0, 120), (104, len(whole) // 3), (0, len(whole))]
    refused, told = watched(tmp_path / "damaged", lambda number: damaged(whole, areas, chance))
    assert refused > count_of(200) / 10
    assert told > count_of(200) / 10


READING = """
import json, resource, sys, sonde
import sonde.consume.aggregations, sonde.library.recordings, sonde.recording.reading
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count, said = 0, ""
try:
    for event in sonde.read(sys.argv[1]):
        count += 1
        said = event.text if isinstance(event, sonde.Message) else said
except sonde.ScriptError as error:
    said = str(error)
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([count, said, 1024 * (used.ru_maxrss - before), used.ru_utime + used.ru_stime]))
"""


SHOWING = """
import json, os, resource, sys, sonde
import sonde.consume.aggregations, sonde.library.showing, sonde.recording.reading
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    shown = sonde.show(sys.argv[1], os.open(os.devnull, os.O_WRONLY))
    count, said = shown.records, shown.damage or shown.cut
except sonde.ScriptError as error:
    count, said = 0, str(error)
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([count, said, 1024 * (used.ru_maxrss - before), used.ru_utime + used.ru_stime]))
"""


def read_elsewhere(path, data, hole, program=READING):
    """What a process of its own tells of the file."""
    path.write_bytes(data)
    if hole:
        os.truncate(path, hole)
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    count, said, memory, seconds = json.loads(done.stdout)
    assert memory < LEAST + TIMES * len(data), said
    assert seconds < 4 * SECONDS
    assert "\n" not in said
    return count, said


QUIET = {"values that reach over all records", "the same value again and again", "records of many lengths",
         "a table again and again"}  # fmt: skip
"""Files that make sense."""


@pytest.mark.share(1, 8)
@pytest.mark.parametrize(("name", "data", "hole"), [pytest.param(*each, id=each[0]) for each in files()])
def test_what_a_small_file_asks_for_it_does_not_get(name, data, hole, tmp_path):
    count, said = read_elsewhere(tmp_path / "hostile", data, hole)
    if name in QUIET:
        assert (count > 400, said) == (True, "")
    else:
        assert "damaged" in said or "memory" in said, said


@pytest.mark.share(1, 8)
@pytest.mark.parametrize(("name", "data", "hole"), [pytest.param(*each, id=each[0]) for each in files()])
def test_what_a_small_file_asks_for_is_not_shown(name, data, hole, tmp_path):
    """As `sonde.show` prints it, in a process whose memory nothing else bounds."""
    count, said = read_elsewhere(tmp_path / "hostile", data, hole, SHOWING)
    if name in QUIET:
        assert (count > 300, said) == (True, "")


def test_numbers_of_a_perf_data_file_are_not_believed(tmp_path):
    for _, data, hole in changed_perf_data(perf_data(tmp_path / "whole")):
        _, said = read_elsewhere(tmp_path / "hostile", data, hole)
        assert said


@pytest.mark.long
def test_a_recording_is_read_as_far_as_it_is_asked_for(recordings, tmp_path):
    """Who stops asking leaves neither a thread nor a descriptor."""
    path = tmp_path / "whole"
    path.write_bytes(recordings["values"])
    # Those of the process that looks at others' files are there from its first question on.
    others.close()
    descriptors = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        events = iter(sonde.read(str(path)))
        assert isinstance(next(events), sonde.Record)
        events.close()
        assert not readers()
    others.close()
    assert len(os.listdir("/proc/self/fd")) <= descriptors
    first, second = iter(sonde.read(str(path))), iter(sonde.read(str(path)))
    both = [(one, other) for one, other in zip(first, second, strict=True)]
    assert all(one == other for one, other in both if isinstance(one, sonde.Record))


@pytest.mark.long
def test_a_larger_file_takes_no_more_memory(tmp_path):
    """Events are not kept: those of a file of 50 MB take as much as those of a small one."""
    from support.files.hostile_recordings import blocks, described, field, layout, printf, record, ring

    part = ring(*[record(body=bytes(16)) for _ in range(25_000)])
    data = blocks(described([layout([printf(field(16, 8), field(24, 8))])]), *[part] * 50)
    (tmp_path / "large").write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", READING, tmp_path / "large"], capture_output=True, text=True, check=False
    )
    count, said, memory, _ = json.loads(done.stdout)
    assert (count, said) == (1_250_001, "")
    assert memory < 64 * MIB
