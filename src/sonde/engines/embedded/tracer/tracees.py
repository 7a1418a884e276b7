"""The processes traced without the kernel's help, as sonde has them: it asks the guardian, which is their tracer."""

from __future__ import annotations

import errno
import os
import select
import signal
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from mmap import mmap

from sonde import children
from sonde.engines.embedded.tracer import (
    commands,
    guardian,
    merging,
    notifications,
    obstacles,
    own_filters,
    plan,
    seccomp,
    shared_memory,
    sites,
    slices,
    stops,
)
from sonde.engines.embedded.tracer.held_command import HeldCommand
from sonde.engines.embedded.tracer.memory import ProcessMemory
from sonde.engines.embedded.tracer.plan import StopPlan
from sonde.engines.embedded.tracer.ring import RecordReader
from sonde.engines.embedded.tracer.sites import FileSites
from sonde.launch import CommandError, GuardianError
from sonde.machine import proc

_NAP = 0.005
"""Seconds: how long sonde waits while records keep coming, not to be woken for each."""

_PATIENCE = 0.25
"""Seconds: how long processes may take to stand still before tracing begins."""

_PARTING = 0.2
"""Seconds: how long sonde waits for a guardian that has nothing left to look after."""

_UNINTERRUPTIBLE, _LOOKS, _BETWEEN_LOOKS = "D", 8, 0.05
"""The state of who waits for a page, how often it is looked at, and the seconds between."""

_MARK_BYTES = 7
"""As much as ClockTraps has room for."""

_AT_ONCE = 4096
"""Bytes that a pipe takes whole."""

_SLOTS = 1 << 14
_ENOUGH = 1 << 16


def _is_readable(descriptor: int, seconds: float) -> bool:
    """Wait for something to read, at most so long. Of any number, unlike select(2)."""
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return bool(waiting.poll(1000 * seconds))


