"""Lines of JSON: the records that the library gives, for layouts drawn by chance, and each other event."""

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.files.drawn_records import PROBE, PROBES, STRINGS, drawn_records
from support.files.json_schema import SCHEMA

from sonde.library.data.json_records import JsonHeads, record_lines
from sonde.library.data.json_report import event_line
from sonde.library.data.json_values import JsonStrings
from sonde.library.events import Aggregation, Exit, Loss, Message, ProbeError, ProbeName
from sonde.library.frames import Frame, Stack
from sonde.library.histograms import Quantize
from sonde.library.record_reader import record_reader
from sonde.library.scalars import Average, Count
from sonde.library.statement_values import distinct
from sonde.library.values import Values
from sonde.model.conversions import Conversion
from sonde.model.records import PrintfAction, RecordLayout
from sonde.report.symbolizer import NoNames

HEADS = JsonHeads()
HEADS.learn([PROBE])


def lines(layout, data, stride):
    make = record_lines(layout, STRINGS, stride, HEADS, JsonStrings(), Values(NoNames()))
    return b"".join(make(memoryview(data))).splitlines()


@pytest.mark.long
@given(drawn_records())
def test_lines_are_those_of_the_records(drawn):
    """Two ways to the same bytes: formats for integers and strings, json.dumps of the library's values."""
    read = record_reader(drawn.layout, STRINGS, drawn.stride, PROBES, Values(NoNames()))
    found = [json.loads(line) for line in lines(drawn.layout, drawn.data, drawn.stride)]
    assert found == [json.loads(event_line(record)) for record in read(memoryview(drawn.data))]
    for each in found:
        jsonschema.validate(each, SCHEMA)


PROBE_NAME = ProbeName("syscall", "vmlinux", "read", "entry")
FRAME = Frame(16, "main", "/bin/a", 2, "a.c", 7)
EVENTS = {
    "number keys": Aggregation(("a", "b"), {(1, "x"): (Count((3,)), None), (2, "\udcff"): (None, Average((2, 5)))}),
    "histograms": Aggregation(("q",), {(): (Quantize(tuple(2 * (64 <= place < 66) for place in range(127))),)}),
    "stacks": Aggregation(("s",), {(Stack([FRAME, Frame(1)]), FRAME): (Count((1,)),)}),
    "loss": Loss("records", 5, None, "5 drops"),
    "error": ProbeError(PROBE_NAME, "invalid address", "error in dt_clause_0"),
    "message": Message("\udcfe is no UTF-8"),
    "exit": Exit(3),
}


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)
def test_each_event_is_a_line_of_the_schema(event):
    line = event_line(event)
    assert line.count(b"\n") == line.endswith(b"\n")
    assert line.isascii()
    jsonschema.validate(json.loads(line), SCHEMA)


@given(st.lists(st.sampled_from(["", "pid", "0", "1", "pid#2"]), max_size=6))
def test_members_have_distinct_names(names):
    found = distinct(names)
    assert len(found) == len(set(found)) == len(names)


def test_texts_without_values_are_told():
    layout = RecordLayout(1, 16, (PrintfAction((Conversion('100% "sure"\n'),), ()),))
    (line,) = lines(layout, bytes(8) + bytes([1, 0, 0, 0, 7, 0, 0, 0]) + bytes(8), 24)
    found = json.loads(line)
    assert (found["text"], found["values"]) == ('100% "sure"\n', {})
    jsonschema.validate(found, SCHEMA)
