"""One tracing session: load, attach, consume, report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from sonde.captures import sink as captures_sink
from sonde.consume import arrays, recorder
from sonde.consume.consumer import Consumer
from sonde.consume.counters import Counters
from sonde.consume.events import Drop
from sonde.consume.options import Options, display_options
from sonde.machine.system import monotonic_ns
from sonde.model.named_maps import (
    ACTIVE,
    DRAINING,
    FAMILY,
    INACTIVE,
    PACKET_LOSSES,
    STATE_STATUS,
    STOPPED,
    UNWIND_ROWS,
    WAITING,
)
from sonde.model.options import OptionError, OptionTable
from sonde.model.probe import BREAKPOINT, SIGNALS
from sonde.model.spec import TracingSpec, has_open_sites, has_samples, has_user_addresses, is_internal, is_iterated
from sonde.model.units import MICROSECOND, MILLISECOND, SECOND
from sonde.report import output as report_output
from sonde.report import refused_probes
from sonde.session import progress as session_progress
from sonde.session import reports
from sonde.session.python_stacks import PythonStacks
from sonde.session.sample_flow import SampleFlow
from sonde.session.signals import Signals
from sonde.session.surroundings import SessionSurroundings
from sonde.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sonde.captures.file import CaptureFile
    from sonde.consume.recorder import Recorder
    from sonde.consume.sink import Report, Sink
    from sonde.consume.store import Key
    from sonde.engines.base import Engine, FiringFeed, PacketFeed, Progress, Tracing
    from sonde.formats.raw_file import WriteBlock
    from sonde.model.aggregation_words import Words
    from sonde.model.probe import Probe
    from sonde.model.samples import SampleSink
    from sonde.report.symbolizer import Symbolizer
    from sonde.session.participants import Asked, MakeReport, Trials, Watcher
    from sonde.session.progress import ReplayProgress
    from sonde.session.traced import Traced
    from sonde.symbols.following import NameSource

BATCH = 0.01
"""Seconds between a wake-up's draining and the next: records gather meanwhile, and no line is late."""

IDLE = 0.2
"""Longest sleep, so that drops and the end of a traced process are noticed in time."""

_LAST_FIRINGS = 0.5
"""Seconds in which what a recording has may still fire when somebody has asked for the end."""


_MORE = ((MICROSECOND, 1000), (10 * MICROSECOND, 100), (100 * MICROSECOND, 10), (MILLISECOND, 2))
"""What takes less than so many ns in all is run so many times more often."""


class Result(NamedTuple):
    """How the session ended: the argument of exit(), 0 without one; whether a signal asked for the end."""

    status: int
    interrupted: bool


