"""The objects of one tracing session of the embedded engine: maps, programs, and what fires them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence

from sonde.engines.embedded import live_sources, replayed_sources
from sonde.engines.embedded.followed import FollowedGroup
from sonde.engines.embedded.process_access import ProcessAccess
from sonde.engines.embedded.program_world import ProgramWorld, require_own_proc
from sonde.engines.embedded.session_maps import SessionMaps
from sonde.engines.embedded.sources.buffers import Buffers
from sonde.engines.embedded.sources.interventions import Interventions
from sonde.engines.embedded.stamps import EmbeddedStamps
from sonde.launch import GuardianError
from sonde.model.errors import AbortedError, EngineError
from sonde.model.named_maps import LOST_BREAKPOINTS, LOST_SWITCHES, LOST_TICKS, SKIPPED
from sonde.model.samples import RING_BYTES
from sonde.model.spec import TracingSpec
from sonde.runtime.machine.memory import MachineMemory
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.engines.base import FiringKeeper, ProcessEvents, Progress, SiteOfFile
    from sonde.engines.embedded.live_sources import LiveSources
    from sonde.engines.embedded.perf_outputs import EmbeddedPerfOutput
    from sonde.engines.embedded.replayed_sources import ReplayedSources
    from sonde.engines.embedded.sources.filed_packets import FiledPackets
    from sonde.engines.embedded.sources.replayed import ReplayedFirings
    from sonde.engines.embedded.sources.sample_ring import SampleRing
    from sonde.engines.fired import FiringSource


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
        most_turns: int = 0,
    ) -> None:
        self._memory = MachineMemory()
        self._maps = SessionMaps(self._memory)
        self.rings = self._maps.rings
        self._realtime_offset = values.realtime_offset
        self._sources: live_sources.LiveSources | replayed_sources.ReplayedSources | None = None
        self._opened: ProgramWorld | None = None
        try:
            self._maps.create(spec)
            world = self._opened = _world(spec, self._memory, self._maps, followed, keeper)
            world.environment.most_turns = most_turns
            if firings is None:
                world.prepare(values, False, sample_bytes)
                self._sources = live_sources.LiveSources(
                    world, followed, packets, values.realtime_offset, self._is_enough
                )
            else:
                replayed = self._sources = replayed_sources.ReplayedSources(world, firings)
                world.prepare(values, True, sample_bytes)
                replayed.connect(self._is_enough)
            self._packets, self._firings = self._sources.packets, self._sources.firings
        except BaseException:
            self.close()
            raise

    def _is_enough(self, for_data: bool) -> bool:
        """Whether a ring should be looked at: if it has something, or before it is full."""
        if self._world.samples is not None and self._world.samples.is_filling:
            return True
        if self._sources is not None and self._sources.has_ended:
            return True
        if self._packets is not None and self._packets.wait_for_room():
            return True
        return self._maps.is_enough(for_data)

    def firings(self) -> ReplayedFirings | None:
        """Those of a recording, None without one."""
        return self._firings

    def packets(self) -> FiledPackets | None:
        """Those of the file, None without one."""
        return self._packets

    @property
    def _world(self) -> ProgramWorld:
        assert self._opened is not None
        return self._opened

    @property
    def _connected(self) -> LiveSources | ReplayedSources:
        assert self._sources is not None
        return self._sources

    def heed(self, is_ending: Callable[[], bool]) -> None:
        """Cut loops short from when this says that the session is to end."""
        self._world.environment.is_ending = is_ending

    def answer(self, asked: Callable[[], None]) -> None:
        """Call this as soon as a program has asked for tables, before it goes on: its thread waits."""
        images = self._world.access.images

        def answered() -> None:
            if images is not None:
                images.begin(self._world.environment.task)
            asked()

        self._maps.asked = answered

    def attach(self) -> tuple[()]:
        """Get the processes to where they wait to be traced. Raises CommandError, AbortedError."""
        self._connected.attach()
        return ()

    def restart_timers(self) -> None:
        self._connected.restart_timers()

    def process_events(self) -> ProcessEvents | None:
        """What the traced processes have mapped, where the spec records addresses of processes."""
        access, firings = self._world.access, self._firings
        if access.tap is not None and access.tap.processes is not None:
            access.tap.processes.are_awaited = True
            return access.tap.processes
        return access.images if firings is None else firings.noted

    def attach_sites(self, program: str, path: str, sites: Sequence[SiteOfFile], pid: int) -> None:
        """Attach a program to places in a file, in the process. Raises EngineError."""
        self._connected.attach_sites(program, path, sites, pid)

    def await_files(self, mapped: Callable[[int], None]) -> bool:
        """Call this with a process that has mapped code, before it goes on."""
        return self._connected.await_files(mapped)

    def samples(self) -> SampleRing | None:
        """The samples that programs let through, None where no program does."""
        return self._world.samples

    def run(self, program: str) -> None:
        """Run a program of an internal probe (BEGIN, END) once, to its end. Raises EngineError."""
        environment, firings = self._world.environment, self._firings
        environment.task, environment.now = self._world.own, 0
        if firings is not None:
            firings.begin_internal(program)
        self._world.run_internal(program)

    def wait(self, timeout: float | None, others: Sequence[int] = ()) -> list[int]:
        """Sleep until a ring has data, one of the `others` (file descriptors) is readable, a signal arrives or
        `timeout` seconds have passed; return those of `others` that are readable."""
        ready = self._connected.events.wait(timeout, others, True)
        self._maps.rest()
        self._connected.looked()
        return ready

    def pause(self, seconds: float, others: Sequence[int] = ()) -> list[int]:
        """Let so many seconds pass, but for a ring that would be full; those of `others` that are readable."""
        return self._connected.events.wait(seconds, others, self._connected.is_hasty)

    def perf_output(self, name: str, has_packets: bool = False) -> EmbeddedPerfOutput:
        """What programs write to an array of perf events; the caller's to close. Packets wait for its ring."""
        return self._maps.perf_output(name, self._realtime_offset)

    def program_code(self, name: str) -> list[tuple[int, int]]:
        """None: the engine runs no program as machine code."""
        return []

    def iterate(self, name: str, map_name: str) -> Iterator[bytes]:
        """Raises EngineError: the engine has no structures to go through."""
        raise EngineError(f"program {name} goes through structures of the kernel, which only --engine kernel has")

    def measure(self, program: str, times: int) -> int:
        """Raises EngineError: what Python takes tells nothing of the kernel."""
        raise EngineError(f"program {program} is to be measured, which is for --engine kernel")

    def go_over(self, name: str) -> Iterator[None]:
        """Raises EngineError, likewise."""
        raise EngineError(f"program {name} goes over objects of the kernel, which only --engine kernel has")

    def read_map(self, name: str) -> list[tuple[bytes, bytes]]:
        """All keys and values; a per-CPU value is that of the one CPU there is, padded to 8 bytes."""
        if name == SKIPPED:
            keys = b"", LOST_TICKS, LOST_SWITCHES, LOST_BREAKPOINTS
            counts = zip(keys, self._connected.losses(), strict=True)
            return [(key, struct.pack("=Q", count)) for key, count in counts]
        return self._maps.read(name)

    def write_map(self, name: str, key: bytes, value: bytes) -> None:
        """Set one element."""
        self._maps.write(name, key, value)

    def remove_from_map(self, name: str, key: bytes) -> None:
        """Delete one element, if it is there."""
        self._maps.remove(name, key)

    def adopt_descendants(self, pid: int) -> None:
        """Nothing: who was started before tracing is not traced, but where the kernel records."""
        if self._firings is not None:
            self._firings.adopt_descendants(pid)

    def replace_map(self, name: str) -> list[tuple[bytes, bytes]]:
        """Put an empty map in the place of a replaceable one; return the old one's final contents."""
        return self._maps.replace(name)

    def close(self, progress: Progress | None = None) -> None:
        """Detach and free everything; closing twice is harmless. It takes no time worth telling of."""
        if self._sources is not None:
            self._sources.close()
        self._maps.close()
        if self._opened is not None:
            self._opened.close()
        # Programs and sources refer to each other and to memory, until garbage is collected: memory goes at once.
        self._memory.regions.clear()
        self._sources = self._opened = None
        self.rings = []


def _world(
    spec: TracingSpec, memory: MachineMemory, maps: SessionMaps, followed: FollowedGroup | None,
    keeper: FiringKeeper | None,
) -> ProgramWorld:  # fmt: skip
    """The world of the programs, whose commands are to be executed while it is made. Raises EngineError."""
    buffers = Buffers(memory)
    access = ProcessAccess(spec, followed, memory, buffers, keeper)
    require_own_proc()
    if followed is not None:
        try:
            with followed.tracees.watched():
                followed.tracees.ready(access.plan)
        except GuardianError as error:
            raise AbortedError(str(error)) from None
    return ProgramWorld(spec, memory, maps, buffers, access, Interventions(followed.tracees if followed else None))
