"""One hostile name in every place of the report where something from outside is shown: on a terminal, and in a file."""

import io
import os
import re
import struct
import tty

import pytest
from support.files.records import FakeTracing, conversions, record

from sonde.consume.consumer import Consumer
from sonde.consume.options import Options
from sonde.formats import perf_events as perf
from sonde.frontends.d.report.text import TextReport
from sonde.model.conversions import Conversion
from sonde.model.probe import Internal, Probe
from sonde.model.python_frames import PythonFrame
from sonde.model.records import (
    LITERAL,
    AggregationSpec,
    Field,
    MemberSpec,
    PrintaAction,
    PrintAction,
    PrintfAction,
    RecordLayout,
    TraceAction,
    TracememAction,
    TypeSpec,
)
from sonde.model.samples import SAMPLE_TYPE, SampledEvent
from sonde.model.spec import TracingSpec

NASTY = "\033]0;x\a\n\r\v\x7f\u009b2J\u202e\u2028 forged 1\n"
BYTES = NASTY.encode() + b"\x9b\xff"
STRING = Field(16, 40, "string")
KEY = Field(0, 40, "string")
OWN = Field(16, 40, "string", detail=LITERAL)
PROBE = Probe(7, NASTY, NASTY, NASTY, NASTY, Internal(""))
CHARACTER = Field(16, 1, "int")
TYPES = (
    TypeSpec("struct", NASTY, 40, members=(MemberSpec(NASTY, 1, 0), MemberSpec("e", 2, 32 * 8))),
    TypeSpec("string", "string", 32),
    TypeSpec("enum", NASTY, 4, values=((0, NASTY), (int.from_bytes(b"aaaa", "little"), NASTY))),
    TypeSpec("string", "string", 40),
)
HARMFUL = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202e\udc80-\udcff]")
"""What no terminal may get from outside, as decoded with surrogateescape; of newlines it is the number that counts."""

FORGED = re.compile("^ ?forged", re.MULTILINE)


class Names:
    """A symbolizer of hostile objects."""

    changes = 0

    def kernel(self, address):
        return NASTY, NASTY, 1

    def interrupts(self, pid, address):
        return False

    def user(self, pid, address):
        return f"/lib/{NASTY}", NASTY, 1

    def inlined(self, pid, address):
        return (NASTY,)

    def place(self, pid, address):
        return f"/lib/{NASTY}", 1

    def python(self, word):
        return PythonFrame(NASTY, NASTY, 1)


class Shown:
    """A session whose output is a terminal, a pipe, or either as a recording is shown."""

    def __init__(self, actions, where, quiet=False, **options):
        self.shown, self.end = os.openpty() if where == "terminal" else os.pipe()
        if where == "terminal":
            tty.setraw(self.end)
        self.options = Options()
        for name, value in {"quiet": quiet, **options}.items():
            setattr(self.options, name, value)
        aggregation = AggregationSpec("a", "count", (), (KEY,), 40, 1, "counts", False)
        self.spec = TracingSpec(
            (), (), (RecordLayout(1, 16 + 40, tuple(actions)),), (aggregation,), (BYTES,), (PROBE,), types=TYPES
        )  # fmt: skip
        self.errors = io.BytesIO()
        self.report = TextReport(self.spec, self.options, self.end, self.errors, symbolizer=Names())
        self.tracing = FakeTracing()
        self.consumer = Consumer(self.spec, self.tracing, self.report, self.options, lambda name, value: None)

    def printed(self):
        self.report.close()
        os.set_blocking(self.shown, False)
        text = b""
        try:
            while data := os.read(self.shown, 65536):
                text += data
        except BlockingIOError:
            pass
        finally:
            os.close(self.end)
            os.close(self.shown)
        return text.decode(errors="surrogateescape")


def printf(letters, *fields, width=None, precision=None):
    return PrintfAction((Conversion("<", "", width, precision, letters), Conversion(">\n")), fields)


STACK = Field(16, 16, "stack", detail="2")
USER_STACK = Field(16, 24, "ustack")
SYMBOL, USER_SYMBOL = Field(16, 8, "symbol", detail="sym"), Field(16, 16, "user_symbol", detail="usym")

