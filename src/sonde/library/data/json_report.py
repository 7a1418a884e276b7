"""The report of a session as lines of JSON, one object for each event ([Data](docs/data.md) has their schema)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import closing

from sonde.consume.options import Options
from sonde.library.data.json_records import JsonHeads, RecordLines, record_lines
from sonde.library.data.json_values import JsonStrings, encode, json_value
from sonde.library.data_report import DataReport
from sonde.library.errors import aborted
from sonde.library.event_sink import EventSink
from sonde.library.events import (
    Aggregation,
    Event,
    Exit,
    Loss,
    Message,
    ProbeError,
    Record,
    RingRecord,
    TableBatch,
    Text,
)
from sonde.library.foreground import Ended, Job, Outlet, Tell, run_here
from sonde.library.holding import Held
from sonde.library.source_positions import SourcePositions
from sonde.library.statement_values import distinct
from sonde.library.values import Values
from sonde.model.probe import Probe
from sonde.model.records import RecordLayout
from sonde.model.spec import TracingSpec
from sonde.report.output import Output, write_all
from sonde.session.participants import MakeReport, Sight
from sonde.typed import Any
from sonde.visible import unicode_text

_STANDARD = 1
"""The descriptor of the standard output."""

_AT_ONCE = 1 << 12
"""Records that are formatted before they are written."""


class JsonReport(DataReport):
    """A report that writes a line for each event to the file descriptor `output`."""

    title = "JSON"

    def __init__(self, spec: TracingSpec, options: Options, output: int, values: Values) -> None:
        self._spec = spec
        self._values = values
        self._output = Output(output)
        self._heads = JsonHeads()
        self._heads.learn(spec.probes)
        self._texts = JsonStrings()
        self._lines: dict[tuple[int, int], RecordLines] = {}
        self.events = EventSink(spec, options, values, self._write)

    def run(self, layout: RecordLayout, data: memoryview, stride: int) -> None:
        lines = self._lines.get((layout.number, stride))
        if lines is None:
            lines = self._lines[layout.number, stride] = record_lines(
                layout, self._spec.strings, stride, self._heads, self._texts, self._values
            )
        most = stride * _AT_ONCE
        for start in range(0, len(data), most):
            self._output.write(b"".join(lines(data[start : start + most])))

    def settle(self) -> None:
        self.events.flush()

    def learn(self, probes: Iterable[Probe]) -> None:
        found = [*probes]
        self._heads.learn(found)
        super().learn(found)

    def share_terminal(self, make_room: Callable[[bool], None]) -> None:
        self._output.make_room = make_room

    def flush(self) -> None:
        self._output.flush()

    def close(self) -> None:
        self._output.close()

    def _write(self, events: list[Event]) -> None:
        for each in events:
            self._output.write(event_line(each))


def write_events(descriptor: int, events: Iterable[Event]) -> None:
    """A line for each. Raises OSError."""
    write_all(descriptor, b"".join(map(event_line, events)))


def event_line(event: Event) -> bytes:
    """The line of an event."""
    return encode(_object(event)).encode() + b"\n"


def _object(event: Event) -> dict[str, Any]:
    match event:
        case Record():
            members = dict(zip(distinct(event.names), map(json_value, event.values), strict=True))
            probe = unicode_text(str(event.probe))
            made = {"type": "record", "probe": probe, "time": event.time, "cpu": event.cpu, "values": members}
            return made | {"statement": event.statement} | ({} if event.text is None else {"text": event.text})
        case Aggregation():
            rows = [{"key": json_value(key), "values": json_value(found)} for key, found in event.rows.items()]
            return {"type": "aggregation", "names": [*event.names], "rows": rows}
        case Loss():
            return {"type": "loss", "kind": event.kind, "lost": event.lost, "cpu": event.cpu, "text": event.text}
        case ProbeError():
            probe, text = unicode_text(str(event.probe)), unicode_text(event.text)
            found: dict[str, Any] = {"type": "error", "probe": probe, "reason": event.reason, "text": text}
            place = {"file": unicode_text(event.file), "line": event.line, "function": unicode_text(event.function)}
            return found | place if event.file else found
        case Message():
            return {"type": "message", "text": unicode_text(event.text)}
        case RingRecord():
            more = {} if event.packet is None else {"packet": json_value(event.packet)}
            return {"type": "ring", "ring": event.ring, "time": event.time, "value": json_value(event.value), **more}
        case Text():
            return {"type": "print", "text": unicode_text(event.text.decode(errors="surrogateescape"))}
        case TableBatch():
            raise TypeError(f"{type(event).__name__} comes of another output")
        case Exit():
            return {"type": "exit", "status": event.status}


class JsonOutput:
    """The output of one run: its events, and behind them its end."""

    def __init__(self) -> None:
        self._descriptor = -1

    def report_to(self, outlet: Outlet) -> MakeReport:
        """What makes the report (`sonde.library.foreground.ReportTo`)."""
        is_standard = outlet.descriptor == _STANDARD
        self._descriptor = _STANDARD if is_standard else os.dup(outlet.descriptor)
        names = outlet.names

        def report(spec: TracingSpec, options: Options) -> JsonReport:
            return JsonReport(spec, options, outlet.descriptor, Values(names, spec.types, SourcePositions(names).find))

        return report

    def end(self, status: int) -> None:
        """The run has ended with that argument of exit(). Raises OSError."""
        try:
            write_all(self._descriptor, event_line(Exit(status)))
        finally:
            self.close()

    def close(self) -> None:
        """Let go of the output, also where there was no end."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor not in (_STANDARD, -1):
            os.close(descriptor)


def run_as_json(
    job: Job, held: Held, tell: Tell, output: str | None, begun: Callable[[Sight], None],
    attached: Callable[[], None] | None = None,
) -> Ended:  # fmt: skip
    """Trace to the end, as `run_here` does, and print events. Raises Error."""
    lines = JsonOutput()
    with closing(lines):
        ended = run_here(job, held, tell, output=output, begun=begun, attached=attached, report_to=lines.report_to)
        try:
            lines.end(ended.status)
        except OSError as error:
            raise aborted(error) from None
    return ended
