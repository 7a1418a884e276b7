"""Firings of a recording, one after the other: programs run for them as they ran, or would have run, then.

A firing runs the programs of its probe. Where a program's own probe was not recorded, but another one that is fired by
the same event was, it runs for that one's firings.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice

from sonde.arch import registers
from sonde.bpf import programs
from sonde.engines.embedded.sources import recorded_packets
from sonde.engines.embedded.sources.buffers import Buffers
from sonde.engines.embedded.sources.clock_events import ClockEvents
from sonde.engines.embedded.sources.firings import Clock
from sonde.engines.embedded.sources.recorded_world import FiringAnswers, ReplayedTask
from sonde.engines.embedded.sources.stops import FIRINGS, Record
from sonde.engines.fired import BY_FRAMES, EMBEDDED, FOREIGN, KERNEL, FiringSource, FiringThread, RecordedFiring
from sonde.formats.perf_events import SOFTWARE_CPU_CLOCK
from sonde.machine.system import monotonic_ns
from sonde.model.firing_names import MissingParts
from sonde.model.probe import Firing, Internal, Packet, PerfEvent, Probe, RawTracepoint, Syscall, Timer, Tracepoint
from sonde.model.units import MILLISECOND
from sonde.runtime.environment import Environment
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.programs.ready import ReadyProgram
from sonde.runtime.structures import Structures
from sonde.symbols.current_images import CurrentImages
from sonde.symbols.process_events import ProcessEvent
from sonde.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sonde.engines.embedded.sources.recorded_packets import RecordedPackets

_AT_ONCE = 64
"""Firings between two looks at all else."""

_NOW = 1
_PATIENCE = 10 * MILLISECOND
"""ns between two looks at a source that had nothing."""

_RECORD: Record = (FIRINGS, 0, 0, 0)
"""Stands for the next firings among the records of stops."""

_ROOM = 8192
"""Bytes of a trace event's record at most (PERF_MAX_TRACE_SIZE, include/linux/trace_events.h)."""


_FORK = "tracepoint", "sched_process_fork"
"""Its second argument is the new thread."""


_FEW_TICKS, _LONG_TICKS = 1000, 30_000
"""Ticks of a clock in a gap between two firings that is not called long, and those in longer gaps of the whole
recording together, where the times are those of others."""

_OWN_FEW_TICKS, _OWN_LONG_TICKS = 10_000, 100_000
"""The same of a file of sonde's own, which may be damaged."""

_MOST_TASKS = 1 << 14
"""Threads whose task_structs are kept, unless the kernel's are meant: those that fired first are forgotten."""


class ReplayedProgram(NamedTuple):
    """A program to be run for firings of a kind, and the cookie that it finds; `clock` is the number of the event whose
    overflow it handles, -1 for others."""

    run: Callable[[int], int]
    cookie: int
    kind: int
    clock: int


class Tick:
    """A clock that was not recorded: a program to be run at `due`, in ns, and every `period` from there on."""

    __slots__ = ("due", "period", "probe", "shot")

    def __init__(self, period: int, probe: Probe, shot: ReplayedProgram) -> None:
        self.period, self.probe, self.shot = max(period, 1000), probe, shot
        self.due = 0


class NotedProcesses:
    """What processes have mapped and the like, as far as firings have been taken up."""

    def __init__(self) -> None:
        self.events: list[ProcessEvent] = []
        self.lost = 0

    @property
    def descriptors(self) -> Sequence[int]:
        return ()

    def read(self) -> Sequence[ProcessEvent]:
        events, self.events = self.events, []
        return events

    def advance(self, pid: int) -> int | None:
        """None: what a recording has of a process is over."""


