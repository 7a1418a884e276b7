"""What a recording holds of one firing, as helpers ask for it; what they ask for in vain is noted by name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from errno import EFAULT, ENODATA

from sonde.bpf.helpers import CPU_TIME, OPEN_FILE
from sonde.engines.fired import FiringThread, MemoryRead, RecordedFiring
from sonde.model.firing_names import MissingParts
from sonde.runtime.environment import Task
from sonde.symbols.images import mark_of


def _strings_first(read: MemoryRead) -> bool:
    return not read.is_string


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
    """The firing under way; `begin` takes up the next. `missing` gets what is asked for and not there."""

    def __init__(self, missing: MissingParts, has_raw_stacks: bool) -> None:
        self.cpu = 0
        self.has_raw_stacks = has_raw_stacks
        self.own: Task | None = None
        """Where no firing was recorded: the thread of sonde itself."""
        self._missing = missing
        self._fired: RecordedFiring | None = None
        self._reads: tuple[MemoryRead, ...] = ()
        self._results: dict[int, list[int]] = {}
        self._probe = ""
        self._arguments: tuple[int, ...] = ()

    def begin(self, fired: RecordedFiring, probe: str, arguments: tuple[int, ...]) -> None:
        """`probe` and `arguments` are for what is said of what is missing."""
        self.cpu, self._fired, self._reads = fired.cpu, fired, fired.reads
        self._probe, self._arguments = probe, arguments
        self._results = {}
        for helper, result in fired.results:
            self._results.setdefault(helper, []).append(result)

    def read(self, is_user: bool, address: int, size: int) -> bytes | None:
        failed = False
        for each in self._reads:
            start = address - each.address
            if each.data is None:
                failed = failed or start == 0
                continue
            end = len(each.data) + each.is_string
            if start >= 0 and start + size <= end:
                whole = each.data + b"\0" if each.is_string else each.data
                return whole[start : start + size]
        found = self._pieced(address, size)
        if found is None and not failed:
            self._miss(is_user, address, "memory")
        return found

    def _pieced(self, address: int, size: int) -> bytes | None:
        """From more than one read."""
        data, at = bytearray(), address
        while at < address + size:
            for each in self._reads:
                if each.data is not None and each.address <= at < each.address + len(each.data):
                    data += each.data[at - each.address :]
                    at = each.address + len(each.data)
                    break
            else:
                return None
        return bytes(data[:size])

    def string(self, is_user: bool, address: int, size: int) -> bytes | None:
        failed = False
        for each in sorted(self._reads, key=_strings_first):
            start = address - each.address
            if each.data is None:
                failed = failed or start == 0
                continue
            if not 0 <= start <= len(each.data):
                continue
            text, nul, _ = each.data[start:].partition(b"\0")
            if nul or len(text) >= size or (each.is_string and (start < len(each.data) or not start)):
                return text[:size]
        if not failed:
            self._miss(is_user, address, "string")
        return None

    def stack(self, is_user: bool) -> Sequence[int] | None:
        fired = self._fired
        found = None if fired is None else fired.user_stack if is_user else fired.kernel_stack
        if found is None:
            self._missing.note(self._probe, "the stack of the process" if is_user else "the stack of the kernel", True)
        return found

    def result(self, helper: int) -> int | None:
        """A program that asks more often than the recorded one gets the last answer again."""
        found = self._results.get(helper)
        return (found.pop(0) if len(found) > 1 else found[0]) if found else None

    def image(self) -> int:
        thread = self._fired.thread if self._fired is not None else None
        return mark_of(thread.vdso) << 32 | thread.pid if thread is not None else 0

    def parent(self) -> int | None:
        found = self._fired.thread.ppid if self._fired is not None else -1
        if found < 0:
            self._missing.note(self._probe, "the parent of the process", False)
            return None
        return found

    def open(self, descriptor: int) -> int:
        """The address of the open file that was asked for. Raises OSError."""
        return self._told(OPEN_FILE, "open files")

    def path(self, address: int) -> bytes:
        """Raises OSError: paths are read as the memory at their addresses."""
        raise OSError(EFAULT, os.strerror(EFAULT))

    def close(self) -> None:
        """Nothing is open."""

    def cpu_time(self, task: Task) -> int:
        """Raises OSError."""
        return self._told(CPU_TIME, "the CPU time")

    def _told(self, helper: int, what: str) -> int:
        found = self.result(helper)
        if found is None:
            self._missing.note(self._probe, what, False)
            raise OSError(ENODATA, os.strerror(ENODATA))
        return found

    def _miss(self, is_user: bool, address: int, what: str) -> None:
        if not address:
            # NULL is nowhere: the same fault as when it was recorded.
            return
        whose = "" if is_user else " of the kernel"
        for number, value in enumerate(self._arguments):
            if value == address:
                named = f"the string at arg{number}" if what == "string" else f"the memory at arg{number}"
                self._missing.note(self._probe, named + whose, is_user and what == "string")
                return
        self._missing.note(self._probe, f"{'a string' if what == 'string' else 'memory'}{whose or ' of the process'}",
                           is_user and what == "string")  # fmt: skip
