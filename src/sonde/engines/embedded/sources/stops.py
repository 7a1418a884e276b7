"""Stops of traced threads turned into firings: system calls, and tracepoints of processes and signals.

A record fires what the kernel would fire at that place, with the context that a raw tracepoint has there: its arguments
as u64, pointers to structures in Memory among them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from sonde.arch import call_registers, registers, system_calls
from sonde.engines.embedded.sources.buffers import Buffers
from sonde.engines.embedded.sources.fetched import FetchedMemory
from sonde.engines.embedded.sources.firings import Shot, Shots
from sonde.engines.embedded.sources.signals import SignalSource
from sonde.engines.embedded.sources.task import TracedTask
from sonde.engines.embedded.sources.threads import Threads
from sonde.engines.embedded.sources.wishes import SENDING, SET_IDENTITY
from sonde.engines.embedded.tracer import stops
from sonde.engines.embedded.tracer.stops import BEFORE
from sonde.runtime.environment import Environment
from sonde.typed import NamedTuple

_NO_CALL = -1 & 0xFFFF_FFFF_FFFF_FFFF
"""The number where no system call is to be gone on with."""

_U64 = 0xFFFF_FFFF_FFFF_FFFF

_WITH_REGISTERS = 1 << stops.REGISTERS_SHIFT
"""Flags from this on tell of a slot of registers."""

_ONE, _TWO = struct.Struct("=Q"), struct.Struct("=QQ")
_PR_SET_NAME, _NAME_SIZE = 15, 16

SAMPLED = 0
"""A kind of records that the guardian does not write, as its own are above 0: a thread was found running (sampling.py).
a: the sample."""

SWITCHED = -1
"""Another such kind: a CPU was given to a thread or taken from it (switching.py). a: which of those that came."""

PACKETS = -2
"""Another: packets of a file are to be taken up (filed_packets.py)."""

FIRINGS = -3
"""Another: firings of a recording are to be taken up (replayed.py)."""

Record = tuple[int, ...]
"""A record's fields in the order of stops.RECORD."""

Handler = Callable[[Record], None]


class Hooks(NamedTuple):
    """What else has to be done: `ended` with the number of a thread that is gone, `forget` with the address of a
    task_struct that goes; `registers` gives struct user_regs_struct by a record's flags; `fetched` is where what was
    fetched for a stop is found."""

    ended: Callable[[int], None]
    forget: Callable[[int], None]
    registers: Callable[[int], bytes]
    fetched: FetchedMemory