VALUES = {
    "printf %s": (printf("s", STRING),),
    "printf %-60s": (printf("s", STRING, width=60),),
    "printf %.9s": (printf("s", STRING, precision=9),),
    "printf %*.*s": (printf("s", Field(16, 1, "int"), Field(17, 1, "int"), STRING, width="*", precision="*"),),
    "printf %c": (printf("c", CHARACTER),),
    "printf %lc": (printf("lc", Field(16, 1, "int")),),
    "printf of a structure": (printf("s", Field(16, 40, "bytes")),),
    "printf probefunc": (printf("s", Field(52, 4, "interned")),),
    "trace": (TraceAction(STRING),),
    "trace probefunc": (TraceAction(Field(52, 4, "interned")),),
}
"""What the program's own formats show of data: in a file every byte is as it was."""

ROWS = {
    "printf %S": (printf("S", STRING),),
    "tracemem": (TracememAction(STRING),),
    "print of a structure": (PrintAction(0, STRING, None),),
    "print of a string": (PrintAction(3, STRING, None),),
    "stack": (TraceAction(STACK),),
    "ustack": (TraceAction(USER_STACK),),
    "sym": (TraceAction(SYMBOL),),
    "usym": (TraceAction(USER_SYMBOL),),
    "printf %k": (printf("k", USER_STACK),),
    "printf %a": (printf("a", SYMBOL),),
    "printf %A": (printf("A", Field(16, 8, "int")),),
}
"""What has a form of the report's own."""

PAYLOAD = BYTES[:36] + struct.pack("<I", 0)


def show(actions, where, quiet=True, **options):
    made = Shown(actions, where, quiet, **options)
    made.tracing.feed(record(1, PAYLOAD, probe=7))
    made.consumer.poll()
    return made.printed()


@pytest.mark.parametrize("sink", [*VALUES, *ROWS])
@pytest.mark.parametrize("quiet", [True, False])
def test_no_value_commands_a_terminal_or_begins_a_line(sink, quiet):
    actions = (VALUES | ROWS)[sink]
    text = show(actions, "terminal", quiet)
    assert not HARMFUL.search(text), text
    assert not FORGED.search(text)
    assert text


@pytest.mark.share(58)
@pytest.mark.parametrize("sink", ROWS)
@pytest.mark.parametrize("options", [{}, {"inlines": True}, {"noresolve": True}, {"flowindent": True}], ids=str)
@pytest.mark.parametrize("where", ["terminal", "pipe"])
def test_no_name_begins_a_line_in_a_form_of_the_reports_own(sink, options, where):
    text = show(ROWS[sink], where, False, **options)
    assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]", text), text
    assert not FORGED.search(text)


@pytest.mark.parametrize("sink", ["printf %s", "trace", "printf probefunc", "trace probefunc"])
def test_in_a_file_what_the_program_prints_is_every_byte_as_it_was(sink):
    expected = BYTES if "probefunc" in sink else PAYLOAD.partition(b"\0")[0]
    assert expected in show(VALUES[sink], "pipe").encode(errors="surrogateescape")


@pytest.mark.parametrize("sink", ["trace", "trace probefunc"])
@pytest.mark.parametrize("where", ["terminal", "pipe"])
def test_the_columns_of_a_record_are_one_line_anywhere(sink, where):
    text = show(VALUES[sink], where, quiet=False)
    assert len(text.splitlines()) == 2
    assert not FORGED.search(text)


def test_rawbytes_switches_it_off_for_data_and_not_for_names():
    shown = show(VALUES["printf %s"], "terminal", rawbytes=True).encode(errors="surrogateescape")
    assert PAYLOAD.partition(b"\0")[0] in shown
    assert not HARMFUL.search(show(ROWS["ustack"], "terminal", rawbytes=True))


def test_what_stands_in_the_program_passes():
    own = PrintfAction(conversions(("\033[1m", "s"), ("\033[0m\t\u202e\n", "")), (OWN,))
    made = Shown((own, TraceAction(OWN)), "terminal", True)
    made.tracing.feed(record(1, b"\033[31m\n".ljust(40, b"\0"), probe=7))
    made.consumer.poll()
    assert made.printed() == "\033[1m\033[31m\n\033[0m\t\u202e\n\033[31m\n"


