"""Which probes the samples of a perf.data file's events are firings of.

A sample of a trace event is one of `sdt:GROUP::EVENT`; of system calls' events one of `syscall:::`, and of the
tracepoint that all calls hit; of some of the scheduler's one of the tracepoints that `sched` and `proc` follow from. A
sample of another event is one of `profile-N` where that counts time, and of `perf:SOURCE::EVENT-N` else; N is the
period, or, `Nhz`, the rate. sonde's own files name the probe that an event is of.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from sonde.arch import perf_registers, registers
from sonde.engines.fired import FiringThread, MemoryRead, RecordedFiring
from sonde.formats import perf_events as perf
from sonde.formats.perf_data import Event
from sonde.formats.perf_data_input import PerfDataInput
from sonde.formats.perf_filed_samples import FiledSample
from sonde.formats.perf_side_band import SideBand, ThreadEnded, ThreadMade, ThreadNamed, ThreadSwitched
from sonde.formats.perf_tracing_data import DescribedEvent
from sonde.model.probe import PerfEvent, Probe, Timer, Tracepoint
from sonde.model.units import SECOND
from sonde.recording.perf_calls import ALL, CallEvent, call_event
from sonde.recording.perf_tasks import Hit, Hits, TaskStructures, scheduler_event, tracepoint
from sonde.recording.perf_threads import FiledThreads
from sonde.symbols.unwinding.kept_stacks import KeptStacks

_SOURCES = {0: "hardware", 1: "software", 3: "hw-cache"}
_TIME = ((0, 0), (1, 0), (1, 1))
"""Type and config of the events that count time: cycles, cpu-clock and task-clock."""
_SILENT = ((1, perf.SOFTWARE_BPF_OUTPUT), (1, perf.SOFTWARE_DUMMY))
"""Those whose samples are no firings: records of programs, and none."""

_USER_MODE = registers.MODE_BITS.to_bytes(8, "little")
_LEAST = perf_registers.LEAST
_PID = (1 << 31) - 1
_NO_CALL = (1 << 64) - 1
_REGISTERS_AT = 0xFFFF_C000_0000_0000 - 4096
"""Where the registers of a system call seem to be that its tracepoint points to."""
_TWO = struct.Struct("=QQ")
_U64 = (1 << 64) - 1

Firings = Callable[[FiledSample, FiringThread], Iterator[RecordedFiring]]
"""What a sample fires in a thread."""


class FiledProbes:
    """The probes of a file, `all` of them in the order of their numbers, and what samples and other records fire."""

    def __init__(self, file: PerfDataInput, stacks: KeptStacks) -> None:
        """`stacks` walks those that samples have as bytes."""
        self._stacks = stacks
        self._masks = [event.sample_regs_user for event in file.events]
        self.all: list[Probe] = []
        self.threads = FiledThreads()
        self._tasks = TaskStructures(self.threads)
        self._places: dict[str, int] = {}
        described = [_described(event, file.described) for event in file.events]
        calls = [call_event(each) if each else None for each in described]
        wide = {call.is_return for call in calls if call and not call.name}
        self._firings: list[list[Firings]] = []
        for event, name, text, call in zip(file.events, file.names, described, calls, strict=True):
            found: list[Firings] = []
            if call is not None and (not call.name or call.is_return not in wide):
                found.append(self._of_calls(call))
            elif text is not None and (scheduled := scheduler_event(text)) is not None:
                found.append(self._of_scheduler(*scheduled))
            if text is not None and (call is None or text.group == ALL):
                place = self._place(Probe(0, "sdt", text.group, "", text.name, Tracepoint(text.group, text.name)))
                found.append(_of_record(place))
            elif event.type != perf.TYPE_TRACEPOINT and (event.type, event.config) not in _SILENT:
                found += self._of_overflow(event, name)
            self._firings.append(found)
        flags = 0
        for event in file.events:
            flags |= event.flags
        self._told = self._of_records(flags)

    def sampled(self, event: int, sample: FiledSample) -> Iterator[RecordedFiring]:
        """What a sample of an event fires."""
        thread = self.threads.thread(sample.pid, sample.tid, sample.cpu)
        sample, unwound = self._with_stack(sample, self._masks[event])
        for each in self._firings[event]:
            for fired in each(sample, thread):
                is_own = unwound is not None and fired.thread is thread
                yield fired._replace(unwound=unwound) if is_own else fired

    def told(self, time: int, pid: int, tid: int, cpu: int, value: SideBand) -> Iterator[RecordedFiring]:
        """What another record fires, which was written by a thread; threads are followed."""
        has_ended = self.threads.take(value)
        hit = self._hit(pid, tid, cpu, value, has_ended) if time and pid >= 0 else None
        if hit is not None and hit.name in self._told:
            thread = hit.thread or self.threads.thread(pid, tid, cpu)
            yield RecordedFiring(self._told[hit.name], time, max(cpu, 0), thread, hit.context, b"", hit.reads)

    def _with_stack(self, sample: FiledSample, mask: int) -> tuple[FiledSample, Callable[[], tuple[int, ...]] | None]:
        """Of a sample with registers in the place of a call chain, that chain's first address and what finds all."""
        kept = bool(sample.stack) or sample.user_stack is not None
        if not sample.registers or sample.user_stack or not kept or mask & _LEAST != _LEAST:
            return sample, None
        taken = bytearray(perf_registers.known_registers(sample.registers, mask))
        if sample.is_32_bit:
            taken[registers.MODE : registers.MODE + 8] = registers.MODE_32_BIT.to_bytes(8, "little")
        counter, stack = (
            int.from_bytes(taken[at : at + 8], "little") for at in (registers.PROGRAM_COUNTER, registers.STACK_POINTER)
        )
        unwound = self._stacks.unwound(sample.pid & _PID, bytes(taken), stack, sample.stack, sample.stack_room)
        return sample._replace(user_stack=(counter,)), unwound

    def _place(self, probe: Probe) -> int:
        """The number of a probe."""
        place = self._places.setdefault(str(probe), len(self.all))
        if place == len(self.all):
            self.all.append(probe._replace(id=place + 1))
        return place

    def _tracepoint(self, name: str) -> int:
        return self._place(Probe(0, "rawtp", "", "", name, tracepoint(name)))

    def _of_calls(self, call: CallEvent) -> Firings:
        by_number = {number: self._place(probe) for number, probe in call.probes()}
        every = self._tracepoint(call.tracepoint)

        def firings(sample: FiledSample, thread: FiringThread) -> Iterator[RecordedFiring]:
            taken = call.registers(sample)
            place = by_number.get(call.number(sample))
            if place is not None:
                yield _fired(place, sample, thread, b"", taken)
            context = _TWO.pack(_REGISTERS_AT, call.last(sample) & _U64)
            yield _fired(every, sample, thread, context, taken, (MemoryRead(_REGISTERS_AT, taken),))

        return firings

    def _of_scheduler(self, names: tuple[str, ...], read: Hits) -> Firings:
        places = {name: self._tracepoint(name) for name in names}

        def firings(sample: FiledSample, thread: FiringThread) -> Iterator[RecordedFiring]:
            for hit in read(sample, self._tasks, self.threads):
                yield _fired(places[hit.name], sample, hit.thread or thread, hit.context, b"", hit.reads)

        return firings

    def _of_overflow(self, event: Event, name: str) -> Iterator[Firings]:
        probe = _named(event, name) if name.count(":") == 3 else None
        is_time = (event.type, event.config) in _TIME
        if probe is None and is_time and not any(isinstance(each.firing, Timer) for each in self.all):
            probe = _clock(event)
        place, mask = self._place(probe or _counted(event, name)), event.sample_regs_user

        def firings(sample: FiledSample, thread: FiringThread) -> Iterator[RecordedFiring]:
            yield _fired(place, sample, thread, b"", _interrupted(sample, mask))

        yield firings

    def _of_records(self, flags: int) -> dict[str, int]:
        """The tracepoints that records other than samples tell of, where no trace event does: their probes."""
        known = {each.name for each in self.all if each.provider == "rawtp"}
        names = list[str]()
        if flags & perf.FLAG_TASK:
            names += ["sched_process_fork", "sched_process_exit"]
        if flags & perf.FLAG_COMM_EXEC:
            names.append("sched_process_exec")
        if flags & perf.FLAG_CONTEXT_SWITCH and "sched_switch" not in known:
            names += ["switch_in", "switch_out"]
        return {name: self._tracepoint(name) for name in names if name not in known}

    def _hit(self, pid: int, tid: int, cpu: int, value: SideBand, has_ended: bool) -> Hit | None:
        own = self.threads.thread(pid, tid, cpu)
        match value:
            case ThreadMade():
                made = self.threads.thread(value.pid, value.tid, cpu)
                return self._tasks.hit("sched_process_fork", own, made)
            case ThreadNamed(by_exec=True):
                return self._tasks.hit("sched_process_exec", own, value.tid)
            case ThreadEnded():
                ended = self.threads.thread(value.pid, value.tid, cpu)
                return self._tasks.hit("sched_process_exit", ended, int(has_ended), thread=ended)
            case ThreadSwitched(is_out=True):
                return self._tasks.hit("switch_out", own, int(value.is_runnable))
            case ThreadSwitched():
                return self._tasks.hit("switch_in", own)
        return None


