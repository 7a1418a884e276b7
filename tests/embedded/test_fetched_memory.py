"""What is fetched at a stop is what a program would find if the thread were held."""

import ctypes
import os
import subprocess
import sys
import time
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command import guarded, targets
from support.files.stop_records import StopRecord

from sonde.engines.embedded.sources.fetched import FetchedMemory
from sonde.engines.embedded.tracer import plan, stops
from sonde.engines.embedded.tracer.memory import ProcessMemory
from sonde.engines.embedded.tracer.plan import ENTRY, HOLD_ENTRY, EntryFetch, StopPlan
from sonde.engines.embedded.tracer.tracees import Tracees
from sonde.runtime.machine.memory import AccessError

GETPGID = 121
SIZES = (257, 16, 700)

POINTERS = r"""
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
/* getpgid with addresses around the end of memory, of strings that end there or do not, and of none. */
int main(void) {
    char *area = mmap(0, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *end = area + 2 * 4096;
    munmap(end, 2 * 4096);
    for (char *at = area; at < end; at++) *at = 'a' + (at - area) % 23;
    for (int round = 0; round < 2; round++) {
        for (int back = 1; back < 9; back++) syscall(SYS_getpgid, 0, end - back, end - back);
        for (int back = 250; back < 262; back++) syscall(SYS_getpgid, 0, end - back, area);
        for (int back = 250; back < 262; back++) syscall(SYS_getpgid, 0, area + 4096 - back, area + 4095);
        syscall(SYS_getpgid, 0, end, area);
        syscall(SYS_getpgid, 0, 0L, -1L);
        syscall(SYS_getpgid, 0, 0x800000000000, 0x7ffffffff000 - 10);
        syscall(SYS_getpgid, 0, area, "text");
        for (int nul = 0; nul < 300; nul += 7) end[-1 - nul] = 0, area[4090 + nul] = 0;
    }
    for (int n = 0; n < 3000; n++) syscall(SYS_getpgid, 0, area + n, area + n);
    return 0;
}
"""


def _command(tracees, wanted):
    pid = tracees.start(targets.program(POINTERS, "-no-pie"))
    tracees.begin(wanted)
    tracees.go()
    return pid


def _grabbed(tracees, wanted):
    """A process without a filter, which waits until it is traced."""
    command = f"read line; exec {targets.program(POINTERS, '-no-pie')}"
    process = subprocess.Popen(["sh", "-c", command], stdin=subprocess.PIPE)
    tracees.grab(process.pid)
    tracees.begin(wanted)
    tracees.go()
    # The end of the input too lets the shell go on.
    process.stdin.close()
    return process.pid


def _entries(wanted, held=None, start=_command, idle=lambda tracees: None):
    found = []
    tracees = Tracees()
    try:
        pid = start(tracees, wanted)
        idle(tracees)
        places = tracees.fetched()

        def look(stop):
            lengths = [stop.a >> 16 * n & 0xFFFF for n in range(3)]
            starts = [stop.b * stops.PLACE + offset for offset in plan.offsets(wanted.fetches[GETPGID])]
            found.append([bytes(places[at : at + length]) for at, length in zip(starts, lengths, strict=False)])

        guarded.follow(_Watched(tracees, look), pid, held)
        os.waitpid(pid, 0)
    finally:
        tracees.close()
    return found


class _Watched:
    """Tracees whose records are looked at when they are taken."""

    def __init__(self, tracees, look):
        self._tracees, self._look = tracees, look

    def __getattr__(self, name):
        return getattr(self._tracees, name)

    def take(self):
        first, records = self._tracees.take()
        for stop in (StopRecord(*record) for record in records):
            if stop.kind == stops.ENTRY and not stop.flags & stops.HELD:
                assert stop.flags & stops.FETCHED
                self._look(stop)
        return first, records


@pytest.mark.long
def test_the_guardian_fetches_what_can_be_read():
    fetches = tuple(EntryFetch(argument, size) for argument, size in zip((1, 2, 1), SIZES, strict=True))
    expected = []

    def held(tracees, stop):
        if stop.kind == stops.ENTRY:
            expected.append([_readable(stop.tid, (stop.arg1, stop.arg2, stop.arg1)[n], SIZES[n]) for n in range(3)])

    _entries(StopPlan({GETPGID: ENTRY | HOLD_ENTRY}, fetches={GETPGID: fetches}), held)
    found = _entries(StopPlan({GETPGID: ENTRY}, fetches={GETPGID: fetches}))
    # The addresses of mmap differ, and nothing of what is there does.
    assert len(found) == len(expected) > stops.PLACES
    assert found == expected
    assert _entries(StopPlan({GETPGID: ENTRY}, fetches={GETPGID: fetches}), start=_grabbed) == expected
    assert _entries(StopPlan({GETPGID: ENTRY}, fetches={GETPGID: fetches}), idle=_until_full) == expected


