"""Breakpoints of traced processes turned into firings: functions, instructions and static probes of programs.

The context is struct pt_regs as the process has it there, as a uprobe of the kernel has it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from sonde import others
from sonde.arch import registers
from sonde.bpf import programs
from sonde.engines.base import SiteOfFile
from sonde.engines.embedded.sources import left_functions
from sonde.engines.embedded.sources.buffers import Buffers
from sonde.engines.embedded.sources.contexts import Contexts
from sonde.engines.embedded.sources.fetched import FetchedMemory
from sonde.engines.embedded.sources.pointers import READING, pointers_read
from sonde.engines.embedded.sources.registers import may_load_stack
from sonde.engines.embedded.sources.stops import Handler, Record
from sonde.engines.embedded.sources.tail_callees import TailCallees
from sonde.engines.embedded.sources.task import TracedTask
from sonde.engines.embedded.sources.wishes import USER, fetches_memory, merge
from sonde.engines.embedded.tracer import sites, stops
from sonde.engines.embedded.tracer.plan import EntryFetch, can_fetch
from sonde.engines.embedded.tracer.sites import BreakpointSite, FileSites
from sonde.model.errors import EngineError
from sonde.model.probe import ANY_FILE, Uprobe
from sonde.model.spec import ProbeSpec, ProgramSpec, TracingSpec
from sonde.runtime.environment import Environment
from sonde.runtime.programs.ready import ReadyProgram, Run, called_helpers
from sonde.runtime.structures import Structures
from sonde.typed import NamedTuple

_Place = tuple[int, int, int]
"""A file's device and inode, and an offset in it."""


class UserShot(NamedTuple):
    """A program to be run, the cookie that it finds, and the process for which it is, 0 for all."""

    run: Run
    cookie: int
    pid: int


class FiringWorld(NamedTuple):
    """Where programs find what has fired them; `places` are those of the guardian's memory."""

    environment: Environment
    buffers: Buffers
    structures: Structures
    places: memoryview
    fetched: FetchedMemory


class UserProbes:
    """`files` are the places for the guardian; `watch()` adds what handles its records. Raises EngineError for a file
    that is not there."""

    def __init__(
        self, spec: TracingSpec, programs: Sequence[ReadyProgram], contexts: Contexts, traced: Collection[int],
        holds_all: bool = False,
    ) -> None:  # fmt: skip
        """`traced` are the processes whose own probes can fire. `holds_all`: threads stand still whatever programs
        do."""
        self._traced = traced
        self._numbers: dict[_Place, int] = {}
        self._files: dict[str, tuple[int, int]] = {}
        callees = TailCallees(spec)
        standing = _Needs(True, None) if holds_all else None
        needs = {each.name: standing or _needs_of(callees.running(each)) for each in spec.programs}
        self.files = self._sites(spec.programs, needs)
        self.fetches = {site.number: site.fetches for file in self.files for site in file.sites}
        self._contexts, self._needs = contexts, needs
        self._programs = {each.spec.name: each for each in programs}
        self.mapped: Callable[[int], None] = lambda pid: None
        """Called with a process that has mapped code, which waits."""
        self._hits: dict[int, list[UserShot]] = {}
        self._returns: dict[int, list[UserShot]] = {}
        for program in programs:
            for served in program.probes:
                firing = served.probe.firing
                if isinstance(firing, Uprobe):
                    by_number = self._returns if firing.kind == "return" else self._hits
                    shot = UserShot(contexts.run(program, served.probe), served.cookie, firing.pid)
                    by_number.setdefault(self._numbers[self._place(served)], []).append(shot)

    def add(self, program: str, path: str, sites_: Sequence[SiteOfFile], pid: int) -> None:
        """Also these places of a file fire the program, for the process. Raises EngineError."""
        ready, holds = self._programs[program], self._needs[program].stands_still
        run = self._contexts.run(ready, ready.spec.probes[0].probe)
        try:
            status = others.stat(path)
        except OSError as error:
            raise EngineError(f"cannot attach to {path}: {error.strerror}") from None
        file = status.st_dev, status.st_ino
        found = []
        for each in sites_:
            number = self._numbers.setdefault((*file, each.offset), len(self._numbers))
            self._hits.setdefault(number, []).append(UserShot(run, each.cookie, pid))
            found.append(BreakpointSite(each.offset, number, _wanted(False, holds), each.semaphore, pid))
        before = [site for known in self.files if known[:2] == file for site in known.sites]
        self.files = [known for known in self.files if known[:2] != file]
        self.files.append(FileSites(*file, (*before, *found)))

    def _place(self, served: ProbeSpec) -> _Place:
        firing = served.probe.firing
        assert isinstance(firing, Uprobe)
        if firing.is_32_bit:
            raise EngineError(
                f"cannot attach {served.probe}: {firing.path} is of 32-bit programs, and the embedded engine has "
                "breakpoints for 64-bit ones alone; the kernel engine (root, or CAP_BPF and CAP_PERFMON) traces both"
            )
        if firing.pid and firing.pid not in self._traced:
            raise EngineError(
                f"cannot attach {served.probe}: the embedded engine traces the processes of -c and -p alone; "
                f"-p {firing.pid} adds this one"
            )
        if firing.file != ANY_FILE:
            self._files[firing.path] = firing.file
        file = self._files.get(firing.path)
        if file is None:
            try:
                status = others.stat(firing.path)
            except OSError as error:
                raise EngineError(f"cannot attach {served.probe}: {firing.path}: {error.strerror}") from None
            file = self._files[firing.path] = status.st_dev, status.st_ino
        return (*file, firing.offset)

    def _sites(self, programs: Iterable[ProgramSpec], needs: dict[str, _Needs]) -> list[FileSites]:
        wanted: dict[tuple[_Place, int, int], int] = {}
        pointers: dict[int, dict[tuple[int, int], int]] = {}
        for program in programs:
            needed = needs[program.name]
            for served in program.probes:
                firing = served.probe.firing
                if not isinstance(firing, Uprobe):
                    continue
                place = self._place(served)
                number = self._numbers.setdefault(place, len(self._numbers))
                is_return = firing.kind == "return"
                holds = needed.stands_still and (is_return or needed.reads is None)
                if not holds and needed.reads:
                    merge(pointers.setdefault(number, {}), needed.reads)
                key = place, firing.pid, firing.semaphore
                wanted[key] = wanted.get(key, 0) | _wanted(is_return, holds)
        for key, kind in self._left(wanted):
            wanted[key] = wanted.get(key, 0) | kind
        files: dict[tuple[int, int], list[BreakpointSite]] = {}
        for (place, pid, semaphore), bits in wanted.items():
            number = self._numbers[place]
            reads = sorted(pointers.get(number, {}).items())
            fetches = tuple(EntryFetch(register, size, behind) for (register, behind), size in reads)
            if not can_fetch(fetches, stops.PLACE - registers.USER_SIZE):
                bits, fetches = bits | sites.HOLD_HIT, ()
            site = BreakpointSite(place[2], number, bits, semaphore, pid, fetches)
            files.setdefault(place[:2], []).append(site)
        return [FileSites(*file, tuple(found)) for file, found in files.items()]

    def _left(self, wanted: dict[tuple[_Place, int, int], int]) -> list[tuple[tuple[_Place, int, int], int]]:
        """Where threads leave functions whose returns are wanted, and how."""
        returning = [(place, pid) for (place, pid, _), bits in wanted.items() if bits & sites.RETURN]
        if not returning:
            return []

        files = {place[:2] for place, _ in returning}
        found = left_functions.places((path for path, file in self._files.items() if file in files), self._traced)
        for place in found:
            self._numbers.setdefault(place, len(self._numbers))
        return [((place, pid, 0), kind) for place, kind in found.items() for pid in {pid for _, pid in returning}]

    def watch(self, handlers: dict[int, Handler], task: Callable[[int], TracedTask | None], world: FiringWorld) -> None:
        """Fire with the records of breakpoints."""
        world.fetched.know_sites(self.fetches)
        executed, noted = handlers[stops.EXEC], handlers.get(stops.MAPPED)

        def look(record: Record) -> None:
            if record[0] == stops.EXEC:
                executed(record)
            if (found := task(record[2])) is not None:
                self.mapped(found.pid)

        def look_also(record: Record) -> None:
            if noted is not None:
                noted(record)
            look(record)

        handlers |= {stops.EXEC: look, stops.MAPPED: look_also}
        handlers[stops.HIT] = _handler(self._hits, task, world)
        handlers[stops.FUNCTION_RETURN] = _handler(self._returns, task, world)


