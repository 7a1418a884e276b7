"""What a program finds as its context where it is fired, by its type: sources have that of a raw tracepoint."""

from __future__ import annotations

from sonde.bpf import programs
from sonde.bpf.helpers import NUMBERS, PROBE_NAME
from sonde.engines.embedded.sources import event_handlers
from sonde.engines.embedded.sources.buffers import Buffers
from sonde.model.probe import Firing, Probe, RawTracepoint, Syscall, Tracepoint, Uprobe
from sonde.runtime.environment import Environment
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.perf import trace_events
from sonde.runtime.programs.ready import ReadyProgram, Run, called_helpers
from sonde.typed import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sonde.engines.embedded.sources.event_handlers import EventHandlers
    from sonde.runtime.perf.trace_events import TraceEvent

_ASKING = frozenset((NUMBERS["tail_call"], PROBE_NAME))
"""Helpers by which a program may come to know what fired."""


def event_of(firing: Tracepoint) -> TraceEvent | None:
    """The trace event that fires, None if the engine does not have it."""
    return trace_events.trace_event(firing.group, firing.name)


class ProgramTap(Protocol):
    """What records firings."""

    def run(self, run: Run, probe: Probe, kind: int) -> Run:
        """A program as it is run for a probe, and then recorded."""


class Contexts:
    """`buffers` has the firing's registers, and the arguments of the raw tracepoint."""

    def __init__(
        self, memory: MachineMemory, environment: Environment, buffers: Buffers, tap: ProgramTap | None = None
    ) -> None:
        """`tap` records firings."""
        self._tap = tap
        self._memory = memory
        self._environment = environment
        self._buffers = buffers
        self._handlers: EventHandlers | None = None

    def run(self, program: ReadyProgram, probe: Probe) -> Run:
        """How the program is run where the probe fires, with the address of a raw tracepoint's arguments. Raises
        EngineError for one that cannot be attached there."""
        run = self._run(program, probe)
        return run if self._tap is None else self._tap.run(run, probe, program.spec.kind)

    def _run(self, program: ReadyProgram, probe: Probe) -> Run:
        spec, firing, run = program.spec, probe.firing, program.run
        if isinstance(firing, Tracepoint):
            run = self._at_events().run(program, probe, firing)
        elif spec.kind == programs.PROBE:
            run = self._converted(program, programs.KPROBE if isinstance(firing, Uprobe) else programs.RAW_TRACEPOINT)
        elif not called_helpers(spec) & _ASKING:
            return run
        return self._named(run, probe)

    def _at_events(self) -> event_handlers.EventHandlers:
        if self._handlers is None:
            self._handlers = event_handlers.EventHandlers(self._memory, self._environment, self._buffers)
        return self._handlers

    def _named(self, run: Run, probe: Probe) -> Run:
        """It, or a program that it calls, may ask what fired."""
        environment, identifier, tracepoint = self._environment, probe.id, _tracepoint(probe.firing)

        def fire(context: int) -> int:
            environment.probe, environment.tracepoint = identifier, tracepoint
            return run(context)

        return fire

    def _converted(self, program: ReadyProgram, kind: int) -> Run:
        """A general program: with what a program of that kind, of a raw tracepoint or a uprobe, would give it by a tail
        call."""
        environment, called = self._environment, program.callable
        assert called is not None
        return lambda context: called.fire(kind, context, environment.cookie)


def _tracepoint(firing: Firing) -> str:
    """The raw tracepoint that fires, "" for what has none."""
    match firing:
        case RawTracepoint(name=name):
            return name
        case Syscall(is_return=is_return):
            return "sys_exit" if is_return else "sys_enter"
        case Tracepoint():
            event = event_of(firing)
            return event.tracepoint if event is not None else ""
    return ""
