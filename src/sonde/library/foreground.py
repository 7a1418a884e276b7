"""One session in the calling thread, from its attachment to its end, with the files that it writes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, closing

from sonde import others
from sonde.library import kept_files, replays
from sonde.library import pictures as library_pictures
from sonde.library import recorder as library_recorder
from sonde.library.errors import DestructiveError, Error, TracingError, aborted, as_errors
from sonde.library.holding import Held
from sonde.library.outputs import (
    NO_FILES,
    OUTPUT,
    Files,
    capture_file,
    complete,
    opened,
    recording_file,
    require_apart,
    require_written,
)
from sonde.machine.system import realtime_offset
from sonde.model.options import OptionTable
from sonde.model.spec import TracingSpec
from sonde.session import watchers, work
from sonde.session.engines import make
from sonde.session.names import Names
from sonde.session.replay_inputs import recording_of
from sonde.session.tracing import Session
from sonde.typed import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from sonde.engines.base import FiringKeeper, PacketFeed
    from sonde.engines.fired import FiringSource
    from sonde.library.recorder import FiringRecorder
    from sonde.session.participants import Asked, MakeReport, Sight, Trials, Watcher

_RECORD_OVERHEAD = 40
"""Bytes that dtrace needs in a buffer for a record besides the record itself."""

_MOST_TOLD = 10
"""Objects that are told of which names are missing."""

Tell = Callable[[str], None]


class Outlet(NamedTuple):
    """What a report is made for: the descriptor that it prints to, what knows the names of addresses, and what to add
    to times of firings for those of the wall clock, ns."""

    descriptor: int
    names: Names
    realtime_offset: int


ReportTo: TypeAlias = "Callable[[Outlet], MakeReport]"
"""What makes the report of a program."""


class Watch(Protocol):
    """Makes somebody who watches a session while it goes on."""

    def __call__(self, spec: TracingSpec, names: Names, tell: Tell, /) -> AbstractContextManager[Watcher]: ...


class Job(NamedTuple):
    """A compiled program, its options, and whether it does more to the system than look at it (`reason` says in what,
    where only the compiled form is known); the files that are written; the command's name, for its messages; what
    records the firings, and what makes a watcher, if that is wanted; whether it was not compiled by this process."""

    spec: TracingSpec
    options: OptionTable
    destructive: bool = False
    reason: str = ""
    files: Files = NO_FILES
    program: str = "sonde"
    recorder: FiringRecorder | None = None
    watch: Watch | None = None
    is_foreign: bool = False


class Ended(NamedTuple):
    """The argument of exit(), and the statuses of the processes as wait(2) gives them by their numbers, None for those
    that have not ended or are not the run's own."""

    status: int
    statuses: dict[int, int | None]


def require_allowed(job: Job) -> None:
    """Raise DestructiveError where the program does more than look, and that is not allowed."""
    if job.destructive and not job.options.on("destructive"):
        raise DestructiveError(job.reason)


def require_bounded(spec: TracingSpec, engine: str, options: OptionTable, is_metered: bool) -> bool:
    """Raise TracingError where a firing of a program that others have made may take more steps than the option
    `maxsteps` allows. `is_metered`: but for turns that can be metered when it runs; returns whether they are to be."""
    most = options.number("maxsteps")
    if not most:
        return False

    text, remedy = work.refusal_of_work(spec, engine, most, is_metered)
    if text:
        raise TracingError(text, remedy)
    return is_metered


def _check_enabling(spec: TracingSpec, options: OptionTable) -> None:
    """What dtrace refuses only when tracing is about to begin."""
    needed = max((layout.size for layout in spec.records), default=0) + _RECORD_OVERHEAD
    if options.is_set("bufsize") and options.number("bufsize") < needed:
        text = "could not enable tracing: Enabling exceeds size of buffer"
        raise TracingError(text, f"a record takes {needed} bytes: give -b a greater size")


