"""Whatever text comes from outside, in whatever way, to whatever is written: nothing obeys it, no line is forged.

A row of `SINKS` shows a hostile text in each way in which text can come there; `WRITERS` has for each function of the
package that writes text the rows that show it, or the reason for none.
"""

import ast
import contextlib
import html.parser
import json
import os
import re
import struct
import threading
import tty
from pathlib import Path
from types import SimpleNamespace

import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.files.records import record
from support.source.parsed import parsed

import sonde
from sonde.bpf import maps as map_kinds
from sonde.cli.messages import Messages
from sonde.cli.test import _line as told_line
from sonde.consume.events import Contents, ShownMap, Table, TableRow
from sonde.consume.events import Record as ConsumedRecord
from sonde.consume.options import Options
from sonde.formats import folded, speedscope
from sonde.formats.profile import Profile, ProfileFrame
from sonde.frontends.bpftrace.report.text import BtReport, Ending
from sonde.library.data.json_report import event_line
from sonde.library.disassembly import bare_code, machine_code
from sonde.library.errors import Error
from sonde.library.events import Aggregation, Message, ProbeError, ProbeName, Record, statement_names
from sonde.library.export.exposition import Exposition
from sonde.library.export.families import families
from sonde.library.export.key_texts import ValueTexts
from sonde.library.export.snapshots import SnapshotMaker
from sonde.library.export.wanted import ExportRequest, ListenAddress
from sonde.library.frames import Frame, Stack
from sonde.library.notebook.view import CellView
from sonde.library.rich_text import aggregation_html, aggregation_text
from sonde.library.scalars import Count
from sonde.library.values import Values
from sonde.model.conversions import Conversion
from sonde.model.probe import Internal, Probe
from sonde.model.records import (
    TYPED,
    AggregationSpec,
    ArraySpec,
    CommandAction,
    Field,
    MemberSpec,
    PrintAction,
    PrintfAction,
    RecordLayout,
    TypeSpec,
)
from sonde.model.spec import MapSpec, ProbeSpec, ProgramSpec, TracingSpec
from sonde.report.object_text import MapTypes, ObjectReport
from sonde.report.output import Showing
from sonde.report.symbolizer import NoNames

ROOT = Path(sonde.__file__).parent
FORGED = "forged"

TEXTS = {
    "C0": "".join(map(chr, range(1, 32))),
    "DEL and C1": "".join(map(chr, range(0x7F, 0xA0))),
    "bytes that are C1 alone": b"\x9b2J\x9d0;x\x9c\x85".decode(errors="surrogateescape"),
    "sequences": "\033[2J\033]0;x\a\033P+q\033\\",
    "ends of lines": "\n\r\v\f\x1c\x85\u2028\u2029",
    "directions": "\u202e\u2066\u200f\u061c",
    "no UTF-8": b"\xff\xc2\xed\xa0\x80\xf5".decode(errors="surrogateescape"),
    "markup": "</script><svg onload=x><!-- ]]>&'\"`${",
    "signs": "\\x1b\\\"';:,={}#|%s%n",
    "long": "a\n" * 3000,
}
"""Each is followed by a line of its own, which is to be no line."""

HARMFUL = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\u200f\u061c\udc80-\udcff]")
STEERING = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
"""What a terminal may not get, and what a row of a file may not have."""


def written(where, write, into=None):
    """What `write` has written to a descriptor, a terminal or a pipe, which is `into` if it can be no other one."""
    reader, end = os.openpty() if where == "terminal" else os.pipe()
    if where == "terminal":
        tty.setraw(end)
    pieces = []

    def take():
        # The end of a terminal is an error.
        with contextlib.suppress(OSError):
            while piece := os.read(reader, 1 << 16):
                pieces.append(piece)

    taking = threading.Thread(target=take)
    taking.start()
    kept = None if into is None else os.dup(into)
    try:
        if into is not None:
            os.dup2(end, into)
        for step in write(end):
            step()
    finally:
        if kept is not None:
            os.dup2(kept, into)
            os.close(kept)
        os.close(end)
        taking.join()
        os.close(reader)
    return b"".join(pieces).decode(errors="surrogateescape")


