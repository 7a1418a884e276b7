"""A run from its processes to its end, in its own thread."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from sonde.consume.options import Options
from sonde.consume.replaying import SENSELESS
from sonde.launch import CommandError, GuardianError
from sonde.library.aggregations import LiveAggregation, live
from sonde.library.engines import engine_for, of_session
from sonde.library.errors import NotPermittedError, ScriptError, TracingError
from sonde.library.event_sink import EventSink
from sonde.library.events import Event, Message
from sonde.library.request import Request, Runnable
from sonde.library.source_positions import SourcePositions
from sonde.library.stop import Stop
from sonde.library.text_sink import TextSink
from sonde.library.values import Values
from sonde.model.errors import EngineError
from sonde.model.options import OptionTable
from sonde.model.spec import TracingSpec
from sonde.session.engines import make
from sonde.session.errors import SessionError
from sonde.session.names import Names
from sonde.session.processes import processes
from sonde.session.traced import Traced
from sonde.session.tracing import Report, Session
from sonde.typed import NamedTuple

# Commands and the guardian are forked. Python warns of that where there are other threads, since a lock that one of
# them holds is held in the child for ever; these children take none: they call exec, or run what is imported already.
warnings.filterwarnings("ignore", r".*multi-threaded, use of fork", DeprecationWarning, r"sonde\.")

Put = Callable[[list[Event]], None]
Publish = Callable[[Mapping[str, LiveAggregation]], None]


class Ended(NamedTuple):
    """The argument of exit(), and the command's status as wait(2) gives it, None unless it ended by itself."""

    status: int
    command_status: int | None


def trace(request: Request, stop: Stop, put: Put, publish: Publish) -> Ended:
    """Trace to the end. `put` gets the events, `publish` the aggregations. Raises Error."""
    commands = () if request.command is None else (request.command,)

    def tell(text: str) -> None:
        put([Message(text)])

    engine = engine_for(request.engine, request.options, tell=tell)
    with _as_errors(request.is_from_file), processes(commands, request.pids, request.options, engine, tell) as traced:
        script = request.script(engine, traced[0].pid if traced else 0)
        return _trace(script, engine, request.output, traced, stop, put, publish)


def _trace(
    script: Runnable, engine: str, output: int | None, traced: Sequence[Traced], stop: Stop, put: Put, publish: Publish
) -> Ended:
    options = script.options()
    _require_allowed(script, options)
    names = Names(options, traced[0].pid if traced else 0)
    values = Values(names, script.spec.types, SourcePositions(names).find)

    def report(spec: TracingSpec, shown: Options) -> Report:
        events = EventSink(spec, shown, values, put)
        return events if output is None else TextSink(spec, shown, output, names, events, put)

    try:
        session = Session(
            script.spec, make(engine, options, traced), options, names, traced, names=names, make_report=report
        )
        publish(live(script.spec, session.consumer.look, stop.ask, values))
        status = session.run(stop).status & 0xFF
    finally:
        names.close()
    statuses = [each.collect() for each in traced]
    return Ended(status, statuses[0] if statuses else None)


def _require_allowed(script: Runnable, options: OptionTable) -> None:
    if script.destructive and not options.on("destructive"):
        text = "the program does more than look at the system"
        raise NotPermittedError(text, "allow that with the option destructive")


@contextmanager
def _as_errors(is_from_file: bool) -> Iterator[None]:
    """The errors of what lies below, as the library's."""
    try:
        yield
    except SessionError as error:
        raise of_session(error) from None
    except EngineError as error:
        raise TracingError(error.text, error.log) from None
    except CommandError as error:
        raise TracingError(str(error)) from None
    except GuardianError as error:
        raise TracingError(f"processing aborted: {error}") from None
    except SENSELESS as error:
        if not is_from_file:
            raise
        # The programs have been proved harmless, not to record what the file says that they do.
        detail = f"{type(error).__name__}: {error}"
        raise ScriptError(f"the spec file is damaged: what it has does not fit what it says of it ({detail})") from None