def test_what_stands_in_a_recordings_program_comes_from_outside_too_but_keeps_its_lines():
    own = PrintfAction(conversions(("\033[1m\t", "s"), ("\033[0m\n", "")), (OWN,))
    made = Shown((own,), "terminal", True)
    made.report = TextReport(made.spec, made.options, made.end, made.errors, is_recorded=True)
    made.consumer = Consumer(made.spec, made.tracing, made.report, made.options, lambda name, value: None)
    made.tracing.feed(record(1, b"\033[31m\n".ljust(40, b"\0"), probe=7))
    made.consumer.poll()
    assert made.printed() == "\\x1b[1m\t\\x1b[31m\n\\x1b[0m\n"


def test_a_precision_counts_characters_as_they_were():
    assert show((printf("s", STRING, precision=2),), "terminal") == "<\\x1b]>\n"
    assert show((printf("s", STRING, width=8, precision=1),), "terminal") == "<    \\x1b>\n"


BY_FORMAT = (Conversion("", letters="s"), Conversion(" ", "@", letters="d"), Conversion("\n"))


@pytest.mark.parametrize("where", ["terminal", "pipe"])
@pytest.mark.parametrize("form", [None, BY_FORMAT], ids=["table", "format"])
def test_a_key_of_an_aggregation_is_in_one_line(where, form):
    made = Shown((PrintaAction(form, (0,)),), where, True)
    made.tracing.maps["counts"] = {PAYLOAD + b"\0\0\0\0": struct.pack("<Q", 3)}
    if form is None:
        made.consumer.finish()
    else:
        made.tracing.feed(record(1, bytes(40), probe=7))
        made.consumer.poll()
    text = made.printed()
    assert "3" in text
    if where == "terminal":
        assert not HARMFUL.search(text)
    if where == "terminal" or form is None:
        assert not FORGED.search(text)
    else:
        assert PAYLOAD.partition(b"\0")[0] in text.encode(errors="surrogateescape")


@pytest.mark.parametrize("where", ["terminal", "pipe"])
def test_a_threads_name_is_in_one_line_of_samples(where):
    made = Shown((), where, True)
    lines = made.report.sample_lines()
    lines.begin([SampledEvent(NASTY, struct.pack("=24xQ", SAMPLE_TYPE).ljust(128, b"\0"), (5,))])
    comm = struct.pack("=II", 9, 9) + BYTES + b"\0" * (-len(BYTES) % 8 or 8)
    body = comm + struct.pack("=IIQIIQ", 9, 9, 1, 0, 0, 1)
    lines.records(0, memoryview(struct.pack("=IHH", perf.RECORD_COMM, 0, 8 + len(body)) + body))
    sample = struct.pack("=QQIIQIIQ", 5, 0x1000, 9, 9, 2, 0, 0, 1)
    lines.records(0, memoryview(struct.pack("=IHH", perf.RECORD_SAMPLE, 2, 8 + len(sample)) + sample))
    lines.finish(0)
    text = made.printed()
    assert text.count("\n") == 1
    assert not FORGED.search(text)
    assert not re.search("[\0-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]", text)
    assert where == "pipe" or not HARMFUL.search(text)


@pytest.mark.parametrize("is_terminal", [True, False])
def test_messages_about_probes_are_one_line(is_terminal):
    from sonde.consume.events import Fault, Record

    made = Shown((), "pipe", True)
    made.errors.isatty = lambda: is_terminal
    made.report = TextReport(made.spec, made.options, made.end, made.errors)
    made.report.fault(Fault(1, PROBE, 1, 4, 0x40))
    made.report.gone(NASTY)
    made.report.refusal(Record(made.spec.records[0], PROBE, 0, memoryview(b"")), f"no {NASTY}!")
    made.printed()
    said = made.errors.getvalue().decode(errors="surrogateescape")
    assert said.count("\n") == 3
    assert all(line.startswith("sonde: ") for line in said.splitlines())
    assert not is_terminal or not HARMFUL.search(said)


def test_a_type_of_debug_information_is_one_line_of_a_message():
    from sonde.model.kinds import spell
    from sonde.model.types import Pointer, Struct

    assert "\n" not in spell(Pointer(Struct("struct", NASTY, 8)))
