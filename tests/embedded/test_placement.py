"""Where the guardian runs: beside a thread that stops again and again, and like others where it has to wait."""

import os
import subprocess
import sys
import threading
import time
from itertools import chain, repeat

import pytest
from support.command.guarded import PATIENCE, process
from support.command.targets import program
from support.command.unprivileged import without_privileges
from support.machine import packages

from sonde.engines.embedded.tracer import placement as clocked
from sonde.engines.embedded.tracer import ptrace, slices, stops, turns
from sonde.engines.embedded.tracer.placement import Placement
from sonde.engines.embedded.tracer.plan import ENTRY, StopPlan
from sonde.machine import proc

GETPPID = 110

CALLS = r"""
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile int go_on = 1;
static void *call(void *ignored) {
    for (int i = 0; go_on || i < 100; i++) syscall(SYS_getppid);
    return 0;
}
int main(int count, char **words) {
    /* Calls without end in so many threads, until a character comes, a hundred at least; then waits for another. */
    pthread_t threads[8];
    int number = atoi(words[1]);
    char character;
    read(0, &character, 1);
    for (int i = 0; i < number; i++) pthread_create(threads + i, 0, call, 0);
    read(0, &character, 1);
    go_on = 0;
    for (int i = 0; i < number; i++) pthread_join(threads[i], 0);
    read(0, &character, 1);
    return 0;
}
"""

MAY_RETURN = """
import os, sys
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
try:
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
except PermissionError:
    sys.exit(1)
"""


def may_return():
    """Whether who runs the tests may leave SCHED_IDLE."""
    return subprocess.run([sys.executable, "-c", MAY_RETURN]).returncode == 0


def seen(condition):
    limit = time.monotonic() + PATIENCE
    while time.monotonic() < limit:
        if condition():
            return True
        time.sleep(0.001)
    return False


def observed(threads, watch):
    """Trace a program whose threads call without end while `watch(guardian)` looks on: what it saw, and the stops."""
    found = []
    with subprocess.Popen([program(CALLS), str(threads)], stdin=subprocess.PIPE) as child:

        def look():
            guardian = int(proc.status(child.pid)["TracerPid"])
            child.stdin.write(b"x")
            child.stdin.flush()
            found.extend(watch(guardian))
            child.stdin.write(b"x")
            child.stdin.flush()
            found.append(seen(lambda: is_like_others(guardian)))
            child.stdin.close()

        looking = threading.Thread(target=look)
        traced = process(child, StopPlan({GETPPID: ENTRY}), started=lambda tracees: looking.start())
        looking.join()
    assert traced.status == 0
    return found, [stop for stop in traced.stops if stop.kind == stops.ENTRY]


def is_beside(guardian):
    return os.sched_getscheduler(guardian) == os.SCHED_IDLE and len(os.sched_getaffinity(guardian)) == 1


def is_like_others(guardian):
    return (os.sched_getscheduler(guardian), os.sched_getaffinity(guardian)) == (
        os.SCHED_OTHER,
        os.sched_getaffinity(0),
    )


def test_it_joins_a_thread_that_stops_again_and_again_until_that_sleeps():
    if not may_return():
        pytest.skip("who runs this may not leave SCHED_IDLE, so the guardian does not join threads")
    found, told = observed(1, lambda guardian: [seen(lambda: is_beside(guardian))])
    assert found == [True, True]
    assert len(told) >= 100


@packages.needs("gcc")
def test_without_the_permission_to_return_it_stays_as_it_is():
    """A user's guardian that had become idle would remain so."""
    done = subprocess.run([*without_privileges(), sys.executable, "-c", MAY_RETURN])
    if done.returncode == 0:
        pytest.skip("a limit (RLIMIT_NICE) lets everybody leave SCHED_IDLE here")
    code = f"import sys; sys.path[:0] = {sys.path!r}; import test_placement; test_placement.stays()"
    subprocess.run([*without_privileges(), sys.executable, "-c", code], check=True)


def stays():
    def watch(guardian):
        for _ in range(200):
            yield is_like_others(guardian)
            time.sleep(0.001)

    found, told = observed(1, watch)
    assert all(found)
    assert len(told) >= 100


@pytest.mark.long
def test_threads_that_stop_at_once_are_all_waited_for():
    found, told = observed(4, lambda guardian: [time.sleep(0.3) is None])
    assert all(found)
    assert len({stop.tid for stop in told}) == 4


def placed(monkeypatch, statuses, cpus):
    """A placement that may join: wait(2) gives these, with 0 where WNOHANG finds none, and threads are where `cpus`
    says."""
    statuses = iter(statuses)
    placement = Placement()
    monkeypatch.setattr(placement, "_may_return", lambda: True)
    monkeypatch.setattr(os, "waitpid", lambda pid, options: next(statuses))
    monkeypatch.setattr(os, "sched_setscheduler", lambda *_: None)
    monkeypatch.setattr(os, "sched_setaffinity", lambda *_: None)
    monkeypatch.setattr(slices, "prepared", lambda: lambda: 0)
    monkeypatch.setattr(turns, "processor", cpus.__getitem__)
    monkeypatch.setattr(turns, "taken", lambda tid: turns.Turns(tid, 0, 0))
    return placement