class Names:
    """A symbolizer of objects whose names are that text."""

    changes = 0

    def __init__(self, text):
        self.text = text

    def kernel(self, address):
        return self.text, self.text, 1

    def interrupts(self, pid, address):
        return False

    def user(self, pid, address):
        return f"/lib/{self.text}", self.text, 1

    place = build = lambda self, pid, address: (self.text, 1)

    def inlined(self, pid, address):
        return (self.text,)

    def python(self, word):
        return None


SIZE = 64


def types_of(text):
    return (
        TypeSpec("string", "string", SIZE),
        TypeSpec("struct", text, SIZE, members=(MemberSpec(text, 0, 0),)),
        TypeSpec("struct", "tuple", SIZE, members=(MemberSpec("0", 0, 0), MemberSpec("1", 3, 0))),
        TypeSpec(
            "enum", "e", 4, values=tuple((number, text) for number in (int.from_bytes(encoded(text)[:4], "little"),))
        ),
        TypeSpec("array", "char[]", SIZE, element=5),
        TypeSpec("char", "char", 1),
        TypeSpec("struct", "usym x", 16),
        TypeSpec("struct", "ustack_perf x", 24),
    )


def encoded(text):
    return text.encode(errors="surrogateescape").replace(b"\0", b"")[: SIZE - 1].ljust(SIZE, b"\0")


STRING, BYTES = Field(16, SIZE, "string"), Field(16, SIZE, "bytes")
PERCENT = Conversion("<", letters="s"), Conversion(">\n")


def bt_actions(text):
    """Each way in which a record of bpftrace's language shows text."""
    return (
        PrintAction(0, STRING), PrintAction(0, STRING, None, f"@{text}"), PrintAction(1, BYTES), PrintAction(2, BYTES),
        PrintAction(3, BYTES._replace(size=4)), PrintAction(4, BYTES), PrintAction(6, BYTES._replace(size=16)),
        PrintAction(7, BYTES._replace(size=24)), CommandAction("join", (*PERCENT[:1], Conversion("\n")), (STRING,)),
        PrintfAction(PERCENT, (BYTES._replace(detail=f"tuple{TYPED}2"),)),
        PrintfAction(PERCENT, (BYTES._replace(size=16, detail=f"usym x{TYPED}6"),)),
    )  # fmt: skip


def bt_values(text):
    return (
        PrintfAction(PERCENT, (STRING,)), PrintfAction(PERCENT, (BYTES,)),
        PrintfAction((Conversion("<", "", 60, 40, "s"), Conversion(">\n")), (STRING,)),
        PrintfAction((Conversion("<", letters="c"), Conversion(">\n")), (Field(16, 1, "int"),)),
    )  # fmt: skip


def bt_report(text, actions, end, is_json=False):
    spec = TracingSpec((), (), (), (), (encoded(text),), (), types=types_of(text))
    report = BtReport(spec, Options(), Showing(end, Names(text)), Ending({}, is_json, 1000))
    probe = Probe(7, text, text, text, text, Internal(""))
    data = record(1, encoded(text))
    for action in actions:
        layout = RecordLayout(1, len(data), (action,))

        def step(layout=layout, action=action):
            if isinstance(action, CommandAction):
                report.action(ConsumedRecord(layout, probe, 0, memoryview(data)), action)
            else:
                report.run(layout, memoryview(data), len(data))
            report.flush()

        yield step
    for shown_map in bt_maps(text):
        yield lambda shown_map=shown_map: (report.show(shown_map), report.flush())