class ReplayedFirings:
    """The source of a session's firings, and what it notes of processes for their names. `forget` is told of a task's
    address that has come to mean another thread; `is_filling` says that a ring should be read."""

    kind = FIRINGS

    def __init__(
        self, source: FiringSource, memory: MachineMemory, environment: Environment, buffers: Buffers,
        structures: Structures, forget: Callable[[int], None], is_filling: Callable[[], bool],
        is_hasty: bool = False,
    ) -> None:  # fmt: skip
        self.next = 0
        """When there is something to do: at once, or never."""
        self.has_ended = False
        """Whether somebody should look, once, since the last firing has been taken up."""
        self.is_hasty = is_hasty
        """Whether what programs have written is to be read at once."""
        self.missing = MissingParts(source.reads_more)
        self.source = source
        self._environment, self._buffers, self._memory = environment, buffers, memory
        self._packets: RecordedPackets | None = None
        self._names: dict[int, str] = {}
        """What probes are called, by their identifiers."""
        self._structures, self._forget, self._is_filling = structures, forget, is_filling
        images = self._images = CurrentImages()
        self._world = environment.recorded = environment.files = FiringAnswers(
            self.missing, source.origin == EMBEDDED and source.stacks == BY_FRAMES, images.mark
        )
        environment.cpu_time = self._world.cpu_time
        self._record = bytearray(_ROOM)
        self._record_at = memory.add(self._record)
        self._tasks: dict[int, tuple[FiringThread, ReplayedTask]] = {}
        is_foreign = source.origin == FOREIGN
        self._few_ticks = _FEW_TICKS if is_foreign else _OWN_FEW_TICKS
        self._long_ticks = _LONG_TICKS if is_foreign else _OWN_LONG_TICKS
        self._left_out = 0
        self._shared: dict[int, int] = {}
        """What the threads of a process share, by the addresses of task_structs of this engine's own."""
        self._by_place: dict[int, list[ReplayedProgram]] = {}
        self._probes = source.probes
        self._made: dict[int, tuple[int, set[int]]] = {}
        """By a new thread's task_struct its maker, and the probes that this fork has fired so far."""
        self._forks = {at for at, each in enumerate(self._probes) if _event(each.firing)[1:] == _FORK[1:]}
        self._clocks: ClockEvents | None = None
        self._ticks: list[Tick] = []
        self.own: FiringThread | None = None
        self.noted = NotedProcesses()
        self._waiting: Iterator[RecordedFiring | ProcessEvent] = iter(())

    @property
    def events(self) -> FiringSource:
        return self.source

    @property
    def is_over(self) -> bool:
        return self.next == 0

    def connect(self, ready: Sequence[ReadyProgram], clocks: Sequence[Clock]) -> None:
        """The programs that are run for firings."""
        if clocks:
            self._clocks = ClockEvents(clocks, self._environment, self._buffers, None)
        numbers = {(each.probe, each.program.spec.name): number for number, each in enumerate(clocks)}
        events = _by_event(self._probes)
        for program in ready:
            for probe, cookie in program.probes:
                if isinstance(probe.firing, Internal):
                    continue
                clock = numbers.get((probe.id, program.spec.name), -1)
                shot = ReplayedProgram(program.run, cookie, program.spec.kind, clock)
                places = _fired_by(probe, self._probes, events)
                for place in places:
                    self._by_place.setdefault(place, []).append(shot)
                if not places and isinstance(probe.firing, Tracepoint):
                    # What was recorded is the tracepoint, whose arguments are no record.
                    self.missing.note(str(probe), "the record of the trace event", False)
                if not places and isinstance(probe.firing, Timer):
                    self._ticks.append(Tick(probe.firing.period, probe, shot))

    def start(self) -> None:
        self.source.start()
        for each in self._ticks:
            each.due = self.source.began + each.period
        self._waiting = self.source.happenings()
        self.next = _NOW

    def begin_internal(self, name: str) -> bool:
        """Set what a program of BEGIN or END finds, as it was recorded; False if it was not."""
        fired = self.source.internal(name)
        if fired is None:
            return False
        self._set(fired, f"dtrace:::{name}", tuple)
        return True

    def merged(self, records: Sequence[Record], limit: int) -> Sequence[Record]:
        """The records, and behind them one for the next firings."""
        is_due = self.next and (self.next == _NOW or self.next <= monotonic_ns())
        return [*records, _RECORD] if is_due else records

    def handle(self, record: Record) -> None:
        """Run programs for the next firings: few enough that the rings take what is recorded of them."""
        if self._is_filling():
            return
        count = 0
        for each in islice(self._waiting, _AT_ONCE):
            count += 1
            if isinstance(each, RecordedFiring):
                self._fire(each)
                if self._is_filling():
                    return
            else:
                self.noted.events.append(self._images.take(each))
        if count < _AT_ONCE:
            if self.source.is_over:
                self.next = 0
                self.has_ended = True
            else:
                # It grows: nothing wakes anybody, so that its programs need not.
                self.next = _NOW if count else monotonic_ns() + _PATIENCE
                self._waiting = self.source.happenings()

    @property
    def origin(self) -> str:
        return self.source.origin

    @property
    def path(self) -> str:
        return self.source.path

    @property
    def damage(self) -> str:
        return self.source.damage

    @property
    def progress(self) -> tuple[int, int]:
        return self.source.progress

    @property
    def remainder(self) -> str:
        return self.source.remainder

    @property
    def lost(self) -> int:
        return self.source.lost

    def sentences(self) -> list[tuple[str, str]]:
        found = self.missing.sentences()
        if self._left_out and self.source.origin != FOREIGN:
            found.append(
                (f"{self._left_out} ticks were left out where nothing was recorded for long", "tick less often")
            )
        if self._world.has_shown_stack and self.source.stacks == BY_FRAMES and self.source.origin != FOREIGN:
            remedy = "with --record-stacks 8192" if self.source.origin == KERNEL else "without -xunwind=frames"
            text = "stacks of processes are by frame pointers here, and have no callers of functions that keep none"
            found.append((text, f"record {remedy}"))
        return found

    def adopt_descendants(self, pid: int) -> None:
        self.source.adopt_descendants(pid)

    def finish(self) -> None:
        self.source.finish()
        if self.next:
            self.next = _NOW

    # Firings

    def _fire(self, fired: RecordedFiring) -> None:
        if self._ticks:
            self._tick(fired)
        if fired.probe in self._forks:
            self._begin_thread(fired)
        shots = self._by_place.get(fired.probe)
        if not shots:
            return
        probe = self._probes[fired.probe]
        self._run(fired, probe, shots)

    def _begin_thread(self, fired: RecordedFiring) -> None:
        """Where the new thread has its task_struct another one may have had it before. One fork fires all probes that
        follow from it, each once."""
        address = int.from_bytes(fired.context[8:16], "little")
        maker, told = self._made.get(address, (0, set()))
        if maker == fired.thread.tid and fired.probe not in told:
            told.add(fired.probe)
            return
        self._made[address] = fired.thread.tid, {fired.probe}
        if self.source.origin != FOREIGN:
            self._tasks.pop(address, None)
            self._forget(address)

    def _tick(self, fired: RecordedFiring) -> None:
        """Clocks that were not recorded, up to the firing: their time is all that they take."""
        if self.source.path:
            for each in self._ticks:
                self._leave_out(each, fired.time)
        while True:
            tick = min(self._ticks, key=lambda each: each.due)
            if tick.due > fired.time:
                return
            own = FiringThread(self._environment.task.tid, self._environment.task.pid, b"sonde", 0, 0)
            self._run(RecordedFiring(-1, tick.due, 0, self.own or own), tick.probe, (tick.shot,))
            tick.due += tick.period

    def _leave_out(self, tick: Tick, until: int) -> None:
        """Times in files are not believed: of a long gap the ticks that there is no room for are left out."""
        late = (until - tick.due) // tick.period
        if late > self._few_ticks:
            taken = min(late, self._long_ticks)
            self._long_ticks -= taken
            left_out = late - taken
            self._left_out += left_out
            tick.due += left_out * tick.period

    def _run(self, fired: RecordedFiring, probe: Probe, shots: Sequence[ReplayedProgram]) -> None:
        buffers, environment = self._buffers, self._environment
        size = registers.SIZE
        given, name = fired.registers, self._names.get(probe.id) or self._name(probe)
        buffers.registers[:size] = given if len(given) == size else given[:size].ljust(size, b"\0")
        arguments = partial(self._arguments, probe.firing, fired)
        self._set(fired, name, arguments)
        context = self._context(probe.firing, fired)
        if fired.packet is not None or environment.packet is not None:
            self._recorded_packets().show(fired)
        for number, shot in enumerate(shots):
            environment.cookie, environment.probe = shot.cookie, probe.id
            if number:
                self._world.begin(fired, name, arguments)
            if shot.clock >= 0 and self._clocks is not None:
                self._clocks.overflow(shot.clock)
            elif shot.kind == programs.KPROBE:
                shot.run(buffers.registers_at)
            elif isinstance(probe.firing, Packet):
                environment.kind, environment.tail_calls = shot.kind, 0
                shot.run(self._recorded_packets().context(fired, probe.firing, shot.kind))
            else:
                shot.run(context)

    def _name(self, probe: Probe) -> str:
        return self._names.setdefault(probe.id, str(probe))

    def _recorded_packets(self) -> recorded_packets.RecordedPackets:
        if self._packets is None:
            self._packets = recorded_packets.RecordedPackets(self._memory, self._environment)
        return self._packets

    def _set(self, fired: RecordedFiring, probe: str, arguments: Callable[[], tuple[int, ...]]) -> None:
        environment = self._environment
        environment.task = self._task(fired.thread)
        environment.now = fired.time
        self._world.begin(fired, probe, arguments)

    def _arguments(self, firing: Firing, fired: RecordedFiring) -> tuple[int, ...]:
        """arg0 and following, to say which one is missing."""
        if isinstance(firing, Syscall):
            if firing.is_return:
                return ()
            places = registers.CALL_ARGUMENTS
        elif isinstance(firing, Packet):
            return ()
        elif isinstance(firing, RawTracepoint):
            return struct.unpack(f"={len(fired.context) // 8}Q", fired.context[: len(fired.context) & -8])
        else:
            places = registers.ARGUMENTS
        return tuple(int.from_bytes(self._buffers.registers[at : at + 8], "little") for at in places)

    def _context(self, firing: Firing, fired: RecordedFiring) -> int:
        """The address of what the program was given."""
        buffers = self._buffers
        if isinstance(firing, Syscall):
            at = registers.RESULTS[0] if firing.is_return else registers.CALL_NUMBER
            second = int.from_bytes(buffers.registers[at : at + 8], "little")
            struct.pack_into("=QQ", buffers.arguments, 0, buffers.registers_at, second)
        elif isinstance(firing, Tracepoint):
            self._record[:] = fired.context[:_ROOM].ljust(_ROOM, b"\0")
            return self._record_at
        else:
            room = len(buffers.arguments)
            buffers.arguments[:] = fired.context[:room].ljust(room, b"\0")
        return buffers.arguments_at

    def _task(self, thread: FiringThread) -> ReplayedTask:
        known = self._tasks.get(thread.address or thread.tid)
        if known is not None and known[0] == thread:
            return known[1]
        if known is not None and _is_same(known[0], thread):
            # It has another name by now, another parent, or by exec the number of its process.
            address = known[1].address
        elif self.source.origin != FOREIGN:
            address = thread.address
            if known is not None:
                self._forget(address)
        else:
            self._make_room()
            address = self._structure(thread)
        self._describe(address, thread)
        task = ReplayedTask(thread, address, self._buffers.registers_at)
        self._tasks[thread.address or thread.tid] = thread, task
        return task

    def _make_room(self) -> None:
        """Let go the task_struct of the thread that was known first, where there are too many."""
        if len(self._tasks) < _MOST_TASKS:
            return
        address = self._tasks.pop(next(iter(self._tasks)))[1].address
        self._forget(address)
        self._structures.remove_task(address)
        self._structures.remove_process(self._shared.pop(address))

    def _structure(self, thread: FiringThread) -> int:
        """A task_struct of this engine's own, for programs that look at members."""
        shared = self._structures.add_process()
        address = self._structures.add_task(thread.tid, thread.pid, shared)
        self._shared[address] = shared
        return address

    def _describe(self, address: int, thread: FiringThread) -> None:
        if self.source.origin == FOREIGN:
            self._structures.set_name(address, thread.comm)

    def close(self) -> None:
        """Closing twice is harmless."""
        self._waiting = iter(())
        self.next = 0
        self.source.close()


