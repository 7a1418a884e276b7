"""A recording shown as its session was shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonde.consume import replaying
from sonde.consume.consumer import Consumer
from sonde.consume.options import display_options
from sonde.model.named_maps import PACKET_LOSSES, WAITING
from sonde.model.options import OptionTable
from sonde.report.output import Showing
from sonde.report.symbolizer import Symbolizer
from sonde.session.reports import text_report
from sonde.session.tracing import captured, packet_losses, setting, tell_waiting
from sonde.symbols.python import functions as python_functions
from sonde.typed import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sonde.captures.file import CaptureFile
    from sonde.consume.recorded import Replay
    from sonde.consume.replaying import Replayed
    from sonde.model.probe import Probe
    from sonde.model.python_frames import PythonFrame
    from sonde.model.python_functions import NumberedFunction
    from sonde.model.samples import SampleSink
    from sonde.report.output import Performer


class RecordedNames(Symbolizer, Protocol):
    """Knows the names of addresses, and is told of functions of Python."""

    def canonical(self, stack: bytes) -> bytes:
        """The one of all stacks of a process that have the same names."""

    def show_python(self, find: Callable[[int], PythonFrame]) -> None:
        """Words of stacks that stand for functions of Python are named by `find`."""


def show_recorded(
    recorded: Replay, options: OptionTable, output: int, program_name: str, symbolizer: RecordedNames | None = None,
    packets: CaptureFile | None = None, show_samples: Callable[[SampleSink], None] | None = None, *, act: Performer,
) -> tuple[int, Replayed]:  # fmt: skip
    """Show a recording as its session was shown, but for `options`; returns exit()'s argument, and what was shown.
    `show_samples` is given what prints samples among the rest; `act` deals with system() and the like. Where the file
    is damaged all is shown that stands before."""
    rate = recorded.options.aggrate
    shown = display_options(options, recorded.options)

    showing = Showing(output, symbolizer, program_name, act, is_recorded=True)
    report = text_report(recorded.spec, shown, showing)
    if show_samples is not None:
        show_samples(report.sample_lines())
    captures = captured(recorded.spec, report, packets, False)
    functions = python_functions.PythonFunctions()
    consumer = Consumer(
        recorded.spec, recorded, captures or report, shown, setting(options, shown), report.label, float("inf"),
        canonical=functions.canonical if symbolizer is None else functions.with_names(symbolizer.canonical),
    )  # fmt: skip
    if symbolizer is not None:
        symbolizer.show_python(functions.frame)

    def learn(probes: Sequence[Probe]) -> None:
        consumer.learn(probes)
        report.learn(probes)

    def learn_functions(found: Sequence[NumberedFunction]) -> None:
        for each in found:
            functions.learn(*each)

    recorded.learn, recorded.learn_functions = learn, learn_functions

    def end(is_whole: bool) -> None:
        if is_whole and recorded.has_map(WAITING):
            tell_waiting(recorded.spec, recorded.read_map, report)
        if captures is not None:
            tells = is_whole and recorded.has_map(PACKET_LOSSES)
            captures.finish(packet_losses(recorded.read_map(PACKET_LOSSES)) if tells else None)
        # Looked at at other times aggregations may be in the file more often than they are asked for.
        if is_whole and shown.aggrate == rate:
            recorded.require_end()

    replayed = replaying.replay(recorded, consumer, end)
    report.close()
    return consumer.exit_status or 0, replayed
