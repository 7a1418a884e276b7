"""What fires the programs of a session that replays a recording: the recording, and nothing else."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from sonde.engines.base import SiteOfFile
from sonde.engines.embedded.events import Events
from sonde.engines.embedded.program_world import ProgramWorld
from sonde.engines.embedded.sources.replayed import ReplayedFirings, clocks_of
from sonde.engines.embedded.sources.timers import TimerSource
from sonde.engines.fired import FiringSource
from sonde.model.errors import EngineError
from sonde.model.named_maps import FAMILY
from sonde.runtime.structures import Structures


class ReplayedSources:
    """To be made before programs are ready, as their helpers ask the recording; `connect()` is for when they are."""

    packets = None

    def __init__(self, world: ProgramWorld, source: FiringSource) -> None:
        self._world = world
        environment, buffers, maps = world.environment, world.buffers, world.maps
        environment.send_signal = lambda task, number, thread: 0
        environment.intervene = lambda task, result, delay: 0
        looks_at_once = world.looks_at_once
        self.firings = ReplayedFirings(
            source, world.memory, environment, buffers, Structures(world.memory), self._forget,
            lambda: maps.is_enough(looks_at_once), looks_at_once,
        )  # fmt: skip

    def connect(self, is_enough: Callable[[bool], bool]) -> None:
        """`is_enough` says that the consumer should look at the rings."""
        world = self._world
        self.firings.connect(world.programs, clocks_of(world.programs))
        timers = TimerSource((), world.access.threads, world.environment, world.buffers)
        self.events: Events = Events(None, {}, timers, is_enough, world.interventions, [self.firings])

    def _forget(self, task: int) -> None:
        world = self._world
        world.maps.forget_task(task)
        family = world.maps.by_name.get(FAMILY)
        if family is not None:
            struct.pack_into("=Q", world.buffers.arguments, 0, task)
            family.calls["map_delete_elem"](world.buffers.arguments_at)

    def attach(self) -> None:
        """There are no processes: the first firing is awaited."""
        self.firings.start()

    @property
    def has_ended(self) -> bool:
        """Whether somebody should look, once, since the last firing has been taken up."""
        return self.firings.has_ended

    def looked(self) -> None:
        """Somebody has."""
        self.firings.has_ended = False

    @property
    def is_hasty(self) -> bool:
        """Whether what programs have written is to be read at once also where records may gather."""
        return self.firings.is_hasty

    def restart_timers(self) -> None:
        """Nothing: clocks go as the recording does."""

    def attach_sites(self, program: str, path: str, sites: Sequence[SiteOfFile], pid: int) -> None:
        """Raises EngineError: recordings keep none."""
        raise EngineError(f"a recording has no static probes of {path}")

    def await_files(self, mapped: Callable[[int], None]) -> bool:
        """No: all that was mapped is in the recording."""
        return False

    def losses(self) -> tuple[int, int, int, int]:
        """Ticks, switches and breakpoints: none, as nothing of this session's own runs."""
        return 0, 0, 0, 0

    def close(self) -> None:
        """Closing twice is harmless."""
        self.firings.close()
