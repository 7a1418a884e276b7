"""The objects of one tracing session of the embedded engine: maps, programs, and what fires them."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable, Iterator, Sequence

from sonde.arch import address_space
from sonde.bpf.helpers import CPU_TIME, PROBE_NAME
from sonde.engines.base import FiringKeeper, ProcessEvents, SiteOfFile
from sonde.engines.embedded.events import Events
from sonde.engines.embedded.followed import FollowedGroup
from sonde.engines.embedded.present_threads import adopt_present, present_threads, require_native
from sonde.engines.embedded.session_maps import SessionMaps
from sonde.engines.embedded.sources import firings
from sonde.engines.embedded.sources.buffers import Buffers
from sonde.engines.embedded.sources.contexts import Contexts
from sonde.engines.embedded.sources.fetched import FetchedMemory
from sonde.engines.embedded.sources.interventions import Interventions
from sonde.engines.embedded.sources.signalling import send_signal
from sonde.engines.embedded.sources.stack import walker
from sonde.engines.embedded.sources.stops import Handler, Hooks, Record, StopSource
from sonde.engines.embedded.sources.tail_callees import TailCallees
from sonde.engines.embedded.sources.task import ThreadAccess, TracedTask
from sonde.engines.embedded.sources.threads import Threads
from sonde.engines.embedded.sources.timers import TimerSource
from sonde.engines.embedded.sources.wishes import plan_of
from sonde.engines.embedded.stamps import EmbeddedStamps
from sonde.engines.embedded.tracer.memory import ProcessMemory
from sonde.engines.embedded.tracer.stops import EXEC, FORK, HELD
from sonde.launch import GuardianError
from sonde.machine import proc
from sonde.model.errors import AbortedError, EngineError
from sonde.model.samples import RING_BYTES
from sonde.model.spec import (
    FAMILY,
    LOST_SWITCHES,
    LOST_TICKS,
    SKIPPED,
    SPECULATIONS,
    TracingSpec,
    devices,
    has_samples,
    has_user_addresses,
)
from sonde.runtime.environment import Environment
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.programs.ready import ReadyProgram, called_helpers, prepare
from sonde.runtime.structures import Structures
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.engines.embedded.perf_outputs import EmbeddedPerfOutput
    from sonde.engines.embedded.remarks import Remarks
    from sonde.engines.embedded.sources.filed_packets import FiledPackets
    from sonde.engines.embedded.sources.firing_tap import FiringTap
    from sonde.engines.embedded.sources.firings import Clock
    from sonde.engines.embedded.sources.images import ImageEvents
    from sonde.engines.embedded.sources.replayed import ReplayedFirings
    from sonde.engines.embedded.sources.sample_ring import SampleRing
    from sonde.engines.embedded.sources.sampling import Sampling
    from sonde.engines.embedded.sources.switching import Switching
    from sonde.engines.embedded.sources.task_events import TaskEvents
    from sonde.engines.embedded.sources.user_probes import UserProbes
    from sonde.engines.fired import FiringSource


_FOREIGN = (
    "/proc is of another pid namespace, or none, and would tell of other processes than those traced: the "
    "embedded engine needs one of its own, by `mount -t proc proc /proc`, or `unshare --mount-proc`"
)


def _has_own_proc() -> bool:
    try:
        return proc.is_own()
    except OSError:
        return False


class EmbeddedTracing:
    """The Tracing of a spec: maps are created and programs made ready by the constructor, which raises EngineError."""

    def __init__(
        self,
        spec: TracingSpec,
        values: EmbeddedStamps,
        followed: FollowedGroup | None = None,
        sample_bytes: int = RING_BYTES,
        packets: str = "",
        firings: FiringSource | None = None,
        keeper: FiringKeeper | None = None,
    ) -> None:
        self._spec = spec
        self._followed = followed
        self._memory = MachineMemory()
        self._maps = SessionMaps(self._memory)
        self.rings = self._maps.rings
        self._events: Events | None = None
        self._stops: StopSource | None = None
        self._programs: list[ReadyProgram] = []
        self._images: ImageEvents | None = None
        self._sample_bytes = sample_bytes
        self._samples: SampleRing | None = None
        self._sampling: Sampling | None = None
        self._switching: Switching | None = None
        self._opened: Environment | None = None
        self._user_probes: UserProbes | None = None
        self._packet_file = packets
        self._realtime_offset = values.realtime_offset
        self._packets: FiledPackets | None = None
        self._source = firings
        self._replayed: ReplayedFirings | None = None
        self._keeper = keeper
        self._tap: FiringTap | None = None
        try:
            self._maps.create(spec)
            self._prepare(spec, values)
        except BaseException:
            self.close()
            raise

    def _prepare(self, spec: TracingSpec, values: EmbeddedStamps) -> None:
        """Make the programs ready and connect them with what fires them."""
        self._buffers = buffers = Buffers(self._memory)
        remote = self._followed.tracees.memory if self._followed else ProcessMemory()
        self._plan = plan_of(spec, self._followed is not None and self._followed.seccomp, self._reads_more)
        if self._followed is not None and (self._followed.follow_all or not self._plan.seccomp):
            # A child counts from its making on: its maker may be gone before its own first stop. Where there is a
            # filter the guardian stays for its sake, and is asked.
            self._plan = self._plan._replace(events=self._plan.events | {FORK})
        read, memory = remote.read, None
        if self._followed is not None and firings.has_samples(spec):
            from sonde.engines.embedded.sources.sampling import SampledMemory  # most runs do without

            memory = SampledMemory(remote.read)
            read = memory.read
        walk = walker(buffers.registers, read, address_space.own_address_space().user_end, memory is None)
        if self._followed is not None and (has_user_addresses(spec) or has_samples(spec) or self._reads_more):
            from sonde.engines.embedded.sources.images import ImageEvents, with_images  # most runs do without

            self._plan = with_images(self._plan)
            self._images = ImageEvents(lambda tid: self._threads.by_tid.get(tid))
            walk = self._images.walking(walk)
        if firings.has_user_probes(spec):
            self._plan = self._plan._replace(maps=True)
        places = self._followed.tracees.fetched() if self._followed else memoryview(b"")
        fetched = FetchedMemory(read, places, self._plan.fetches)
        access = ThreadAccess(fetched.read, remote.write, walk)
        structures = Structures(self._memory)
        if self._keeper is not None:
            from sonde.engines.embedded.sources.firing_tap import FiringTap  # most runs record nothing

            tap = self._tap = FiringTap(self._keeper, spec, self._memory, buffers, self._images)
            access = ThreadAccess(tap.reading(fetched.read), remote.write, tap.walking(walk))
        threads = self._threads = Threads(structures, buffers.registers_at, access)
        if not _has_own_proc():
            raise EngineError(_FOREIGN)
        self._ready()
        own = threads.outsider(os.getpid())
        if own is None:
            raise EngineError(_FOREIGN)
        self._own: TracedTask = own
        self._environment = self._opened = Environment(self._memory, self._maps.table, own)
        self._environment.send_signal = send_signal
        interventions = Interventions(self._followed.tracees if self._followed else None)
        self._environment.intervene = interventions.intervene
        if self._tap is not None:
            self._record_files(self._tap)
        if self._source is not None:
            self._replayed = self._replay(self._source)
        if self._replayed is None and any(CPU_TIME in called_helpers(program) for program in spec.programs):
            self._look_at_cpu_times(own)
        if self._tap is not None:
            self._environment.cpu_time = self._tap.telling(self._environment.cpu_time)
        self._programs = prepare(spec.programs, self._maps.by_name, self._environment, values.value)
        self._maps.fill({each.spec.name: each.callable for each in self._programs})
        self._environment.printed = self._maps.printed
        if any(PROBE_NAME in called_helpers(program) for program in spec.programs):
            self._environment.probe_names = {each.id: each.name.encode() for each in spec.probes}
        followed = self._followed
        if has_samples(spec):
            from sonde.engines.embedded.sources.sample_ring import SampleRing  # most programs let none through

            self._samples = SampleRing(self._environment, self._sample_bytes)
        if self._replayed is not None:
            self._connect(self._replayed)
            return
        clocks = firings.clocks(self._programs)
        events = self._open_samples(clocks) if memory is not None else None
        self._timers = TimerSource(clocks, threads, self._environment, buffers, events is not None, self._samples)
        if self._tap is not None and clocks:
            self._timers.fire = self._tap.clock(self._timers.fire, clocks)
        hooks = Hooks(
            self._thread_ended, self._maps.forget_task,
            followed.tracees.registers if followed else lambda flags: b"", fetched,
        )  # fmt: skip
        contexts = Contexts(self._memory, self._environment, buffers, self._tap)
        if firings.has_user_probes(spec):
            from sonde.engines.embedded.sources.user_probes import UserProbes  # most runs do without

            self._user_probes = UserProbes(spec, self._programs, contexts, self._members(), self._reads_more)
        stops = StopSource(threads, self._environment, firings.shots(self._programs, contexts), buffers, hooks)
        if self._images is not None:
            self._images.watch(stops.handlers)
        if events is not None and memory is not None:
            from sonde.engines.embedded.sources.sampling import Sampling

            self._sampling = Sampling(events, memory, self._environment, buffers, self._timers, stops.task)
        if followed is not None:
            followed.traced = lambda: {task.pid for task in threads.by_tid.values()}
            followed.remarks.calls = self._plan.refusals
            self._remark(stops.handlers, followed.remarks)
        if followed is not None and firings.has_switches(spec):
            from sonde.engines.embedded.sources.switching import Switching, open_switches

            self._switching = Switching(open_switches(spec, present_threads(followed)), threads.by_tid, stops.fire)
            self._switching.watch(stops.handlers)
            self._plan = self._plan._replace(events=self._plan.events | {FORK})
        if self._user_probes is not None and followed is not None:
            from sonde.engines.embedded.sources.user_probes import FiringWorld

            world = FiringWorld(self._environment, buffers, structures, places, fetched)
            self._user_probes.watch(stops.handlers, stops.task, world)
        if self._packet_file or devices(spec):
            self._packets = self._feed(values)
        others = [each for each in (self._sampling, self._switching, self._packets) if each is not None]
        self._stops = stops
        is_hasty = self._tap is not None and self._looks_at_once
        self._events = Events(followed, stops.handlers, self._timers, self._is_enough, interventions, others, is_hasty)

    def _record_files(self, tap: FiringTap) -> None:
        from sonde.engines.embedded.sources.firing_tap import NotedFiles  # most runs record nothing
        from sonde.runtime.files import FilesOfTasks  # few programs look at files

        tap.environment = self._environment
        self._environment.note_result = tap.note_result
        self._environment.files = NotedFiles(FilesOfTasks(self._environment), tap)

    def _replay(self, source: FiringSource) -> ReplayedFirings:
        """What takes up the firings of a recording. Before programs are made ready: their helpers ask it."""
        from sonde.engines.embedded.sources.replayed import ReplayedFirings  # an import that most runs do without

        self._environment.send_signal = lambda task, number, thread: 0
        self._environment.intervene = lambda task, result, delay: 0
        looks_at_once = self._looks_at_once
        return ReplayedFirings(
            source, self._memory, self._environment, self._buffers, Structures(self._memory), self._forget_recorded,
            lambda: self._maps.is_enough(looks_at_once), looks_at_once,
        )  # fmt: skip

    @property
    def _reads_more(self) -> bool:
        return self._keeper is not None and self._keeper.reads_more

    @property
    def _looks_at_once(self) -> bool:
        """A speculation is free again when the consumer has seen the record of its end, and what an aggregation has
        come to is shown as it is when the consumer looks: both are to be the same in each replay."""
        return bool(self._spec.aggregations) or any(each.name == SPECULATIONS for each in self._spec.maps)

    def _forget_recorded(self, task: int) -> None:
        self._maps.forget_task(task)
        family = self._maps.by_name.get(FAMILY)
        if family is not None:
            struct.pack_into("=Q", self._buffers.arguments, 0, task)
            family.calls["map_delete_elem"](self._buffers.arguments_at)

    def _connect(self, replayed: ReplayedFirings) -> None:
        from sonde.engines.embedded.sources.replayed import clocks_of  # as above

        replayed.connect(self._programs, clocks_of(self._programs))
        self._timers = TimerSource((), self._threads, self._environment, self._buffers)
        self._events = Events(None, {}, self._timers, self._is_enough, Interventions(None), [replayed])

    def firings(self) -> ReplayedFirings | None:
        """Those of a recording, None without one."""
        return self._replayed

    def _members(self) -> set[int]:
        """The processes of -c and -p."""
        return {each.pid for each in self._followed.members} if self._followed else set()

    def _feed(self, values: EmbeddedStamps) -> FiledPackets:
        """The packets of the file. Raises EngineError where there is none."""
        # imports that most runs do without
        from sonde.engines.embedded.sources.filed_packets import FiledPackets
        from sonde.engines.embedded.sources.packet_hooks import DeviceHooks

        if not self._packet_file:
            raise EngineError("the embedded engine has packets of a file alone: name one with --packets FILE.pcapng")
        assert self._opened is not None
        hooks = DeviceHooks(self._programs, self._memory, self._opened)
        return FiledPackets(
            self._packet_file, hooks, self._opened, values.realtime_offset, lambda: self._maps.is_enough(False)
        )

    def packets(self) -> FiledPackets | None:
        """Those of the file, None without one."""
        return self._packets

    def _look_at_cpu_times(self, own: TracedTask) -> None:
        from sonde.engines.embedded import cpu_times  # an import that most runs do without

        cpu_times.require()
        own.cpu_before = time.thread_time_ns()
        self._threads.cpu_used = cpu_times.used
        self._environment.cpu_time = cpu_times.of_threads_besides(own)

    def _ready(self) -> None:
        """Have the commands exec while the programs are made ready. Raises CommandError, AbortedError."""
        if self._followed is not None:
            try:
                with self._followed.tracees.watched():
                    self._followed.tracees.ready(self._plan)
            except GuardianError as error:
                raise AbortedError(str(error)) from None

    def _remark(self, handlers: dict[int, Handler], remarks: Remarks) -> None:
        """Look at each program that is executed, while its thread stands."""
        executed = handlers[EXEC]

        def look(record: Record) -> None:
            executed(record)
            task = self._threads.by_tid.get(record[2]) if record[1] & HELD else None
            if task is not None:
                remarks.executed(task.tid, task.comm)

        handlers[EXEC] = look

    def _open_samples(self, clocks: Sequence[Clock]) -> TaskEvents | None:
        """The kernel's samples of the traced threads; None where there are none to be had. Raises EngineError."""
        from sonde.engines.embedded.sources.sampling import open_events

        return open_events(
            clocks, TailCallees(self._spec), lambda: present_threads(self._followed), self._samples is not None,
            self._reads_more,
        )  # fmt: skip

    def _thread_ended(self, tid: int) -> None:
        self._timers.forget(tid)
        if self._followed is not None:
            self._followed.ended(tid)

    def _is_enough(self, for_data: bool) -> bool:
        """Whether a ring should be looked at: if it has something, or before it is full."""
        if self._samples is not None and self._samples.is_filling:
            return True
        if self._packets is not None and self._packets.has_ended:
            return True
        if self._replayed is not None and self._replayed.has_ended:
            return True
        return self._maps.is_enough(for_data)

    def heed(self, is_ending: Callable[[], bool]) -> None:
        """Cut loops short from when this says that the session is to end."""
        self._environment.is_ending = is_ending

    def answer(self, asked: Callable[[], None]) -> None:
        """Call this as soon as a program has asked for tables, before it goes on: its thread waits."""
        self._maps.asked = asked

    def attach(self) -> None:
        """Get the processes to where they wait to be traced. Raises CommandError."""
        if self._followed is not None:
            try:
                with self._followed.tracees.watched():
                    if self._user_probes is not None:
                        self._followed.tracees.want_sites(self._user_probes.files)
                    self._followed.tracees.begin(self._plan, self._followed.evaluation)
                    if self._plan.refusals:
                        require_native(self._followed)
                    adopt_present(self._followed, self._threads)
            except GuardianError as error:
                raise AbortedError(str(error)) from None
        self._timers.start()
        for each in (self._sampling, self._switching, self._packets, self._replayed):
            if each is not None:
                each.start()

    def process_events(self) -> ProcessEvents | None:
        """What the traced processes have mapped, where the spec records addresses of processes."""
        if self._tap is not None and self._tap.processes is not None:
            self._tap.processes.are_awaited = True
            return self._tap.processes
        return self._images if self._replayed is None else self._replayed.noted

    def attach_sites(self, program: str, path: str, sites: Sequence[SiteOfFile], pid: int) -> None:
        """Raises EngineError: uprobes are the kernel's."""
        raise EngineError(f"static probes of {path} are for --engine kernel")

    def samples(self) -> SampleRing | None:
        """The samples that programs let through, None where no program does."""
        return self._samples

    def run(self, program: str) -> None:
        """Run a program of an internal probe (BEGIN, END) once, to its end. Raises EngineError."""
        for ready in self._programs:
            if ready.spec.name == program:
                self._environment.task, self._environment.now = self._own, 0
                if self._replayed is not None:
                    self._replayed.begin_internal(program)
                self._buffers.arguments[:] = bytes(len(self._buffers.arguments))
                if self._tap is not None:
                    self._environment.now = time.monotonic_ns()
                    self._tap.internal(program, ready.run, self._buffers.arguments_at)
                    return
                ready.run(self._buffers.arguments_at)
                return
        raise EngineError(f"there is no program {program}")

    def wait(self, timeout: float | None, others: Sequence[int] = ()) -> list[int]:
        """Sleep until a ring has data, one of the `others` (file descriptors) is readable, a signal arrives or
        `timeout` seconds have passed; return those of `others` that are readable."""
        assert self._events is not None
        ready = self._events.wait(timeout, others, True)
        self._maps.rest()
        for each in (self._packets, self._replayed):
            if each is not None:
                each.has_ended = False
        return ready

    def pause(self, seconds: float, others: Sequence[int] = ()) -> list[int]:
        """Let so many seconds pass, but for a ring that would be full; those of `others` that are readable."""
        assert self._events is not None
        return self._events.wait(seconds, others, self._replayed is not None and self._replayed.is_hasty)

    def perf_output(self, name: str, has_packets: bool = False) -> EmbeddedPerfOutput:
        """What programs write to an array of perf events; the caller's to close. Packets wait for its ring."""
        return self._maps.perf_output(name, self._realtime_offset)

    def program_code(self, name: str) -> list[tuple[int, int]]:
        """None: the engine runs no program as machine code."""
        return []

    def iterate(self, name: str, map_name: str) -> Iterator[bytes]:
        """Raises EngineError: the engine has no structures to go through."""
        raise EngineError(f"program {name} goes through structures of the kernel, which only --engine kernel has")

    def read_map(self, name: str) -> list[tuple[bytes, bytes]]:
        """All keys and values; a per-CPU value is that of the one CPU there is, padded to 8 bytes."""
        if name == SKIPPED:
            lost = self._timers.lost + (self._sampling.lost if self._sampling is not None else 0)
            switches = self._switching.lost if self._switching is not None else 0
            counts = {b"": self._timers.skipped, LOST_TICKS: lost, LOST_SWITCHES: switches}
            return [(key, struct.pack("=Q", count)) for key, count in counts.items()]
        return self._maps.read(name)

    def write_map(self, name: str, key: bytes, value: bytes) -> None:
        """Set one element."""
        self._maps.write(name, key, value)

    def adopt_descendants(self, pid: int) -> None:
        """Nothing: who was started before tracing is not traced, but where the kernel records."""
        if self._replayed is not None:
            self._replayed.adopt_descendants(pid)

    def replace_map(self, name: str) -> list[tuple[bytes, bytes]]:
        """Put an empty map in the place of a replaceable one; return the old one's final contents."""
        return self._maps.replace(name)

    def close(self) -> None:
        """Detach and free everything; closing twice is harmless."""
        for each in (self._sampling, self._switching, self._packets, self._replayed):
            if each is not None:
                each.close()
        self._sampling = self._switching = None
        if self._samples is not None:
            self._samples.close()
            self._samples = None
        if self._opened is not None and self._opened.files is not None:
            self._opened.files.close()
            self._opened.files = None
        self._maps.close()
        # Programs and sources refer to each other and to memory, until garbage is collected: memory goes now.
        for ready in self._programs:
            ready.forget()
        self._memory.regions.clear()
        if self._stops is not None:
            self._stops.close()
        self._events = self._images = self._opened = self._stops = None
        self.rings, self._programs = [], []