def run_here(
    job: Job, held: Held, tell: Tell, *, output: str | None = None, asked: Asked | None = None,
    make_report: MakeReport | None = None, names: Names | None = None, begun: Callable[[Sight], None] | None = None,
    attached: Callable[[], None] | None = None, report_to: ReportTo | None = None,
    trials: Trials | None = None,
) -> Ended:  # fmt: skip
    """Trace to the end, which signals ask for, or `asked`. Prints to the file `output`, or the standard output, unless
    `make_report` is there; `report_to` makes a report of that output. `tell` gets what is said besides, `begun` what
    is to be seen of the session, and `attached` is called when all fires and nothing is shown yet.
    Raises Error."""
    options = job.options
    require_allowed(job)
    _check_enabling(job.spec, options)
    is_metered = job.is_foreign and require_bounded(job.spec, held.engine, options, True)
    files = job.files
    require_apart(
        (output, files.raw, files.captures, files.recording, options.text("record")),
        (options.text("packets"), options.text("replay")),
    )
    names = names or Names(options, held.process, bool(recording_of(options)))
    with ExitStack() as stack:
        stack.enter_context(closing(names))
        stack.callback(others.close)
        stack.callback(_tell_refused, names, tell)
        pictures = _pictures(job, names, tell)
        if pictures is not None:
            stack.callback(pictures.close)
        watcher: Watcher | None = pictures.album if pictures is not None else None
        if job.watch is not None:
            watcher = watchers.both(watcher, stack.enter_context(job.watch(job.spec, names, tell)))
        descriptor = stack.enter_context(opened(output, OUTPUT))
        raw = None
        if job.files.raw is not None:
            raw = stack.enter_context(kept_files.raw_file(job.files.raw))
        packets = stack.enter_context(capture_file(job.files.captures, job.spec))
        recording = stack.enter_context(recording_file(job.files.recording, job.spec, held.engine))
        blocks = [each.block for each in (raw, recording) if each is not None]
        source = _firings(job, held, stack)
        if source is not None:
            names.come_from(source.symbolizer)
        keeper = _keeper(job, held, stack)
        with as_errors():
            try:
                take = recording.records if recording else None
                made = make(held.engine, options, held.traced, take, source, keeper, is_metered)
                if report_to is not None:
                    offset = source.realtime_offset if source is not None else realtime_offset()
                    make_report = report_to(Outlet(descriptor, names, offset))
                session = Session(
                    job.spec, made, options, names, held.traced, descriptor, job.program, blocks, names,
                    watcher, packets, recording, make_report, attached, trials,
                )  # fmt: skip
                if begun is not None:
                    begun(session)
                status = session.run(asked).status & 0xFF
            except OSError as error:
                raise aborted(error) from None
        if pictures is not None:
            pictures.write()
        require_whole(session.packets())
        if source is not None:
            replays.tell_missing(session.firings(), tell)
        require_written(packets, job.files.captures)
        if recording is not None:
            complete(recording, None if options.on("quiet") else tell)
    return Ended(status, {each.pid: each.collect() for each in held.traced})


def _firings(job: Job, held: Held, stack: ExitStack) -> FiringSource | None:
    """What fires programs in the place of the engine's own events. Raises Error."""
    if job.recorder is not None:
        return stack.enter_context(library_recorder.recording_kernel(job.recorder, job.options, held.traced))
    if job.options.text("record") and not held.is_embedded:
        text = (
            "--record is not for spec files in the kernel: their programs write what they trace, and firings are "
            "recorded by programs that are compiled for that"
        )
        raise Error(text, "give the script itself, as -s SCRIPT, or run one that was saved with --engine embedded")
    if recording_of(job.options):
        if job.spec.is_filed:
            text = "--replay is not for spec files: their programs read what is there now, not what was recorded"
            raise Error(text, "give the script itself, as -s SCRIPT")

        source = replays.opened_replay(recording_of(job.options))
        stack.callback(source.close)
        return source
    return None


def _keeper(job: Job, held: Held, stack: ExitStack) -> tuple[FiringKeeper, int] | None:
    """What records the firings of the embedded engine, if that is wanted. Raises Error."""
    if not job.options.text("record") or not held.is_embedded:
        return None

    return stack.enter_context(library_recorder.recording_embedded(job.spec, job.options, held.process))


def require_whole(packets: PacketFeed | None) -> None:
    """Raises Error where the file of packets is damaged: what is behind that was not seen."""
    if packets is not None and packets.damage:
        count = f"the {packets.count} packets before it were" if packets.count != 1 else "the packet before it was"
        raise Error(f"packets '{packets.path}': {packets.damage}", f"{count} used")


def _tell_refused(names: Names, tell: Tell) -> None:
    """Say which names are missing: of objects that take too much to be read, and of C++."""
    refused = names.refused()
    for path, reason in refused[:_MOST_TOLD]:
        tell(f"{path}: {reason}: names in it are missing")
    if len(refused) > _MOST_TOLD:
        tell(f"so it is with {len(refused) - _MOST_TOLD} more objects")
    if names.without_cxx:
        tell(f"C++ names are shown as symbols: {names.without_cxx}")
    if silent := others.unanswered():
        tell(f"{', '.join(silent)}: who serves its memory or files did not answer: names in it are missing")


def _pictures(job: Job, names: Names, tell: Tell) -> library_pictures.Pictures | None:
    if not job.files.pictures and job.files.compared is None:
        return None
    # A trace without pictures is not to wait for this import.

    return library_pictures.Pictures(job.files, job.spec, names, job.options, tell)
