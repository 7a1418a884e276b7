"""Who is who: the traced threads and their processes, kept up to date from the ordered stream of stops.

What a new thread or process is follows from its maker; /proc is read only where that is not known: for what was there
before tracing began, for their ancestors, and behind exec, while the thread is held.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from sonde.arch import pages
from sonde.engines.embedded.sources.task import ThreadAccess, TracedProcess, TracedTask
from sonde.machine import facts as proc
from sonde.machine.facts import Facts
from sonde.runtime.structures import Structures

_REMEMBERED = 64
"""Processes that have ended and are still known: their parents hear of it later."""

_DEPTH = 256
"""Ancestors of a process that are looked up at most."""


def _not_looked_at(tid: int) -> int:
    return 0


def _forget_nothing(address: int) -> None:
    return None


class Threads:
    """`by_tid` are the threads that are traced. `registers` is the address of the struct pt_regs that they all have, as
    only that of the thread that fires a program is looked at."""

    def __init__(self, structures: Structures, registers: int, access: ThreadAccess) -> None:
        self.by_tid: dict[int, TracedTask] = {}
        self.cpu_used: Callable[[int], int] = _not_looked_at
        """The CPU time of a thread that was there before it was traced."""
        self._structures = structures
        self._registers = registers
        self._access = access
        self._processes: dict[int, TracedProcess] = {}
        """Traced ones, and the others that traced ones descend from."""
        self._gone: deque[TracedProcess] = deque()
        """The last ones that have ended, whose structures are still there."""

    def adopt(self, tid: int) -> TracedTask | None:
        """A thread whose making was not seen; None if it is gone or has ended already."""
        known = self.by_tid.get(tid)
        found = None if known else proc.facts(tid)
        if found is None or found.is_over:
            return known
        task = self._add(tid, self._process(found), found.comm)
        task.cpu_before = self.cpu_used(tid)
        return task

    def outsider(self, pid: int) -> TracedTask | None:
        """What stands for a process that is not traced: sonde's own, or one that sends a signal."""
        found = proc.facts(pid)
        return self._process(found).leader if found else None

    def made(self, tid: int, maker: TracedTask, is_thread: bool) -> TracedTask:
        """A thread that `maker` has just made, of its own process or as the first one of another."""
        known = self.by_tid.get(tid)
        if known is not None:
            return known
        if is_thread:
            return self._add(tid, maker.process, maker.comm)
        process = self._new_process(tid)
        self._structures.copy_shared(maker.process.shared, process.shared, tid)
        process.uid, process.gid = maker.process.uid, maker.process.gid
        process.vdso, process.generation = maker.process.vdso, maker.process.generation
        self._set_parent(process, maker.process)
        return self._add(tid, process, maker.comm)

    def executed(
        self, tid: int, former: int, is_held: bool = True, forget: Callable[[int], None] = _forget_nothing
    ) -> TracedTask | None:
        """The thread `former` has become the only one of its process by exec, with the process's number. Its
        task_struct stays (de_thread() of fs/exec.c), and with it what programs keep of the thread. `forget` is told of
        the task_structs that go. If it is not held nobody asks for the name and the like that it has got."""
        leader = self.by_tid.get(tid) or self.adopt(tid)
        if leader is None:
            return None
        process = leader.process
        task = process.threads.get(former, leader)
        for other in [each for each in process.threads.values() if each is not task]:
            if other is not leader:
                forget(other.address)
                self._remove(other)
        if task is not leader:
            forget(leader.address)
            self._succeed(leader, task)
        task.is_compat = task.is_ending = False
        process.live = 1
        self._structures.set_compat(task.address, False)
        found = proc.facts(tid) if is_held else None
        if found is not None:
            self.rename(task, found.comm)
            self._describe(process, found)
        return task

    def _succeed(self, leader: TracedTask, task: TracedTask) -> None:
        """The thread takes the place and the number of its process's first one, which is gone."""
        process = leader.process
        process.threads.clear()
        self.by_tid.pop(task.tid, None)
        task.tid = process.pid
        self._structures.set_number(task.address, task.tid)
        self.by_tid[task.tid] = process.threads[task.tid] = process.leader = task
        self._structures.remove_task(leader.address)
        self._structures.set_threads(process.shared, 1)
        for each in (process, *process.children):
            self._link(each)

    def set_thread_pointer(self, task: TracedTask, pointer: bytes) -> None:
        """Where the thread has its thread-local data, as a word; 0 where it is not told."""
        self._structures.set_thread_pointer(task.address, pointer)

    def rename(self, task: TracedTask, comm: bytes) -> None:
        task.comm = comm[:15].partition(b"\0")[0]
        self._structures.set_name(task.address, task.comm)

    def look_again(self, task: TracedTask) -> None:
        """Something of the process has changed that /proc tells: whom it is of, its group."""
        found = proc.facts(task.tid)
        if found is not None:
            self._describe(task.process, found)

    def ending(self, task: TracedTask, status: int) -> bool:
        """The thread begins to end; whether it is the last one of its process."""
        if not task.is_ending:
            task.is_ending = True
            task.process.live -= 1
        is_last = task.process.live <= 0
        self._structures.set_exit(task.address, status)
        return is_last

    def ended(self, tid: int) -> None:
        """The thread is gone; for a while it can still be found as one that has sent a signal."""
        task = self.by_tid.get(tid)
        if task is not None:
            if not task.is_ending:
                task.process.live -= 1
            self._remove(task)

    def sender(self, pid: int) -> TracedTask | None:
        """The process that has sent a signal, perhaps at its end; None if nothing is known of it."""
        process = self._processes.get(pid) or next((p for p in reversed(self._gone) if p.pid == pid), None)
        return process.leader if process is not None else self.outsider(pid)

    def _add(self, tid: int, process: TracedProcess, comm: bytes) -> TracedTask:
        leader = process.leader
        if leader is not None and leader.tid == tid and tid not in process.threads:
            # It stood there already for those that descend from it.
            task = leader
        else:
            task = self._new_task(tid, process, comm)
        if tid == process.pid or leader is None:
            process.leader = task
        self.by_tid[tid] = process.threads[tid] = task
        process.live += 1
        self._structures.set_threads(process.shared, len(process.threads))
        self._link(process)
        return task

    def _new_task(self, tid: int, process: TracedProcess, comm: bytes) -> TracedTask:
        address = self._structures.add_task(tid, process.pid, process.shared)
        task = TracedTask(tid, process, comm, address, self._registers, self._access)
        self.rename(task, comm)
        return task

    def _remove(self, task: TracedTask) -> None:
        process = task.process
        self.by_tid.pop(task.tid, None)
        process.threads.pop(task.tid, None)
        if process.leader is not task:
            self._structures.remove_task(task.address)
        if process.threads:
            self._structures.set_threads(process.shared, len(process.threads))
        else:
            self._forget(process)
            self._gone.append(process)
            if len(self._gone) > _REMEMBERED:
                self._free(self._gone.popleft())

    def _free(self, process: TracedProcess) -> None:
        if process.leader is not None:
            self._structures.remove_task(process.leader.address)
        self._structures.remove_process(process.shared)

    def _forget(self, process: TracedProcess) -> None:
        """The process is gone: its children are another's, as /proc tells."""
        self._processes.pop(process.pid, None)
        if process.parent is not None:
            process.parent.children.discard(process)
        for child in tuple(process.children):
            found = proc.facts(child.pid)
            parent = proc.facts(found.ppid) if found and found.ppid != process.pid else None
            self._set_parent(child, self._process(parent) if parent else None)

    def _process(self, found: Facts) -> TracedProcess:
        """The process of a thread, made known with its ancestors if it is not known yet."""
        known = self._processes.get(found.pid)
        if known is not None:
            return known
        process = self._new_process(found.pid)
        self._describe(process, found)
        comm = found.comm if found.tid == found.pid else b""
        process.leader = self._new_task(found.pid, process, comm)
        parent = proc.facts(found.ppid) if found.ppid and len(self._processes) < _DEPTH else None
        self._set_parent(process, self._process(parent) if parent else None)
        return process

    def _new_process(self, pid: int) -> TracedProcess:
        process = self._processes[pid] = TracedProcess(pid, self._structures.add_process())
        return process

    def _describe(self, process: TracedProcess, found: Facts) -> None:
        process.uid, process.gid = found.uid, found.gid
        if process.vdso != found.vdso:
            process.vdso, process.generation = found.vdso, 0
        structures = self._structures
        structures.set_identity(process.shared, found.uid, found.gid, found.euid, found.egid)
        structures.set_groups(process.shared, found.pid, found.group, found.session)
        structures.set_mapping(process.shared, found.arguments, found.environment, found.stack, _image(process))

    def set_generation(self, process: TracedProcess, generation: int) -> None:
        """The process has replaced code so often."""
        if process.generation != generation:
            process.generation = generation
            self._structures.set_image(process.shared, _image(process))

    def _set_parent(self, process: TracedProcess, parent: TracedProcess | None) -> None:
        if process.parent is not None:
            process.parent.children.discard(process)
        process.parent = parent
        if parent is not None:
            parent.children.add(process)
        self._link(process)

    def _link(self, process: TracedProcess) -> None:
        """Tell the structures of a process's threads who is their parent and who leads them."""
        leader = process.leader
        parent = process.parent.leader if process.parent is not None else None
        tasks = {*process.threads.values(), *([leader] if leader else [])}
        for task in tasks:
            self._structures.set_family(task.address, parent.address if parent else 0, leader.address if leader else 0)


def _image(process: TracedProcess) -> int:
    """The address that tells programs what the process executes: that of the vdso, or a later one."""
    return process.vdso + process.generation * pages.PAGE