def _is_same(before: FiringThread, after: FiringThread) -> bool:
    """Whether two firings with one task_struct are of one thread. That of a thread that executes another program stays
    and gets the number of its process (de_thread() of fs/exec.c)."""
    return after.tid in (before.tid, before.pid) and after.pid == before.pid


def _event(firing: Firing) -> tuple[object, ...]:
    """What fires, for probes that are fired alike."""
    match firing:
        case Syscall(number=number, is_return=is_return, compat=compat):
            return "call", number, is_return, compat
        case RawTracepoint(name=name, filtered=filtered):
            return "filtered" if filtered else "tracepoint", name
        case Timer(period=period, every_cpu=every_cpu):
            return "clock", period, every_cpu
        case PerfEvent():
            return "overflow", firing
        case Tracepoint(group=group, name=name):
            return "event", group, name
        case Packet(device=device, is_egress=is_egress):
            return "packet", device, is_egress
    return (firing,)


def _by_event(probes: Sequence[Probe]) -> dict[tuple[object, ...], int]:
    """Of the probes that an event fires the place of the first."""
    found: dict[tuple[object, ...], int] = {}
    for place, each in enumerate(probes):
        found.setdefault(_event(each.firing), place)
    return found


def _fired_by(probe: Probe, recorded: Sequence[Probe], events: dict[tuple[object, ...], int]) -> list[int]:
    """The places of the recorded probes whose firings run a program of `probe`: itself, or the first that is fired so
    as well."""
    event = _event(probe.firing)
    own = [at for at, each in enumerate(recorded) if _is_own(probe, each) and _event(each.firing) == event]
    own += [at for at, each in enumerate(recorded) if _is_filtered(probe, each)]
    if own or event in events:
        return own or [events[event]]
    # A program that does not look at the arguments of a trace event is one of its tracepoint.
    name = probe.firing.name if isinstance(probe.firing, RawTracepoint) else None
    return [at for at, each in enumerate(recorded) if _is_event_of(each.firing, name)][:1]


