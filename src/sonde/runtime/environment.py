"""What BPF helpers ask of the world: the session's memory and maps, and the firing that is under way.

The engine sets the fields of the firing before it runs a program; helpers are closures over the one Environment and
read them when they are called.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from errno import EBUSY, ENOSYS

from sonde.arch import address_space
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.maps.base import MapTable
from sonde.typed import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from sonde.runtime.perf.ring import PerfRing


class Task(Protocol):
    """A thread as programs see it. Numbers are those that sonde's own pid namespace has."""

    @property
    def tid(self) -> int: ...

    @property
    def pid(self) -> int:
        """The thread group's, which user space calls the process."""

    @property
    def comm(self) -> bytes:
        """At most 15 bytes, without NUL."""

    @property
    def uid(self) -> int: ...

    @property
    def gid(self) -> int: ...

    @property
    def address(self) -> int:
        """Of its struct task_struct in Memory."""

    @property
    def registers(self) -> int:
        """The address of its struct pt_regs in Memory."""

    @property
    def cpu_before(self) -> int:
        """The CPU time that it had used when tracing of it began, in ns, where that is looked at."""

    def read_memory(self, address: int, size: int) -> bytes:
        """Exactly `size` bytes of the process's memory. Raises OSError if any of them cannot be read."""

    def write_memory(self, address: int, data: bytes) -> None:
        """Raises OSError."""

    def user_stack(self, depth: int) -> Sequence[int]:
        """Return addresses, at most `depth`, the program counter first; empty if they cannot be told."""


class Variables(Protocol):
    """The variables of a probe."""

    @property
    def size(self) -> int:
        """How many bytes of buffer they take."""

    def fetch(self, task: Task, registers: Callable[[], memoryview], buffer: memoryview) -> int:
        """Fill the buffer, zeros where there is nothing: 0 or -errno. `registers` gives the task's struct pt_regs."""


class OpenFiles(Protocol):
    """The files of the thread that fires. Both raise OSError for what cannot be told."""

    def open(self, descriptor: int) -> int:
        """The address of the struct file, 0 where it is not open."""

    def path(self, address: int) -> bytes:
        """The text of the struct path at an address."""

    def close(self) -> None: ...


class RecordedWorld(Protocol):
    """What a recording holds of the firing under way, where firings come from one. What it does not hold is noted, for
    people, and is None."""

    cpu: int
    has_raw_stacks: bool
    """Whether stacks are as the helper has found them; else as programs have put them together."""

    def read(self, is_user: bool, address: int, size: int) -> bytes | None:
        """Exactly `size` bytes of memory."""

    def string(self, is_user: bool, address: int, size: int) -> bytes | None:
        """The characters at an address without the NUL, at most `size` of them."""

    def stack(self, is_user: bool) -> Sequence[int] | None:
        """Addresses, the innermost first."""

    def result(self, helper: int) -> int | None:
        """What the next call of that helper has given."""

    def parent(self) -> int | None:
        """The parent of the process."""

    def image(self) -> int:
        """The process, and what it executes."""

    def look_at_packet(self, end: int) -> None:
        """Its first `end` bytes are asked for; they are in the environment, as far as they are there."""

    def has_missed(self, value: int) -> bool:
        """Whether something is None that a fault of this value is about: an address, an open file's number, or 0."""


class Environment:
    """The fields up to `cpu_time` stay as they are; the others are the firing's."""

    def __init__(
        self, memory: MachineMemory, table: MapTable, task: Task, addresses: address_space.AddressSpace | None = None
    ) -> None:
        self.memory = memory
        self.addresses = addresses or address_space.own_address_space()
        self.table = table
        self.files: OpenFiles | None = None
        """The open files that programs have asked for; made when a program is there that may."""
        self.functions: dict[int, Callable[..., int]] = {}
        """What a program may hand to a helper to be called: by the handles that linking gives them."""
        self.perf_rings: dict[int, PerfRing] = {}
        """The rings in which programs reserve, by their regions' numbers."""
        self.cpu_time: Callable[[Task], int] = _no_time
        """ns that a thread has run since tracing began. Raises OSError."""
        self.task = task
        self.kind = 0
        """The type of the program that runs (enum bpf_prog_type, programs.PROBE)."""
        self.tracepoint = ""
        """The name of the raw tracepoint that fired, "" for other firings."""
        self.probe = 0
        """The identifier of the probe that fires, for programs that may ask for it."""
        self.probe_names: dict[int, bytes] = {}
        """What probes are called, by their identifiers."""
        self.cookie = 0
        """The attach cookie of the probe that fires."""
        self.variables: Variables | None = None
        """What can be fetched where the program was fired."""
        self.now = 0
        """When it fired, in ns of CLOCK_MONOTONIC; 0: while the program runs."""
        self.note_result: Callable[[int, int], None] | None = None
        """Told of results that no replay could have again, with the helper's number, where firings are recorded."""
        self.recorded: RecordedWorld | None = None
        """What a recording has of the firing, where that is what fires."""
        self.is_ending: Callable[[], bool] = _is_not_ending
        """Whether the session is to end: then time limits have passed."""
        self.most_turns = 0
        """How often helpers may call functions of programs back in a firing, 0: any number."""
        self.turns = 0
        """How often they have."""
        self.tail_calls = 0
        """How many the run has made."""
        self.packet: Any = None
        """The packet that a program of a network type looks at."""
        self.packet_length = 0
        """The bytes it had, of which a file may have only the first."""
        self.event: Any = None
        """The perf event whose overflow runs the program."""
        self.namespace = (0, 0)
        """Device and inode of the pid namespace whose numbers tasks have, as stat(2) shows them."""
        self.printed: Callable[[bytes], None] = _print_nowhere
        """Takes the text of a program that prints."""
        self.send_signal: Callable[[Task, int, bool], int] = _send_no_signal
        """(task, number, whether only to the thread) -> 0 or -errno."""
        self.intervene: Callable[[Task, int | None, int], int] = _intervene_nowhere
        """(task, result of its system call, None for its own, ns that it is to wait) -> 0 or -errno."""


def _intervene_nowhere(task: Task, result: int | None, delay: int) -> int:
    return -EBUSY


def _no_time(task: Task) -> int:
    raise OSError(ENOSYS, os.strerror(ENOSYS))


def _is_not_ending() -> bool:
    return False


def _print_nowhere(text: bytes) -> None:
    pass


def _send_no_signal(task: Task, number: int, thread: bool) -> int:
    return -1