def _until_full(tracees):
    """Sonde looks at nothing until the guardian has no place left."""
    while not memoryview(tracees._memory)[stops.FULL * 8]:
        time.sleep(0.01)


def _readable(tid, address, size):
    with closing(ProcessMemory()) as memory:
        try:
            return memory.read_available(tid, address, size)
        except OSError:
            return b""


PROGRAMS = (
    "syscall::getpgid:entry { @[copyinstr(arg1)] = count(); }",
    "syscall::getpgid:entry { printf(\"%s|%s\\n\", copyinstr(arg2), copyinstr(arg1)); }",
    "syscall::getpgid:entry /copyinstr(arg2) != \"text\"/ { self->s = copyinstr(arg1); } "
    "syscall::getpgid:return { trace(self->s); }",
    "syscall::getpgid:entry { tracemem(copyin(arg1, 32), 32); trace(stringof(copyin(arg2, 8))); }",
    "syscall::getpgid:entry { @[copyinstr(arg1, 9)] = count(); } "
    "ERROR { printf(\"%d %d\", arg4, arg5 == 0); }",
    "syscall::getpgid:entry { printf(\"%s|\", (string)copyin(arg1, 1 + arg2 % 200)); "
    "trace(stringof(copyin(arg1 - 3, 8))); }",
    "syscall::getpgid:entry { trace(*(int *)copyin(arg1 + 4, 4)); tracemem(copyin(arg1, 7 + (arg1 & 31)), 7); } "
    "ERROR { printf(\"%x %s\", arg5, \"abcdefg\"); }",
)  # fmt: skip

RUN = """
import sys
from sonde.engines.embedded.sources import wishes
fetches = []
def plan_of(*arguments, plan_of=wishes.plan_of):
    made = plan_of(*arguments)
    fetches.extend(made.fetches)
    return made
if sys.argv.pop(1) == "held":
    wishes.pointers_read = lambda program: None
from sonde.engines.embedded import process_access
process_access.plan_of = plan_of
from sonde.cli.main import main
status = main()
print(fetches, file=sys.stderr)
sys.exit(status)
"""


def _run(how, program):
    command = ["setarch", "-R", sys.executable, "-c", RUN, how, "--engine", "embedded", "-qn", program]
    command += ["-x", "bufsize=16m", "-c", targets.program(POINTERS, "-no-pie")]
    return subprocess.run(command, capture_output=True, text=True, check=True)


@pytest.mark.share(0, 4)
@pytest.mark.parametrize("program", PROGRAMS)
def test_held_and_fetched_are_the_same(program):
    held, fetched = _run("held", program), _run("fetched", program)
    assert (held.stderr.splitlines()[-1], fetched.stderr.splitlines()[-1]) == ("[]", f"[{GETPGID}]")
    assert sorted(fetched.stdout.splitlines()) == sorted(held.stdout.splitlines())
    assert sorted(fetched.stderr.splitlines()[:-1]) == sorted(held.stderr.splitlines()[:-1])
    assert "abcdefg" in fetched.stdout


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30)), min_size=1, max_size=3), st.data())
def test_reads_within_what_was_fetched(areas, data):
    """Memory of 50 bytes, of which pieces were fetched; what lies outside of these is never read behind its back."""
    memory = bytes(range(1, 51))
    fetched = FetchedMemory(lambda *_: pytest.fail("read from a thread that runs"), memoryview(b""), {})
    fetched.pieces = [(address, size, memory[address : address + size]) for address, size in areas]
    address, size = data.draw(st.integers(0, 70)), data.draw(st.integers(1, 30))
    if not any(first <= address and address + size <= first + most for first, most in areas):
        with pytest.raises(AccessError):
            fetched.read(1, address, size)
    elif address + size > len(memory):
        with pytest.raises(OSError, match="Bad address"):
            fetched.read(1, address, size)
    else:
        assert fetched.read(1, address, size) == memory[address : address + size]


def test_without_pieces_the_thread_is_read():
    text = ctypes.create_string_buffer(b"here")
    with closing(ProcessMemory()) as own:
        memory = FetchedMemory(own.read, memoryview(b""), {})
        assert memory.read(os.getpid(), ctypes.addressof(text), 4) == b"here"


def test_the_plan_survives_the_pipe():
    wanted = StopPlan(
        {1: ENTRY, 2: ENTRY}, fetches={1: (EntryFetch(0, 257), EntryFetch(5, 8, -3)), 2: (EntryFetch(1, 1000),)}
    )
    assert plan.from_bytes(plan.to_bytes(wanted)) == wanted
    assert all(map(plan.can_fetch, wanted.fetches.values()))
    assert not plan.can_fetch([EntryFetch(0, 2000), EntryFetch(1, 49)])
    assert not plan.can_fetch([EntryFetch(0, 8)] * 4)
