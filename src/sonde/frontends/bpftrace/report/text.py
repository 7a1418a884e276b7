"""The text report: values, maps and messages as bpftrace prints them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from sonde.consume.events import Drop, Fault, Record, ShownMap, Table, Value
from sonde.consume.options import Options
from sonde.consume.sink import Report
from sonde.frontends.bpftrace.report import faults, json_messages, json_objects, messages, outside, shown_values
from sonde.frontends.bpftrace.report import packet_files as report_packet_files
from sonde.frontends.bpftrace.report.ending import Ending, ending_of
from sonde.model import packet_files
from sonde.model.probe import Probe
from sonde.model.records import Action, AggregationSpec, ArraySpec, CommandAction, PacketAction, RecordLayout
from sonde.model.spec import TracingSpec
from sonde.report import commands, samples, symbolizer
from sonde.report.output import Output, Performer, Showing
from sonde.typed import TYPE_CHECKING
from sonde.visible import single_line, single_line_bytes, visible, visible_lines_bytes

if TYPE_CHECKING:
    from sonde.consume.aggregations import Label
    from sonde.frontends.bpftrace.report.maps import MapText
    from sonde.frontends.bpftrace.report.records import Formatter
    from sonde.frontends.bpftrace.report.shown_values import ShownValues
    from sonde.model.records import Field

_ERRORS = 2


def text_report(spec: TracingSpec, options: Options, showing: Showing) -> BtReport:
    """The report of a session (`session.reports.TextLayouts`). Raises DamagedError."""
    return BtReport(spec, options, showing, ending_of(spec))


class BtReport(Report):
    """A report that prints to a descriptor; messages go to the error output."""

    title = "text in bpftrace's layouts"

    def __init__(self, spec: TracingSpec, options: Options, showing: Showing, ending: Ending) -> None:
        self._spec = spec
        self._options = options
        self._showing = showing
        self._output = Output(showing.output, showing.take)
        self._withheld = _withheld(showing.act)
        self._trials = ending.trials
        if self._trials is not None:
            self._trials.write = self._output.write
        self._ending = ending
        self._has_ended = False
        self._shown: ShownValues | None = None
        self._maps: MapText | None = None
        self._labels: MapText | None = None
        self._packets = _packet_files(spec) if self._withheld is None else None

    def _values(self) -> shown_values.ShownValues:
        if self._shown is None:
            ending = self._ending
            terminals = self._output.is_terminal, os.isatty(_ERRORS)
            look = shown_values.Look(
                ending.is_json, *terminals, ending.longest, ending.trailer, self._showing.is_recorded
            )
            self._shown = shown_values.ShownValues(
                self._spec, self._options, self._showing.symbolizer or symbolizer.NoNames(), look
            )
        return self._shown

    @property
    def label(self) -> Label:
        """An address as a map's key shows it, which is one with all that are shown alike."""
        return self._label

    def _label(self, field: Field, value: Value) -> bytes:
        return self._values().addresses.label(field, value)

    # Records

    def run(self, layout: RecordLayout, data: memoryview, stride: int) -> None:
        self._show(b"".join(self._formatter(layout.actions, stride)(data)))

    def _show(self, text: bytes) -> None:
        if self._trials is None or not self._trials.take(text):
            self._output.write(text)

    def _formatter(self, actions: Sequence[Action], stride: int) -> Formatter:
        return self._values().formatter(actions, stride)

    def begin(self, record: Record) -> None:
        """Nothing stands before what a record shows."""

    def _set_off(self) -> None:
        if not self._has_ended and not self._ending.is_json:
            self._has_ended = True
            self._show(b"\n\n")

    def end(self, record: Record) -> None:
        """Nothing stands behind what a record shows."""

    def action(self, record: Record, action: Action) -> None:
        if isinstance(action, PacketAction):
            # Without files what names the file has been shown.
            if self._packets is not None:
                self._packets.save(action, record.data)
            return
        text = self._formatter((action,), len(record.data))(record.data)[0]
        if not isinstance(action, CommandAction):
            self._show(text)
            return
        if self._withheld is not None and self._is_withheld(action.name, text):
            return
        if action.name != "system":
            self._carry_out(action.name, text)
            return

        # A NUL, as %c can make one, ends a string of C.
        command = text.partition(b"\0")[0]
        if self._ending.is_json:
            written, reason = commands.captured(command)
            self._show(json_objects.text_line("syscall", written))
        else:
            reason = commands.perform(action.name, command, self._output)
        if reason is not None:
            self.refusal(record, reason)

    def _is_withheld(self, name: str, text: bytes) -> bool:
        """Whether a command reaches outside the report, or asks for the moment: it is shown then, not performed."""
        assert self._withheld is not None
        if name == packet_files.PACKET_FILE:
            self._withheld(
                "skboutput", packet_files.filed_at(text.decode(errors="surrogateescape")).path.encode(), self._output
            )
        elif name in ("system", "cat", "time"):
            self._withheld(name, text.partition(b"\0")[0], self._output)
        else:
            return False
        return True

    def _carry_out(self, name: str, text: bytes) -> None:
        if name == "returned":
            if self._trials is not None and int(text):
                self._trials.returned = int(text)
            return
        if name == "errorf" and self._trials is not None:
            self._trials.mistaken()
        if self._packets is not None and self._packets.chooses(name, text):
            return
        if name in ("warnf", "errorf"):
            if name == "warnf" and not self._ending.warns:
                return
            self._tell(name, text.rstrip(b"\n"))
            return
        if name == "helper_error":
            self._tell(name, text)
            return

        if name == "join":
            found, mistake = text, ""
        elif name == "time":
            found, mistake = outside.time_of_day(text), ""
        else:
            found, mistake = outside.content(text.partition(b"\0")[0], self._ending.largest_file)
            if self._output.is_terminal and not self._ending.is_json:
                found = visible_lines_bytes(found)
        if self._ending.is_json and not mistake:
            # The line's end belongs to the text form alone.
            shown = found.removesuffix(b"\n") if name == "join" else found

            found = json_objects.text_line(name, shown)
        self._show(found)
        if mistake:
            self._complain(f"ERROR: {mistake}")

    def _tell(self, name: str, text: bytes) -> None:
        """What the program says of itself."""
        if not self._ending.is_json:
            # Its format is the program's, and has its lines.
            self._tell_lines(text.split(b"\n"))
            return

        self._show(json_messages.message_line(name, text))

    # Maps

    def _map_text(self) -> MapText:
        if self._maps is None:
            self._maps = self._values().maps(self._ending.functions, self._ending.series)
        return self._maps

    def show(self, shown: ShownMap) -> None:
        if not self._ending.is_json:
            self._show(self._map_text().show(shown))
            return

        self._show(json_objects.MapJson(self._values().types, self._map_text()).show(shown))

    def key_texts(self, spec: AggregationSpec | ArraySpec, key: Sequence[Value]) -> list[str]:
        """The parts of an element's key as they are shown."""
        if self._labels is None:
            self._labels = self._values().labels()
        return [each.decode(errors="backslashreplace") for each in self._labels.parts(spec, key)]

    def remaining(self, tables: Sequence[Table]) -> None:
        """Empty lines set the maps off that are shown next, as the spec has them."""
        self._set_off()

    # Messages

    def fault(self, fault: Fault) -> None:
        if self._trials is not None:
            self._trials.mistaken()
        if self._ending.is_json:
            self._show(json_messages.fault_line(fault, self._spec, self._ending.source, self._ending.tells))
            return

        self._complain(
            *faults.fault_text(fault, self._spec.programs, self._ending.source, self._ending.tells).split("\n")
        )

    def drop(self, drop: Drop) -> None:
        if self._trials is not None and self._trials.is_measured:
            # What is measured has no output.
            return
        if self._ending.is_json and drop.counter == "records":
            self._show(json_objects.counted_line("lost_events", "events", drop.lost))

        self._complain(messages.drop_text(drop))

    def refusal(self, record: Record, reason: str) -> None:
        self._complain(f"ERROR: {reason}")

    def learn(self, probes: Iterable[Probe]) -> None:
        """Probes have their names in the program."""

    def missing(self, text: str) -> None:
        self._complain(f"WARNING: {text}")

    def gone(self, device: str) -> None:
        self._complain(f"WARNING: network device {device} has gone")

    def _complain(self, *lines: str) -> None:
        """A message, each of whose lines may quote what is from outside."""
        escape = visible if os.isatty(_ERRORS) else single_line
        self._tell_lines([escape(line).encode(errors="surrogateescape") for line in lines])

    def _tell_lines(self, lines: Sequence[bytes]) -> None:
        """Lines on the error output, after what came before them on the other."""
        if self._trials is not None and self._trials.take(b"\n".join(lines) + b"\n"):
            return
        self._output.flush()
        self._output.make_room(True)
        if self._showing.tell is not None:
            self._showing.tell(b"\n".join(lines).decode(errors="surrogateescape"))
            return
        errors = Output(_ERRORS)
        for line in lines:
            errors.write_line(line)
        errors.flush()

    def sample_lines(self) -> samples.SampleLines:
        return samples.SampleLines(self._values().addresses, self._output.write, single_line_bytes)

    def texts(self, actions: Sequence[Action], stride: int) -> Formatter:
        return self._formatter(tuple(actions), stride)

    def share_terminal(self, make_room: Callable[[bool], None]) -> None:
        self._output.make_room = make_room

    def flush(self) -> None:
        self._output.flush()
        if self._packets is not None:
            self._packets.flush()

    def close(self) -> None:
        self._output.close()
        if self._packets is not None:
            self._packets.close()


def _withheld(act: Performer | None) -> commands.ShownActions | None:
    """What shows actions in place of performing them, where the program comes from a file that is not trusted."""
    if act is None:
        return None

    return act if isinstance(act, commands.ShownActions) else None


def _packet_files(spec: TracingSpec) -> report_packet_files.PacketFiles | None:
    """Those of a program that has any. Raises OSError."""
    if not any(isinstance(action, PacketAction) for layout in spec.records for action in layout.actions):
        return None

    return report_packet_files.PacketFiles(spec)
