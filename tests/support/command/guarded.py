"""Tracing a command or a process to its end by the guardian, for tests: what was told of it."""

import collections
import os
import select
import time
from pathlib import Path

from sonde.engines.embedded.tracer import plan, stops
from sonde.engines.embedded.tracer.tracees import Tracees
from sonde.machine import proc
from support.files.stop_records import StopRecord
from support.machine.processes import children

PATIENCE = 30
ALL = range(plan.NUMBERS)

Traced = collections.namedtuple("Traced", "pid status stops")


def follow(tracees, pid, held=None):
    """Until process `pid` has ended; `held(tracees, stop)` is called for what is held, which then goes on."""
    found = []
    poll = select.poll()
    poll.register(tracees.descriptor, select.POLLIN)
    limit = time.monotonic() + PATIENCE
    while time.monotonic() < limit:
        first, records = tracees.take()
        for number, record in enumerate(records, first):
            stop = StopRecord(*record)
            found.append(stop)
            if stop.flags & stops.HELD:
                if held:
                    held(tracees, stop)
                tracees.resume(number, stop.tid)
            if stop.kind == stops.END and stop.tid == pid:
                return found
        if not records:
            longest = tracees.rest()
            poll.poll(PATIENCE * 1000 if longest is None else longest * 1000)
            tracees.awake()
    raise AssertionError(f"not ended, told {len(found)}, the last {found[-5:]}")


def command(text, wanted, held=None, evaluation="postinit"):
    """Run a command to its end."""
    tracees = Tracees()
    try:
        pid = tracees.start(text)
        tracees.begin(wanted, evaluation)
        tracees.go()
        found = follow(tracees, pid, held)
        return Traced(pid, os.waitpid(pid, 0)[1], found)
    finally:
        tracees.close()


def process(child, wanted, held=None, started=lambda tracees: None):
    """Trace a process (Popen) that runs to its end; `started` is called when it is traced."""
    tracees = Tracees()
    try:
        tracees.grab(child.pid)
        tracees.begin(wanted)
        tracees.go()
        started(tracees)
        found = follow(tracees, child.pid, held)
        return Traced(child.pid, child.wait(), found)
    finally:
        tracees.close()


def untraced(tid):
    """Wait until nobody traces the thread; whether that comes."""
    return comes(lambda: proc.status(tid)["TracerPid"] == "0")


def comes_to(tid, states):
    """Wait until the thread is in one of these states; whether that comes. Who lets it go wakes it, even to stop."""
    return comes(lambda: proc.stat(tid).state in states)


def comes(condition):
    """Wait until there is what the condition gives; that, or what it gave at last."""
    limit = time.monotonic() + PATIENCE
    while not (found := condition()) and time.monotonic() < limit:
        time.sleep(0.001)
    return found


def calls(wanted, *numbers):
    """A plan for these system calls, or for all."""
    return plan.StopPlan(dict.fromkeys(numbers or ALL, wanted))


def of_kind(traced, kind):
    return [stop for stop in traced.stops if stop.kind == kind]


def child_of(guardian, name):
    """The process of the guardian's that calls itself so, which it does some time after it was made."""
    found = comes(lambda: [pid for pid in children(guardian) if Path(f"/proc/{pid}/comm").read_text() == name + "\n"])
    (pid,) = found
    return pid