class Session:
    """Traces one compiled program to its end.

    `traced` are processes whose end ends the session, let go when tracing has begun; who made them closes them.
    `names` is told what processes have mapped, if the program records addresses of processes. `watcher` is asked to
    look at the aggregations when it wants to, and once at the end. `packets` gets what programs capture; tracing ends
    when it takes no more, as does `samples`, which takes the samples that programs let through; without it they are
    shown as lines.
    `recorders` keep what the consumer reads, in blocks (`formats/raw_file.py`). `attached` is called when all
    fires and nothing is shown yet. `trials` has internal probes fired in the place of all else.
    """

    def __init__(
        self,
        spec: TracingSpec,
        engine: Engine,
        options: OptionTable,
        symbolizer: Symbolizer | None = None,
        traced: Sequence[Traced] = (),
        output: int = 1,
        program_name: str = "sonde",
        recorders: Sequence[WriteBlock] = (),
        names: NameSource | None = None,
        watcher: Watcher | None = None,
        packets: CaptureFile | None = None,
        samples: SampleSink | None = None,
        make_report: MakeReport | None = None,
        attached: Callable[[], None] | None = None,
        trials: Trials | None = None,
    ) -> None:
        self._spec = spec
        self._trials = trials
        self._asked: Asked | None = None
        self._progress: ReplayProgress | None = None
        self._is_drained = False
        self._is_cut_short = False
        self._watcher = watcher
        self._attached = attached
        self._look_due = float("inf")
        self._options = options
        self._traced = list(traced)
        self._shown = display_options(options, Options())
        self._tracing: Tracing = engine.load(spec)
        self._strings = list(spec.strings)
        self._recorded_strings = len(self._strings)
        if has_open_sites(spec):
            # Names of probes that are found while tracing are added.
            spec = spec._replace(strings=self._strings)  # type: ignore[arg-type]
        self._recorders: list[Recorder] = []
        source = self._source = self._recorded(recorders)
        self._report = (make_report or _in_words(output, symbolizer, program_name))(spec, self._shown)
        # What a file has was captured at another time.
        self._captures = captured(spec, self._report, packets, self._tracing.packets() is None)
        sink = samples or (self._report.sample_lines() if has_samples(spec) else None)
        self._sampling = SampleFlow(sink)
        has_addresses = has_user_addresses(spec) or (sink is not None and sink.wants_names)
        # Stacks that are only counted (ustackdepth) are walked by what is known of mappings, too.
        is_walking = any(each.name == UNWIND_ROWS for each in spec.maps)
        self._python = PythonStacks(spec, self._tracing, self._recorders, names)
        self._surroundings = SessionSurroundings(
            spec, self._tracing, [each.pid for each in self._traced], names if has_addresses or is_walking else None,
            self._python,
        )  # fmt: skip
        self._seen_losses = Counters(self._tracing)
        self._consumer = Consumer(
            spec, source, self._captures or self._report, self._shown, setting(options, self._shown),
            self._report.label,
            options.number("statusrate") / SECOND, None if watcher is None else watcher.kept_as,
            self._python.canonical, self, self._look_around,
        )  # fmt: skip

    def _recorded(self, recorders: Sequence[WriteBlock]) -> Tracing:
        source = self._tracing
        for block in recorders:
            source = recorder.Recorder(source, self._spec, block, self._shown)
            self._recorders.append(source)
        return source

    def look(self, aggregation: int) -> tuple[dict[Key, Words], int]:
        """What an aggregation has come to at present, and what it is normalized by. A raw file is not to have it: the
        report never asks."""
        contents = self._tracing.read_map(self._spec.aggregations[aggregation].map)
        return self._consumer.look(aggregation, contents)

    def everything(self, aggregation: int) -> dict[Key, Words]:
        """All that was counted. A raw file is not to have it: the report never asks."""
        contents = self._tracing.read_map(self._spec.aggregations[aggregation].map)
        return self._consumer.everything(aggregation, contents)

    def elements(self, array: int) -> Sequence[tuple[Key, bytes]]:
        """The elements of an array that is kept, at present; likewise."""
        return arrays.contents(self._spec, self._spec.arrays[array], self._tracing).rows

    def lost(self) -> Iterable[Drop]:
        """What was lost since this was called last, whatever the report was told meanwhile."""
        return self._seen_losses.drops()

    @property
    def faults(self) -> int:
        """How many clauses were aborted so far."""
        return self._consumer.faults

    def packets(self) -> PacketFeed | None:
        """The packets of a file that fired programs, None without one."""
        return self._tracing.packets()

    def firings(self) -> FiringFeed | None:
        """The firings of a recording that programs are run for, None without one."""
        return self._tracing.firings()

    def run(self, asked: Asked | None = None) -> Result:
        """From BEGIN to END and the last line of output. Without `asked`, signals ask for the end."""
        come: list[str] = []
        names = [each.name for each in self._spec.programs if each.name in SIGNALS]
        signals = Signals(names, come) if asked is None else asked
        self._asked = signals
        if asked is None:
            self._tell_progress()
        self._tracing.heed(lambda: signals.asked)
        try:
            if _looks_into_processes(self._spec):
                for each in self._traced:
                    each.prepare()
            self._surroundings.prepare()
            refused = self._tracing.attach()
            if refused:
                self._report.missing(refused_probes.refused_probes(refused))
            self._surroundings.find_static(self._strings, self._learn)
            self._sampling.begin(self._tracing)
            self._surroundings.follow()
            if self._watcher is not None:
                self._watcher.begin(self)
                self._look()
            self._start()
            if self._watcher is not None:
                self._watcher.started()
            if self._trials is not None:
                self._try(self._trials, signals)
            elif not self._go_over(signals):
                self._follow(signals, come)
            self._wait_for_status(signals)
            self._stop(signals)
            status = self._status()
        finally:
            try:
                if asked is not None:
                    # What has been counted is kept before it is gone.
                    asked.close()
                self.close(_detaching_progress() if asked is None else None)
            finally:
                if asked is None:
                    # Detaching may take long, and a second signal ends it.
                    signals.close()
        return Result(status, signals.asked)

    def was_asked_for(self) -> bool:
        """Whether somebody has asked for the end: from then on nothing is recorded. Firings of a recording that have
        happened are followed by what they do all the same."""
        if self._asked is None or not self._asked.asked:
            return False
        if not self._is_drained and self._tracing.firings() is None:
            self._is_drained = True
            self._set_activity(DRAINING)
        return True

    def has_come(self) -> bool:
        """Whether a program has called exit(), or tracing is over otherwise."""
        return self._is_ended

    def _tell_progress(self) -> None:
        """Have people see how far the replay of a file is."""
        firings = self._tracing.firings()
        if firings is not None and firings.path:
            self._progress = session_progress.ReplayProgress()
            self._report.share_terminal(self._progress.make_room)

    def _learn(self, probes: Sequence[Probe]) -> None:
        self._consumer.learn(probes)
        self._report.learn(probes)
        for each in self._recorders:
            each.learn(self._strings[self._recorded_strings :], probes)
        self._recorded_strings = len(self._strings)

    def _drain_firings(self, is_asked: bool) -> None:
        """All that was recorded fires before the end, or, where that is asked for, what does at once: of a recording
        that grows it is what has come until then."""
        firings = self._tracing.firings()
        if firings is None:
            return
        firings.finish()
        latest = time.monotonic() + (_LAST_FIRINGS if is_asked else float("inf"))
        while not firings.is_over and self._consumer.exit_status is None and self._activity() == ACTIVE:
            if time.monotonic() >= latest:
                self._is_cut_short = True
                return
            self._tracing.wait(IDLE)
            self._surroundings.poll()
            self._consumer.poll()
            self._surroundings.release(self._held)
            if self._progress is not None:
                self._progress.show(firings)

    def _held(self) -> set[int]:
        """The processes whose stacks may still be shown."""
        return self._consumer.processes(self._tracing.read_map)

    def _look_around(self) -> None:
        """Take up what has changed around programs, and give up what was kept of processes that have ended."""
        self._surroundings.poll()
        if self._sampling.sink is None:
            # Samples are taken when records have been shown.
            self._surroundings.release(self._held)

    def _start(self) -> None:
        self._adopt_descendants()
        self._run_internal("BEGIN")
        self._tracing.restart_timers()
        if self._activity() == INACTIVE:
            self._set_activity(ACTIVE)
            # Once more: those who were started between the first look and the first firing.
            self._adopt_descendants()
        if self._attached is not None:
            self._attached()
        if not self._options.number("switchrate"):
            self._consumer.poll()
        for each in self._traced:
            each.resume()

    def _try(self, trials: Trials, signals: Asked) -> None:
        """Run the probes of tests and measurements, each as if none had ended the program."""
        for probe in trials.probes:
            if signals.asked:
                return
            self._set_activity(ACTIVE)
            trials.begin(probe)
            nanoseconds, runs = self._measure(trials, probe) if trials.is_measured else self._time(probe)
            status, self._consumer.exit_status = self._consumer.exit_status, None
            trials.finish(probe, nanoseconds, runs, status or 0)

    def _time(self, probe: str) -> tuple[int, int]:
        begun = monotonic_ns()
        self._run_internal(probe)
        took = monotonic_ns() - begun
        self._consumer.poll()
        return took, 1

    def _measure(self, trials: Trials, probe: str) -> tuple[int, int]:
        """Run it so often that it takes a while; ns each time, and how often."""
        runs = 1
        while True:
            each = self._tracing.measure(probe, runs)
            self._consumer.poll()
            more = next((factor for most, factor in _MORE if each * runs < most), 0)
            if not more or self._is_ended or trials.returned:
                return each, runs
            runs *= more

    def _go_over(self, signals: Asked) -> bool:
        """Have the programs of iterators run for all there is; whether nothing else fires any."""
        if not any(is_iterated(each) for each in self._spec.programs):
            return False
        for each in filter(is_iterated, self._spec.programs):
            for _ in self._tracing.go_over(each.name):
                self._consumer.poll()
                if self._is_ended or signals.asked:
                    return False
        return all(is_iterated(each) or is_internal(each) for each in self._spec.programs)

    def _adopt_descendants(self) -> None:
        """Processes that $target has started before programs see who starts whom belong to its family as well."""
        if self._traced and any(each.name == FAMILY for each in self._spec.maps):
            self._tracing.adopt_descendants(self._traced[0].pid)

    def _follow(self, signals: Asked, come: list[str]) -> None:
        """Drain until exit(), a signal, or the end of what is traced. Signals that have `come` fire their probes."""
        alive = {each.descriptor for each in self._traced}
        packets, firings = self._tracing.packets(), self._tracing.firings()
        while self._consumer.exit_status is None and not signals.asked:
            noticed = (*self._surroundings.noticed, *self._sampling.descriptors)
            ready = self._pause((signals.descriptor, *alive, *noticed), signals.until)
            self._surroundings.poll()
            signals.turn()
            while come:
                self._run_internal(come.pop(0))
            self._consumer.poll()
            self._sampling.drain()
            self._surroundings.release(self._held)
            self._look()
            if self._surroundings.are_gone(self._report.gone):
                return
            is_traced = bool(alive) or packets is not None
            alive -= set(ready)
            if firings is not None and firings.is_over:
                return
            if firings is not None and self._progress is not None:
                self._progress.show(firings)
            if is_traced and not alive and (packets is None or packets.is_over):
                return
            if self._captures is not None and self._captures.has_failed:
                return
            if self._sampling.has_failed:
                return
            if self._is_ended:
                return
            if self._has_time() and self._consumer.exit_status is None and not signals.asked:
                self._rest()

    @property
    def _is_ended(self) -> bool:
        """Whether a program has called exit(), whose record may have found the ring full."""
        return self._consumer.exit_status is not None or self._activity() != ACTIVE

    def _has_time(self) -> bool:
        """Whether records may gather: not while tables are made, which takes its time, nor where they are read at a
        rate that was asked for."""
        return not self._options.number("switchrate") and self._surroundings.patience > 0

    def _rest(self) -> None:
        """Let records gather; what a process has mapped that may end at any moment is looked at meanwhile."""
        mapped = self._surroundings.mapped
        if not mapped:
            self._tracing.pause(BATCH)
            return
        end = time.monotonic() + BATCH
        while self._tracing.pause(max(end - time.monotonic(), 0), mapped):
            self._surroundings.poll()
            if time.monotonic() >= end:
                return

    def _pause(self, descriptors: tuple[int, ...], until: float) -> list[int]:
        """Until there is something to do, or that time; those of the descriptors that are readable.

        With the option switchrate the rings are read that often, not as soon as there is something in them.
        """
        rate = self._options.number("switchrate")
        if not rate:
            left = max(until - time.monotonic(), 0)
            return self._tracing.wait(min(IDLE, self._until_look(), self._surroundings.patience, left), descriptors)
        end = min(time.monotonic() + rate / SECOND, until)
        while True:
            most = min(end - time.monotonic(), self._until_look(), self._surroundings.patience, IDLE)
            ready = self._tracing.pause(max(most, 0), descriptors)
            self._look()
            self._surroundings.poll_tables()
            if ready or time.monotonic() >= end:
                return ready

    def _look(self) -> None:
        if self._watcher is not None:
            self._look_due = self._watcher.poll()

    def _until_look(self) -> float:
        """Seconds until the watcher wants to look again."""
        return max(self._look_due - time.monotonic(), 0.0)

    def _wait_for_status(self, signals: Asked) -> None:
        """With the option statusrate it is seen that often, not at once, that exit() was called."""
        if self._options.is_set("statusrate") and not signals.asked:
            self._tracing.pause(max(self._consumer.status_due - time.monotonic(), 0), (signals.descriptor,))

    def _stop(self, signals: Asked) -> None:
        self._drain_firings(signals.asked)
        if self._progress is not None:
            self._progress.erase()
        self._set_activity(DRAINING)
        self._surroundings.poll()
        self._consumer.poll()
        self._consumer.all_are_taken()
        self._run_internal("END")
        self._set_activity(STOPPED)
        # Before aggregations are read for the last time: what has been sampled has been counted by then.
        self._sampling.stop()
        self._consumer.poll()
        if lost_samples := self._sampling.finish():
            self._report.drop(Drop("samples", None, lost_samples))
        if signals.asked and not self._shown.testing:
            self._report.blank_line()
        drawn = self._watcher.drawn if self._watcher is not None else frozenset()
        self._consumer.finish(() if self._report.is_data else drawn)
        tell_waiting(self._spec, self._source.read_map, self._report)
        losses = self._packet_losses()
        if self._captures is not None:
            self._captures.finish(losses)
        if self._watcher is not None:
            self._watcher.finish()
        for kind, count in self._surroundings.losses(self._sampling.lost_beside):
            self._report.drop(Drop(kind, None, count))
        if not self._shown.testing:
            for text in self._surroundings.remarks():
                self._report.missing(text)
            if self._is_cut_short:
                self._report.missing("the recording has more, which did not fire before the end that was asked for")

    def _packet_losses(self) -> dict[int, int]:
        """Packets that found no room, by probe; of a recording, too, it is the last that is looked at."""
        captures = any(each.name == PACKET_LOSSES for each in self._spec.maps)
        return packet_losses(self._source.read_map(PACKET_LOSSES)) if captures else {}

    def _run_internal(self, name: str) -> None:
        if any(program.name == name for program in self._spec.programs):
            self._tracing.run(name)

    def _activity(self) -> int:
        ((_, value),) = self._tracing.read_map("state")
        return int.from_bytes(value[:4], "little")

    def _status(self) -> int:
        """The argument of exit(): as recorded or, where the record was lost, as the programs left it."""
        if self._consumer.exit_status is not None:
            return self._consumer.exit_status
        ((_, value),) = self._tracing.read_map("state")
        return int.from_bytes(value[4 * STATE_STATUS :][:4], "little", signed=True)

    def _set_activity(self, activity: int) -> None:
        """Only the activity word changes; the word behind it belongs to the programs."""
        ((key, value),) = self._tracing.read_map("state")
        self._tracing.write_map("state", key, activity.to_bytes(4, "little") + value[4:])

    def close(self, progress: Progress | None = None) -> None:
        """Detach and free everything; `progress` is told how far it is."""
        self._surroundings.close()
        try:
            self._report.close()
        finally:
            self._tracing.close(progress)