def bt_maps(text):
    key = Field(0, SIZE, "string")
    array = ArraySpec(text, (key, BYTES), (0, 2), 2 * SIZE, Field(0, SIZE, "string"), 0, "m")
    yield ShownMap(Contents(array, [((encoded(text).rstrip(b"\0"), encoded(text)), encoded(text))]))
    for function, words in (("count", (3,)), ("quantize", (0,) * 64 + (1,) + (0,) * 62)):
        of = AggregationSpec(text, function, (), (key,), SIZE, len(words), "m", False, (0,))
        yield ShownMap(Table((of,), (1,), [TableRow((encoded(text).rstrip(b"\0"),), (words,))]))


def bt_rows(text, where):
    return written(where, lambda end: bt_report(text, bt_actions(text), end))


def bt_formats(text, where):
    if where == "pipe":
        # There what a format shows is every byte as it is.
        return ""
    return written(where, lambda end: bt_report(text, bt_values(text), end))


def bt_messages(text, where):
    told = (*PERCENT[:1], Conversion("> is wrong"))
    actions = [CommandAction(name, told, (field,)) for name in ("errorf", "warnf") for field in (STRING, BYTES)]
    actions.append(CommandAction("cat", PERCENT[:1], (STRING,)))

    def steps(end):
        yield from bt_report(text, actions, os.open(os.devnull, os.O_WRONLY))
        report = BtReport(TracingSpec((), (), (), (), (), ()), Options(), Showing(1, NoNames()), Ending({}))
        yield lambda: (report.gone(text), report.missing(text), report.refusal(None, text))

    return written(where, steps, into=2)


def bt_objects(text, where):
    return written(where, lambda end: bt_report(text, (*bt_actions(text), *bt_values(text)), end, True))


def object_rows(text, where):
    by_map = {text: MapTypes(4, 1, ()), "data": MapTypes(None, 0, ((text, 4, 0, SIZE),))}

    def steps(end):
        said = []
        report = ObjectReport(end, types_of(text)[:6], by_map, said.append, Names(text))
        spec = MapSpec(text, map_kinds.HASH, SIZE, SIZE, 1)
        yield lambda: (report.record(text, encoded(text)), report._output.flush())
        yield lambda: (report.map(spec, [(encoded(text), encoded(text))]), report._output.flush())
        yield lambda: (report.map(spec._replace(name="data"), [(bytes(4), encoded(text))]), report._output.flush())

    return written(where, steps)


def listings(text, where):
    code = bytes.fromhex("b7000000000000009500000000000000")
    probe = Probe(7, text, text, text, text, Internal(""))
    program = ProgramSpec(text, 2, 0, code, ((0, text),), (ProbeSpec(probe, 0),), lines=((0, f"{text}:1"),))
    spec = TracingSpec((), (program, program._replace(probes=())), (), (), (), ())
    from sonde.cli.output import show

    both = machine_code(spec, {text: [text]}) + bare_code(spec)
    return written(where, lambda end: [lambda: show(both, end)])


def command_messages(text, where):
    messages = Messages(text)
    steps = [
        lambda: messages.error(text, text, True), lambda: messages.plain_lines([text]), lambda: messages.error(text)
    ]  # fmt: skip
    # Lines that a maker is asked for are its own: one that has several quotes nothing.
    return written(where, lambda end: [lambda: messages.error(f"quoted {text}", "hint"), *steps[1:]], into=2)


def verdict_lines(text, where):
    return written(where, lambda end: [lambda: told_line("FAIL", text, [text])], into=1)


FRAME = "a.c"


def json_lines(text, where):
    name = ProbeName(text, text, text, text)
    stack = Stack([Frame(1, text, text, 2, text, 3)])
    events = [
        Record.__reduce__, Message(text), ProbeError(name, "r", text, text, 5, text),
        Aggregation((text,), {(text, stack): (Count((1,)),)}),
    ]  # fmt: skip
    events[0] = tuple.__new__(
        Record, (name, 1, 0, (text, {text: text}, stack), statement_names([text, "", "s"], (1, 0), 1, text))
    )
    lines = [event_line(each) for each in events]
    return written(where, lambda end: [lambda line=line: os.write(end, line) for line in lines])


