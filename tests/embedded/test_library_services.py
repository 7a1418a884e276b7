"""Runs in services: asyncio, signal handlers, loops that are left and gone on with, runs that are kept."""

import asyncio
import gc
import os
import pickle
import signal
import threading
import time

import pytest
from support.command.targets import program
from support.machine import packages
from support.machine.left_behind import children, ends, threads

import sonde

ENGINES = ["kernel", "embedded"]

CALLS = """
#include <sys/syscall.h>
#include <unistd.h>
int main(void) { for (;;) syscall(SYS_getppid); }
"""

TICKS = "tick-10ms { trace(++n); @ticks = count(); }"


@pytest.fixture
def alarm():
    """Have a function called in a signal handler, again and again."""
    before = signal.getsignal(signal.SIGALRM)

    def begin(act, seconds, again=0.0):
        signal.signal(signal.SIGALRM, lambda *_: act())
        signal.setitimer(signal.ITIMER_REAL, seconds, again)

    yield begin
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("engine", ENGINES)
def test_more_tasks_than_threads_wait_at_once(engine):
    async def idle():
        async with sonde.trace("tick-1h { }", duration=0.3, engine=engine) as run:
            return [event async for event in run]

    async def all_of_them():
        return await asyncio.gather(*(idle() for _ in range(24)))

    async def default_executor():
        return getattr(asyncio.get_running_loop(), "_default_executor")  # noqa: B009

    async def both():
        return await all_of_them(), await default_executor()

    events, executor = asyncio.run(both())
    assert events == [[sonde.Exit(0)]] * 24
    # Who waits there for a run keeps everybody else of the program waiting, such as for the addresses of names.
    assert executor is None


@pytest.mark.parametrize("engine", ENGINES)
def test_a_wait_that_is_cancelled_takes_no_event_along(engine):
    async def impatient():
        got = []
        async with sonde.trace(TICKS + " tick-10ms /n >= 30/ { exit(0); }", engine=engine) as run:
            events = aiter(run)
            while True:
                try:
                    got.append(await asyncio.wait_for(anext(events), 0.003))
                except TimeoutError:
                    continue
                except StopAsyncIteration:
                    return got

    numbers = [event[0] for event in asyncio.run(impatient()) if isinstance(event, sonde.Record)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= 30


@pytest.mark.long
@packages.needs("gcc")
@pytest.mark.parametrize("engine", ENGINES)
def test_a_flood_of_events_leaves_other_tasks_their_turns(engine):
    seen = 0

    async def flooded():
        nonlocal seen
        text = "syscall::getppid:entry /pid == $target/ { trace(1); }"
        async with sonde.trace(text, program(CALLS), duration=10, engine=engine) as run:
            async with asyncio.timeout(0.5):
                async for _ in run:
                    seen += 1

    with pytest.raises(TimeoutError):
        asyncio.run(flooded())
    assert seen > 100


@pytest.mark.parametrize("engine", ENGINES)
def test_a_task_that_is_cancelled_while_a_run_begins_leaves_nothing(engine):
    async def begun():
        async with asyncio.timeout(0.005), sonde.trace(TICKS, engine=engine):
            pass

    with pytest.raises(TimeoutError):
        asyncio.run(begun())
    assert ends(lambda: "sonde" not in threads())


@pytest.mark.parametrize("engine", ENGINES)
def test_an_exception_of_a_signal_handler_while_a_run_begins_leaves_nothing(engine, alarm):
    def fail():
        raise KeyError("of the handler")

    def run():
        alarm(fail, 0.005)
        with sonde.trace(TICKS * 20, "sleep 60", engine=engine):
            threading.Event().wait()

    before = children()
    with pytest.raises(KeyError):
        run()
    assert ends(lambda: "sonde" not in threads() and children() <= before)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_mistake_is_raised_where_a_task_begins_the_run(engine):
    async def begun():
        async with sonde.trace("BEGIN {", engine=engine):
            pass

    with pytest.raises(sonde.CompileError):
        asyncio.run(begun())


@pytest.mark.long
@packages.needs("gcc")
@pytest.mark.parametrize("engine", ENGINES)
def test_signal_handlers_ask_a_run_whatever_they_interrupt(engine, alarm):
    """The main thread is interrupted in the middle of asking, stopping and taking events: nothing waits for ever."""
    looks, is_looking = [], False

    def look():
        nonlocal is_looking
        if not is_looking:
            is_looking = True
            looks.append(run.aggregations["calls"].snapshot())
            is_looking = False

    text = "syscall::getppid:entry /pid == $target/ { trace(1); @calls = count(); }"
    with sonde.trace(text, program(CALLS), duration=1, engine=engine) as run:
        alarm(look, 0.0003, 0.0003)
        for _ in run:
            run.aggregations["calls"].get(())
            if run.losses:
                break
        alarm(run.stop, 0.0001, 0.0001)
        until = time.monotonic() + 0.3
        while time.monotonic() < until:
            run.stop()
    assert looks


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loop_goes_on_where_another_was_left(engine):
    text = "BEGIN { trace(1); trace(2); trace(3); } BEGIN { trace(4); exit(0); }"
    seen = []
    with sonde.trace(text, engine=engine) as run:
        seen.append(next(iter(run)))
        for event in run:
            seen.append(event)
            break
        seen += run
    assert [event[0] for event in seen if isinstance(event, sonde.Record)] == [1, 2, 3, 4]
    assert seen[-1] == sonde.Exit(0)


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
def test_runs_that_are_over_hold_nothing(engine):
    def open_ones():
        return len(os.listdir("/proc/self/fd"))

    def kept():
        with sonde.trace("syscall:::entry { @calls[probefunc] = count(); trace(1); }", "true", engine=engine) as run:
            run.wait()
        return run

    kept()
    gc.disable()
    try:
        before = open_ones()
        runs = [kept() for _ in range(5)]
        assert open_ones() == before
        assert all(int(each.aggregations["calls"]["exit_group"]) >= 1 for each in runs)
    finally:
        gc.enable()


@pytest.mark.parametrize("engine", ENGINES)
def test_aggregations_can_be_sent_to_another_process_at_any_time(engine):
    with sonde.trace(TICKS, engine=engine) as run:
        next(iter(run))
        live = pickle.loads(pickle.dumps(run.aggregations))
    over = pickle.loads(pickle.dumps(run.aggregations))
    assert 1 <= live["ticks"][()] <= over["ticks"][()]
    assert over["ticks"].snapshot() == run.aggregations["ticks"].snapshot()
    assert repr(over) == repr(run.aggregations)