def test_a_thread_that_ends_while_it_is_joined_is_told_once(monkeypatch):
    stop, ended = ptrace.SYSCALL_STOP, 0
    statuses = [*[(1, stop)] * 9, (1, stop), (1, ended), (0, 0), (2, stop)]
    placement = placed(monkeypatch, statuses, {1: 0, 2: 1})
    assert [placement.wait() for _ in range(9)] == [(1, stop)] * 9
    assert placement.joined
    assert [placement.wait() for _ in range(3)] == [(1, stop), (1, ended), (2, stop)]
    assert not placement.joined


@pytest.mark.parametrize(("cpu", "stays"), [(0, True), (1, False)])
def test_it_stays_for_a_thread_that_takes_over_on_the_same_cpu(monkeypatch, cpu, stays):
    stop = ptrace.SYSCALL_STOP
    placement = placed(monkeypatch, [*[(1, stop)] * 9, (2, stop)], {1: 0, 2: cpu})
    found = [placement.wait() for _ in range(10)]
    assert found == [(1, stop)] * 9 + [(2, stop)]
    assert placement.joined == stays


@pytest.mark.parametrize(("ran", "stays"), [(1_000_000_000, True), (0, False)])
def test_it_leaves_a_cpu_that_somebody_else_takes(monkeypatch, ran, stays):
    """A thread that took a second to its next stop, in which the guardian was ready to run: did that thread run?"""
    stop, clock, told = ptrace.SYSCALL_STOP, chain([0], repeat(1_000_000_000)), iter([(0, 0), (1_000_000_000, ran)])
    placement = placed(monkeypatch, [(1, stop)] * 6, {1: 0})
    monkeypatch.setattr(turns, "taken", lambda tid: turns.Turns(tid, *next(told)))
    monkeypatch.setattr(clocked, "monotonic_ns", lambda: next(clock))
    for _ in range(5):
        placement.wait()
    assert placement.joined
    assert placement.wait() == (1, stop)
    assert placement.joined == stays


@pytest.mark.parametrize(("ms", "stays"), [(2, False), (0, True)])
def test_it_does_not_go_back_at_once_to_a_thread_that_had_others_wait(monkeypatch, ms, stays):
    """While a thread computed with the guardian on its CPU, one on another CPU stopped."""
    stop, clock = ptrace.SYSCALL_STOP, [0]
    joined = [*[(1, stop)] * 6, (2, stop)]
    placement = placed(monkeypatch, [*joined, *[(1, stop)] * 9], {1: 0, 2: 1})
    monkeypatch.setattr(clocked, "monotonic_ns", lambda: clock[0])
    for _ in joined[1:]:
        placement.wait()
    assert placement.joined
    clock[0] += ms * 1_000_000
    assert placement.wait() == (2, stop)
    assert not placement.joined
    for _ in range(9):
        placement.wait()
    assert placement.joined == stays


def test_the_kernel_tells_of_turns():
    """A spinning thread has run, on a CPU that it may have."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as child:
        try:
            before = turns.taken(child.pid)
            assert seen(lambda: turns.taken(child.pid).ran > before.ran + 10_000_000)
            cpu = turns.processor(child.pid)
            assert cpu in os.sched_getaffinity(child.pid)
            os.sched_setaffinity(child.pid, {cpu})
            assert turns.is_ready(child.pid, cpu)
            assert not turns.is_ready(child.pid, cpu + 1)
        finally:
            child.kill()
    assert not turns.is_ready(child.pid, cpu)


@pytest.mark.parametrize("is_ready", [True, False])
def test_it_sleeps_for_a_thread_that_is_ready_beside_it(monkeypatch, is_ready):
    """Which was let go and has not had its turn: it stays. A thread that is not ready is waited for elsewhere."""
    stop = ptrace.SYSCALL_STOP
    placement = placed(monkeypatch, [*[(1, stop)] * 6, (0, 0), (1, stop)], {1: 0})
    monkeypatch.setattr(turns, "is_ready", lambda tid, cpu: is_ready)
    assert [placement.wait() for _ in range(7)] == [(1, stop)] * 7
    assert placement.joined == is_ready


def test_where_nothing_can_be_forked_no_thread_is_joined(monkeypatch):
    """It is tried by a child whether one may return."""

    def refused():
        raise BlockingIOError

    placement = Placement()
    monkeypatch.setattr(os, "fork", refused)
    monkeypatch.setattr(os, "waitpid", lambda pid, options: (os.getpid(), ptrace.SYSCALL_STOP))
    assert {placement.wait() for _ in range(50)} == {(os.getpid(), ptrace.SYSCALL_STOP)}
    assert not placement.joined
