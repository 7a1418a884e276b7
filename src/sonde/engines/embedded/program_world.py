"""The world that programs of a session run in: what their helpers answer from, and the programs, ready to run."""

from __future__ import annotations

import os
import time

from sonde.bpf.helpers import CPU_TIME, PROBE_NAME
from sonde.engines.embedded import cpu_times
from sonde.engines.embedded.process_access import ProcessAccess
from sonde.engines.embedded.session_maps import SessionMaps
from sonde.engines.embedded.sources import firing_tap, sample_ring
from sonde.engines.embedded.sources.buffers import Buffers
from sonde.engines.embedded.sources.interventions import Interventions
from sonde.engines.embedded.sources.signalling import send_signal
from sonde.engines.embedded.sources.task import TracedTask
from sonde.engines.embedded.stamps import EmbeddedStamps
from sonde.machine import proc
from sonde.machine.system import monotonic_ns
from sonde.model.errors import EngineError
from sonde.model.named_maps import SPECULATIONS
from sonde.model.spec import ProgramSpec, TracingSpec, has_samples
from sonde.runtime import files
from sonde.runtime.environment import Environment
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.programs.ready import ReadyProgram, called_helpers, prepare
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.engines.embedded.sources.firing_tap import FiringTap
    from sonde.engines.embedded.sources.sample_ring import SampleRing

_FOREIGN = (
    "/proc is of another pid namespace, or none, and would tell of other processes than those traced: the "
    "embedded engine needs one of its own, by `mount -t proc proc /proc`, or `unshare --mount-proc`"
)


def require_own_proc() -> None:
    """Raises EngineError where /proc tells of others than those that are traced."""
    try:
        is_own = proc.is_own()
    except OSError:
        is_own = False
    if not is_own:
        raise EngineError(_FOREIGN)


class ProgramWorld:
    """`own` is sonde's thread, in which BEGIN and END run; `interventions` what programs want done to threads. The
    `programs` are ready behind `prepare()`, and so are the `samples` that they let through, None where none does."""

    def __init__(
        self, spec: TracingSpec, memory: MachineMemory, maps: SessionMaps, buffers: Buffers, access: ProcessAccess,
        interventions: Interventions,
    ) -> None:  # fmt: skip
        """Raises EngineError."""
        self.spec, self.memory, self.maps, self.buffers, self.access = spec, memory, maps, buffers, access
        self.programs: list[ReadyProgram] = []
        self.samples: SampleRing | None = None
        own = access.threads.outsider(os.getpid())
        if own is None:
            raise EngineError(_FOREIGN)
        self.own: TracedTask = own
        self.environment = Environment(memory, maps.table, own)
        self.environment.send_signal = send_signal
        self.environment.intervene = interventions.intervene
        self.interventions = interventions
        if access.tap is not None:
            self._record_files(access.tap)

    @property
    def looks_at_once(self) -> bool:
        """A speculation is free again when the consumer has seen the record of its end, and what an aggregation has
        come to is shown as it is when the consumer looks: both are to be the same in each replay."""
        return bool(self.spec.aggregations) or any(each.name == SPECULATIONS for each in self.spec.maps)

    def prepare(self, values: EmbeddedStamps, is_replayed: bool, sample_bytes: int) -> None:
        """Make the programs ready; of a replay the recording tells how long threads ran. Raises EngineError."""
        spec, environment, tap = self.spec, self.environment, self.access.tap
        if not is_replayed and _calls(spec.programs, CPU_TIME):
            self._look_at_cpu_times()
        if tap is not None:
            environment.cpu_time = tap.telling(environment.cpu_time)
        self.programs = prepare(spec.programs, self.maps.by_name, environment, values.value)
        self.maps.fill({each.spec.name: each.callable for each in self.programs})
        environment.printed = self.maps.printed
        if _calls(spec.programs, PROBE_NAME):
            environment.probe_names = {each.id: each.name.encode() for each in spec.probes}
        if has_samples(spec):
            self.samples = sample_ring.SampleRing(environment, sample_bytes)

    def run_internal(self, program: str) -> None:
        """Run a program of BEGIN or END to its end. Raises EngineError."""
        environment, buffers, tap = self.environment, self.buffers, self.access.tap
        ready = next((each for each in self.programs if each.spec.name == program), None)
        if ready is None:
            raise EngineError(f"there is no program {program}")
        buffers.arguments[:] = bytes(len(buffers.arguments))
        if tap is None:
            ready.run(buffers.arguments_at)
            return
        environment.now = monotonic_ns()
        tap.internal(program, ready.run, buffers.arguments_at)

    def _record_files(self, tap: FiringTap) -> None:
        tap.environment = self.environment
        self.environment.note_result = tap.note_result
        self.environment.files = firing_tap.NotedFiles(files.FilesOfTasks(self.environment), tap)

    def _look_at_cpu_times(self) -> None:
        cpu_times.require()
        self.own.cpu_before = time.thread_time_ns()
        self.access.threads.cpu_used = cpu_times.used
        self.environment.cpu_time = cpu_times.of_threads_besides(self.own)

    def close(self) -> None:
        """Free what helpers have opened, and the programs; closing twice is harmless."""
        if self.samples is not None:
            self.samples.close()
        if self.environment.files is not None:
            self.environment.files.close()
            self.environment.files = None
        for ready in self.programs:
            ready.forget()
        self.programs, self.samples = [], None


def _calls(programs: tuple[ProgramSpec, ...], helper: int) -> bool:
    return any(helper in called_helpers(each) for each in programs)
