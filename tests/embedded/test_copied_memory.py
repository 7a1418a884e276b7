"""Memories that are copied by fork while breakpoints and slots come and go in them."""

import ctypes
import os
import re
import signal
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.command.targets import program
from support.command.unprivileged import sonde
from support.places import PROGRAMS

from sonde.arch import displacement, instructions
from sonde.engines.embedded.tracer.code_space import CodeSpace, SlotArea
from sonde.engines.embedded.tracer.code_spaces import CodeSpaces
from sonde.symbols.mappings import parse_maps

FIRST_CALLS = (PROGRAMS / "first_calls.c").read_text()
FORKERS, FUNCTIONS = 3, 80
BREAKPOINT = bytes((instructions.BREAKPOINT,))


@pytest.mark.share(1)
@pytest.mark.parametrize("rounds", [2, 8])
def test_children_have_what_was_put_in_while_they_were_made(rounds):
    binary = program(FIRST_CALLS)
    probes = [f"uprobe:{binary}:f[0-9]*:{name}" for name in ("entry", "return")]
    done = sonde(
        "--engine", "embedded", "-qn", f"{', '.join(probes)} {{ @[probename] = count(); }}", "-c", f"{binary} {rounds}"
    )
    assert "a child ended" not in done.stdout
    assert "well" in done.stdout
    calls = FUNCTIONS * (1 + FORKERS * rounds)
    assert dict(re.findall(r"^ +(entry|return) +(\d+)$", done.stdout, re.MULTILINE)) == {
        "entry": str(calls),
        "return": str(calls),
    }


@contextmanager
def maker():
    """A process, and a function that has it fork: the pid of what it makes, which waits to be killed."""
    orders, reports = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(orders[1])
            while os.read(orders[0], 1):
                made = os.fork()
                if made == 0:
                    os.write(reports[1], os.getpid().to_bytes(4, "little"))
                    signal.pause()
        finally:
            os._exit(0)
    found = []

    def fork():
        os.write(orders[1], b"f")
        found.append(int.from_bytes(os.read(reports[0], 4), "little"))
        return found[-1]

    try:
        yield pid, fork
    finally:
        for each in (*found, pid):
            os.kill(each, signal.SIGKILL)
        os.waitpid(pid, 0)
        for each in (*orders, *reports):
            os.close(each)


def code(pid):
    """Where there is code of libc."""
    mappings = parse_maps(Path(f"/proc/{pid}/maps").read_text())
    return next(each.start for each in mappings if each.executable and "libc" in each.path) + 0x1000


def in_memory(pid, address, size=1):
    with open(f"/proc/{pid}/mem", "rb") as memory:
        memory.seek(address)
        return memory.read(size)


def followed(pid):
    spaces = CodeSpaces()
    spaces.by_tid[pid] = CodeSpace(pid, pid)
    return spaces, spaces.by_tid[pid]


def test_breakpoints_put_in_behind_the_copying_are_in_the_copy():
    with maker() as (pid, fork):
        at = code(pid)
        spaces, space = followed(pid)
        space.put(at).returns = True
        copied = fork()
        space.put(at + 1).returns = True
        space.put(at + 5000).returns = True
        spaces.are_for_all = True
        spaces.forked(pid, copied, False)
        assert [in_memory(copied, at + place) for place in (0, 1, 5000)] == [BREAKPOINT] * 3
        spaces.by_tid[copied].restore()
        assert in_memory(copied, at, 5001).count(BREAKPOINT) == in_memory(os.getpid(), at, 5001).count(BREAKPOINT)


def test_breakpoints_taken_out_behind_the_copying_are_in_no_copy():
    with maker() as (pid, fork):
        at = code(pid)
        spaces, space = followed(pid)
        byte = space.put(at).byte
        copied = fork()
        space.remove(at)
        spaces.forked(pid, copied, False)
        assert in_memory(copied, at) == bytes((byte,))


def test_slots_that_the_copy_has_not_are_made_anew():
    with maker() as (pid, fork):
        at = code(pid)
        spaces, space = followed(pid)
        copied = fork()
        area = SlotArea(1 << 20, bytes(displacement.SLOT))
        space.areas.append(area)
        found = space.put(at)
        found.returns, found.slot = True, ctypes.c_void_p(area.start)
        spaces.are_for_all = True
        spaces.forked(pid, copied, False)
        copy = spaces.by_tid[copied]
        assert not copy.has_slots
        assert copy.breakpoints[at].slot is None
        assert found.slot is not None


@contextmanager
def mapped():
    """Memory of this process, and of those that it makes, that is like an area of slots: its address."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_size_t
    size, read_execute, private_anonymous = 1 << 16, 5, 0x22
    address = libc.mmap(0, size, read_execute, private_anonymous, -1, 0)
    try:
        yield address
    finally:
        libc.munmap(ctypes.c_void_p(address), size)


def test_what_is_missing_in_the_slots_of_the_copy_is_put_in():
    with mapped() as address, maker() as (pid, fork):
        code = b"\x90" * displacement.SLOT
        copied = fork()
        spaces, space = followed(pid)
        space.write(address, code)
        space.areas.append(SlotArea(address, code))
        spaces.forked(pid, copied, False)
        assert spaces.by_tid[copied].has_slots
        assert in_memory(copied, address, len(code)) == code


def test_what_else_is_mapped_there_is_no_area():
    with maker() as (pid, fork):
        start = code(pid)
        before = in_memory(pid, start, 8)
        spaces, space = followed(pid)
        space.areas.append(SlotArea(start, b"\x90" * displacement.SLOT))
        copied = fork()
        spaces.forked(pid, copied, False)
        assert not spaces.by_tid[copied].has_slots
        assert in_memory(copied, start, 8) == before


def test_counters_counted_up_behind_the_copying_are_so_in_the_copy():
    with maker() as (pid, fork):
        mappings = parse_maps(Path(f"/proc/{pid}/maps").read_text())
        at = next(each.start for each in mappings if each.path == "[heap]")
        spaces, space = followed(pid)
        before = fork()
        space.count(at, 3)
        behind = fork()
        for each in (before, behind):
            spaces.forked(pid, each, False)
            assert in_memory(each, at, 2) == in_memory(pid, at, 2)
            spaces.by_tid[each].restore()
            assert in_memory(each, at, 2) == in_memory(os.getpid(), at, 2)


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_copy_that_nobody_tells_of_is_known_by_its_breakpoints(is_gone):
    """Its maker was killed as it made it, so that nobody knows whose child it was."""
    with maker() as (pid, fork):
        at = code(pid)
        spaces, space = followed(pid)
        byte = space.put(at).byte
        copied = fork()
        if is_gone:
            spaces.forget(pid)
        spaces.adopted(copied, False, 1 if is_gone else pid, False)
        assert in_memory(copied, at) == bytes((byte,)), "nothing is wanted of it"
        assert in_memory(pid, at) == BREAKPOINT


def test_a_thread_that_nobody_tells_of_has_the_memory_of_its_process():
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        spaces, space = followed(os.getpid())
        spaces.adopted(thread.native_id, True, os.getpid(), False)
        assert spaces.by_tid[thread.native_id] is space
    finally:
        ended.set()
        thread.join()
    space.close()
