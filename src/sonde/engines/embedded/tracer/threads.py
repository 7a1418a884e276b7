"""What the guardian knows of the threads it traces, and how it tells of their stops and lets them go on."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from mmap import mmap

from sonde.engines.embedded.tracer import commands, ptrace, stops
from sonde.engines.embedded.tracer.awaited_returns import AwaitedReturns
from sonde.engines.embedded.tracer.code_spaces import CodeSpaces
from sonde.engines.embedded.tracer.executables import Executables
from sonde.engines.embedded.tracer.fetching import Fetcher
from sonde.engines.embedded.tracer.notifications import Notifications
from sonde.engines.embedded.tracer.plan import HOLD_RETURN, RETURN, StopPlan, followed
from sonde.engines.embedded.tracer.ring import RecordWriter
from sonde.engines.embedded.tracer.running_threads import AskingTurns, RunningThreads
from sonde.engines.embedded.tracer.sites import FileSites
from sonde.engines.embedded.tracer.unfinished import Unfinished
from sonde.machine.system import monotonic_ns
from sonde.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sonde.engines.embedded.tracer.traps import ClockTraps

_NUMBER = 3
"""The word of struct ptrace_syscall_info with a call's number."""


class HeldThread(NamedTuple):
    """Why a thread is held: the number of its record, the signal it will get, its slot of registers from 1, or 0."""

    record: int
    signal: int
    slot: int


class SampledThread(NamedTuple):
    """A thread that is to stop for a sample, or has: the clock that has stopped it, -1 if none has; the CPU time in ns
    that it had used when it stopped last."""

    is_asked: bool
    clock: int = -1
    used: int = 0


class Installation(NamedTuple):
    """A filter that a thread in a system call installs: whether for all threads of its process; places of its program
    that are changed until then, and the words that were there (own_filters.py)."""

    synchronizes: bool = False
    changed: tuple[tuple[int, int], ...] = ()


class AmendedCall(NamedTuple):
    """A call with another first argument, until it is left, and what was there: that, and places of memory with their
    words (untraced_makers.py)."""

    first: int
    kept: tuple[tuple[int, int], ...] = ()


