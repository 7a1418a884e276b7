"""Makes perf.data files for tests as a session does, of records that no kernel wrote."""

import math
import struct

from sonde.consume.consumer import Consumer
from sonde.consume.recorder import Recorder
from sonde.formats import perf_events as perf
from sonde.formats import perf_made_records as made
from sonde.model.samples import SAMPLE_TYPE, SampledEvent
from sonde.recording.file import PerfDataFile
from sonde.recording.unseen import unseen
from support.files.records import Session, record

TRAILER = made.trailer_size(SAMPLE_TYPE)
CLOCK, PROGRAMS, SIDE_BAND = (11, 12), (21, 22), (31, 32)
"""Identifiers of the events, by CPU."""


def attributes(config, sample_type=SAMPLE_TYPE, size=112):
    """A struct perf_event_attr of a software event, with sample_id_all."""
    made = struct.pack("=IIQQQQQ", perf.TYPE_SOFTWARE, size, config, 1, sample_type, 0, 1 << 18)
    return made.ljust(size, b"\0")


EVENTS = (
    SampledEvent("profile:::profile-997", attributes(perf.SOFTWARE_CPU_CLOCK), CLOCK),
    SampledEvent("sonde", attributes(perf.SOFTWARE_BPF_OUTPUT, SAMPLE_TYPE | perf.SAMPLE_RAW), PROGRAMS),
    SampledEvent("dummy", attributes(perf.SOFTWARE_DUMMY), SIDE_BAND),
)


def sample(time, pid, address=0x401000, cpu=0, raw=None):
    """A PERF_RECORD_SAMPLE: of the clock or, with raw bytes, of a program."""
    identifier = (CLOCK if raw is None else PROGRAMS)[cpu]
    body = struct.pack("=QQIIQIIQ", identifier, address, pid, pid, time, cpu, 0, 1000)
    if raw is not None:
        padding = -(4 + len(raw)) % 8
        body += struct.pack("=I", len(raw) + padding) + raw + bytes(padding)
    return struct.pack("=IHH", perf.RECORD_SAMPLE, perf.MISC_USER, 8 + len(body)) + body


def timed(data, time, cpu=0):
    """A record made for what ran already, with a time and the side band's identifier."""
    (pid,) = struct.unpack_from("=I", data, 8)
    return data[:-TRAILER] + struct.pack("=IIQIIQ", pid, pid, time, cpu, 0, SIDE_BAND[cpu])


def runs(trailer):
    """What runs when recording begins: one process."""
    yield made.fork(100, 1, 100, 1, trailer)
    yield made.comm(100, 100, b"early", trailer)
    yield made.mapping(100, 0x400000, 0x500000, 0, (0xFE, 0), 7, 5, b"/nowhere/program", trailer)


class Recording:
    """A session that is recorded: `records` of programs, samples, and looks of the consumer."""

    def __init__(self, path, layouts, aggregations=(), strings=()):
        self.session = Session(layouts, aggregations, strings, quiet=True)
        self.file = PerfDataFile(str(path), "1.0", ["sonde", "record"], runs, unseen(self.session.spec))
        source = Recorder(self.session.tracing, self.session.spec, self.file.block, self.session.options)
        self.consumer = Consumer(
            self.session.spec, source, self.session.report, self.session.options, lambda name, value: None, None,
            math.inf,
        )  # fmt: skip
        self.file.begin(EVENTS)

    def program(self, time, clause, payload=b"", cpu=0):
        """A record of a program: in the ring, and in the file as what the ring has."""
        image = record(clause, payload, cpu=cpu)
        self.file.records(cpu, memoryview(sample(time, 100, cpu=cpu, raw=image)))
        self.session.tracing.feed(image)

    def sample(self, *arguments, **named):
        self.file.records(0, memoryview(sample(*arguments, **named)))

    def other(self, data):
        self.file.records(0, memoryview(data))

    def look(self):
        """The consumer takes what there is: a round."""
        self.consumer.poll()
        self.file.end_round()

    def finish(self, lost=0):
        """What the session has shown, and what the file has."""
        self.file.finish(lost)
        self.consumer.finish()
        summary = self.file.complete()
        self.file.close()
        return self.session.printed(), summary