def _is_own(probe: Probe, recorded: Probe) -> bool:
    """Whether the recording calls it so. A file of other tools has numbers of its own for its probes, and may have two
    events that count the same."""
    return recorded.id == probe.id or str(recorded) == str(probe)


def _is_event_of(firing: Firing, tracepoint: str | None) -> bool:
    return isinstance(firing, Tracepoint) and firing.is_tracepoint and firing.name == tracepoint


def _is_filtered(probe: Probe, recorded: Probe) -> bool:
    """Whether of the event that fires both those firings were recorded that are the probe's."""
    return (
        isinstance(recorded.firing, RawTracepoint)
        and recorded.firing.filtered
        and recorded.firing._replace(filtered=False) == probe.firing
        and str(recorded) == str(probe)
    )


def is_held(probe: Probe, recorded: Sequence[Probe]) -> bool:
    """Whether a recording of these probes has firings for programs of `probe`."""
    events = {_event(each.firing) for each in recorded}
    firing = probe.firing
    if isinstance(firing, Tracepoint) and firing.is_tracepoint and _event(RawTracepoint(firing.name)) in events:
        return True
    return _event(firing) in events or any(_is_filtered(probe, each) for each in recorded)


def clocks_of(ready: Sequence[ReadyProgram]) -> tuple[Clock, ...]:
    """The programs that are handlers of overflows, as events of this engine: whatever event was recorded."""
    found = []
    for program in ready:
        for probe, cookie in program.probes:
            if isinstance(probe.firing, (Timer, PerfEvent)):
                period = max(probe.firing.period, 1)
                found.append(
                    Clock(period, False, program, cookie, SOFTWARE_CPU_CLOCK, str(probe), probe.id)
                )  # fmt: skip
    return tuple(found)