class StopSource:
    """Runs programs for records."""

    def __init__(
        self, threads: Threads, environment: Environment, shots: Shots, buffers: Buffers,
        hooks: Hooks,
    ) -> None:  # fmt: skip
        self._threads = threads
        self._environment = environment
        self._shots = shots
        self._buffers = buffers
        self._hooks = hooks
        self._early: dict[int, Record] = {}
        """The first stops of threads whose makers have not told of them."""
        self._signals = SignalSource(threads, buffers, self.fire)
        self.handlers: dict[int, Handler] = {
            stops.ENTRY: self._entry_handler(),
            stops.RETURN: self._return_handler(),
            stops.FORK: self._forked,
            stops.START: self._started,
            stops.EXEC: self._executed,
            stops.EXIT: self._exiting,
            stops.END: self._ended,
            stops.SIGNAL: self.with_registers(self._signals.delivered),
            stops.GROUP_STOP: lambda record: None,
        }

    def close(self) -> None:
        """No more records come: what refers to this object lets it go."""
        self.handlers.clear()
        del self._signals

    def fire(self, name: str, task: TracedTask, when: int, *arguments: int) -> None:
        """Run the programs of a tracepoint."""
        shots = self._shots.tracepoints.get(name, ())
        if not shots:
            return
        struct.pack_into(f"={len(arguments)}Q", self._buffers.arguments, 0, *(each & _U64 for each in arguments))
        self._run(shots, task, when)

    def _run(self, shots: Sequence[Shot], task: TracedTask, when: int) -> None:
        environment, context = self._environment, self._buffers.arguments_at
        environment.task, environment.now = task, when
        for run, cookie in shots:
            environment.cookie = cookie
            run(context)

    def task(self, tid: int) -> TracedTask | None:
        """The thread of that number; None if it has gone before anything of it was known."""
        return self._threads.by_tid.get(tid) or self._threads.adopt(tid)

    def running_task(self, tid: int) -> TracedTask | None:
        """The same of a thread that runs: where it has thread-local data is not told."""
        found = self.task(tid)
        if found is not None:
            self._threads.set_thread_pointer(found, bytes(8))
        return found

    def _entry_handler(self) -> Handler:
        """What a call's entry does, as fast as can be."""
        by_number, others, environment, find, miss = (
            self._shots.entries,
            self._shots.tracepoints.get("sys_enter", ()),
            self._environment,
            self._threads.by_tid.get,
            self.task,
        )
        buffer, arguments, context = self._buffers.registers, self._buffers.arguments, self._buffers.arguments_at
        registers_at, fill, pack_two = self._buffers.registers_at, call_registers.entering(buffer), _TWO.pack_into
        copy, follow, sends = self._copy_registers, self._follow_name, self._signals.sends
        fetched, prctl = self._hooks.fetched, system_calls.PRCTL
        special = {system_calls.PRCTL, *(SENDING if self._shots.tracepoints.get("signal_generate") else ())}

        def entered(record: Record) -> None:
            _, flags, tid, when, lengths, place, _, _, _, counter, stack, number, a, b, c, d, e, f, _ = record
            task = find(tid) or miss(tid)
            if task is None:
                return
            number &= _U64
            if flags < _WITH_REGISTERS or not copy(flags, task):
                fill(counter, stack, number, a, b, c, d, e, f)
            if flags & stops.FETCHED:
                fetched.take(number, (a, b, c, d, e, f), lengths, place)
            pack_two(arguments, 0, registers_at, number)
            environment.task = task
            environment.now = when
            for run, cookie in by_number.get(number, others):
                environment.cookie = cookie
                run(context)
            fetched.pieces = ()
            if number in special:
                if number != prctl:
                    sends(task, number, a, b, c, when)
                elif a == _PR_SET_NAME:
                    follow(task, b)

        return entered

    def _return_handler(self) -> Handler:
        by_number, others, environment, find, miss = (
            self._shots.returns,
            self._shots.tracepoints.get("sys_exit", ()),
            self._environment,
            self._threads.by_tid.get,
            self.task,
        )
        buffer, arguments, context = self._buffers.registers, self._buffers.arguments, self._buffers.arguments_at
        registers_at, fill, pack_two = self._buffers.registers_at, call_registers.leaving(buffer), _TWO.pack_into
        pack_number, sigreturn = _ONE.pack_into, system_calls.SIGRETURN
        set_unfinished = call_registers.set_unfinished
        copy, look_again, sent = self._copy_registers, self._threads.look_again, self._signals.sent
        sending = SENDING if self._shots.tracepoints.get("signal_generate") else ()

        def returned(record: Record) -> None:
            _, flags, tid, when, number, _, _, _, _, counter, stack, value, *_ = record
            task = find(tid) or miss(tid)
            if task is None:
                return
            value &= _U64
            if flags < _WITH_REGISTERS or not copy(flags, task):
                if number == sigreturn:
                    # It returns to another call or none: the kernel's sys_exit has this number there.
                    number = _NO_CALL
                fill(counter, stack, number, value)
            elif number != sigreturn:
                # The guardian has put -1 there where another filter's TRACE has the call skipped
                # (engines/embedded/tracer/own_filters.py).
                pack_number(buffer, registers.CALL_NUMBER, number)
            pack_two(arguments, 0, registers_at, value)
            if not value and number in SET_IDENTITY:
                look_again(task)
            environment.task = task
            environment.now = when
            for run, cookie in by_number.get(number, others):
                environment.cookie = cookie
                run(context)
            if number in sending:
                # It sends before it returns.
                set_unfinished(buffer)
                sent(task, value)

        return returned

    def _copy_registers(self, flags: int, task: TracedTask) -> bool:
        """Take over the registers that came with a held stop; False if there are none."""
        found = self._hooks.registers(flags)
        if not found:
            return False
        self._buffers.registers[:] = found[: registers.SIZE]
        pointer = registers.THREAD_POINTER
        self._threads.set_thread_pointer(task, found[pointer : pointer + 8])
        return True

    def _take_registers(self, flags: int, task: TracedTask) -> None:
        """Those of this stop, zeros where they are not told, and in no case another thread's."""
        if not self._copy_registers(flags, task):
            self._buffers.registers[:] = bytes(registers.SIZE)

    def with_registers(self, handler: Callable[[Record, TracedTask], None]) -> Handler:
        """A handler of records for whom the registers that came with them are in the buffer."""

        def handle(record: Record) -> None:
            task = self.task(record[2])
            if task is not None:
                self._take_registers(record[1], task)
                handler(record, task)

        return handle

    def _follow_name(self, task: TracedTask, address: int) -> None:
        """The thread, which is held, gives itself a name (prctl(2))."""
        for size in (_NAME_SIZE, 1):
            # A short name may lie at the very end of what can be read.
            try:
                name = task.read_memory(address, size)
            except OSError:
                continue
            while b"\0" not in name and len(name) < _NAME_SIZE:
                try:
                    name += task.read_memory(address + len(name), 1)
                except OSError:
                    return
            self._threads.rename(task, name)
            return

    def _forked(self, record: Record) -> None:
        _, flags, tid, when, child, is_thread, *_ = record
        maker = self.task(tid)
        if maker is None:
            return
        self._take_registers(flags, maker)
        made = self._threads.made(child, maker, bool(is_thread))
        self.fire("sched_process_fork", maker, when, maker.address, made.address)
        early = self._early.pop(child, None)
        if early is not None:
            self._returned_as_child(made, early)

    def _started(self, record: Record) -> None:
        """What was made returns from the call that made it, with 0."""
        _, flags, tid, _, parent, is_thread, *_ = record
        maker = self._threads.by_tid.get(parent) if parent else None
        if flags & BEFORE:
            # It may have another name than its maker by now.
            self._threads.adopt(tid)
        elif maker is not None:
            self._returned_as_child(self._threads.made(tid, maker, bool(is_thread)), record)
        elif self._threads.adopt(tid) is not None:
            # It was there before, or its maker's stop comes behind its own.
            self._early[tid] = record

    def _returned_as_child(self, task: TracedTask, record: Record) -> None:
        _, flags, _, when, _, _, number, *_ = record
        if not self._copy_registers(flags, task):
            call_registers.begin(self._buffers.registers, number if number >= 0 else system_calls.CLONE)
        number = int.from_bytes(self._buffers.registers[registers.CALL_NUMBER : registers.CALL_NUMBER + 8], "little")
        _TWO.pack_into(self._buffers.arguments, 0, self._buffers.registers_at, 0)
        others = self._shots.tracepoints.get("sys_exit", ())
        self._run(self._shots.returns.get(number, others), task, when)

    def _executed(self, record: Record) -> None:
        _, flags, tid, when, former, *_ = record
        task = self._threads.executed(tid, former, bool(flags & stops.HELD), self._hooks.forget)
        if task is not None and not flags & BEFORE:
            self._take_registers(flags, task)
            self.fire("sched_process_exec", task, when, task.address, former or tid)

    def _exiting(self, record: Record) -> None:
        _, flags, tid, when, status, *_ = record
        task = self.task(tid)
        if task is not None:
            self._take_registers(flags, task)
            is_last = self._threads.ending(task, status)
            self.fire("sched_process_exit", task, when, task.address, int(is_last))
            if is_last and self._shots.tracepoints.get("signal_generate"):
                self._signals.parent_told(task, when, status)

    def _ended(self, record: Record) -> None:
        tid = record[2]
        self._early.pop(tid, None)
        task = self._threads.by_tid.get(tid)
        if task is not None:
            if not task.is_ending and not record[1] & BEFORE:
                # A thread that is killed while it stands still does not stop once more at its end.
                self._exiting(record)
            self._hooks.forget(task.address)
            self._threads.ended(tid)
        self._hooks.ended(tid)