def profile_of(text):
    frames = (ProfileFrame(text, text), ProfileFrame("other"))
    return Profile(text, text, "count", frames, {(0, 1): 3})


def folded_lines(text, where):
    # The names of frames are escaped when frames are made of them.
    lines = folded.write(profile_of(text))
    assert lines.count("\n") == 1
    assert lines.count(";") == 1
    return lines if where == "pipe" else ""


def speedscope_lines(text, where):
    lines = speedscope.write([profile_of(text)], text, "sonde")
    assert json.loads(lines)["profiles"]
    return lines


def labels(text, where):
    key = (Field(0, SIZE, "string"), Field(SIZE, 24, "ustack"))
    spec = AggregationSpec("a", "count", (), key, SIZE + 24, 1, "m", False)
    traced = SimpleNamespace(aggregations=(spec,), arrays=())
    made, _ = families(traced, ["sonde_export"], ExportRequest(ListenAddress("127.0.0.1", 0)))
    counted = {(encoded(text).rstrip(b"\0"), struct.pack(">3Q", 5, 16, 32)): (3,)}
    seen = SimpleNamespace(faults=0, lost=list, look=lambda number: (counted, 1), everything=lambda number: counted)
    maker = SnapshotMaker(made, 10, ValueTexts(Values(Names(text))), "--gauge", [].append)
    exposed = Exposition().text(maker.take(seen)).decode()
    own = [each for family in text_string_to_metric_families(exposed) for each in family.samples]
    (sample,) = [each for each in own if each.name == "a_total" or each.name.endswith("_a_total")]
    assert sample.value == 3
    stack = list(sample.labels.values())[-1]
    assert stack.count(";") == 1
    assert not HARMFUL.search(stack)
    return ""


class Elements(html.parser.HTMLParser):
    """The elements of a page, and what they may not have."""

    def __init__(self):
        super().__init__()
        self.found = set()

    def handle_starttag(self, tag, attrs):
        self.found.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]


ROW_ELEMENTS = {"div", "table", "thead", "tbody", "tr", "th", "td", "br"}


def cell_view(text):
    values = (text, Stack([Frame(1, text, text)]))
    made = tuple.__new__(Record, (ProbeName(*[text] * 4), 1, 0, values, statement_names([text, ""], (1, 0), 1, text)))
    trace = SimpleNamespace(
        records=[made], messages=[text], error=Error(text), aggregations={}, heat_maps={}, is_over=True, seconds=1.0,
        were=1, losses=[],
    )  # fmt: skip
    return CellView(trace)


def notebook_pages(text, where):
    rows = {(text, Stack([Frame(1, text, text)])): Count((1,))}
    page = cell_view(text).html() + aggregation_html(text, [text, text], text, rows)
    seen = Elements()
    seen.feed(page)
    assert seen.found <= ROW_ELEMENTS
    return page.replace("<br>", " ")


def notebook_texts(text, where):
    rows = {(text, text): Count((1,))}
    return "\n".join(f"| {line}" for line in (cell_view(text).text() + aggregation_text(text, rows)).split("\n"))


def library_texts(text, where):
    frame = Frame(1, text, f"/lib/{text}", 2, text, 3)
    python = Frame(0, text, "", 0, text, 3)
    made = tuple.__new__(
        Record, (ProbeName(*[text] * 4), 1, 0, (text, Stack([frame])), statement_names([text, ""], (1, 0), 1, text))
    )
    assert str(Stack([frame, python])).count("\n") == 1
    return " ".join(map(str, (frame, python, repr(Stack([frame])), repr(made))))


SINKS = {
    "bt rows": bt_rows, "bt formats": bt_formats, "bt messages": bt_messages, "bt JSON": bt_objects,
    "object rows": object_rows, "listings": listings, "messages": command_messages, "test lines": verdict_lines,
    "JSON lines": json_lines, "folded": folded_lines, "speedscope": speedscope_lines, "labels": labels,
    "notebook pages": notebook_pages, "notebook texts": notebook_texts, "library texts": library_texts,
}  # fmt: skip