def _described(event: Event, described: dict[int, DescribedEvent]) -> DescribedEvent | None:
    return described.get(event.config) if event.type == perf.TYPE_TRACEPOINT else None


def _of_record(place: int) -> Firings:
    def firings(sample: FiledSample, thread: FiringThread) -> Iterator[RecordedFiring]:
        yield _fired(place, sample, thread, bytes(sample.raw), b"")

    return firings


def _fired(
    place: int, sample: FiledSample, thread: FiringThread, context: bytes, taken: bytes,
    reads: tuple[MemoryRead, ...] = (),
) -> RecordedFiring:  # fmt: skip
    kernel = None if sample.kernel_stack is None else tuple(sample.kernel_stack)
    user = None if sample.user_stack is None else tuple(sample.user_stack)
    return RecordedFiring(place, sample.time, max(sample.cpu, 0), thread, context, taken, reads, kernel, user)


def _interrupted(sample: FiledSample, mask: int) -> bytes:
    """The struct pt_regs of what was interrupted: where it was and in which mode; all, where it was a process and the
    sample has its registers."""
    is_user = sample.mode == perf.MISC_USER
    if is_user and mask == perf_registers.REGISTERS and sample.registers:
        return perf_registers.pt_regs(sample.registers, _NO_CALL)[0]
    found = bytearray(registers.SIZE)
    at, mode = registers.PROGRAM_COUNTER, registers.MODE
    found[at : at + 8] = sample.ip.to_bytes(8, "little")
    if is_user:
        found[mode : mode + 8] = _USER_MODE
    return bytes(found)


