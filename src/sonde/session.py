"""One tracing session: compile, load, attach, consume, report. The only file that knows all the others."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence

from sonde.codegen.compiler import Compilation
from sonde.codegen.settings import Settings
from sonde.consume.consumer import Consumer
from sonde.consume.options import Options
from sonde.engines.base import Engine, Tracing
from sonde.lang.program import Program
from sonde.options import OptionError, OptionTable
from sonde.probes.registry import Registry
from sonde.report.symbolizer import Symbolizer
from sonde.report.text import TextReport
from sonde.spec import ACTIVE, DRAINING, INACTIVE, STATE_STATUS, STOPPED, PrintfAction, TraceAction, TracingSpec
from sonde.target.target import Target
from sonde.typed import BinaryIO, NamedTuple, Protocol

BATCH = 0.01
"""Seconds between a wake-up's draining and the next: records gather meanwhile, and no line is late."""

IDLE = 0.2
"""Longest sleep, so that drops and the end of a traced process are noticed in time."""


class Traced(Protocol):
    """A process whose end ends the session."""

    pid: int
    descriptor: int

    def resume(self) -> None: ...

    def close(self) -> None: ...


class Result(NamedTuple):
    """How the session ended: the argument of exit(), 0 without one; whether a signal asked for the end."""

    status: int
    interrupted: bool


def settings_of(options: OptionTable) -> Settings:
    """The options that the code generator needs."""
    default = Settings()
    return Settings(
        strsize=options.number("strsize", default.strsize),
        bufsize=options.number("bufsize", default.bufsize),
        aggsize=options.number("aggsize", default.aggsize),
        dynvarsize=options.number("dynvarsize", default.dynvarsize),
        stackframes=options.number("stackframes", default.stackframes),
        ustackframes=options.number("ustackframes", default.ustackframes),
        maxframes=options.number("maxframes", default.maxframes),
        printsize=options.number("printsize", default.printsize),
        pcapsize=(options.number("pcapsize", default.pcapsize) + 7) & ~7,
        scratchsize=options.number("scratchsize", default.scratchsize),
        rings_per_cpu=options.text("rings") == "cpu",
        cpu=options.number("cpu", 0) if options.is_set("cpu") else None,
        maxloop=options.number("maxloop", default.maxloop),
        nspec=options.number("nspec", default.nspec),
        specsize=options.number("specsize", default.specsize),
    )


def compile_session(
    program: Program, options: OptionTable, target: Target, registry: Registry, sources: dict[str | None, list[str]]
) -> Compilation:
    """A checked program, laid out for this target."""
    return Compilation(program, settings_of(options), target, registry.tagged_type, _fields_of(registry), sources)


def _fields_of(registry: Registry) -> Callable:  # type: ignore[type-arg]
    return registry.fields


_SWITCHES = ("aggpercpu", "aggsortkey", "aggsortrev", "droptags", "flowindent", "noresolve", "quiet", "rawbytes")
_NUMBERS = ("aggrate", "aggsortkeypos", "aggsortpos", "printsize", "stackindent", "strsize")


def display_options(options: OptionTable, shown: Options) -> Options:
    """Bring the run-time options up to date with the table."""
    for name in filter(options.is_set, _SWITCHES):
        setattr(shown, name, options.on(name))
    for name in filter(options.is_set, _NUMBERS):
        setattr(shown, name, options.number(name, 0))
    shown.testing = "_DTRACE_TESTING" in os.environ
    return shown


class Signals:
    """SIGINT and SIGTERM while tracing: the first asks for the end, the second ends at once."""

    def __init__(self) -> None:
        self.asked = False
        self._reader, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        # What is ignored, as a shell has it for a command in the background, stays so.
        wanted = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) != signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._handle) for number in wanted}
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)

    @property
    def descriptor(self) -> int:
        """Readable once a signal has come."""
        return self._reader

    def _handle(self, number: int, _frame: object) -> None:
        if self.asked:
            os._exit(128 + number)
        self.asked = True

    def close(self) -> None:
        signal.set_wakeup_fd(-1)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._reader)
        os.close(self._writer)


def _names_user_addresses(spec: TracingSpec) -> bool:
    """Whether the report may ask for names in a process."""
    groups = [aggregation.keys for aggregation in spec.aggregations]
    actions = [action for layout in spec.records for action in layout.actions]
    groups += [(action.field,) for action in actions if isinstance(action, TraceAction)]
    groups += [action.fields for action in actions if isinstance(action, PrintfAction)]
    return any(field.kind in ("ustack", "user_symbol") for group in groups for field in group)


