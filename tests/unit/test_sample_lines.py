"""Samples as lines of text: their order over CPUs and rounds, whose they are, what is shown when."""

import re
import struct

from sonde.consume.options import Options
from sonde.formats import perf_events as perf
from sonde.model.samples import SAMPLE_TYPE, SampledEvent
from sonde.report import samples
from sonde.report.samples import SampleLines
from sonde.report.stack import Addresses
from sonde.visible import single_line_bytes

IDENTIFIER = 71
PID, TID = 40_000_007, 40_000_011


class Symbolizer:
    """Every address has the name that processes have at the moment."""

    changes = 0
    names = "first"

    def kernel(self, address):
        return "vmlinux", "kernel_function", address & 0xF

    def interrupts(self, pid, address):
        return False

    def user(self, pid, address):
        return f"/bin/{self.names}", f"of_{pid}", 0


def attributes(sample_type=SAMPLE_TYPE):
    return struct.pack("=IIQQQ", 1, 112, 0, 1, sample_type) + bytes(80)


def sample(time, ip=0x1234, cpu=0, tid=TID, kernel=False, chain=None):
    body = struct.pack("=QQIIQIIQ", IDENTIFIER, ip, PID, tid, time, cpu, 0, 1000)
    if chain is not None:
        body += struct.pack(f"={1 + len(chain)}Q", len(chain), *chain)
    return record(perf.RECORD_SAMPLE, body, perf.MISC_KERNEL if kernel else perf.MISC_USER)


def other(kind, time, fields, misc=0):
    return record(kind, fields + struct.pack("=IIQIIQ", PID, TID, time, 0, 0, 1), misc)


def comm(time, name, misc=0):
    return other(perf.RECORD_COMM, time, struct.pack("=II16s", PID, TID, name), misc)


def record(kind, body, misc):
    return struct.pack("=IHH", kind, misc, 8 + len(body)) + body


class Lines:
    def __init__(self, sample_type=SAMPLE_TYPE):
        self.text = b""
        self.symbolizer = Symbolizer()
        self.sink = SampleLines(Addresses(self.symbolizer, Options()), self.take, single_line_bytes)
        self.sink.begin([SampledEvent("profile:::profile-97", attributes(sample_type), (IDENTIFIER,))])

    def take(self, text):
        self.text += text

    def round(self, *rings):
        """What the CPUs' rings have this time."""
        for cpu, records in enumerate(rings):
            self.sink.records(cpu, memoryview(b"".join(records)))
        self.sink.end_round()

    def times(self):
        return list(map(int, re.findall(rb"\] +\d+\.(\d{6}):", self.text)))


def test_lines_are_in_the_order_of_time_over_cpus_and_rounds():
    lines = Lines()
    lines.round([sample(3000), sample(9000)], [sample(5000, cpu=1)])
    lines.round([sample(11000)], [sample(8000, cpu=1), sample(10000, cpu=1)])
    lines.round([], [sample(12000, cpu=1)])
    lines.sink.finish(0)
    assert lines.times() == [3, 5, 8, 9, 10, 11, 12]


def test_a_line_waits_as_long_as_something_earlier_may_come():
    lines = Lines()
    lines.round([sample(9000)], [])
    assert lines.text == b""
    lines.round([], [sample(2000, cpu=1)])
    assert lines.times() == [2, 9]


def test_a_line_has_what_the_sample_has():
    lines = Lines()
    lines.round([comm(500, b"worker"), sample(1_234_567_891_000, 0xFFFFFFFF81000005, 1, kernel=True)])
    lines.sink.finish(0)
    assert lines.text.split() == (
        b"worker 40000007/40000011 [001] 1234.567891: 1000 profile:::profile-97: vmlinux`kernel_function+0x5".split()
    )


def test_names_of_threads_are_those_of_the_moment():
    """Of a thread that another one has made, that one's until it has its own; none if it was never heard of."""
    lines = Lines()
    child = struct.pack("=IIII", PID, PID, TID + 1, TID)
    lines.round([
        comm(1000, b"before"), sample(2000), other(perf.RECORD_FORK, 3000, child), comm(4000, b"after"), sample(5000),
        sample(6000, tid=TID + 1), other(perf.RECORD_EXIT, 7000, child), sample(8000, tid=TID + 1),
    ])  # fmt: skip
    lines.sink.finish(0)
    assert [line.split()[0] for line in lines.text.splitlines()] == [b"before", b"after", b"before", b":%d" % (TID + 1)]


def test_another_program_has_other_names_at_the_same_address():
    lines = Lines()
    lines.round([sample(1000), sample(2000)])
    lines.round([])
    lines.symbolizer.names = "second"
    lines.round([sample(3000), comm(4000, b"x", perf.MISC_COMM_EXEC), sample(5000)])
    lines.sink.finish(0)
    assert [line.split()[-1].split(b"`")[0] for line in lines.text.splitlines()] == [b"first"] * 3 + [b"second"]


def test_callers_stand_below_their_sample():
    chain = ((1 << 64) - 128, 0xFFFFFFFF81000001, (1 << 64) - 512, 0x55)
    lines = Lines(SAMPLE_TYPE | perf.SAMPLE_CALLCHAIN)
    lines.round([sample(1000, 0xFFFFFFFF81000001, kernel=True, chain=chain)])
    lines.sink.finish(0)
    assert [line.strip() for line in lines.text.splitlines()[1:]] == [
        b"vmlinux`kernel_function+0x1", b"first`of_%d" % PID,
    ]  # fmt: skip


def test_what_a_round_has_no_time_for_is_shown_later(monkeypatch):
    """And nothing is left out or goes out of order."""
    monkeypatch.setattr(samples, "_PATIENCE", -1)
    lines = Lines()
    lines.round([sample(1000 * n) for n in range(1, 10)])
    lines.round([sample(1000 * n) for n in range(10, 20)])
    assert lines.text == b""
    monkeypatch.setattr(samples, "_MOST_WAITING", 4)
    lines.round([])
    assert lines.times() == list(range(1, 16))
    lines.sink.finish(0)
    assert lines.times() == list(range(1, 20))
