"""What a recording holds of one firing, as helpers ask for it; what they ask for in vain is noted by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from errno import EFAULT, ENODATA

from sonde.bpf.helpers import CPU_TIME, OPEN_FILE
from sonde.engines.fired import FiringThread, MemoryRead, RecordedFiring
from sonde.model.firing_names import OF_KERNEL, MissingParts
from sonde.runtime.environment import Task

_U64 = (1 << 64) - 1

_MORE_OF_PACKETS = "record with a greater -xpcapsize, or without"


class ReplayedTask:
    """The thread of a firing as programs see it; `address` stands for its task_struct."""

    __slots__ = ("address", "comm", "cpu_before", "gid", "parent", "pid", "registers", "tid", "uid")

    def __init__(self, thread: FiringThread, address: int, registers: int) -> None:
        self.tid, self.pid, self.comm = thread.tid, thread.pid, thread.comm
        self.uid, self.gid, self.parent = thread.uid & 0xFFFF_FFFF, thread.gid & 0xFFFF_FFFF, thread.ppid
        self.address, self.registers, self.cpu_before = address, registers, 0

    def read_memory(self, address: int, size: int) -> bytes:
        """Raises OSError: helpers read what the recording has by `FiringAnswers`."""
        raise OSError("a process that was recorded has no memory")

    def write_memory(self, address: int, data: bytes) -> None:
        """Nothing: what a program did to the process is done."""

    def user_stack(self, depth: int) -> Sequence[int]:
        return ()


class FiringAnswers:
    """The firing under way; `begin` takes up the next. `missing` gets what is asked for and not there; `mark` says
    what a process executes."""

    def __init__(self, missing: MissingParts, has_raw_stacks: bool, mark: Callable[[int], int]) -> None:
        self._mark = mark
        self.cpu = 0
        self.has_raw_stacks = has_raw_stacks
        self.own: Task | None = None
        """Where no firing was recorded: the thread of sonde itself."""
        self._missing = missing
        self._fired: RecordedFiring | None = None
        self._unwound: Sequence[int] | None = None
        self.has_shown_stack = False
        """Whether a program has been given a process's stack as it was walked when it was recorded."""
        self._reads: tuple[MemoryRead, ...] = ()
        self._results: dict[int, list[int]] = {}
        self._probe = ""
        self._arguments: Callable[[], tuple[int, ...]] = tuple
        self._missed: set[int] = set()
        self._noted: set[str] = set()

    def begin(self, fired: RecordedFiring, probe: str, arguments: Callable[[], tuple[int, ...]]) -> None:
        """`probe` and `arguments` are for what is said of what is missing."""
        if self._noted and fired is not self._fired:
            # Of what several programs miss, or one twice, a firing is told of once.
            self._noted = set()
        if fired is not self._fired:
            self._unwound = None
        self.cpu, self._fired, self._reads = fired.cpu, fired, fired.reads
        self._probe, self._arguments = probe, arguments
        if self._results or self._missed:
            self._results, self._missed = {}, set()
        for helper, result in fired.results:
            self._results.setdefault(helper, []).append(result)

    def read(self, is_user: bool, address: int, size: int) -> bytes | None:
        """None where the recorded program failed too, and where nobody has read it."""
        data = bytearray()
        while len(data) < size:
            known = self._known(address + len(data))
            if not known:
                self._lacks(is_user, address, address + len(data), "memory")
                return None
            data += known
        return bytes(data[:size])

    def string(self, is_user: bool, address: int, size: int) -> bytes | None:
        """Up to its NUL or `size` bytes; None as for `read`."""
        text, at = bytearray(), address
        while len(text) < size:
            # What stands for an open file has members and a path at one address.
            known = self._known_string(at) or self._known(at)
            if not known:
                self._lacks(is_user, address, at, "string")
                return None
            piece, nul, _ = known.partition(b"\0")
            text += piece
            if nul:
                break
            at += len(known)
        return bytes(text[:size])

    def _known(self, at: int) -> bytes:
        """What there was from an address on, by the read that goes farthest; a string with its NUL, where nothing else
        is known: the text that stands for an open file is where the file has members."""
        memory = text = b""
        for each in self._reads:
            if each.data is not None and each.address <= at:
                if each.is_string:
                    text = max(text, (each.data + b"\0")[at - each.address :], key=len)
                else:
                    memory = max(memory, each.data[at - each.address :], key=len)
        return memory or text

    def _known_string(self, at: int) -> bytes:
        """The rest of a string that was read; nothing at the end of one, which may have been cut there."""
        for each in self._reads:
            if each.is_string and each.data is not None and 0 <= at - each.address < max(len(each.data), 1):
                return each.data[at - each.address :] + b"\0"
        return b""

    def _lacks(self, is_user: bool, address: int, at: int, what: str) -> None:
        """Nothing is known of `at`, on the way from `address`: missing, unless to read it has failed."""
        if not any(each.data is None and each.address in (address, at) for each in self._reads):
            self._miss(is_user, address, what)

    def stack(self, is_user: bool) -> Sequence[int] | None:
        fired = self._fired
        if is_user and fired is not None and fired.unwound is not None:
            if self._unwound is None:
                self._unwound = fired.unwound()
            return self._unwound
        found = None if fired is None else fired.user_stack if is_user else fired.kernel_stack
        self.has_shown_stack |= is_user and bool(found)
        if found is None:
            self._note("the stack of the process" if is_user else "the stack of the kernel", True)
        return found

    def result(self, helper: int) -> int | None:
        """A program that asks more often than the recorded one gets the last answer again."""
        found = self._results.get(helper)
        return (found.pop(0) if len(found) > 1 else found[0]) if found else None

    def image(self) -> int:
        thread = self._fired.thread if self._fired is not None else None
        return self._mark(thread.pid) << 32 | thread.pid if thread is not None else 0

    def parent(self) -> int | None:
        found = self._fired.thread.ppid if self._fired is not None else -1
        if found < 0:
            self._missed.add(0)
            self._note("the parent of the process", False)
            return None
        return found

    def open(self, descriptor: int) -> int:
        """The address of the open file that was asked for. Raises OSError."""
        return self._told(OPEN_FILE, "open files", descriptor & _U64)

    def path(self, address: int) -> bytes:
        """The text that was recorded in the place of a struct path. Raises OSError."""
        known = self._known_string(address)
        if not known:
            if not any(each.data is None and each.address == address for each in self._reads):
                self._missed.add(address)
                self._note("the path of a file or directory", True)
            raise OSError(EFAULT, os.strerror(EFAULT))
        return known.partition(b"\0")[0]

    def close(self) -> None:
        """Nothing is open."""

    def cpu_time(self, task: Task) -> int:
        """Raises OSError."""
        return self._told(CPU_TIME, "the CPU time", 0)

    def look_at_packet(self, end: int) -> None:
        packet = self._fired.packet if self._fired is not None else None
        if packet is None:
            self._note("the packet", False)
        elif len(packet.data) < min(end, packet.present):
            self._note(f"the packet behind its first {len(packet.data)} bytes", False, _MORE_OF_PACKETS)

    def has_missed(self, value: int) -> bool:
        return value in self._missed

    def _told(self, helper: int, what: str, asked: int) -> int:
        found = self.result(helper)
        if found is None:
            self._missed.add(asked)
            self._note(what, False)
            raise OSError(ENODATA, os.strerror(ENODATA))
        return found

    def _note(self, what: str, is_wider: bool, remedy: str = "") -> None:
        if what not in self._noted:
            self._noted.add(what)
            self._missing.note(self._probe, what, is_wider, remedy)

    def _miss(self, is_user: bool, address: int, what: str) -> None:
        if not address:
            # NULL is nowhere: the same fault as when it was recorded.
            return
        self._missed.add(address)
        whose = "" if is_user else " of the kernel"
        for number, value in enumerate(self._arguments()):
            if value == address:
                named = f"the string at arg{number}" if what == "string" else f"the memory at arg{number}"
                self._note(named + whose, is_user and what == "string")
                return
        if not is_user:
            self._note(OF_KERNEL[what == "string"], False)
            return
        self._note("a string of the process" if what == "string" else "memory of the process", what == "string")
