"""What fires the programs of a session: stops of threads, clocks, samples, switches, packets of a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonde.engines.embedded import cpu_times
from sonde.engines.embedded.events import Events
from sonde.engines.embedded.followed import FollowedGroup, adopt_present, present_threads, require_native
from sonde.engines.embedded.program_world import ProgramWorld
from sonde.engines.embedded.remarks import Remarks
from sonde.engines.embedded.sources import (
    filed_packets,
    firings,
    packet_hooks,
    sampling,
    stopped_samples,
    switching,
    user_probes,
)
from sonde.engines.embedded.sources.contexts import Contexts
from sonde.engines.embedded.sources.stops import Handler, Hooks, Record, StopSource
from sonde.engines.embedded.sources.tail_callees import TailCallees
from sonde.engines.embedded.sources.timers import TimerSource
from sonde.engines.embedded.tracer.stops import EXEC, EXIT, FORK, HELD, LOST, RAN, UNSAMPLED
from sonde.launch import GuardianError
from sonde.model.errors import AbortedError, EngineError
from sonde.model.spec import devices
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.engines.base import SiteOfFile
    from sonde.engines.embedded.sources.filed_packets import FiledPackets
    from sonde.engines.embedded.sources.sampling import Sampling
    from sonde.engines.embedded.sources.stopped_samples import Periods, StoppedSamples
    from sonde.engines.embedded.sources.switching import Switching
    from sonde.engines.embedded.sources.user_probes import UserProbes


class LiveSources:
    """`packets` are those of the file, None without one."""

    firings = None

    def __init__(
        self, world: ProgramWorld, followed: FollowedGroup | None, packet_file: str, realtime_offset: int,
        is_enough: Callable[[bool], bool],
    ) -> None:  # fmt: skip
        """`is_enough` says that the consumer should look at the rings. Raises EngineError."""
        self._world, self._followed = world, followed
        self._plan = world.access.plan
        self._sampling: Sampling | None = None
        self._switching: Switching | None = None
        self._periods: Periods | None = None
        self._stopped_samples: StoppedSamples | None = None
        self._user_probes: UserProbes | None = None
        self._stops: StopSource | None = None
        self._breakpoints_lost = 0
        self._has_begun = False
        self._events: Events | None = None
        self.packets: FiledPackets | None = None
        try:
            self._connect(packet_file, realtime_offset)
        except BaseException:
            self.close()
            raise
        assert self._stops is not None
        others = [each for each in (self._sampling, self._switching, self.packets) if each is not None]
        is_hasty = world.access.tap is not None and world.looks_at_once
        self._events = Events(
            followed, self._stops.handlers, self._timers, is_enough, world.interventions, others, is_hasty
        )

    def _connect(self, packet_file: str, realtime_offset: int) -> None:
        world, access = self._world, self._world.access
        contexts = Contexts(world.memory, world.environment, world.buffers, access.tap)
        if firings.has_user_probes(world.spec):
            traced = {each.pid for each in self._followed.members} if self._followed else set[int]()
            self._user_probes = user_probes.UserProbes(world.spec, world.programs, contexts, traced, access.reads_more)
        shots = firings.shots(world.programs, contexts)
        stops = self._stops = StopSource(access.threads, world.environment, shots, world.buffers, self._hooks())
        if access.images is not None:
            access.images.watch(stops.handlers)
        self._start_clocks(stops)
        if self._followed is not None:
            self._followed.traced = lambda: {task.pid for task in access.threads.by_tid.values()}
            self._followed.remarks.calls = self._plan.refusals
            self._remark(stops.handlers, self._followed.remarks)
            self._watch_threads(stops, self._followed)
        if packet_file or devices(world.spec):
            self.packets = _packets(world, packet_file, realtime_offset)

    def _hooks(self) -> Hooks:
        registers = self._followed.tracees.registers if self._followed else lambda flags: b""
        return Hooks(self._thread_ended, self._world.maps.forget_task, registers, self._world.access.fetched)

    def _start_clocks(self, stops: StopSource) -> None:
        world, access = self._world, self._world.access
        clocks = firings.clocks(world.programs)
        stopped = firings.stopped_clocks(clocks) if access.stops_samples else ()
        sampled = [n for n, clock in enumerate(clocks) if clock.samples and n not in stopped]
        events = None
        if access.sampled is not None:
            callees, is_recorded = TailCallees(world.spec), world.samples is not None
            events = sampling.open_events(
                [clocks[n] for n in sampled], callees, lambda: present_threads(self._followed), is_recorded,
                access.reads_more, int(firings.has_switches(world.spec)),
            )  # fmt: skip
        self._timers = TimerSource(
            clocks, access.threads, world.environment, world.buffers, sampled if events is not None else (),
            world.samples, stopped, self._followed.tracees.sample if self._followed is not None else None,
        )  # fmt: skip
        if access.tap is not None and clocks:
            self._timers.fire = access.tap.clock(self._timers.fire, clocks)
        if events is not None and access.sampled is not None:
            self._sampling = sampling.Sampling(
                events, access.sampled, world.environment, world.buffers, self._timers, stops.running_task
            )
            self._sampling.watch(stops.handlers)
        if stopped:
            self._periods = stopped_samples.Periods()
            samples = self._stopped_samples = stopped_samples.StoppedSamples(
                self._timers, world.environment, self._periods
            )
            exiting = stops.handlers[EXIT]

            def end(record: Record) -> None:
                samples.end(record)
                exiting(record)

            stops.handlers |= {RAN: stops.with_registers(samples.handle), EXIT: end}

    def _watch_threads(self, stops: StopSource, followed: FollowedGroup) -> None:
        """See threads get CPUs, and run onto breakpoints, where programs have to do with that."""
        world, access = self._world, self._world.access
        if firings.has_switches(world.spec):
            others = len(self._sampling.events.wanted.events) if self._sampling is not None else 0
            switches = switching.open_switches(world.spec, present_threads(followed), others)
            self._switching = switching.Switching(switches, access.threads.by_tid, stops.fire)
            self._switching.watch(stops.handlers)
            self._plan = self._plan._replace(events=self._plan.events | {FORK})
        if self._user_probes is not None:
            firing = user_probes.FiringWorld(
                world.environment, world.buffers, access.structures, access.places, access.fetched
            )
            self._user_probes.watch(stops.handlers, stops.task, firing)

    def _remark(self, handlers: dict[int, Handler], remarks: Remarks) -> None:
        """Look at each program that is executed, while its thread stands."""
        executed = handlers[EXEC]

        def look(record: Record) -> None:
            executed(record)
            task = self._world.access.threads.by_tid.get(record[2]) if record[1] & HELD else None
            if task is not None:
                remarks.executed(task.tid, task.comm)

        def lose(record: Record) -> None:
            task = self._world.access.threads.by_tid.get(record[2])
            if record[4] == UNSAMPLED and self._periods is not None:
                self._periods.lost += record[5]
            else:
                self._breakpoints_lost += record[5]
            remarks.lost(task.pid if task else record[2], task.comm if task else b"?", *record[4:7])

        handlers |= {EXEC: look, LOST: lose}

    def _thread_ended(self, tid: int) -> None:
        self._timers.forget(tid)
        if self._periods is not None:
            self._periods.forget(tid)
        if self._followed is not None:
            self._followed.ended(tid)

    def attach(self) -> None:
        """Get the processes to where they wait to be traced. Raises CommandError, AbortedError."""
        if self._followed is not None:
            try:
                self._begin(self._followed)
            except GuardianError as error:
                raise AbortedError(str(error)) from None
        self._timers.start()
        if self._periods is not None or self._sampling is not None:
            used = {tid: cpu_times.used(tid) for tid in present_threads(self._followed)}
            if self._periods is not None:
                self._periods.start(used)
            if self._sampling is not None:
                self._sampling.begin(used)
        for each in (self._sampling, self._switching, self.packets):
            if each is not None:
                each.start()

    def restart_timers(self) -> None:
        self._timers.start()

    def attach_sites(self, program: str, path: str, sites: Sequence[SiteOfFile], pid: int) -> None:
        """As EmbeddedTracing's. Raises EngineError."""
        assert self._user_probes is not None
        assert self._followed is not None
        self._user_probes.add(program, path, sites, pid)
        if self._has_begun:
            self._followed.tracees.want_sites(self._user_probes.files)

    def await_files(self, mapped: Callable[[int], None]) -> bool:
        """As EmbeddedTracing's."""
        if self._user_probes is not None:
            self._user_probes.mapped = mapped
        return True

    def _begin(self, followed: FollowedGroup) -> None:
        with followed.tracees.watched():
            if self._user_probes is not None:
                followed.tracees.want_sites(self._user_probes.files)
                self._has_begun = True
            followed.tracees.begin(self._plan, followed.evaluation)
            if self._stopped_samples is not None:
                followed.remarks.without_clocks(self._stopped_samples.set_traps(followed.tracees))
            if self._plan.refusals:
                require_native(followed)
            adopt_present(followed, self._world.access.threads)

    @property
    def events(self) -> Events:
        """What waits for them."""
        assert self._events is not None
        return self._events

    @property
    def has_ended(self) -> bool:
        """Whether somebody should look, once, since the last packet has been taken up."""
        return self.packets is not None and self.packets.has_ended

    def looked(self) -> None:
        """Somebody has."""
        if self.packets is not None:
            self.packets.has_ended = False

    @property
    def is_hasty(self) -> bool:
        """Whether what programs have written is to be read at once also where records may gather."""
        return False

    def losses(self) -> tuple[int, int, int, int]:
        """Ticks that were skipped, ticks, switches and breakpoints that were lost."""
        lost = self._timers.lost + (self._sampling.lost if self._sampling is not None else 0)
        lost += self._periods.lost if self._periods is not None else 0
        switches = self._switching.lost if self._switching is not None else 0
        return self._timers.skipped, lost, switches, self._breakpoints_lost

    def close(self) -> None:
        """Closing twice is harmless."""
        for each in (self._sampling, self._switching, self.packets):
            if each is not None:
                each.close()
        self._sampling = self._switching = None
        if self._stops is not None:
            self._stops.close()
        # These know what they tell of: nothing is to wait for the garbage collector.
        self._stops = self._events = None


_LARGEST_RECORD = 1 << 16
"""Bytes of a record with its packet."""


def _packets(world: ProgramWorld, file: str, realtime_offset: int) -> filed_packets.FiledPackets:
    """The packets of the file. Raises EngineError where there is none."""
    # imports that most runs do without

    if not file:
        raise EngineError("the embedded engine has packets of a file alone: name one with --packets FILE.pcapng")
    hooks = packet_hooks.DeviceHooks(world.programs, world.memory, world.environment, world.access.tap)
    # All that a packet may record is to find room: what is there is read before the next one, if it has to be.
    most = max(len(world.spec.records), len(world.spec.programs), 1) * _LARGEST_RECORD
    return filed_packets.FiledPackets(file, hooks, world.environment, realtime_offset,
                        lambda: world.maps.is_enough(False) or world.maps.lacks(most))  # fmt: skip