def _named(event: Event, name: str) -> Probe | None:
    """The probe that sonde's own file names."""
    provider, module, function, own = name.split(":")
    if provider == "profile":
        return Probe(0, provider, module, function, own, Timer(event.period or 1, True))
    if provider in ("perf", "cpc"):
        return Probe(0, provider, module, function, own, _overflow(event))
    return None


def _clock(event: Event) -> Probe:
    """`profile-N`: of an event that counts cycles as often as that; one without a rate is taken for one of ns."""
    rate = event.period if event.is_frequency else 0
    period = SECOND // rate if 0 < rate <= SECOND else max(event.period, 1)
    return Probe(0, "profile", "", "", f"profile-{rate}" if rate else f"profile-{period}ns", Timer(period, True))


def _counted(event: Event, name: str) -> Probe:
    source = _SOURCES.get(event.type, "cpu" if event.type == 4 else f"type{event.type}")
    # Behind the colon perf has modifiers, before a slash the source.
    own = name.partition(":")[0].strip("/").rpartition("/")[2] or f"{event.config:#x}"
    count = f"{event.period}hz" if event.is_frequency else str(event.period)
    return Probe(0, "perf", source, "", f"{own}-{count}", _overflow(event))


def _overflow(event: Event) -> PerfEvent:
    return PerfEvent(_SOURCES.get(event.type, "cpu"), (event.config, 0, 0), max(event.period, 1))
