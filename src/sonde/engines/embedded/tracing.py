"""The objects of one tracing session of the embedded engine: maps, programs, and what fires them."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable, Sequence

from sonde.arch import address_space
from sonde.bpf.helpers import CPU_TIME
from sonde.engines.base import SiteOfFile
from sonde.engines.embedded.events import Events
from sonde.engines.embedded.followed import FollowedGroup
from sonde.engines.embedded.present_threads import adopt_present, present_threads, require_native
from sonde.engines.embedded.session_maps import SessionMaps
from sonde.engines.embedded.sources import firings
from sonde.engines.embedded.sources.buffers import Buffers
from sonde.engines.embedded.sources.fetched import FetchedMemory
from sonde.engines.embedded.sources.signalling import send_signal
from sonde.engines.embedded.sources.stack import walker
from sonde.engines.embedded.sources.stops import Handler, Hooks, Record, StopSource
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
    LOST_SWITCHES,
    LOST_TICKS,
    SKIPPED,
    TracingSpec,
    has_samples,
    has_user_addresses,
)
from sonde.runtime.environment import Environment
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.programs.ready import ReadyProgram, called_helpers, prepare
from sonde.runtime.structures import Structures
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.engines.embedded.remarks import Remarks
    from sonde.engines.embedded.sources.firings import Clock
    from sonde.engines.embedded.sources.images import ImageEvents
    from sonde.engines.embedded.sources.sample_ring import SampleRing
    from sonde.engines.embedded.sources.sampling import Sampling
    from sonde.engines.embedded.sources.switching import Switching
    from sonde.engines.embedded.sources.task_events import TaskEvents


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
        self._plan = plan_of(spec, self._followed is not None and self._followed.seccomp)
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
        if self._followed is not None and (has_user_addresses(spec) or has_samples(spec)):
            from sonde.engines.embedded.sources.images import ImageEvents, with_images  # most runs do without

            self._plan = with_images(self._plan)
            self._images = ImageEvents(lambda tid: self._threads.by_tid.get(tid))
            walk = self._images.walking(walk)
        places = self._followed.tracees.fetched() if self._followed else memoryview(b"")
        fetched = FetchedMemory(read, places, self._plan.fetches)
        access = ThreadAccess(fetched.read, remote.write, walk)
        threads = self._threads = Threads(Structures(self._memory), buffers.registers_at, access)
        if not _has_own_proc():
            raise EngineError(_FOREIGN)
        self._ready()
        own = threads.outsider(os.getpid())
        if own is None:
            raise EngineError(_FOREIGN)
        self._own: TracedTask = own
        self._environment = self._opened = Environment(self._memory, self._maps.table, own)
        self._environment.send_signal = send_signal
        if any(CPU_TIME in called_helpers(program) for program in spec.programs):
            self._look_at_cpu_times(own)
        self._programs = prepare(spec.programs, self._maps.by_name, self._environment, values.value)
        followed = self._followed
        if has_samples(spec):
            from sonde.engines.embedded.sources.sample_ring import SampleRing  # most programs let none through

            self._samples = SampleRing(self._environment, self._sample_bytes)
        clocks = firings.clocks(self._programs)
        events = self._open_samples(clocks) if memory is not None else None
        self._timers = TimerSource(clocks, threads, self._environment, buffers, events is not None, self._samples)
        hooks = Hooks(
            self._thread_ended, self._maps.forget_task,
            followed.tracees.registers if followed else lambda flags: b"", fetched,
        )  # fmt: skip
        stops = StopSource(threads, self._environment, firings.shots(self._programs), buffers, hooks)
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
        others = [each for each in (self._sampling, self._switching) if each is not None]
        self._stops = stops
        self._events = Events(followed, stops.handlers, self._timers, self._is_enough, others)

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

        return open_events(clocks, lambda: present_threads(self._followed), self._samples is not None)

    def _thread_ended(self, tid: int) -> None:
        if self._followed is not None:
            self._followed.ended(tid)

    def _is_enough(self, for_data: bool) -> bool:
        """Whether a ring should be looked at: if it has something, or before it is full."""
        if self._samples is not None and self._samples.is_filling:
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
                    self._followed.tracees.begin(self._plan, self._followed.evaluation)
                    if self._plan.refusals:
                        require_native(self._followed)
                    adopt_present(self._followed, self._threads)
            except GuardianError as error:
                raise AbortedError(str(error)) from None
        self._timers.start()
        for each in (self._sampling, self._switching):
            if each is not None:
                each.start()

    def process_events(self) -> ImageEvents | None:
        """What the traced processes have mapped, where the spec records addresses of processes."""
        return self._images

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
                self._buffers.arguments[:] = bytes(len(self._buffers.arguments))
                ready.run(self._buffers.arguments_at)
                return
        raise EngineError(f"there is no program {program}")

    def wait(self, timeout: float | None, others: Sequence[int] = ()) -> list[int]:
        """Sleep until a ring has data, one of the `others` (file descriptors) is readable, a signal arrives or
        `timeout` seconds have passed; return those of `others` that are readable."""
        assert self._events is not None
        ready = self._events.wait(timeout, others, True)
        self._maps.rest()
        return ready

    def pause(self, seconds: float, others: Sequence[int] = ()) -> list[int]:
        """Let so many seconds pass, but for a ring that would be full; those of `others` that are readable."""
        assert self._events is not None
        return self._events.wait(seconds, others, False)

    def read_map(self, name: str) -> list[tuple[bytes, bytes]]:
        """All keys and values; a per-CPU value is that of the one CPU there is, padded to 8 bytes."""
        if name == SKIPPED:
            lost = self._timers.lost + (self._sampling.lost if self._sampling is not None else 0)
            switches = self._switching.lost if self._switching is not None else 0
            counts = {b"": 0, LOST_TICKS: lost, LOST_SWITCHES: switches}
            return [(key, struct.pack("=Q", count)) for key, count in counts.items()]
        return self._maps.read(name)

    def write_map(self, name: str, key: bytes, value: bytes) -> None:
        """Set one element."""
        self._maps.write(name, key, value)

    def adopt_descendants(self, pid: int) -> None:
        """Nothing: who was started before tracing is not traced."""

    def replace_map(self, name: str) -> list[tuple[bytes, bytes]]:
        """Put an empty map in the place of a replaceable one; return the old one's final contents."""
        return self._maps.replace(name)

    def close(self) -> None:
        """Detach and free everything; closing twice is harmless."""
        for each in (self._sampling, self._switching):
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
