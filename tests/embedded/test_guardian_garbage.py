"""The guardian does without the garbage collector: what it does for each thread must leave it nothing to find."""

import ctypes
import gc
import os
import subprocess

import pytest

from sonde.engines.embedded.tracer import commands, obeying, ptrace

TIMES = 20


class Answers:
    """As much of Threads as reading needs."""

    def answer(self, *words):
        self.last = words


def garbage_of(action):
    """Objects that only the collector finds after `action` has been done some times, beyond the first."""
    action()
    gc.collect()
    gc.disable()
    try:
        for _ in range(TIMES):
            action()
        return gc.collect()
    finally:
        gc.enable()


@pytest.fixture
def stopped():
    """A process that waits for its tracer."""
    child = subprocess.Popen(["sleep", "30"])
    ptrace.call(ptrace.SEIZE, child.pid)
    ptrace.call(ptrace.INTERRUPT, child.pid)
    os.waitpid(child.pid, 0)
    yield child.pid
    child.kill()
    child.wait()


def test_requests_leave_none(stopped):
    assert garbage_of(lambda: (ptrace.event_message(stopped), ptrace.interrupted(stopped))) < TIMES


def test_reading_leaves_none():
    known, data = Answers(), ctypes.create_string_buffer(b"here")
    payload = commands.TRANSFER.pack(ctypes.addressof(data), 4)

    def read():
        obeying.obey(known, commands.READ, os.getpid(), 0, payload)
        assert known.last[3] == b"here"

    assert garbage_of(read) < TIMES
