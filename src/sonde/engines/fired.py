"""What a recording of firings holds, as values: each time a probe fired, with all that a program can ask of it.

A *source of firings* (`FiringSource`) is what `--replay` runs scripts on. It is a file of `--record`
(`recording/firing_file.py`), a session that records as it goes (`session/recorded_kernel.py`), or a file of another
tool that is read into these values. The embedded engine runs programs for them one after the other
(`engines/embedded/sources/replayed.py`); whatever is not in a firing is a fault of the program that asks for it, and is
told by name at the end.

Which programs a firing runs its probe says (`model/probe.py`): those of that probe, and those that are attached where
it is fired, such as another probe that follows from the same tracepoint. `context` and `registers` are, by the probe's
firing,

    Syscall          no context; struct pt_regs as the call was entered or left
    RawTracepoint    the tracepoint's arguments, u64 each; struct pt_regs or nothing
    Tracepoint       the record of the trace event, from its common fields on, with what stands behind it; nothing
    Timer, PerfEvent no context; struct pt_regs of the sample
    Uprobe, KernelFunction, StaticProbe   no context; struct pt_regs
    Packet           what its context told of the packet (`firing_record.PASSING`); nothing

Registers are those of this machine's processor (`arch.registers.SIZE` bytes). Times are ns of CLOCK_MONOTONIC.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sonde.model.probe import Probe
from sonde.symbols.process_events import ProcessEvent
from sonde.typed import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from sonde.symbols.symbolizer import SystemSymbolizer


class FiringThread(NamedTuple):
    """The thread that fired a probe: numbers as sonde saw them, its name of at most 15 bytes, its task_struct's address
    where that is known. `ppid`, `uid` and `gid` are -1 where the recording has not got them."""

    tid: int
    pid: int
    comm: bytes
    uid: int = -1
    gid: int = -1
    ppid: int = -1
    address: int = 0


class MemoryRead(NamedTuple):
    """What was in memory at an address, of the process or of the kernel; `data` is None where it could not be read.
    `is_string`: the characters up to the NUL, without it, of which as many were read as are there."""

    address: int
    data: bytes | None
    is_string: bool = False


class KeptPacket(NamedTuple):
    """The packet of a firing: as many of its first bytes as are kept, and how many there were to be had."""

    data: bytes
    present: int


class KeptStack(NamedTuple):
    """The registers of a process, as struct pt_regs, and bytes of its stack from `start` on; `is_full`: as many as
    there was to be room for."""

    registers: bytes
    start: int
    data: bytes
    is_full: bool


class RecordedFiring(NamedTuple):
    """A firing of the probe that has the place `probe` among the source's. Stacks are return addresses, the innermost
    first, None where they were not kept. `results` are those of helpers, by their numbers, in the order of calls.
    `packet` is that which it is about, None where none was kept. `kept_stack` is what there is of the process's
    stack to be walked, and `unwound` finds the addresses: it is for as long as the source has not been asked for what
    came next."""

    probe: int
    time: int
    cpu: int
    thread: FiringThread
    context: bytes = b""
    registers: bytes = b""
    reads: tuple[MemoryRead, ...] = ()
    kernel_stack: tuple[int, ...] | None = None
    user_stack: tuple[int, ...] | None = None
    results: tuple[tuple[int, int], ...] = ()
    packet: KeptPacket | None = None
    kept_stack: KeptStack | None = None
    unwound: Callable[[], tuple[int, ...]] | None = None


Happening: TypeAlias = RecordedFiring | ProcessEvent


class OtherNames(NamedTuple):
    """What descriptions may call the module and the function of the probe that has this place among a source's, besides
    their own names."""

    place: int
    modules: tuple[str, ...]
    functions: tuple[str, ...]


BY_FRAMES, BY_TABLES, AS_BYTES = "frames", "tables", "bytes"
"""How a recording has stacks of processes: walked by frame pointers or unwinding tables, or, for those who replay it to
walk them, as registers and bytes."""

KERNEL, EMBEDDED, FOREIGN = "kernel", "embedded", "foreign"
"""What made a recording: sonde with one of its engines, or another tool."""


class RecordedProbes(Protocol):
    """As much of a recording as it takes to compile for it: `origin` is one of KERNEL, EMBEDDED and FOREIGN, `probes`
    all that it may hold firings of, `process` that which is $target, 0 without one. `formats` has for trace events, by
    group and name, the text of their tracefs format file. `file` says where a file lies that
    probes of processes are in, by what their firings call it; "" where it is not here, or another one. `names` are
    those of probes of processes that have several."""

    @property
    def origin(self) -> str: ...
    @property
    def probes(self) -> tuple[Probe, ...]: ...
    @property
    def process(self) -> int: ...
    @property
    def formats(self) -> dict[tuple[str, str], str]: ...
    @property
    def names(self) -> tuple[OtherNames, ...]: ...
    @property
    def stacks(self) -> str:
        """One of BY_FRAMES, BY_TABLES and AS_BYTES."""

    def file(self, name: str) -> str: ...


class FiringSource(RecordedProbes, Protocol):
    """Firings in the order in which they are to be run, and what processes map among them. `realtime_offset` is the
    wall clock minus CLOCK_MONOTONIC, ns."""

    realtime_offset: int
    began: int
    """When recording began, ns of CLOCK_MONOTONIC."""
    path: str
    """The file, for messages; "" if there is none."""
    reads_more: bool
    """Whether it has what `--record-reads` adds."""
    lost: int
    """Firings that found no room when they were recorded, as far as has been read."""

    @property
    def damage(self) -> str:
        """What is wrong with the file as far as it was read, "" if nothing."""

    @property
    def progress(self) -> tuple[int, int]:
        """Bytes of the file that were read, and all; zeros where that is not known."""

    @property
    def remainder(self) -> str:
        """What of a damaged file was replayed all the same."""

    @property
    def descriptors(self) -> Sequence[int]:
        """Readable when there is more, of a source that grows."""

    @property
    def is_over(self) -> bool:
        """Whether there are no more."""

    def internal(self, name: str) -> RecordedFiring | None:
        """The firing of BEGIN or END, None if it was not recorded. Asked for once each, END when all else is over."""

    def start(self) -> None:
        """Programs are ready: a source that grows begins to."""

    def adopt_descendants(self, pid: int) -> None:
        """A source that grows: who descends from the process by now is its descendant."""

    def finish(self) -> None:
        """A source that grows comes to its end, a file that is replayed has one."""

    def happenings(self) -> Iterator[Happening]:
        """Those that have come since the last call; all of a file, read as they are asked for."""

    def symbolizer(self, demangles: bool) -> SystemSymbolizer | None:
        """What has names for the recorded addresses, None if those are this machine's."""

    def close(self) -> None:
        """Closing twice is harmless."""
