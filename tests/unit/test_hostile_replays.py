"""Damaged recordings through `sonde --replay`, each in a process of its own: a shorter replay or an error, never a
traceback, in 5 s of CPU time and 512 MiB.

A longer run: SONDE_EXAMPLES=2000 pytest tests/unit/test_hostile_replays.py
"""

import json
import os
import random
import subprocess
import sys
from contextlib import closing
from functools import partial

import pytest
import test_firing_files as firing_files
import test_hostile_packet_files as packet_files
import test_hostile_perf_data as perf_data
from support.files import hostile_frames
from support.files import hostile_replay_files as hostile
from support.places import SUPPORT
from support.suite.example_counts import count_of, share_of

from sonde.engines.fired import MemoryRead
from sonde.symbols.mappings import Mapping
from sonde.symbols.process_events import Mapped, MappingsSnapshot

pytestmark = pytest.mark.examples

SECONDS, MEMORY = 5, 512 << 20
FORMAT = "name: it\nID: 5\nformat:\n\tfield:int x;\toffset:8;\tsize:4;\tsigned:1;\n"


def recording(origin):
    """Firings with all that they can have."""
    own = os.path.realpath("/proc/self/exe")
    mapping = Mapping(4096, 1 << 20, 0, "08:01", os.stat(own).st_ino, own, True)
    begin = firing_files.some(1)[0]._replace(probe=0)
    more = [
        each._replace(
            time=10**9 + 10**6 * number, kernel_stack=(1 << 63, 5), user_stack=(8192, 9000), results=((7, 4), (12, 1)),
            reads=(*each.reads, MemoryRead(0x7F00_0000_2000, bytes(40)), MemoryRead(1 << 63, None)),
        )
        for number, each in enumerate(firing_files.some(37))
    ]  # fmt: skip
    head = firing_files.HEAD._replace(origin=origin, formats=(("own", "it", FORMAT),))
    return firing_files.written(begin, Mapped(2, 10, mapping), MappingsSnapshot(3, 10, 5, (mapping,)), *more, head=head)


def recordings(origin, count, seed):
    whole = recording(origin)
    for number in range(count):
        change = firing_files.repacked if number % 4 else firing_files.mutated
        yield change(whole, 100_000 * seed + number)


SCRIPT = """syscall::openat:entry { @[copyinstr(arg1), execname, ustack(3), ppid] = count(); self->x = timestamp; }
    syscall::openat:entry /self->x/ { @s[KEY] = quantize(arg2); trace(rand()); trace(cpu); }
    tick-1ms { n++; } BEGIN { n = 0; } END { printf("%d %Y\\n", n, walltimestamp); }"""


KINDS = {
    "recording of the kernel": (partial(recordings, "kernel"), SCRIPT.replace("KEY", "stack(2)")),
    "recording": (partial(recordings, "embedded"), SCRIPT.replace("KEY", "usym(ucaller)")),
    "perf.data": (
        perf_data.cases,
        """sdt:sched::sched_switch { @[args->next_pid, stringof(args->prev_comm)] = count(); } tick-10ms { n++; }
        profile-999 { @b[ustack()] = count(); } syscall::openat: { @c[arg0, execname] = count(); }""",
    ),
    "packets": (packet_files.cases, "packet::: { @[probefunc, args[0]->ip_protocol] = sum(pktlen); }"),
}


GOOD = {
    "recording of the kernel": lambda: recording("kernel"),
    "recording": lambda: recording("embedded"),
    "perf.data": lambda: perf_data.files()[0],
    "packets": lambda: packet_files.files()[0],
}

FEW = {"recording of the kernel": 4, "recording": 2, "perf.data": 1, "packets": 1}
"""How many of each, without more being asked for: the other two kinds have tests of their own."""


class ReplayServer:
    """Replays files in children of one process."""

    def __init__(self, good, script):
        worker = str(SUPPORT / "files/replay_server.py")
        words = [sys.executable, worker, str(2 * SECONDS), *self._words(good, script)]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    @staticmethod
    def _words(path, script):
        return ["-Z", "--replay", str(path), "-qn", script]

    def replay(self, path, script):
        """How it ends: its status, its messages, its CPU seconds and its bytes of memory."""
        self._process.stdin.write(json.dumps(self._words(path, script)) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def check(outcome, case):
    """A shorter replay or an error; whether it is an error."""
    status, errors, seconds, memory = outcome
    assert "Traceback" not in errors, (case, errors)
    assert status in (0, 1), (case, status, errors)
    assert bool(errors) or not status, case
    assert seconds < SECONDS, (case, seconds, errors)
    assert memory < MEMORY, (case, memory)
    return status


@pytest.mark.share(1)
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_replayed_as_far_as_it_makes_sense(tmp_path, kind):
    cases, script = KINDS[kind]
    path, good = tmp_path / "file", tmp_path / "good"
    good.write_bytes(GOOD[kind]())
    told, count = 0, count_of(FEW[kind])
    with closing(ReplayServer(good, script)) as server:
        for number, data in enumerate(cases(count, random.Random(kind).randrange(1000))):
            path.write_bytes(data)
            told += check(server.replay(path, script), number)
    assert told >= count // 5


MADE = {
    "recording of the kernel": (list, lambda count: hostile.recordings(recording("kernel"), count, 3)),
    "recording": (
        lambda: hostile.large_recordings(recording("embedded")),
        lambda count: hostile.recordings(recording("embedded"), count, 4),
    ),
    "perf.data": (hostile.large_perf_data, lambda count: hostile.perf_data(count, 3)),
    "packets": (hostile.large_packets, lambda count: hostile.packets(count, 3)),
}


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_was_made_to_be_hostile_does_no_harm(tmp_path, kind):
    _, script = KINDS[kind]
    large, drawn = MADE[kind]
    path, good = tmp_path / "file", tmp_path / "good"
    good.write_bytes(GOOD[kind]())
    with closing(ReplayServer(good, script)) as server:
        for case, data in (*share_of(large()), *enumerate(drawn(count_of(5)))):
            path.write_bytes(data)
            check(server.replay(path, script), case)


WHOLE = {
    "recording of the kernel": lambda: [recording("kernel")],
    "recording": lambda: [recording("embedded")],
    "perf.data": perf_data.files,
    "packets": packet_files.files,
}


def lies(kind, count):
    draw, whole = random.Random(kind), WHOLE[kind]()
    for number in range(count):
        yield hostile_frames.changed(draw, whole[number % len(whole)], draw.choice(whole))


@pytest.mark.share(1)
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_lies_about_its_frames_does_no_harm(tmp_path, kind):
    _, script = KINDS[kind]
    path, good = tmp_path / "file", tmp_path / "good"
    good.write_bytes(GOOD[kind]())
    with closing(ReplayServer(good, script)) as server:
        for case, data in enumerate(lies(kind, count_of(6))):
            path.write_bytes(data)
            check(server.replay(path, script), case)