class Session:
    """Traces one compiled program to its end.

    `traced` are processes whose end ends the session, let go when tracing has begun; who made them closes them.
    `remember` is told their pids, again and again as long as they live, so that their addresses can be named later.
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
        raw: BinaryIO | None = None,
        remember: Callable[[int], object] | None = None,
    ) -> None:
        self._spec = spec
        self._remember = remember if traced and _names_user_addresses(spec) else None
        self._options = options
        self._remember_due = 0.0
        self._traced = list(traced)
        self._shown = display_options(options, Options())
        self._tracing: Tracing = engine.load(spec)
        source = self._recorded(raw)
        self._report = TextReport(spec, self._shown, output, symbolizer=symbolizer, program=program_name)
        self._consumer = Consumer(
            spec, source, self._report, self._shown, self._set_option, self._report.label,
            options.number("statusrate", 10**9) / 1e9,
        )  # fmt: skip

    def _recorded(self, raw: BinaryIO | None) -> Tracing:
        if raw is None:
            return self._tracing
        from sonde.consume.raw import Recorder

        return Recorder(self._tracing, self._spec, raw, self._shown)

    def _set_option(self, name: str, value: str) -> str | None:
        try:
            self._options.set_while_tracing(name, value)
        except OptionError as error:
            return str(error)
        display_options(self._options, self._shown)
        return None

    def run(self) -> Result:
        """From BEGIN to END and the last line of output."""
        signals = Signals()
        try:
            self._tracing.attach()
            self._start()
            self._follow(signals)
            self._wait_for_status(signals)
            self._stop(signals)
            status = self._status()
        finally:
            signals.close()
            self.close()
        return Result(status, signals.asked)

    def _start(self) -> None:
        self._run_internal("BEGIN")
        if self._activity() == INACTIVE:
            self._set_activity(ACTIVE)
        if not self._options.number("switchrate", 0):
            self._consumer.poll()
        self._remember_traced()
        for each in self._traced:
            each.resume()

    def _remember_traced(self) -> None:
        if self._remember is not None:
            for each in self._traced:
                self._remember(each.pid)

    def _follow(self, signals: Signals) -> None:
        """Drain until exit(), a signal, or the end of what is traced."""
        alive = {each.descriptor for each in self._traced}
        while self._consumer.exit_status is None and not signals.asked:
            ready = self._pause((signals.descriptor, *alive))
            if time.monotonic() >= self._remember_due:
                self._remember_due = time.monotonic() + IDLE
                self._remember_traced()
            self._consumer.poll()
            if alive:
                alive -= set(ready)
                if not alive:
                    return
            if self._activity() != ACTIVE:
                # The record of exit() may have found the ring full.
                return
            if not self._options.number("switchrate", 0) and self._consumer.exit_status is None and not signals.asked:
                self._tracing.pause(BATCH)

    def _pause(self, descriptors: tuple[int, ...]) -> list[int]:
        """Until there is something to do; those of the descriptors that are readable.

        With the option switchrate the rings are read that often, not as soon as there is something in them.
        """
        rate = self._options.number("switchrate", 0)
        return self._tracing.pause(rate / 1e9, descriptors) if rate else self._tracing.wait(IDLE, descriptors)

    def _wait_for_status(self, signals: Signals) -> None:
        """With the option statusrate it is seen that often, not at once, that exit() was called."""
        if self._options.is_set("statusrate") and not signals.asked:
            self._tracing.pause(max(self._consumer.status_due - time.monotonic(), 0), (signals.descriptor,))

    def _stop(self, signals: Signals) -> None:
        self._set_activity(DRAINING)
        self._consumer.poll()
        self._run_internal("END")
        self._set_activity(STOPPED)
        if signals.asked and not self._shown.testing:
            self._report.blank_line()
        self._consumer.finish()

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

    def close(self) -> None:
        """Detach and free everything."""
        try:
            self._report.close()
        finally:
            self._tracing.close()


def show_recorded(
    file: BinaryIO, options: OptionTable, output: int, program_name: str, symbolizer: Symbolizer | None = None
) -> int:
    """Show a raw file as its session was shown, but for `options`; returns exit()'s argument. Raises RawFileError."""
    from sonde.consume.raw import Replay, replay

    recorded = Replay(file)
    shown = display_options(options, recorded.options)

    def set_option(name: str, value: str) -> str | None:
        try:
            options.set_while_tracing(name, value)
        except OptionError as error:
            return str(error)
        display_options(options, shown)
        return None

    report = TextReport(recorded.spec, shown, output, symbolizer=symbolizer, program=program_name)
    consumer = Consumer(recorded.spec, recorded, report, shown, set_option, report.label, float("inf"))
    replay(recorded, consumer)
    report.close()
    return consumer.exit_status or 0