KEEPING = {"folded", "bt rows", "bt messages", "object rows", "listings", "messages", "notebook texts"}
"""Rows of files keep bytes that are no UTF-8, and directions."""


@pytest.mark.share(32)
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("sink", SINKS)
def test_nothing_obeys_a_text_and_it_forges_no_line(sink, text):
    hostile = f"{TEXTS[text]}\n{FORGED} 1"
    for where in ("terminal", "pipe"):
        said = SINKS[sink](hostile, where)
        found = (STEERING if where == "pipe" and sink in KEEPING else HARMFUL).search(said.replace("\t", " "))
        assert found is None, (where, said[max(found.start() - 80, 0) : found.end() + 20])
        assert not re.search(f"^ ?{FORGED}", said, re.MULTILINE), (where, said[:2000])


D_REPORT = "tests/unit/test_escaped_output.py"
NO_TEXT = "no text: bytes, numbers, or constants of sonde's"
AS_GIVEN = "writes what its callers give, which are here"
WRITERS = {
    "captures.file.CaptureFile._put": "a pcapng file, whose comments tests/unit/test_captures.py shows",
    "cli.messages.Messages._write": ["messages"],
    "cli.output.show": ["listings", "test lines"],
    "cli.start.main": NO_TEXT,
    "cli.test._line": ["test lines"],
    "engines.embedded.tracer.commands.write": NO_TEXT,
    "engines.embedded.tracer.held_command.HeldCommand.exec": NO_TEXT,
    "engines.embedded.tracer.tracees.Tracees._give_back": NO_TEXT,
    "engines.embedded.tracer.tracees.Tracees._knock": NO_TEXT,
    "engines.kernel.detaching._tell": NO_TEXT,
    "frontends.bpftrace.report.packet_files.PacketFiles._open": "a pcap file, which has no text",
    "frontends.bpftrace.report.text.BtReport.__init__": ["bt rows", "bt formats", "bt JSON"],
    "frontends.bpftrace.report.text.BtReport._tell_lines": ["bt messages"],
    "frontends.d.check.stability.StabilityAttributes.__str__": NO_TEXT,
    "frontends.d.report.text.TextReport.__init__": D_REPORT,
    "launch._become": "a pipe of sonde's own, whose reader makes a message of it",
    "library.aggregations.LiveAggregation.__repr__": ["library texts"],
    "library.aggregations.LiveAggregation._repr_mimebundle_": ["notebook pages", "notebook texts"],
    "library.data.json_report.JsonOutput.end": ["JSON lines"],
    "library.data.json_report.JsonReport.__init__": ["JSON lines"],
    "library.data.json_report.write_events": ["JSON lines"],
    "library.data.table_files.StreamFile._append": "a file of Arrow",
    "library.data.table_files._Descriptor.write": "a file of Arrow",
    "library.errors.Error.__str__": ["notebook texts"],
    "library.events.ProbeName.__str__": "four names as they are, which programs compare",
    "library.events.Record.__repr__": ["library texts"],
    "library.export.wanted.ListenAddress.__str__": "an address that the user has given",
    "library.frames.Frame.__str__": ["library texts", "labels"],
    "library.frames.Stack.__repr__": ["library texts"],
    "library.frames.Stack.__str__": ["library texts"],
    "library.histograms.Histogram.__repr__": NO_TEXT,
    "library.histograms.Histogram._repr_html_": NO_TEXT,
    "library.inspection.listing.ListedProbe.__str__": "four names as they are, which programs compare",
    "library.kept_files._NamedFile.write": AS_GIVEN,
    "library.notebook.cell.follow_in_terminal": ["notebook texts"],
    "library.notebook.view.CellView._repr_mimebundle_": ["notebook pages", "notebook texts"],
    "library.object_script.ObjectScript.__repr__": "Python's own form of a path",
    "library.pictures.OutputFiles.write": ["folded", "speedscope"],
    "library.piped._copy": "a file of sonde's own, as it has come",
    "library.probing.aggregating.ProbeAggregation.__repr__": "Python's own form of a title",
    "library.probing.decorating.ProbeFunction.__repr__": "names of the user's own program",
    "library.probing.words.ProbeVariables.__repr__": NO_TEXT,
    "library.probing.words.ProbeWord.__repr__": NO_TEXT,
    "library.rich_pictures.HeatMap._repr_mimebundle_": "tests/unit/test_heat_maps.py",
    "library.rich_pictures.Picture._repr_mimebundle_": "tests/unit/test_flame_graphs.py",
    "library.scalars.Scalar.__repr__": NO_TEXT,
    "library.scalars.Scalar.__str__": NO_TEXT,
    "library.script.Script.__repr__": "Python's own form of the user's program",
    "model.probe.Probe.__str__": "four names as they are, which every report escapes",
    "model.types.Struct.__repr__": "for who looks for mistakes in sonde",
    "providers.pattern.Pattern.__str__": "a description as the user has written it, in messages",
    "report.fault_places.FaultPlace.__str__": "a place in a message, which every report escapes",
    "providers.source_lines.SourceLine.__str__": "a description as the user has written it, in messages",
    "reader._lock": "a number to the kernel's file of a process",
    "reader.AbandonableReader._copy": "a file of sonde's own, as it has come",
    "recording.summary.Summary.__str__": "lines for messages",
    "report.object_text.ObjectReport.__init__": ["object rows"],
    "report.output.Output.flush": AS_GIVEN,
    "report.output.write_all": AS_GIVEN,
    "session.command.StartedProcess.collect": "tests/cli/test_terminal_output.py",
    "session.progress.DetachingProgress._write": NO_TEXT,
    "session.progress.ReplayProgress._write": NO_TEXT,
    "symbols.source_names.demangle._Worker.ask": "a pipe of sonde's own",
    "written_files._replace_at": AS_GIVEN,
}  # fmt: skip
"""Functions that write text, or make the text of a value: the rows of `SINKS` that show it, or what else is true."""