def _detaching_progress() -> Progress:
    """Shows how far detaching is; made where that takes long."""
    shown: list[Progress] = []

    def tell(done: int, total: int) -> None:
        if not shown:
            shown.append(session_progress.DetachingProgress())
        shown[0](done, total)

    return tell


def _looks_into_processes(spec: TracingSpec) -> bool:
    """Whether stacks are walked by tables of the files that a process has mapped, or its memory is watched."""
    watches = any(served.probe.module == BREAKPOINT for program in spec.programs for served in program.probes)
    return watches or any(each.name == UNWIND_ROWS for each in spec.maps)


def _in_words(output: int, symbolizer: Symbolizer | None, program: str) -> MakeReport:
    """What makes a report as text, in the layouts of the program's language."""
    showing = report_output.Showing(output, symbolizer, program)
    return lambda spec, shown: reports.text_report(spec, shown, showing)


def setting(options: OptionTable, shown: Options) -> Callable[[str, str], str | None]:
    """Carries out setopt(): why an option cannot be set, if it cannot."""

    def set_option(name: str, value: str) -> str | None:
        try:
            options.set_while_tracing(name, value)
        except OptionError as error:
            return str(error)
        display_options(options, shown)
        return None

    return set_option


def captured(
    spec: TracingSpec, report: Report, packets: CaptureFile | None, is_live: bool = True
) -> captures_sink.Captures | None:
    """The sink in front of the report, if packets go to a file, with their texts as comments."""
    if packets is None:
        return None

    return captures_sink.Captures(spec, report, packets, is_live)


def tell_waiting(spec: TracingSpec, read: Callable[[str], list[tuple[bytes, bytes]]], report: Sink) -> None:
    """Say how many firings of entries would have gone on at the return of a system call that has not come."""
    if any(each.name == WAITING for each in spec.maps):
        waiting = sum(int.from_bytes(value, "little") for _, value in read(WAITING))
        if waiting:
            report.drop(Drop("waiting", None, waiting))


def packet_losses(contents: Iterable[tuple[bytes, bytes]]) -> dict[int, int]:
    """What the map `spec.PACKET_LOSSES` says, by probe."""
    return {int.from_bytes(key, "little"): int.from_bytes(value, "little") for key, value in contents}
