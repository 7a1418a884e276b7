"""A run from its processes to its end, in its own thread."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext

from sonde.consume.options import Options
from sonde.library.aggregations import Look, live
from sonde.library.engines import engine_for
from sonde.library.event_sink import EventSink
from sonde.library.events import Message
from sonde.library.foreground import Ended, Job, run_here
from sonde.library.holding import Held, holding
from sonde.library.request import Publish, Put, Request
from sonde.library.source_positions import SourcePositions
from sonde.library.spec_file import damaged
from sonde.library.stop import Stop
from sonde.library.text_sink import TextSink
from sonde.library.values import Values
from sonde.model.spec import TracingSpec
from sonde.session.names import Names
from sonde.session.participants import Report
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
    names = Names(options, held.process, bool(recording_of(options)))
    values = Values(names, script.spec.types, SourcePositions(names).find)

    def report(spec: TracingSpec, shown: Options) -> Report:
        events = EventSink(spec, shown, values, put)
        return events if request.output is None else TextSink(spec, shown, request.output, names, events, put)

    def begun(look: Look) -> None:
        publish(live(script.spec, look, stop.ask, values))

    job = Job(script.spec, options, script.destructive, files=request.files)
    return run_here(job, held, tell, asked=stop, make_report=report, names=names, begun=begun)
