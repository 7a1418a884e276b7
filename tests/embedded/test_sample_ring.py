"""sample() and the clocks of cpc and perf in the embedded engine: what comes through the ring, and what is refused."""

import re
import struct
import sys

import pytest
from support.bpf.embedded_world import World
from support.command.unprivileged import sonde

from sonde.engines.embedded.sources.sample_ring import SampleRing
from sonde.formats import perf_events as perf
from sonde.formats.perf_samples import decode_lost, decode_sample
from sonde.model.samples import SAMPLE_TYPE
from sonde.runtime.perf.attributes import Attributes
from sonde.runtime.perf.sample import Sample

ENGINE = ("--engine", "embedded", "-q")
REGISTERS = bytes(128) + struct.pack("=Q", 0x401000) + bytes(32)


class Ring:
    def __init__(self, size=4096):
        self.world = World()
        self.ring = SampleRing(self.world.environment, size)
        self.event = self.ring.open("profile:::profile-97", Attributes(sample_period=7), {})

    def sample(self, now):
        self.world.environment.now = now
        return self.event.original(Sample(self.ring.values(7, REGISTERS), misc=perf.MISC_USER, registers=REGISTERS))

    def read(self):
        """Records as (type, body)."""
        found = []

        def take(cpu, data):
            position = 0
            while position < len(data):
                kind, _, size = struct.unpack_from("=IHH", data, position)
                found.append((kind, bytes(data[position + 8 : position + size])))
                position += size

        self.ring.drain(take)
        return found


def test_a_sample_has_the_fields_that_its_event_says():
    ring = Ring()
    assert ring.sample(5000) == 0
    (event,) = ring.ring.events
    assert event.name == "profile:::profile-97"
    (sample_type,) = struct.unpack_from("=Q", event.attributes, 24)
    assert sample_type & SAMPLE_TYPE == SAMPLE_TYPE
    fields = decode_sample(memoryview(ring.read()[1][1]), sample_type).fields
    assert fields["identifier"] == event.ids[0]
    assert (fields["ip"], fields["pid"], fields["tid"], fields["time"], fields["period"]) == (
        0x401000, ring.world.task.pid, ring.world.task.tid, 5000, 7,
    )  # fmt: skip


def test_names_of_threads_are_told_once_and_when_they_change():
    ring = Ring()
    ring.sample(1)
    ring.sample(2)
    ring.world.task.comm = b"other"
    ring.sample(3)
    names = [body[8:24].rstrip(b"\0") for kind, body in ring.read() if kind == perf.RECORD_COMM]
    assert names == [b"a-long-comm-nam", b"other"]


def test_what_finds_the_ring_full_is_counted_and_told():
    ring = Ring()
    written = 0
    while ring.sample(written) == 0:
        written += 1
    assert ring.sample(written) < 0
    assert ring.ring.lost == 2
    assert ring.ring.is_filling
    assert len([kind for kind, _ in ring.read() if kind == perf.RECORD_SAMPLE]) == written
    assert not ring.ring.is_filling
    assert ring.sample(9) == 0
    lost = [decode_lost(memoryview(body)).lost for kind, body in ring.read() if kind == perf.RECORD_LOST]
    assert lost == [2]
    assert ring.ring.lost == 2


WORKING = f"""'{sys.executable}' -S -c "
import os, time
for _ in range(2):
    if not os.fork():
        end = time.process_time() + 0.2
        while time.process_time() < end: pass
        os._exit(0)
os.wait(); os.wait()
" """.strip()


def run(program):
    done = sonde(*ENGINE, "-n", program, "-c", WORKING)
    lines = done.stdout.splitlines()
    samples = [line for line in lines if re.match(r"^ *\S+ +\d+/\d+ +\[000\] ", line)]
    return samples, [line.split() for line in lines if line.strip() and line not in samples]


@pytest.mark.long
@pytest.mark.parametrize("probe", ["profile-199", "cpc:::cpu_clock-all-5000000", "perf:::task_clock-u-5000000"])
def test_samples_are_those_that_the_predicate_admits(probe):
    """Of the children alone, as many as were counted, with their names."""
    samples, rows = run(f"{probe} /pid != $target/ {{ @[pid] = count(); sample(); }} {probe} {{ @all[0] = count(); }}")
    counts = {int(row[0]): int(row[1]) for row in rows}
    counts.pop(0)
    pids = [int(line.split()[1].split("/")[0]) for line in samples]
    assert {pid: pids.count(pid) for pid in set(pids)} == counts
    assert len(counts) == 2
    assert all(line.split()[0].startswith("python") for line in samples)


@pytest.mark.long
def test_the_sample_is_args_0():
    _, rows = run("cpc:::cpu_clock-all-5000000 { @[args[0]->period, args[0]->ip == arg1, args[0]->addr] = count(); }")
    assert [row[:3] for row in rows] == [["5000000", "1", "0"]]


def test_what_the_kernel_alone_counts_is_refused_in_words():
    done = sonde(*ENGINE, "-n", "cpc:::cpu_clock-kernel-1000000 { @ = count(); }", "-c", "true", status=1)
    assert "the embedded engine samples by software events alone" in done.stderr


def test_the_whole_system_is_not_to_be_had():
    done = sonde(*ENGINE, "-xscope=system", "-n", "profile-97 { sample(); }", "-c", "true", status=1)
    assert "scope=system" in done.stderr


def test_all_happens_on_one_cpu():
    text = "tick-10ms { trace(cpu); exit(0); }"
    assert sonde(*ENGINE, "-xcpu=0", "-qn", text).stdout.strip() == "0"
    assert "all happens on CPU 0" in sonde(*ENGINE, "-xcpu=1", "-qn", text, status=1).stderr