class Tracees:
    """Commands and processes, their threads and all that they make.

    First start() and grab(), then ready() once it is known what is wanted, begin(), and go(). After rest()
    `descriptor` is readable when there are records.
    """

    def __init__(self, slots: int = _SLOTS) -> None:
        """Fork the guardian; `slots`: room for so many records, a power of two."""
        self._memory = mmap(-1, stops.memory_size(slots))
        notes = mmap(-1, stops.memory_size(slots))
        bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        listening, self._commands = os.pipe2(os.O_CLOEXEC)
        watching, self._knocks = os.pipe2(os.O_CLOEXEC)
        self._answers, answering = os.pipe2(os.O_CLOEXEC)
        awaiting, self._room = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._knocks, False)
        os.set_blocking(self._room, False)
        self.memory = ProcessMemory(self._transfer)
        self._reader = RecordReader(self._memory, bell)
        self._notes = RecordReader(notes, bell)
        self._notified: frozenset[int] = frozenset()
        self._taken_notes = 0
        self._awaited = select.epoll()
        self._awaited.register(bell, select.EPOLLIN)
        self._awaited.register(self._answers, select.EPOLLIN)
        self.descriptor = self._awaited.fileno()
        self._own = (
            bell, self._commands, self._knocks, self._room, self._answers, listening, watching, awaiting,
            self.descriptor,
        )  # fmt: skip
        # The reading ends stay open here: writing for a guardian that was killed is then no SIGPIPE, which ends sonde.
        self._held: dict[int, HeldCommand] = {}
        self._executing: dict[int, HeldCommand] = {}
        self._executed: list[int] = []
        self._is_ready = False
        self._others: list[tuple[int, int, int]] = []
        self._grabbed: list[int] = []
        self.has_filter = False
        """Whether commands have got one."""
        self._has_sites = False
        self._busy = False
        self._going = False
        self._early: list[tuple[int, ...]] = []
        self._taken = 0
        self._sent = 0
        self.guardian = guardian.start(
            self._memory, notes, guardian.Ends(listening, watching, answering, bell, awaiting)
        )
        os.close(answering)

    def start(self, text: str) -> int:
        """A command's pid; it does not run yet. Raises CommandError."""
        command = HeldCommand(text, self.guardian, self._own)
        self._held[command.pid] = command
        return command.pid

    def grab(self, pid: int) -> None:
        """Trace a process that somebody else started; it runs on. Raises CommandError."""
        if problem := self._seize(pid):
            raise CommandError(f"failed to grab pid {pid}: {problem}")
        self._grabbed.append(pid)

    def _seize(self, pid: int) -> str:
        """Have the guardian trace a process: why it cannot, "" if it does."""
        if problem := obstacles.before(pid):
            return problem
        self._send(commands.SEIZE_PROCESS, pid)
        _, failure = self._answer(pid, commands.SEIZED)
        return obstacles.after(pid, failure) if failure else ""

    def ready(self, wanted: StopPlan) -> None:
        """Let the commands exec. begin() waits for the end of that, which takes them and the guardian some
        milliseconds. Raises CommandError."""
        if wanted.seccomp and not _may_filter(wanted):
            wanted = wanted._replace(seccomp=False)
        if len(self._held) == 1:
            # There is one listener.
            self._notified = notifications.notified(wanted)
        mark = seccomp.new_mark()
        self.has_filter = wanted.seccomp and bool(self._held)
        data = plan.to_bytes(wanted._replace(notified=self._notified, mark=mark))
        self._send(commands.PLAN, 0, len(data), data)
        filter_ = seccomp.filter_for(wanted.calls, mark=mark, maps=wanted.maps) if wanted.seccomp else b""
        notifying = seccomp.filter_for(wanted.calls, self._notified, mark, wanted.maps) if self._notified else b""
        for pid in self._executed if wanted.seccomp else ():
            self._send(commands.FILTER, pid, len(filter_), filter_)
            self.has_filter |= not self._answer(pid, commands.SEIZED)[1]
        for pid in list(self._held):
            self._send(commands.SEIZE_COMMAND, pid)
            self._seized(pid, f"failed to trace the command, {self._held[pid].name}")
            command = self._executing[pid] = self._held.pop(pid)
            command.exec(filter_, notifying)
        self._is_ready = True

    def execute(self, pid: int, evaluation: str) -> None:
        """Have a command exec before it is known what is wanted, and wait there or at its entry point, where it gets
        its filter by ready(). Nothing if it has. Raises CommandError, GuardianError."""
        command = self._held.get(pid)
        if command is None:
            return
        data = plan.to_bytes(StopPlan(events=frozenset((stops.EXIT,)), seccomp=False))
        self._send(commands.PLAN, 0, len(data), data)
        self._send(commands.SEIZE_COMMAND, pid)
        self._seized(pid, f"failed to trace the command, {command.name}")
        self._executing[pid] = self._held.pop(pid)
        command.exec(b"")
        self._arrive(pid, evaluation)
        self._executed.append(pid)

    def _arrive(self, pid: int, evaluation: str) -> None:
        """Bring a command that executes to where it waits for go(). Raises CommandError."""
        command = self._executing[pid]
        if self._answer(pid, commands.STOPPED, commands.ENDED)[0] == commands.ENDED:
            del self._executing[pid]
            raise command.refusal()
        self._executing.pop(pid).forget()
        if evaluation != "exec" and (entry := proc.entry_point(pid)) is not None:
            self._send(commands.RUN_TO, pid, entry)
            self._answer(pid, commands.STOPPED, commands.ENDED)

    def want_sites(self, files: Sequence[FileSites]) -> None:
        """Have breakpoints at these places of files and no others, in all that is traced, from go() on; called before
        begin(), and again where there are more, if any may come by the plan (StopPlan.maps)."""
        self._has_sites = True
        data = sites.to_bytes(files)
        self._send(commands.SITES, 0, len(data), data)

    def begin(self, wanted: StopPlan, evaluation: str = "exec") -> None:
        """Bring the commands to where they wait for go(), exec or else their entry points. Raises CommandError."""
        if not self._is_ready:
            self.ready(wanted)
        for pid in list(self._executing):
            self._arrive(pid, evaluation)
        if self._grabbed:
            self._stand()

    def _stand(self) -> None:
        """Have the processes that were there stop until go(), so that nothing is missed behind this; where breakpoints
        are wanted also those that have their memory, which would run onto them, untraced. Raises CommandError."""
        self._stop(self._grabbed)
        if not self._has_sites:
            return
        while found := self._untraced(shared_memory.owners):
            for pid, other in found.items():
                # It may have ended, or execute a program.
                if (problem := self._seize(pid)) and pid in shared_memory.owners(other):
                    raise CommandError(
                        f"failed to grab pid {pid}, which has the memory of process {other} (by vfork or CLONE_VM), "
                        f"where breakpoints would end it: {problem}; or trace no functions of process {other}"
                    )
            self._grabbed += found
            self._stop(found)

    def _untraced(self, owners: Callable[[int], list[int]]) -> dict[int, int]:
        """Processes that the guardian does not trace, and the one that it traces whose memory they have."""
        found: dict[int, int] = {}
        for pid in self._grabbed:
            for other in owners(pid):
                with suppress(FileNotFoundError, ProcessLookupError):
                    if proc.status(other).get("TracerPid") != str(self.guardian):
                        found[other] = pid
        return found

    def _stop(self, pids: Iterable[int]) -> None:
        """Not for ever: a thread may be blocked in the kernel, as one that waits for what it has made by vfork."""
        self._send(commands.STAND)
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end and not all(map(_stands, pids)):
            time.sleep(0.001)

    def go(self) -> None:
        """From here on stops are recorded, and all run."""
        slices.take_short(resets=True)
        self._going = True
        self._send(commands.GO)

    def take(self, most: int = 1024) -> tuple[int, Sequence[tuple[int, ...]]]:
        """Up to so many records, whose fields are those of stops.RECORD, and the number of the first.

        What was fetched for them stays where it is until the next call of this or rest().
        """
        self._give_back()
        number = self._reader.tail
        if self._early:
            early, self._early = self._early, []
            return number - len(early), early
        if self._notified:
            found, number, self._taken, self._taken_notes = merging.merged(self._reader, self._notes, most)
        else:
            found, _ = self._reader.records(most)
            self._taken = len(found)
        if found:
            self._busy = True
        return number, found

    def has_more(self) -> bool:
        """Whether there are records besides those taken last."""
        return bool(self._early) or self._reader.has_more(self._taken) or self._notes.has_more(self._taken_notes)

    def _give_back(self) -> None:
        """The room of the records taken last."""
        if self._taken:
            self._reader.consumed(self._taken)
            self._taken = 0
        if self._taken_notes:
            self._notes.consumed(self._taken_notes)
            self._taken_notes = 0
        if self._reader.is_writer_waiting():
            self._send(commands.ROOM)
        if self._notified and self._notes.is_writer_waiting():
            with suppress(BlockingIOError):
                os.write(self._room, b"r")

    def resume(self, number: int, tid: int) -> None:
        """Let a thread go on that is held by the record of that number."""
        self._send(commands.RESUME, tid, number)

    def sample(self) -> None:
        """Have the threads that run stop, each told of by RAN, which is held."""
        self._send(commands.SAMPLE)

    def set_traps(self, periods: Sequence[int]) -> int:
        """Have clocks of their own stop threads each time that they have used so many ns, each told of by RAN, which is
        held. 0, or an errno where there are none. To be called behind begin(), before go()."""
        if len(periods) > commands.MOST_CLOCKS:
            return errno.EINVAL
        mark = int.from_bytes(os.urandom(_MARK_BYTES), "little")
        data = struct.pack(f"={1 + len(periods)}Q", mark, *periods)
        self._send(commands.TRAPS, 0, len(data), data)
        return self._answer(0, commands.SEIZED)[1]

    def inject(self, number: int, tid: int, result: int) -> None:
        """Give the system call of a thread that is held by the record of that number another result: it is not made if
        the thread enters it."""
        data = commands.INJECTION.pack(number, result)
        self._send(commands.INJECT, tid, len(data), data)

    def registers(self, flags: int) -> bytes:
        """struct user_regs_struct of a held stop by its record's flags; b"" if none came with it."""
        return self._reader.registers(flags)

    def fetched(self) -> memoryview:
        """The places of what was fetched (stops.py)."""
        return self._reader.places

    def rest(self) -> float | None:
        """To be called before waiting for `descriptor`: how long to wait at most, in seconds; None: for ever."""
        self._give_back()
        how = stops.NAPPING if self._busy else stops.ASLEEP
        self._busy = False
        if self._early or not self._reader.rest(how) or self._reader.is_writer_waiting():
            return 0
        if self._notified and (not self._notes.rest(how) or self._notes.is_writer_waiting()):
            return 0
        return _NAP if how == stops.NAPPING else None

    def awake(self) -> None:
        """To be called after waiting. Raises GuardianError."""
        self._notes.words[stops.REST] = stops.AWAKE
        if not self._reader.awake() and _is_readable(self._answers, 0):
            self._answer(0)

    def close(self) -> bool:
        """Let all processes go. The guardian stays as long as there is a filter: whether it does."""
        self.memory.close()
        for command in self._held.values():
            command.abandon()
        for command in self._executing.values():
            command.forget()
        self._awaited.close()
        for descriptor in self._own[:-1]:
            if descriptor != self._answers:
                os.close(descriptor)
        has_ended = self._has_ended(time.monotonic() + _PARTING)
        if not has_ended and not (self.has_filter or self._has_sites) and self._is_stuck():
            # What it traces stands still with it, and runs on without it: nothing of ours is in there.
            os.kill(self.guardian, signal.SIGKILL)
            has_ended = self._has_ended(time.monotonic() + _PARTING)
        if has_ended:
            children.wait_for(self.guardian)
        else:
            children.collect_later(self.guardian)
        os.close(self._answers)
        return not has_ended

    def _is_stuck(self) -> bool:
        """True if the guardian stays in an uninterruptible wait, as for a page of a process under userfaultfd(2)."""
        for _ in range(_LOOKS):
            try:
                if proc.stat(self.guardian).state != _UNINTERRUPTIBLE:
                    return False
            except OSError:
                return False  # it has ended
            time.sleep(_BETWEEN_LOOKS)
        return True

    def _has_ended(self, latest: float) -> bool:
        """Whether the guardian ends until then, whose end of the pipe of answers is the only one."""
        while _is_readable(self._answers, max(latest - time.monotonic(), 0)):
            if not os.read(self._answers, _ENOUGH):
                return True
        return False

    def _send(self, asked: int, tid: int = 0, argument: int = 0, payload: bytes = b"") -> None:
        words = self._reader.words
        self._sent += 1
        words[stops.SENT] = self._sent
        if len(payload) > _AT_ONCE:
            # The pipe may not take it before somebody reads.
            self._knock()
        commands.write(self._commands, commands.COMMAND.pack(asked, tid, argument) + payload)
        if not words[stops.LISTENING]:
            self._knock()

    def _knock(self) -> None:
        with suppress(BlockingIOError):
            os.write(self._knocks, b"k")

    def _seized(self, pid: int, failure: str) -> None:
        _, problem = self._answer(pid, commands.SEIZED)
        if problem:
            raise CommandError(f"{failure}: {obstacles.after(pid, problem)}")

    def _transfer(self, tid: int, address: int, size: int, data: bytes | None) -> bytes:
        """What memory.py asks for. Raises OSError."""
        payload = commands.TRANSFER.pack(address, size) + (data or b"")
        self._send(commands.READ if data is None else commands.WRITE, tid, len(payload), payload)
        _, size = self._answer(tid, commands.DATA)
        if size < 0:
            raise OSError(-size, obstacles.memory(-size) if -size == errno.EPERM else os.strerror(-size))
        return self._receive(size) if data is None else b""

    def _receive(self, size: int) -> bytes:
        """Exactly so many bytes of answers. Raises GuardianError."""
        data = b""
        while len(data) < size:
            if not self._going:
                self._make_room()
            piece = os.read(self._answers, size - len(data))
            if not piece:
                raise self._lost()
            data += piece
        return data

    def _make_room(self) -> None:
        """Wait for an answer while nobody takes records. Processes that were there make any number of these, none held:
        where the ring is full they are put aside, or the guardian would wait for room, and sonde for the guardian."""
        while not _is_readable(self._answers, 0):
            if self._reader.is_writer_waiting():
                found, _ = self._reader.records(_ENOUGH)
                self._early += found
                self._reader.consumed(len(found))
                self._send(commands.ROOM)
            self._awaited.poll()
            self._reader.awake()

    def _answer(self, pid: int, *wanted: int) -> tuple[int, int]:
        """The next of these about the process: which it is, its value. Raises GuardianError."""
        for answer in self._others:
            if answer[0] in wanted and answer[1] == pid:
                self._others.remove(answer)
                return answer[0], answer[2]
        while True:
            what, tid, value = commands.ANSWER.unpack(self._receive(commands.ANSWER.size))
            if what == commands.BROKEN:
                raise GuardianError(self._receive(value).decode())
            if what in wanted and tid == pid:
                return what, value
            if tid in self._executing:
                # What is waited for later: other commands get ready at the same time.
                self._others.append((what, tid, value))

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Around what looks at the processes: where they are not there because the guardian was killed, and commands
        with it, that is told. Raises GuardianError."""
        try:
            yield
        except OSError:
            # Its end of the pipe is closed before what it traces ends.
            if self._has_ended(time.monotonic()):
                raise self._lost() from None
            raise

    def _lost(self) -> GuardianError:
        return GuardianError("the guardian, which traces the processes, was killed: what it traced may have failed")


def _may_filter(wanted: StopPlan) -> bool:
    """Whether a command can have a filter that sees all that is wanted."""
    if own_filters.are_any() if wanted.refusals else own_filters.are_inherited():
        return False
    return seccomp.is_available()


def _stands(pid: int) -> bool:
    """Whether no thread of the process runs."""
    try:
        return all(proc.stat(tid).state in "tTXZ" for tid in proc.threads(pid))
    except (FileNotFoundError, ProcessLookupError):
        return True
