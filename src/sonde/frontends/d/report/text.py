"""The text report: what dtrace(1) prints, byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sonde.consume.events import Drop, Fault, Record, Table
from sonde.consume.generated import code, constant
from sonde.consume.options import Options
from sonde.consume.sink import Report
from sonde.frontends.d.report import aggregate, flow, message_file
from sonde.frontends.d.report.messages import absence_text, drop_text, fault_text, refusal_text
from sonde.frontends.d.report.record import Formatter, Style, compile_actions, widest
from sonde.model.conversions import Conversion
from sonde.model.probe import Probe
from sonde.model.records import UNRECORDED, Action, CommandAction, OtherAction, PacketAction, RecordLayout
from sonde.model.spec import TracingSpec
from sonde.report import commands, fault_places, pcap, samples, typed_object
from sonde.report.escaping import Escaping, escaping_for
from sonde.report.output import Output, Performer, Showing
from sonde.report.piece import FormatPiece, environment
from sonde.report.stack import Addresses
from sonde.report.symbolizer import NoNames, Symbolizer
from sonde.typed import TYPE_CHECKING, Any, BinaryIO
from sonde.visible import single_line, single_line_bytes, visible, visible_bytes

if TYPE_CHECKING:
    from sonde.consume.aggregations import Label
    from sonde.frontends.d.report.aggregate import AggregateText
    from sonde.frontends.d.report.flow import Escape, Flow
    from sonde.report.pcap import Packets


_AT_ONCE = 1 << 23
"""Columns that are formatted before they are written, if widths and precisions make so many."""


class _Titles(dict[int, bytes]):
    """For each probe by identifier the columns `ID FUNCTION:NAME` of its records."""

    def __init__(self, probes: Sequence[Probe], testing: bool) -> None:
        super().__init__()
        self.probes = {probe.id: probe for probe in probes}
        self._testing = testing
        self.escape: Escape = single_line_bytes

    def __missing__(self, identifier: int) -> bytes:
        probe = self.probes[identifier]
        name = self.escape(f"{probe.function}:{probe.name}".encode(errors="surrogateescape"))
        title = b"%32s " % name if self._testing else b"%6d %32s " % (identifier, name)
        self[identifier] = title
        return title


def _perform(name: str, argument: bytes, output: Output) -> str | None:
    return commands.perform(name, argument, output)


def text_report(spec: TracingSpec, options: Options, showing: Showing) -> TextReport:
    """The report of a session (`session.reports.TextLayouts`)."""
    errors: Any = None
    if showing.tell is not None:
        errors = message_file.MessageFile(showing.tell)
    return TextReport(
        spec, options, showing.output, errors, showing.symbolizer, showing.program, showing.act, showing.is_recorded,
        showing.take,
    )  # fmt: skip


class TextReport(Report):
    """A report that prints.

    `output` is the file descriptor of the text, unless something is to `take` it in blocks; `errors` takes the
    messages, each behind "`program`: ". `act` deals with actions that reach outside the report, which are performed
    without it. `label` can be given to the consumer, to join keys of aggregations that look the same. `is_recorded`:
    the program comes from a file as its data do, not from whoever looks.
    """

    title = "text in D's layouts"

    def __init__(
        self,
        spec: TracingSpec,
        options: Options,
        output: int = 1,
        errors: BinaryIO | None = None,
        symbolizer: Symbolizer | None = None,
        program: str = "sonde",
        act: Performer | None = None,
        is_recorded: bool = False,
        take: Callable[[bytes], None] | None = None,
    ) -> None:
        addresses = Addresses(symbolizer or NoNames(), options)
        self._spec = spec
        self._strings = spec.strings
        self._options = options
        self._act = act or _perform
        self._output = Output(output, take)
        # Python has no file for a descriptor that was closed when it started.
        self._errors = errors or open(2, "wb", buffering=0, closefd=False)  # noqa: SIM115 (it stays open)
        self._program = program.encode()
        self._probes = {probe.id: probe for probe in spec.probes}
        self._titles = _Titles(spec.probes, options.testing)
        self._flow: Flow | None = None
        self._environment: dict[str, Any] = {
            **environment(addresses), "titles": self._titles, "flow_line": self._flow_line, "typed": self._typed,
        }  # fmt: skip
        self._addresses = addresses
        self._aggregates: AggregateText | None = None
        self._types = spec.types
        self._packets: Packets | None = None
        self._formatters: dict[tuple[Any, ...], Formatter | None] = {}
        self._at_once: dict[int, int] = {}
        """Records that are formatted before they are written, by their layout's number."""
        self._has_heading = False
        self._has_explained = False
        self._is_recorded = is_recorded
        self._suits_terminal: bool | None = None
        self._suit_output()

    def _suit_output(self) -> None:
        """Escape names as the output wants it, which freopen() changes."""
        is_terminal = self._output.is_terminal
        if is_terminal is self._suits_terminal:
            return
        self._suits_terminal = is_terminal
        self._escape: Escape = visible_bytes if is_terminal else single_line_bytes
        self._titles.clear()
        self._titles.escape = self._escape
        if self._flow is not None:
            self._flow.escape = self._escape
        self._addresses.suit(is_terminal)

    def _escaping(self) -> Escaping:
        return escaping_for(self._output.is_terminal, self._options.rawbytes, self._is_recorded)

    def sample_lines(self) -> samples.SampleLines:
        """Shows samples among the rest of the text."""
        return samples.SampleLines(self._addresses, self._output.write, self._shown_name)

    def _shown_name(self, name: bytes) -> bytes:
        return self._escape(name)

    @property
    def label(self) -> Label:
        return self._addresses.label

    # Records

    def run(self, layout: RecordLayout, data: memoryview, stride: int) -> None:
        options = self._options
        terminal = self._output.is_terminal
        identity = layout.number, stride, options.quiet, options.rawbytes, options.flowindent, terminal
        try:
            formatter = self._formatters[identity]
        except KeyError:
            formatter = self._formatters[identity] = self._compile_run(layout, stride)
            self._at_once[layout.number] = max(_AT_ONCE // widest(layout.actions), 1)
        if not options.quiet and not self._has_heading:
            self._head()
        if formatter is None:
            return
        at_once = stride * self._at_once[layout.number]
        for start in range(0, len(data), at_once):
            self._output.write(b"".join(formatter(data[start : start + at_once])))

    def _compile_run(self, layout: RecordLayout, stride: int) -> Formatter | None:
        """The formatter of whole records; None where nothing is shown of them."""
        if self._options.quiet:
            return self._compile(layout.actions, stride) if layout.actions else None
        return self._compile(layout.actions, stride, (self._record_head(layout), FormatPiece(b"\n")))

    def _compile(
        self, actions: Sequence[Action], stride: int, around: tuple[FormatPiece, FormatPiece] | None = None
    ) -> Formatter:
        options = self._options
        style = Style(options.quiet, options.strsize + 1 if options.rawbytes else 0, self._escaping())
        return compile_actions(actions, stride, self._strings, style, self._environment, around)

    @property
    def is_switched(self) -> bool:
        return self._output.is_switched

    def texts(self, actions: Sequence[Action], stride: int) -> Formatter:
        """What makes the text of these actions of records of `stride` bytes each, without padding, for people; what
        trace() shows is set apart."""
        style = Style(True, 0, escaping_for(True, self._options.rawbytes, self._is_recorded))
        return compile_actions(actions, stride, self._strings, style, self._environment, None, True)

    def _record_head(self, layout: RecordLayout) -> FormatPiece:
        """What stands before a record's data."""
        testing = self._options.testing
        if self._options.flowindent:
            clause, is_first = constant(layout.clause), constant(layout.number == layout.clause)
            line = code("flow_line(cpu, probe, {}, {})", clause, is_first)
            return FormatPiece(b"%s ", (line,)) if testing else FormatPiece(b"%3d %s ", (code("cpu"), line))
        title = code("titles[probe]")
        return FormatPiece(b"%s", (title,)) if testing else FormatPiece(b"%3d %s", (code("cpu"), title))

    def _typed(self, number: int, data: bytes, address: int | None) -> bytes:
        """What print() shows."""
        # Only programs that call it are to wait for this import.

        return typed_object.object_text(self._types, number, data, address, self._options.printsize)

    def _flow_line(self, cpu: int, probe: int, clause: int, is_first: bool) -> bytes:
        if self._flow is None:
            self._flow = flow.Flow()
            self._flow.escape = self._escape
        return self._flow.line(cpu, self._probes[probe], clause, is_first)

    def _head(self) -> None:
        """The heading of the columns, once, before the first record."""
        self._has_heading = True
        testing = self._options.testing
        if self._options.flowindent:
            line = flow.HEADING % b"FUNCTION"
            self._output.write(line + b"\n" if testing else b"%3s %s\n" % (b"CPU", line))
        else:
            line = b"%32s\n" % b"FUNCTION:NAME"
            self._output.write(line if testing else b"%3s %6s %s" % (b"CPU", b"ID", line))

    def begin(self, record: Record) -> None:
        if self._options.quiet or self._is_captured(record):
            return
        if not self._has_heading:
            self._head()
        terminal = self._output.is_terminal
        identity = "begin", record.layout.number, len(record.data), self._options.flowindent, terminal
        formatter = self._formatters.get(identity)
        if formatter is None:
            formatter = self._compile((), len(record.data), (self._record_head(record.layout), FormatPiece(b"")))
            self._formatters[identity] = formatter
        self._output.write(formatter(record.data)[0])

    def end(self, record: Record) -> None:
        if not self._options.quiet and not self._is_captured(record):
            self._output.write(b"\n")

    def _is_captured(self, record: Record) -> bool:
        """Whether the record's packets go to a file, where any text between them would spoil it."""
        return self._output.is_switched and any(isinstance(action, PacketAction) for action in record.layout.actions)

    def action(self, record: Record, action: Action) -> None:
        if isinstance(action, OtherAction):
            self._act(action.name, b"", self._output)
            return
        if isinstance(action, PacketAction):
            self._packet(record, action)
            return
        text = self._action_text(record, action)
        if not isinstance(action, CommandAction):
            self._output.write(text)
            return
        # A NUL, as %c can make one, ends a string of C.
        reason = self._act(action.name, text.partition(b"\0")[0], self._output)
        if action.name != "system":
            self._suit_output()
        if reason is not None:
            self.refusal(record, reason)

    def _action_text(self, record: Record, action: Action) -> bytes:
        options = self._options
        identity = action, len(record.data), options.quiet, options.rawbytes, self._output.is_terminal
        formatter = self._formatters.get(identity)
        if formatter is None:
            formatter = self._formatters[identity] = self._compile((action,), len(record.data))
        return formatter(record.data)[0]

    def _packet(self, record: Record, action: PacketAction) -> None:
        if self._packets is None:
            self._packets = pcap.Packets(self._output)
        reason = self._packets.show(action, record.data)
        if reason is not None:
            self.refusal(record, reason)

    # Aggregations

    def table(self, table: Table, conversions: tuple[Conversion, ...] | None) -> None:
        if conversions is None:
            self._output.write(b"\n")
        self._write_rows(table, conversions)

    def _write_rows(self, table: Table, conversions: tuple[Conversion, ...] | None) -> None:
        if self._aggregates is None:
            # A program without aggregations is not to wait for this import.

            self._aggregates = aggregate.AggregateText(self._addresses, self._options)
        for text in self._aggregates.format(table, conversions, self._escaping()):
            self._output.write(text)

    def remaining(self, tables: Sequence[Table]) -> None:
        if self._packets is not None:
            self._packets.finish()
            if self._packets.is_saving:
                self._output.switch(b"")
        self._output.write(b"\n")
        for table in tables:
            self._write_rows(table, None)

    # Messages

    def fault(self, fault: Fault) -> None:
        if fault.code == UNRECORDED and not self._is_recorded:
            # The end of the replay tells how often, and what would help.
            return

        self._complain(fault_text(fault, fault_places.fault_place(fault, self._spec)))
        explanation = "" if self._has_explained or self._options.testing else absence_text(fault)
        if explanation:
            self._has_explained = True
            self._complain(explanation)

    def drop(self, drop: Drop) -> None:
        self._complain(drop_text(drop, self._options.droptags))

    def refusal(self, record: Record, reason: str) -> None:
        self._complain(refusal_text(record, reason, fault_places.refusal_place(record, self._spec)))

    def learn(self, probes: Iterable[Probe]) -> None:
        """Probes that were found while tracing."""
        found = {probe.id: probe for probe in probes}
        self._probes |= found
        self._titles.probes |= found

    def missing(self, text: str) -> None:
        """What may be missing in what was shown, for people."""
        self._complain(text)

    def gone(self, device: str) -> None:
        """A network device is not there any more."""
        self._complain(f"network device {device} has gone: no more packets of it are seen")

    def _complain(self, text: str) -> None:
        """A line on the error output, after what came before it on the other."""
        self._output.flush()
        self._output.make_room(True)
        escape = visible if self._errors.isatty() else single_line
        # dtrace ends some of its messages with an empty line.
        line, ending = (text[:-1], b"\n\n") if text.endswith("\n") else (text, b"\n")
        message = b"%s: %s%s" % (self._program, escape(line).encode(errors="surrogateescape"), ending)
        try:
            self._errors.write(message)
            self._errors.flush()
        except OSError:
            # Nobody is there to be told.
            return

    def share_terminal(self, make_room: Callable[[bool], None]) -> None:
        self._output.make_room = make_room

    def flush(self) -> None:
        self._output.flush()

    def blank_line(self) -> None:
        """The empty line after an interrupt, which sets the rest off from the terminal's ^C."""
        self._output.write(b"\n")

    def close(self) -> None:
        """Write what is waiting and close the file of a freopen()."""
        if self._packets is not None:
            self._packets.finish()
        self._output.close()
