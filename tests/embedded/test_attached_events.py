"""Events that are opened with their program: what may be attached, what threads inherit, what is skipped."""

import errno
from types import SimpleNamespace

import pytest
from support.bpf.embedded_world import World

from sonde.bpf import programs
from sonde.engines.embedded.sources.buffers import Buffers
from sonde.engines.embedded.sources.clock_events import ClockEvents
from sonde.engines.embedded.sources.firings import Clock
from sonde.formats import perf_events as perf
from sonde.model.spec import ProgramSpec
from sonde.runtime.perf.attributes import Attributes
from sonde.runtime.perf.events import open_event
from sonde.runtime.perf.trace_events import event_numbered, trace_event
from sonde.runtime.programs.ready import ReadyProgram


def program(kind, context_end):
    return SimpleNamespace(kind=kind, context_end=context_end, run=lambda context, cookie: 0)


def opened(event, handler):
    wanted = Attributes(perf.TYPE_TRACEPOINT, event, handler=True, config1=7)
    return open_event(wanted, {7: handler}, cookie=3).handlers.handler


UMASK = trace_event("syscalls", "sys_enter_umask")


def test_a_trace_event_takes_what_reads_its_record_alone():
    assert UMASK.size == 24
    taken = program(programs.TRACEPOINT, 24)
    handler = opened(UMASK.identifier, taken)
    assert (handler.program, handler.cookie) == (taken, 3)


@pytest.mark.parametrize(
    ("event", "handler", "number", "text"),
    [
        (
            UMASK.identifier,
            program(programs.TRACEPOINT, 32),
            errno.EACCES,
            "32 bytes of its context, which has 24",
        ),
        (UMASK.identifier, program(programs.PERF_EVENT, 0), errno.EINVAL, "a program of type tracepoint"),
        (1 << 20, program(programs.TRACEPOINT, 0), errno.EINVAL, "has no trace event 1048576"),
    ],
)
def test_what_the_kernel_does_not_attach_is_not_attached(event, handler, number, text):
    with pytest.raises(OSError, match=text) as caught:
        opened(event, handler)
    assert caught.value.errno == number


def test_events_are_found_by_their_numbers():
    names = [("raw_syscalls", "sys_enter"), ("raw_syscalls", "sys_exit")]
    names += [
        ("syscalls", f"sys_{side}_{call}") for side in ("enter", "exit") for call in ("read", "newfstat", "umask")
    ]
    events = [trace_event(*name) for name in names]
    assert len({each.identifier for each in events}) == len(events)
    assert [event_numbered(each.identifier) for each in events] == events


class Clocks:
    """One clock of threads whose program does `act`."""

    def __init__(self, samples=True):
        self.world = World()
        self.seen = []
        self.act = lambda: None
        spec = ProgramSpec("tick", programs.PERF_EVENT, 0, b"", (), ())
        clock = Clock(1000, samples, ReadyProgram(spec, (), self.run, lambda: None), 5, 0, "profile:::tick", 9)
        self.events = ClockEvents([clock], self.world.environment, Buffers(self.world.memory), None)

    def run(self, context):
        environment = self.world.environment
        self.seen.append((environment.event.number, environment.event.parent, environment.cookie, environment.probe))
        self.act()
        return 0

    def tick(self, tid):
        self.world.environment.task = SimpleNamespace(tid=tid)
        self.events.overflow(0)


def test_each_thread_has_the_event_that_it_inherited():
    clocks = Clocks()
    for tid in (10, 11, 10, 12):
        clocks.tick(tid)
    numbers = [number for number, *_ in clocks.seen]
    assert len(set(numbers)) == 3
    assert numbers[0] == numbers[2]
    (parent,) = {parent for _, parent, *_ in clocks.seen}
    assert parent.number == 1
    assert {rest for *_, rest in ((a, b, (c, d)) for a, b, c, d in clocks.seen)} == {(5, 9)}
    clocks.events.forget(10)
    clocks.tick(10)
    assert clocks.seen[-1][0] not in numbers, "a thread that comes later with its number has another"


def test_a_clock_of_nobody_has_one_event():
    clocks = Clocks(samples=False)
    clocks.tick(10)
    clocks.tick(11)
    assert [each[:2] for each in clocks.seen] == [(1, None)] * 2


def test_an_overflow_while_a_program_runs_is_skipped_and_counted():
    clocks = Clocks()
    clocks.act = lambda: clocks.events.overflow(0)
    clocks.tick(10)
    assert (len(clocks.seen), clocks.events.skipped) == (1, 1)
