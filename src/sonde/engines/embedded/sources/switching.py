"""Switches of the traced threads as tracepoints fire with them, in one order with the records of stops.

A thread has the CPU before the guardian tells that it was made: what it did by then is told right behind that. The
kernel takes the events from a thread that ends, so it leaves the CPU for the last time when the guardian tells its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from sonde.bpf.helpers import NUMBERS
from sonde.engines.embedded.sources.firings import SWITCHES
from sonde.engines.embedded.sources.inherited_events import why_not
from sonde.engines.embedded.sources.interleaving import Interleaving
from sonde.engines.embedded.sources.registers import may_load_state
from sonde.engines.embedded.sources.stops import SWITCHED, Handler, Record
from sonde.engines.embedded.sources.switch_events import Switch, SwitchEvents
from sonde.engines.embedded.sources.task import TracedTask
from sonde.engines.embedded.sources.wishes import USER
from sonde.engines.embedded.tracer import stops
from sonde.machine.system import monotonic_ns
from sonde.model.errors import EngineError
from sonde.model.probe import RawTracepoint
from sonde.model.spec import ProgramSpec, TracingSpec
from sonde.model.units import MILLISECOND, SECOND
from sonde.runtime.programs.ready import called_helpers

OUT, IN = SWITCHES

_KERNEL = "the kernel engine (root, or CAP_BPF and CAP_PERFMON)"
_STANDING = USER | {NUMBERS["task_pt_regs"]}

_OFTEN = 20 * MILLISECOND
"""ns between two looks at the rings."""

_PATIENCE = SECOND
"""ns for which a thread's first switches wait for its making where no other records come."""

_MOST_EARLY = 4096
"""Switches of a thread that wait so at most."""

Fire = Callable[..., None]
"""(tracepoint, thread, time, arguments ...)"""


def open_switches(spec: TracingSpec, tids: Iterable[int], others: int) -> SwitchEvents:
    """The events that the spec's programs fire with; `others` as in SwitchEvents. Raises EngineError."""
    fired = [
        (str(probe), probe.firing.name, program) for program in spec.programs for probe, _ in program.probes
        if isinstance(probe.firing, RawTracepoint) and probe.firing.name in SWITCHES
    ]  # fmt: skip
    for probe, tracepoint, program in fired:
        _require_told(probe, tracepoint, program)
    try:
        return SwitchEvents(tids, others)
    except OSError as error:
        raise EngineError(f"{fired[0][0]}: the kernel does not tell of switches: {why_not(error)}") from None


def _require_told(probe: str, tracepoint: str, program: ProgramSpec) -> None:
    """Raises EngineError for a program that asks for more than records of switches tell."""
    if called_helpers(program) & _STANDING:
        raise EngineError(
            f"{probe}: what looks into a process, at its registers, stack, memory, files or vtimestamp, or acts on "
            f"it, needs a thread that stands, and here it runs on; {_KERNEL} has them"
        )
    if tracepoint == OUT and may_load_state(program):
        raise EngineError(
            f"{probe}: whether a thread that leaves a CPU sleeps, is stopped or ends (pr_state, pr_sname, pr_flag) is "
            f"not told to users; {_KERNEL} tells"
        )


class Switching:
    """Fires the tracepoints of switches. `lost` counts switches that fired nothing."""

    kind = SWITCHED

    def __init__(self, events: SwitchEvents, known: Mapping[int, TracedTask], fire: Fire) -> None:
        """`known` are the threads that are traced, by number."""
        self.events = events
        self.next = 0
        """When the rings are to be looked at, in ns of CLOCK_MONOTONIC."""
        self._known = known
        self._fire = fire
        self._lost = 0
        self._order = Interleaving(SWITCHED)
        self._running: set[int] = set()
        self._early: dict[int, list[Switch]] = {}

    @property
    def lost(self) -> int:
        return self.events.lost + self._lost

    def start(self) -> None:
        self.next = monotonic_ns() + _OFTEN
        self.events.enable()

    def watch(self, handlers: dict[int, Handler]) -> None:
        """Follow who is made and who is gone."""
        forked, started = handlers[stops.FORK], handlers[stops.START]
        executed, ended = handlers[stops.EXEC], handlers[stops.END]

        def made(record: Record) -> None:
            forked(record)
            self._tell_early(record[4])

        def begun(record: Record) -> None:
            started(record)
            self._tell_early(record[2])

        def renamed(record: Record) -> None:
            if record[4] != record[2]:
                self._running.discard(record[4])
                self._running.add(record[2])
            executed(record)

        def over(record: Record) -> None:
            tid = record[2]
            self._lost += len(self._early.pop(tid, ()))
            if tid in self._running and tid in self._known:
                self._tell(Switch(record[3], tid, True, False))
            self._running.discard(tid)
            ended(record)

        handlers |= {stops.FORK: made, stops.START: begun, stops.EXEC: renamed, stops.END: over}

    def merged(self, records: Sequence[Record], limit: int) -> Sequence[Record]:
        """The records, and among them the switches up to that time, behind which there may be other records."""
        self.next = monotonic_ns() + _OFTEN
        if not records:
            self._give_up(limit - _PATIENCE)
        return self._order.merged(records, self.events.take(), limit)

    def handle(self, record: Record) -> None:
        """The handler of SWITCHED."""
        switch: Switch = self._order.event(record)
        if switch.tid in self._known:
            self._tell(switch)
        else:
            waiting = self._early.setdefault(switch.tid, [])
            if len(waiting) < _MOST_EARLY:
                waiting.append(switch)
            else:
                self._lost += 1

    def _tell(self, switch: Switch) -> None:
        task = self._known[switch.tid]
        if not switch.is_out:
            self._running.add(switch.tid)
            self._fire(IN, task, switch.time, task.address)
            return
        self._running.discard(switch.tid)
        self._fire(OUT, task, switch.time, task.address, int(switch.is_runnable))

    def _tell_early(self, tid: int) -> None:
        for switch in self._early.pop(tid, ()) if tid in self._known else ():
            self._tell(switch)

    def _give_up(self, before: int) -> None:
        """Nobody tells of threads whose last switch was before that: they are not traced (CLONE_UNTRACED)."""
        for tid in [tid for tid, switches in self._early.items() if switches[-1].time < before]:
            self._lost += len(self._early.pop(tid))

    def close(self) -> None:
        self.events.close()
