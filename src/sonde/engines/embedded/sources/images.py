"""What traced processes have mapped, read from /proc: when they have been executed, when they have mapped code, before
they execute another program, and at their end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from sonde.arch import call_numbers, pages
from sonde.engines.embedded.sources.stops import Handler, Record
from sonde.engines.embedded.sources.task import TracedProcess, TracedTask
from sonde.engines.embedded.tracer import stops
from sonde.engines.embedded.tracer.plan import CODE, ENTRY, HOLD_ENTRY, StopPlan
from sonde.runtime.environment import Task
from sonde.symbols.current_images import CurrentImages
from sonde.symbols.mappings import Mapping, maps_text, parse_maps
from sonde.symbols.process_events import Exited, Forked, MappingsSnapshot, ProcessEvent
from sonde.untrusted import lines

_EXEC = call_numbers.native("execve", "execveat")

_DATA = "[heap]", "[stack]"
"""Mappings in which there is no code, until a thread says so."""

_MOST_VAIN = 1 << 16
"""Pages that are remembered of a process."""

Walk = Callable[[int, int], Sequence[int]]


def with_images(plan: StopPlan) -> StopPlan:
    """The plan, with what has to be held so that mappings can be read."""
    calls = dict(plan.calls)
    for number in _EXEC:
        calls[number] = calls.get(number, 0) | ENTRY | HOLD_ENTRY
    # A process that has mapped code waits as well: it may have unmapped it again by the time that this is read.
    held = plan.held | {stops.EXEC, stops.EXIT, stops.MAPPED}
    events = plan.events | {stops.EXIT, stops.MAPPED}
    return plan._replace(calls=calls, events=events, held=held, maps=plan.maps or CODE)


class ImageEvents:
    """The Tracing's `process_events`. `task` finds a thread by its number."""

    descriptors: tuple[int, ...] = ()

    def __init__(
        self, task: Callable[[int], TracedTask | None], set_generation: Callable[[TracedProcess, int], None]
    ) -> None:
        """`set_generation` is told how often a process has replaced code since it was executed, if that changes."""
        self.lost = 0
        self._set_generation = set_generation
        self._images = CurrentImages()
        self._task = task
        self._events: list[ProcessEvent] = []
        self._last: dict[int, int] = {}
        self._ranges: dict[int, list[tuple[int, int]]] = {}
        self._vain: dict[int, set[int]] = {}
        """By process the pages that no mapping had when its mappings were last read."""

    def read(self) -> list[ProcessEvent]:
        """What was read since the last time, in order."""
        events, self._events = self._events, []
        return events

    def advance(self, pid: int) -> int | None:
        """Begin another generation of a process and give its number; None if it has ended."""
        task = self._task(pid)
        if task is None:
            return None
        generation = self._images.advance(pid)
        self._set_generation(task.process, generation)
        return generation

    def mapping(self, pid: int, address: int) -> Mapping | None:
        """What the process may execute at an address, as far as it has been read."""
        return self._images.mapping(pid, address)

    def require(self, process: TracedProcess, addresses: Iterable[int]) -> None:
        """Read what the process has mapped if one of these may be in what has been mapped since the last time."""
        pid = process.pid
        known, vain = self._ranges.get(pid, ()), self._vain.setdefault(pid, set())
        pages_of = {each >> pages.PAGE_BITS for each in addresses}
        unknown = {
            page for page in pages_of - vain if not any(start <= page << pages.PAGE_BITS < end for start, end in known)
        }
        if unknown:
            self._note(process)
            if len(vain) >= _MOST_VAIN:
                vain.clear()
            vain |= unknown

    def walking(self, walk: Walk) -> Walk:
        """The walk of stacks that notes whose it walks first."""

        def watched(tid: int, depth: int) -> Sequence[int]:
            self.begin(self._task(tid))
            return walk(tid, depth)

        return watched

    def begin(self, task: Task | None) -> None:
        """The stack of the thread is walked, perhaps for the first time."""
        if isinstance(task, TracedTask) and task.pid not in self._last:
            self._note(task.process)

    def watch(self, handlers: dict[int, Handler]) -> None:
        """Look before what the stops cause."""
        entered, exiting, ended = handlers[stops.ENTRY], handlers[stops.EXIT], handlers[stops.END]

        def before_exec(record: Record) -> None:
            if record[11] in _EXEC:
                self._look(record[2])
            entered(record)

        def before_end(record: Record) -> None:
            self._look(record[2])
            exiting(record)

        def after_end(record: Record) -> None:
            task = self._task(record[2])
            ended(record)
            if task is not None and not task.process.threads:
                self._ended(task.pid)

        for kind in (stops.FORK, stops.START):
            handlers[kind] = partial(self._made, handlers[kind])
        handlers[stops.EXEC] = partial(self._executed, handlers[stops.EXEC])
        handlers |= {
            stops.ENTRY: before_exec, stops.EXIT: before_end, stops.END: after_end, stops.MAPPED: self._mapped
        }  # fmt: skip

    def _ended(self, pid: int) -> None:
        """The last thread of a process is gone."""
        known = self._last.pop(pid, None)
        for each in (self._ranges, self._vain):
            each.pop(pid, None)
        if known is not None:
            self._events.append(self._images.take(Exited(0, pid)))

    def _look(self, tid: int) -> None:
        task = self._task(tid)
        if task is not None and (task.process.live <= 1 or tid == task.pid or task.pid not in self._last):
            self._note(task.process)

    def _made(self, handle: Handler, record: Record) -> None:
        """A new process has what its maker has."""
        kind, flags, tid, _, other, is_thread, *_ = record
        maker, made = (tid, other) if kind == stops.FORK else (other, tid)
        task = self._task(maker)
        if (
            task is not None
            and task.pid in self._last
            and not (is_thread or flags & stops.BEFORE or made in self._last)
        ):
            self._events.append(self._images.take(Forked(0, made, task.pid)))
            self._last[made] = self._last[task.pid]
            self._ranges[made] = self._ranges[task.pid]
        handle(record)
        if flags & stops.BEFORE:
            self.begin(self._task(tid))

    def _executed(self, handle: Handler, record: Record) -> None:
        handle(record)
        task = self._task(record[2])
        if task is not None:
            self._note(task.process)

    def _mapped(self, record: Record) -> None:
        """There may be other code where there was some."""
        task = self._task(record[2])
        if task is not None:
            self._note(task.process)

    def _note(self, process: TracedProcess) -> None:
        pid = process.pid
        try:
            text = maps_text(pid)
        except OSError:
            self.lost += 1
            return
        if not text:
            return
        # A heap that grows names nothing: it would make a snapshot of each look.
        seen = hash("\n".join(each for each in lines(text) if _has_names(each)))
        if seen != self._last.get(pid):
            self._last[pid] = seen
            mappings = parse_maps(text)
            self._ranges[pid] = [(each.start, each.end) for each in mappings if each.executable or each.path in _DATA]
            self._events.append(self._images.take(MappingsSnapshot(0, pid, 0, mappings)))
            self._set_generation(process, self._images.generation(pid))


def _has_names(line: str) -> bool:
    """Whether a line of a maps file tells of code or of a file: its permissions follow its addresses."""
    return "/" in line or "x" in line.partition(" ")[2][:4]
