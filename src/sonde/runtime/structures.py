"""The structures that programs see of threads and processes, as kernel_types.py declares them, in Memory.

A thread has a task_struct; what the threads of a process share lies together: signal_struct, mm_struct, cred, a struct
pid for each member of enum pid_type, and an fs_struct. Of that only the address counts: /proc tells of its paths when a
program asks for one (files.py).
"""

from __future__ import annotations

import struct

from sonde.arch import registers, system_calls
from sonde.runtime.kernel_types import layout
from sonde.runtime.machine.memory import OFFSET_BITS, OFFSET_MASK, MachineMemory
from sonde.runtime.maps.slots import Slots

_TASK = layout("struct task_struct")
_SIGNAL = layout("struct signal_struct")
_MM = layout("struct mm_struct")
_CRED = layout("struct cred")
_PID = layout("struct pid")
_UPID = layout("struct upid")
THREAD_STATUS = _TASK.offsets["thread_info"] + layout("struct thread_info").offsets[system_calls.COMPAT_MEMBER]
"""Where a task_struct tells whether it is in a 32-bit call."""

_PID_TYPES = 4
_SIGNAL_AT = 0
_MM_AT = _SIGNAL_AT + _SIGNAL.size
_CRED_AT = _MM_AT + _MM.size
_PIDS_AT = _CRED_AT + _CRED.size
_FS_AT = _PIDS_AT + _PID_TYPES * _PID.size
_SHARED_SIZE = _FS_AT + layout("struct fs_struct").size

_SHARED = (("cred", _CRED_AT), ("real_cred", _CRED_AT), ("mm", _MM_AT), ("signal", _SIGNAL_AT), ("fs", _FS_AT))
"""Members of a task_struct that point to what its process has."""

_THREAD_POINTER = _TASK.offsets["thread"] + layout("struct thread_struct").offsets[registers.THREAD_POINTER_MEMBER]

_PER_REGION = 64
_NORMAL_PRIORITY = 120
"""The kernel's number for a thread of nice 0."""

_ZERO_TASK = bytes(_TASK.size)
_ZERO_SHARED = bytes(_SHARED_SIZE)
_WORD = struct.Struct("=Q")
_HALF = struct.Struct("=I")
_PAIR = struct.Struct("=ii")
_MAPPING = struct.Struct("=QQQQQQ")
_VDSO_AT = _MM_AT + _MAPPING.size - 8
_IDENTITY = struct.Struct("=IIIIIIII")


class Structures:
    """Addresses given by `add_*` stay valid until they are given back with `remove_*`."""

    def __init__(self, memory: MachineMemory) -> None:
        self._tasks = Slots(memory, _TASK.size, _PER_REGION)
        self._shared = Slots(memory, _SHARED_SIZE, _PER_REGION)

    def add_process(self) -> int:
        """What the threads of a process share, all zeros but for the pointers within."""
        address = self._shared.take()
        self._shared.write(address, _ZERO_SHARED)
        for kind in range(_PID_TYPES):
            at = address + _SIGNAL_AT + _SIGNAL.offsets["pids"] + 8 * kind
            self._shared.write(at, _WORD.pack(address + _PIDS_AT + kind * _PID.size))
        return address

    def copy_shared(self, source: int, target: int, pid: int) -> None:
        """What a process that was just made has in common with its maker."""
        skipped = _MM_AT - _SIGNAL_AT
        data = self._shared.read(source + skipped, _SHARED_SIZE - skipped)
        self._write_shared(target + skipped, data)
        for kind in (0, 1):
            at = target + _PIDS_AT + kind * _PID.size + _PID.offsets["numbers"] + _UPID.offsets["nr"]
            self._write_shared(at, _HALF.pack(pid))

    def remove_process(self, address: int) -> None:
        self._shared.give_back(address)

    def add_task(self, tid: int, pid: int, shared: int) -> int:
        """A thread of the process whose shared part is at `shared`."""
        address = self._tasks.take()
        self._tasks.write(address, _ZERO_TASK)
        self._write_task(address, "pid", _PAIR.pack(tid, pid))
        for name, at in _SHARED:
            self._write_task(address, name, _WORD.pack(shared + at))
        self._write_task(address, "prio", _HALF.pack(_NORMAL_PRIORITY))
        return address

    def remove_task(self, address: int) -> None:
        self._tasks.give_back(address)

    def set_number(self, task: int, tid: int) -> None:
        """The thread has another number."""
        self._write_task(task, "pid", _HALF.pack(tid))

    def set_name(self, task: int, name: bytes) -> None:
        """The thread's name, at most 15 bytes."""
        self._write_task(task, "comm", name[:15].ljust(16, b"\0"))

    def set_family(self, task: int, parent: int, leader: int) -> None:
        """The task_structs of the parent and of the process's first thread; a thread without a parent is its own."""
        self._write_task(task, "real_parent", _WORD.pack(parent or task))
        self._write_task(task, "parent", _WORD.pack(parent or task))
        self._write_task(task, "group_leader", _WORD.pack(leader or task))

    def set_thread_pointer(self, task: int, pointer: bytes) -> None:
        """Where the thread has its thread-local data, as a word."""
        self._tasks.write(task + _THREAD_POINTER, pointer)

    def set_compat(self, task: int, is_compat: bool) -> None:
        """Whether the system call that the thread is in is one of the 32-bit table."""
        self._tasks.write(task + THREAD_STATUS, _HALF.pack(system_calls.COMPAT_BIT if is_compat else 0))

    def set_exit(self, task: int, status: int) -> None:
        """How the thread ends, as wait(2) tells it."""
        self._write_task(task, "exit_code", _HALF.pack(status))

    def set_identity(self, shared: int, uid: int, gid: int, euid: int, egid: int) -> None:
        """Whom the process is of."""
        self._write_shared(shared + _CRED_AT, _IDENTITY.pack(uid, gid, euid, egid, euid, egid, euid, egid))

    def set_threads(self, shared: int, count: int) -> None:
        self._write_shared(shared + _SIGNAL_AT + _SIGNAL.offsets["nr_threads"], _HALF.pack(count))

    def set_groups(self, shared: int, pid: int, group: int, session: int) -> None:
        """The process's number, that of its group and that of its session."""
        for kind, number in enumerate((pid, pid, group, session)):
            at = shared + _PIDS_AT + kind * _PID.size + _PID.offsets["numbers"] + _UPID.offsets["nr"]
            self._write_shared(at, _HALF.pack(number))

    def set_mapping(
        self, shared: int, arguments: tuple[int, int], environment: tuple[int, int], stack: int, vdso: int
    ) -> None:
        """Where in the process's memory its arguments and environment begin and end, where its stack began, and where
        the vdso is."""
        self._write_shared(shared + _MM_AT, _MAPPING.pack(*arguments, *environment, stack, vdso))

    def set_image(self, shared: int, vdso: int) -> None:
        """Where programs find the vdso of the process."""
        self._write_shared(shared + _VDSO_AT, _WORD.pack(vdso))

    def _write_task(self, address: int, member: str, data: bytes) -> None:
        self._tasks.write(address + _TASK.offsets[member], data)

    def _write_shared(self, address: int, data: bytes) -> None:
        self._shared.buffers[address >> OFFSET_BITS][address & OFFSET_MASK : (address & OFFSET_MASK) + len(data)] = data

    def close(self) -> None:
        self._tasks.close()
        self._shared.close()