WRITING = {"print", "write_all", "Output", "sys.stdout.write", "os.write"}
LAST_NAMES = {name.rpartition(".")[2] for name in WRITING}
TEXT_OF = {"__str__", "__repr__", "_repr_html_", "_repr_mimebundle_"}


def is_writing(function):
    last = getattr(function, "id", getattr(function, "attr", ""))
    return last in LAST_NAMES and ast.unparse(function) in WRITING


def writers(tree):
    def visit(node, inside):
        for child in ast.iter_child_nodes(node):
            is_function = isinstance(child, ast.FunctionDef)
            if is_function and child.name in TEXT_OF:
                yield ".".join([*inside, child.name])
            yield from visit(child, [*inside, child.name] if is_function or isinstance(child, ast.ClassDef) else inside)
            if isinstance(child, ast.Call) and is_writing(child.func):
                yield ".".join(inside)

    return set(visit(tree, []))


def test_each_function_that_writes_has_a_row_or_a_reason():
    found = {
        f"{'.'.join(path.relative_to(ROOT).with_suffix('').parts)}.{each}"
        for path in ROOT.rglob("*.py")
        if any(word in path.read_text() for word in (*WRITING, *TEXT_OF))
        for each in writers(parsed(path))
    }
    assert found == set(WRITERS)
    assert {row for rows in WRITERS.values() if isinstance(rows, list) for row in rows} == set(SINKS)


def test_a_new_writer_is_seen():
    text = "class A:\n  def b(self):\n    print(1)\n  def __str__(self):\n    return ''\ndef c():\n  os.write(1, b'')"
    assert writers(ast.parse(text)) == {"A.b", "A.__str__", "c"}
