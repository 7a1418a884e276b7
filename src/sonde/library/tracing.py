"""A run from its processes to its end, in its own thread."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext

from sonde.consume.options import Options
from sonde.consume.sink import Report
from sonde.library import arrow_runs
from sonde.library.aggregations import live
from sonde.library.engines import engine_for
from sonde.library.event_sink import EventSink
from sonde.library.events import Message
from sonde.library.foreground import Ended, Job, Outlet, run_here
from sonde.library.given import ARROW
from sonde.library.holding import Held, holding
from sonde.library.request import Begun, Publish, Put, Request
from sonde.library.source_positions import SourcePositions
from sonde.library.spec_file import damaged
from sonde.library.stop import Stop
from sonde.library.text_sink import TextSink
from sonde.library.values import Values
from sonde.model.spec import TracingSpec
from sonde.session.names import Names
from sonde.session.participants import MakeReport, Sight
from sonde.session.replay_inputs import recording_of

# Commands and the guardian are forked. Python warns of that where there are other threads, since a lock that one of
# them holds is held in the child for ever; these children take none: they call exec, or run what is imported already.
warnings.filterwarnings("ignore", r".*multi-threaded, use of fork", DeprecationWarning, r"sonde\.")


def trace(request: Request, stop: Stop, put: Put, publish: Publish) -> Ended:
    """Trace to the end. `put` gets the events, `publish` the aggregations. Raises Error."""
    commands = () if request.command is None else (request.command,)

    def tell(text: str) -> None:
        put([Message(text)])

    engine = engine_for(request.engine, request.options, tell=tell)
    judged = damaged(request.spec_path) if request.spec_path else nullcontext()
    with holding(engine, commands, request.pids, request.options, tell) as held, judged:
        return _trace(request, held, stop, put, publish, tell)


def _trace(request: Request, held: Held, stop: Stop, put: Put, publish: Publish, tell: Callable[[str], None]) -> Ended:
    script = request.script(held.engine, held.process, held.prepare)
    options = script.options()
    output = None if request.output is None else request.output.descriptor
    names = Names(options, held.process, bool(recording_of(options)))
    values = Values(names, script.spec.types, SourcePositions(names).find)
    offset = 0

    def report_to(outlet: Outlet) -> MakeReport:
        nonlocal offset
        offset = outlet.realtime_offset
        return report

    def report(spec: TracingSpec, shown: Options) -> Report:
        if output == ARROW:
            return arrow_runs.batch_report(spec, shown, values, offset, put)
        events = EventSink(spec, shown, values, put)
        return events if output is None else TextSink(spec, shown, output, names, events, put)

    def begun(sight: Sight) -> None:
        publish(Begun(live(script.spec, sight, stop.ask, values), script.spec, offset, output == ARROW))

    job = Job(script.spec, options, script.destructive, files=request.files, is_foreign=bool(request.spec_path))
    return run_here(job, held, tell, asked=stop, names=names, begun=begun, report_to=report_to)
