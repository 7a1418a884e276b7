"""Recording a session to a file and showing it again."""

import io
import math
import struct

import pytest
from support.files.records import Session, conversions, integer, record

from sonde.consume import recorder as recording
from sonde.consume.consumer import Consumer
from sonde.consume.options import Options
from sonde.consume.recorded import Replay
from sonde.consume.recorder import Recorder
from sonde.consume.replaying import replay
from sonde.formats.raw_file import RawBlocks, RawFile, RawFileError
from sonde.frontends.d.report.text import TextReport
from sonde.model.named_maps import COUNTERS
from sonde.model.records import (
    AggregationSpec,
    ClearAction,
    Field,
    OtherAction,
    PrintaAction,
    PrintfAction,
    TruncAction,
)

SAY = PrintfAction(conversions(("n ", "d"), (" ", "s"), ("\n", "")), (integer(16, 4), Field(20, 4, "interned")))
LAYOUTS = [
    (1, 24, (SAY,)),
    (2, 16, (PrintaAction(None, (0,)), ClearAction(0))),
    (3, 16, (PrintaAction(None, (0,)), TruncAction(0, None))),
    (4, 32, (OtherAction("commit", (integer(16), integer(24))),)),
]
AGGREGATION = AggregationSpec("a", "sum", (), (Field(0, 8, "string"),), 8, 1, "a", True)


def play(session, consumer):
    """A session with everything that reads: rings in turn, tables, drops."""
    tracing = session.tracing

    def count(key, value):
        tracing.write_map("a", key.ljust(8, b"\0"), struct.pack("<Q", value))

    tracing.feed(record(1, struct.pack("<II", 1, 1)), ring=1)
    count(b"x", 5)
    tracing.feed(record(2), record(1, struct.pack("<II", 2, 0), speculation=1))
    consumer.poll()
    count(b"x", 7)
    count(b"y", 1)
    tracing.feed(record(3), record(4, struct.pack("<qq", 1, 1)))
    consumer.poll()
    tracing.maps["counters"] = {bytes(4): struct.pack(f"<{len(COUNTERS)}Q", 2, *[0] * (len(COUNTERS) - 1))}
    consumer.report_drops()
    tracing.feed(record(1, struct.pack("<II", 3, 1)), ring=1)
    consumer.poll()
    count(b"z", 9)
    consumer.finish()
    return session.printed(), session.errors.getvalue()


def recorded():
    session = Session(LAYOUTS, [AGGREGATION], (b"zero", b"one"), rings=2, quiet=True)
    file = io.BytesIO()
    recorder = Recorder(session.tracing, session.spec, RawFile(file).block)
    consumer = Consumer(
        session.spec, recorder, session.report, session.options, lambda name, value: None, None, math.inf
    )
    return play(session, consumer), file.getvalue()


def test_shown_again_it_is_the_same():
    (text, errors), data = recorded()
    assert "n 1 one" in text
    assert b"2 drops on CPU 0" in errors
    tracing = Replay(RawBlocks(io.BytesIO(data)))
    again = Session(quiet=True)
    report = TextReport(tracing.spec, again.options, again.file.fileno(), again.errors, program="dtrace")
    options = Options()
    options.quiet = True
    replay(tracing, Consumer(tracing.spec, tracing, report, options, lambda name, value: None, None, math.inf))
    assert again.printed() == text
    assert again.errors.getvalue() == errors


def test_a_recording_cut_short_shows_what_is_there():
    _, data = recorded()
    described = 16 + struct.unpack_from("<I", data, 12)[0]
    for length in range(described, len(data), 7):
        tracing = Replay(RawBlocks(io.BytesIO(data[:length])))
        session = Session(quiet=True)
        report = TextReport(tracing.spec, session.options, session.file.fileno(), session.errors)
        replay(tracing, Consumer(tracing.spec, tracing, report, session.options, lambda name, value: None))


@pytest.mark.parametrize("data", [b"", b"something else", b"SONDERAW", b"SONDERAW\1\0\0\0\2\0\0\0{}"])
def test_other_files_are_refused(data):
    with pytest.raises(RawFileError):
        Replay(RawBlocks(io.BytesIO(data)))


def test_looks_at_aggregations_are_repeated_as_they_were():
    options = Options()
    options.aggrate = 1
    session = Session(LAYOUTS, [AGGREGATION], quiet=True, options=options)
    file = io.BytesIO()
    recorder = Recorder(session.tracing, session.spec, RawFile(file).block, options)
    consumer = Consumer(session.spec, recorder, session.report, options, lambda name, value: None)
    for value in (1, 3):
        session.tracing.write_map("a", b"x".ljust(8, b"\0"), struct.pack("<Q", value))
        # Each poll looks again, and the record after it sees that.
        session.tracing.feed(record(2))
        consumer.poll()
        session.tracing.write_map("a", b"x".ljust(8, b"\0"), struct.pack("<Q", 10 * value))
        consumer.poll()
    session.tracing.maps["counters"] = {bytes(4): bytes(8 * len(COUNTERS))}
    consumer.finish()
    text = session.printed()
    assert text.count("x ") == 2
    for unlike in (False, True):
        tracing = Replay(RawBlocks(io.BytesIO(file.getvalue())))
        again = Session(quiet=True)
        report = TextReport(tracing.spec, again.options, again.file.fileno(), again.errors, program="dtrace")
        tracing.options.aggrate *= not unlike
        replay(
            tracing, Consumer(tracing.spec, tracing, report, tracing.options, lambda name, value: None, None, math.inf)
        )
        # Shown with another aggrate it may differ, but ends.
        assert unlike or again.printed() == text


@pytest.mark.parametrize("portion", [1, 40, 100, 1 << 20])
def test_what_is_read_at_once_may_be_several_blocks(portion, monkeypatch):
    """No record is divided, and what is shown is the same."""
    monkeypatch.setattr(recording, "_PORTION", portion)
    session = Session(LAYOUTS[:1], [], (b"zero", b"one"), quiet=True)
    file = io.BytesIO()
    recorder = Recorder(session.tracing, session.spec, RawFile(file).block)
    consumer = Consumer(session.spec, recorder, session.report, session.options, lambda name, value: None)
    session.tracing.feed(*(record(1, struct.pack("<II", number, number % 2)) for number in range(101)))
    consumer.poll()
    text = session.printed()
    assert text.count("n ") == 101
    blocks = [payload for kind, payload in RawBlocks(io.BytesIO(file.getvalue())) if kind == 2]
    assert len(blocks) == {1: 101, 40: 51, 100: 26, 1 << 20: 1}[portion]
    tracing = Replay(RawBlocks(io.BytesIO(file.getvalue())))
    again = Session(quiet=True)
    report = TextReport(tracing.spec, again.options, again.file.fileno(), again.errors)
    done = replay(tracing, Consumer(tracing.spec, tracing, report, again.options, lambda name, value: None))
    assert tuple(done) == (101, "")
    assert again.printed() == text + "\n"
