"""What programs can look at in the processes that fire them: threads, memory, stacks, what is mapped there."""

from __future__ import annotations

from sonde.arch import address_space
from sonde.engines.embedded.followed import FollowedGroup
from sonde.engines.embedded.sources import firing_tap, firings, images, sampling, stopped_samples, table_stacks
from sonde.engines.embedded.sources.buffers import Buffers
from sonde.engines.embedded.sources.fetched import FetchedMemory
from sonde.engines.embedded.sources.stack import walker
from sonde.engines.embedded.sources.task import ThreadAccess
from sonde.engines.embedded.sources.threads import Threads
from sonde.engines.embedded.sources.wishes import plan_of
from sonde.engines.embedded.tracer.memory import ProcessMemory
from sonde.engines.embedded.tracer.plan import FILES, StopPlan
from sonde.engines.embedded.tracer.stops import EXEC, EXIT, FORK, MAPPED
from sonde.model.spec import TracingSpec, has_samples, has_user_addresses
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.structures import Structures
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.engines.base import FiringKeeper


class ProcessAccess:
    """`plan` is what the guardian is to stop threads for, so that there is something to look at; `fetched` what it has
    fetched into `places` by then. `images` knows what is mapped where addresses are recorded, `sampled` is the memory
    that comes with samples, `tap` writes down what is read where firings are recorded: None in other sessions.
    `stops_samples`: threads are stopped to be sampled. `reads_more`: also what programs do not ask for is read, and
    recorded."""

    def __init__(
        self, spec: TracingSpec, followed: FollowedGroup | None, memory: MachineMemory, buffers: Buffers,
        keeper: FiringKeeper | None,
    ) -> None:  # fmt: skip
        remote = followed.tracees.memory if followed else ProcessMemory()
        self.reads_more = keeper is not None and keeper.reads_more
        self.plan = _plan(spec, followed, self.reads_more, keeper is not None)
        read = remote.read
        self.stops_samples = False
        self.sampled: sampling.SampledMemory | None = None
        if followed is not None and firings.has_samples(spec):
            self.stops_samples = followed.stops_samples and (self.reads_more or stopped_samples.look_at_threads(spec))
            if self.stops_samples:
                self.plan = self.plan._replace(registers=True, events=self.plan.events | {EXIT}, times=True)
        if followed is not None and firings.has_samples(spec, not self.stops_samples):
            self.plan = self.plan._replace(events=self.plan.events | {EXIT}, times=True)
            self.sampled = sampling.SampledMemory(remote.read)
            read = self.sampled.read
        walk = walker(buffers.registers, read, address_space.own_address_space().user_end, self.sampled is None)
        self.images: images.ImageEvents | None = None
        if followed is not None and (_tells_addresses(spec) or self.reads_more):
            self.images = images.ImageEvents(
                lambda tid: self.threads.by_tid.get(tid),
                lambda process, generation: self.threads.set_generation(process, generation),
            )
            if keeper is not None and keeper.walks_tables:
                walk = table_stacks.table_walker(
                    buffers.registers, read, self.images, lambda tid: self.threads.by_tid.get(tid)
                )
            walk = self.images.walking(walk)
        self.places = followed.tracees.fetched() if followed else memoryview(b"")
        self.fetched = FetchedMemory(read, self.places, self.plan.fetches)
        thread = ThreadAccess(self.fetched.read, remote.write, walk)
        self.tap: firing_tap.FiringTap | None = None
        if keeper is not None:
            self.tap = firing_tap.FiringTap(keeper, spec, memory, buffers, self.images)
            thread = ThreadAccess(self.tap.reading(thread.read), remote.write, self.tap.walking(walk))
        self.structures = Structures(memory)
        self.threads = Threads(self.structures, buffers.registers_at, thread)


def _tells_addresses(spec: TracingSpec) -> bool:
    return has_user_addresses(spec) or has_samples(spec)


def _plan(spec: TracingSpec, followed: FollowedGroup | None, reads_more: bool, records: bool) -> StopPlan:
    plan = plan_of(spec, followed is not None and followed.seccomp, reads_more, records)
    if followed is not None and (followed.follow_all or not plan.seccomp):
        # A child counts from its making on: its maker may be gone before its own first stop. Where there is a filter
        # the guardian stays for its sake, and is asked.
        plan = plan._replace(events=plan.events | {FORK})
    if followed is not None and (_tells_addresses(spec) or reads_more):
        plan = images.with_images(plan)
    if firings.has_user_probes(spec):
        plan = plan._replace(maps=FILES)
    if firings.awaits_files(spec):
        plan = plan._replace(events=plan.events | {MAPPED}, held=plan.held | {EXEC, MAPPED})
    return plan
