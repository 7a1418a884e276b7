"""A traced thread as programs and helpers see it, and its process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonde.typed import NamedTuple


class ThreadAccess(NamedTuple):
    """How the memory and stack of a thread are reached: `read` (thread, address, size), `write` (thread, address,
    bytes), both raise OSError; `stack` (thread, depth)."""

    read: Callable[[int, int, int], bytes]
    write: Callable[[int, int, bytes], None]
    stack: Callable[[int, int], Sequence[int]]


class TracedProcess:
    """What the threads of a process share. `shared` is the address of that in Memory, `threads` are those that are
    traced, by number, `live` how many of them have not begun to end; `leader` is the first thread, or what stands for
    it in a process that is not traced. `vdso` is where that begins, 0 if it is not known; `generation` tells how often
    the process has replaced code since it was executed (`symbols/current_images.py`)."""

    __slots__ = ("children", "generation", "gid", "leader", "live", "parent", "pid", "shared", "threads", "uid", "vdso")

    def __init__(self, pid: int, shared: int) -> None:
        self.pid = pid
        self.shared = shared
        self.uid = self.gid = self.vdso = self.generation = 0
        self.threads: dict[int, TracedTask] = {}
        self.live = 0
        self.leader: TracedTask | None = None
        self.parent: TracedProcess | None = None
        self.children: set[TracedProcess] = set()


class TracedTask:
    """A thread. `address` is that of its task_struct in Memory, `registers` that of its struct pt_regs; `is_compat`
    tells whether its last system call was of the 32-bit table; `cpu_before` is the CPU time in ns that it had used when
    tracing of it began, where that is looked at."""

    __slots__ = (
        "_access",
        "address",
        "comm",
        "cpu_before",
        "is_compat",
        "is_ending",
        "pid",
        "process",
        "registers",
        "tid",
    )

    def __init__(
        self, tid: int, process: TracedProcess, comm: bytes, address: int, registers: int, access: ThreadAccess
    ) -> None:
        self.tid = tid
        self.pid = process.pid
        self.process = process
        self.comm = comm
        self.address = address
        self.registers = registers
        self.is_compat = False
        self.is_ending = False
        self.cpu_before = 0
        self._access = access

    @property
    def uid(self) -> int:
        return self.process.uid

    @property
    def gid(self) -> int:
        return self.process.gid

    def read_memory(self, address: int, size: int) -> bytes:
        """Raises OSError unless all can be read."""
        return self._access.read(self.tid, address, size)

    def write_memory(self, address: int, data: bytes) -> None:
        """Raises OSError."""
        self._access.write(self.tid, address, data)

    def user_stack(self, depth: int) -> Sequence[int]:
        """Return addresses, at most `depth`, the program counter first."""
        return self._access.stack(self.tid, depth)