class TracedThreads:
    """What is known of the threads traced.

    `requests`: how each goes on, PTRACE_CONT where a filter stops it, PTRACE_SYSCALL where each of its calls does, if
    any is wanted.
    `wanted`: the plan's calls, with what the guardian itself wants of FOLLOWED, whose returns it holds.
    `inside`: what is to be told of the exit of the system call each is in: number << 4 | what is wanted.
    `announced`: what FORK told of those that have not started: maker, whether a thread, number of the maker's call.
    `early`: started before FORK, and when that was (monotonic, ns). `filters`: whether any command has a filter.
    `starting`: commands before exec; `waiting`: behind it, until all may go; `in_exec`: those that stand there,
    and whether they have not left the call.
    `standing`: asked to stop and wait, too. `repeating`: they have left a system call only to be stopped, and make it
    again: its number; `renewed`: such that fail by a stop (interruptions.py). `breakpoints`: address and the
    word that was there. `stopped`: whose stop is being handled, until it goes on.
    `notes`: the words of the notifier's ring.
    `spaces`: the threads' memories, with breakpoints; `calls`: functions that have not returned, by thread; `thrown`:
    the stack pointers where threads have thrown exceptions that are not caught;
    `ended_early`: threads and their statuses of wait(2), which ended where something else was waited for.
    `outside`: at the end, those that are in no slot any more.
    `running` knows which run; `asking`: which are looked at for that; `sampled`: what is known of samples; `traps`: the
    clocks that stop threads for these, None where sonde asks for it. `unfinished`: what they leave by a stop for a
    sample, and make once more; with what is to be put back behind that, if it goes on (samples.py). `broken`: whose
    rest of a write has had a SIGPIPE.
    `installing`: what threads in a system call install; `amended`: those in one that was changed.
    `turning`, `stepping`: see stepping.py.
    """

    def __init__(
        self, memory: mmap, bell: int, answering: int, listen: Callable[[], None], notifications: Notifications
    ) -> None:
        self.ptrace = ptrace.prepared()
        self.writer = RecordWriter(memory, bell, listen)
        self.notifications = notifications
        self.notes: memoryview
        self.plan = StopPlan()
        self.wanted: dict[int, int] = {}
        self.fetcher: Fetcher | None = None
        self.site_fetcher: Fetcher | None = None
        self._memory = memory
        self.tracing = False
        self.stopped = 0
        self.requests: dict[int, int] = {}
        self.inside: dict[int, int] = {}
        self.held: dict[int, HeldThread] = {}
        self.announced: dict[int, tuple[int, int, int]] = {}
        self.early: dict[int, int] = {}
        self.filters = False
        self.starting: set[int] = set()
        self.waiting: set[int] = set()
        self.in_exec: dict[int, bool] = {}
        self.standing: set[int] = set()
        self.repeating: dict[int, int] = {}
        self.renewed: set[int] = set()
        self.running = RunningThreads()
        self.asking = AskingTurns()
        self.sampled: dict[int, SampledThread] = {}
        self.traps: ClockTraps | None = None
        self.unfinished: dict[int, Unfinished | None] = {}
        self.broken: set[int] = set()
        self.installing: dict[int, Installation] = {}
        self.amended: dict[int, AmendedCall] = {}
        self.turning: set[int] = set()
        self.stepping: set[int] = set()
        self.breakpoints: dict[int, tuple[int, int]] = {}
        self.spaces = CodeSpaces()
        self.calls: dict[int, AwaitedReturns] = {}
        self.thrown: dict[int, int] = {}
        self.outside: set[int] = set()
        self.ended_early: list[tuple[int, int]] = []
        self._answering = answering
        self._programs = Executables()
        self._listen = listen
        self.info = ctypes.c_void_p(ctypes.addressof(self.writer.info))
        self._free = list(range(stops.REGISTER_SLOTS, 0, -1))
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + stops.REGISTERS
        self._slots = [ctypes.c_void_p(start + (n - 1) * stops.REGISTER_SLOT) for n in range(stops.REGISTER_SLOTS + 1)]

    def adopt_plan(self, plan: StopPlan) -> None:
        self.plan, self.wanted = plan, dict(plan.calls)
        for number in followed(plan.maps):
            self.wanted[number] = self.wanted.get(number, 0) | RETURN | HOLD_RETURN
        if plan.fetches:
            self.fetcher = Fetcher(self._memory, self.writer.info_words, plan.fetches)
            self.writer.limit(stops.PLACES)

    def want_sites(self, files: Sequence[FileSites]) -> None:
        """From here on breakpoints are wanted at these sites: each of their records takes a place."""
        self.spaces.want(files)
        fetches = {site.number: site.fetches for file in files for site in file.sites if site.fetches}
        self.site_fetcher = Fetcher(self._memory, self.writer.info_words, {})
        self.site_fetcher.want_sites(fetches)
        self.writer.limit(stops.PLACES)
        if self.tracing:
            self.spaces.look_again()

    def answer(self, what: int, tid: int, value: int, data: bytes = b"") -> None:
        """Tell sonde, who waits for it. Raises SondeEnded."""
        try:
            commands.write(self._answering, commands.ANSWER.pack(what, tid, value) + data)
        except BrokenPipeError:
            raise commands.SondeEnded from None

    def tell(self, tid: int, kind: int, hold: int | bool, a: int = 0, b: int = 0, c: int = 0, deliver: int = 0) -> None:
        """Write the record of a stop. The thread goes on, with signal `deliver`, at once or, if held, when it may."""
        writer = self.writer
        if hold:
            # It may have been killed where it was held before.
            self.forget_hold(tid)
            slot = self._registers(tid)
            if writer.head >= writer.full:
                writer.wait_for_room()
            self.held[tid] = HeldThread(writer.head, deliver, slot)
            writer.write(kind, stops.HELD | slot << stops.REGISTERS_SHIFT, tid, monotonic_ns(), a, b, c)
            writer.ring()
            return
        writer.write(kind, 0, tid, monotonic_ns(), a, b, c)
        self.proceed(tid, deliver)
        if writer.words[stops.REST]:
            writer.wake()

    def tell_always(self, tid: int, kind: int, a: int, b: int = 0, c: int = 0) -> None:
        """Tell of what sonde must know of, whatever the plan says."""
        if not self.tracing:
            self.note(tid, kind, a, b, c)
            self.proceed(tid)
            return
        self.ptrace(ptrace.GET_SYSCALL_INFO, tid, ptrace.INFO_SIZE, self.info)
        self.tell(tid, kind, kind in self.plan.held, a, b, c)

    def executed(self, tid: int, former: int) -> None:
        """Tell of exec. A program that is there for the first time is held, to be looked at (remarks)."""
        if not self.tracing:
            self.tell_always(tid, stops.EXEC, former)
            return
        self.ptrace(ptrace.GET_SYSCALL_INFO, tid, ptrace.INFO_SIZE, self.info)
        self.tell(tid, stops.EXEC, stops.EXEC in self.plan.held or self._is_new(tid), former)

    def _is_new(self, tid: int) -> bool:
        try:
            return self._programs.new(tid) is not None
        except OSError:
            return True

    def start(self, tid: int, maker: int, is_thread: int, number: int) -> None:
        """Tell of a thread's first stop (stops.START)."""
        self.tell_always(tid, stops.START, maker, is_thread, number)

    def tell_entry(self, tid: int, hold: int) -> None:
        """Write the record of a system call's entry, with what is to be fetched if the thread goes on at once."""
        fetcher, writer = self.fetcher, self.writer
        if hold or fetcher is None or (number := writer.info_words[_NUMBER]) not in fetcher:
            self.tell(tid, stops.ENTRY, hold)
            return
        place = writer.next_place()
        lengths = fetcher.fetch(number, tid, place)
        writer.write(stops.ENTRY, stops.FETCHED, tid, monotonic_ns(), lengths, place)
        self.proceed(tid)
        if writer.words[stops.REST]:
            writer.wake()

    def proceed(self, tid: int, deliver: int = 0) -> None:
        """Let the thread run to its next stop. It may be gone."""
        request = self.requests.get(tid, ptrace.CONT)
        if not self.tracing:
            request = ptrace.SYSCALL if tid == self.notifications.awaited else ptrace.CONT
        elif tid in self.turning:
            self._turn(tid)
            request = ptrace.SYSCALL
        elif tid in self.inside:
            request = ptrace.SYSCALL
        elif not self.wanted and tid not in self.stepping:
            # Nobody asks for its calls.
            request = ptrace.CONT
        if tid in self.installing or tid in self.unfinished or tid in self.amended:
            request = ptrace.SYSCALL
        if tid == self.stopped:
            self.stopped = 0
        self.ptrace(request, tid, 0, deliver)

    def _turn(self, tid: int) -> None:
        """The stopped thread goes on from call to call."""
        self.turning.discard(tid)
        self.stepping.add(tid)
        self.requests[tid] = ptrace.SYSCALL
        place, bit = stops.stepping_word(len(self.notes) * stops.WORD, tid)
        self.notes[place] |= bit
        self.notes[stops.TELLING] = stops.TELLING_SOME

    def forget_filters(self, tid: int) -> bool:
        """The thread is gone, or has another number; whether it had filters besides sonde's."""
        had = tid in self.turning or tid in self.stepping
        self.turning.discard(tid)
        if tid in self.stepping:
            self.stepping.discard(tid)
            place, bit = stops.stepping_word(len(self.notes) * stops.WORD, tid)
            self.notes[place] &= ~bit
        return had

    def is_free(self, tid: int) -> bool:
        """Whether the thread has no filter of sonde's, so that it can be let go for good."""
        return self.requests.get(tid, ptrace.CONT) == ptrace.SYSCALL and tid not in self.stepping

    def release(self, tid: int, record: int) -> None:
        """The thread may go on, if that is the record it is held by."""
        held = self.held.get(tid)
        if held is not None and held.record == record:
            self.forget_hold(tid)
            self.proceed(tid, held.signal)

    def forget_hold(self, tid: int) -> None:
        """The thread is not held, or it has gone."""
        held = self.held.pop(tid, None)
        if held is not None and held.slot:
            self._free.append(held.slot)

    def _registers(self, tid: int) -> int:
        """Put the thread's registers where sonde finds them: the slot; 0 if not wanted or if the thread is gone."""
        if not self.plan.registers:
            return 0
        while not self._free:
            self._listen()
        slot = self._free.pop()
        if self.ptrace(ptrace.GETREGS, tid, 0, self._slots[slot]) < 0:
            self._free.append(slot)
            return 0
        return slot

    def tell_losses(self) -> None:
        """Tell of what is wanted of processes and is not there."""
        found = self.spaces.losses.found
        while found:
            (tid, kind, error), count = found.popitem()
            self.note(tid, stops.LOST, kind, count, error)

    def note(self, tid: int, kind: int, a: int = 0, b: int = 0, c: int = 0) -> None:
        """Tell of a thread that does not wait for it."""
        self.writer.write(kind, 0 if self.tracing else stops.BEFORE, tid, monotonic_ns(), a, b, c)
        os.getppid()
        self.writer.wake()