def _handler(shots: dict[int, list[UserShot]], find: Callable[[int], TracedTask | None], world: FiringWorld) -> Handler:
    environment, buffers, structures, places, fetched = world
    found, context, size, pointer = buffers.registers, buffers.registers_at, registers.SIZE, registers.THREAD_POINTER

    def handle(record: Record) -> None:
        kind, flags, tid, when, number, place, lengths, *_ = record
        task = find(tid)
        if task is None:
            return
        at = place * stops.PLACE
        found[:] = places[at : at + size]
        structures.set_thread_pointer(task.address, places[at + pointer : at + pointer + 8].tobytes())
        if kind == stops.HIT and not flags & stops.HELD:
            fetched.take_at_site(number, lengths, place)
        environment.task = task
        environment.now = when
        for run, cookie, pid in shots.get(number, ()):
            if not pid or pid == task.pid:
                environment.cookie = cookie
                run(context)
        fetched.pieces = ()

    return handle


def _wanted(is_return: bool, holds: bool) -> int:
    if is_return:
        return sites.RETURN | holds * sites.HOLD_RETURN
    return sites.HIT | holds * sites.HOLD_HIT


class _Needs(NamedTuple):
    """Whether programs look into the process, and, if that is known before they run, where behind registers
    (pointers.py)."""

    stands_still: bool
    reads: dict[tuple[int, int], int] | None


def _needs_of(running: Sequence[ProgramSpec]) -> _Needs:
    """Of a program, and those that it may call."""
    helpers = frozenset[int]().union(*map(called_helpers, running))
    has_variables = any(map(fetches_memory, running))
    called = [each for each in running if each.kind == programs.PROBE]
    if any(map(may_load_stack, called)):
        return _Needs(True, None)
    if not (helpers & USER or has_variables):
        return _Needs(False, {})
    # An adapter only calls.
    reading = called if called and not called_helpers(running[0]) & USER else running
    may_fetch = len(reading) == 1 and not has_variables and not helpers & USER - READING
    return _Needs(True, pointers_read(reading[0], True) if may_fetch else None)
