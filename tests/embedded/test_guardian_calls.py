"""System calls told by the guardian: those of the plan, with their arguments and results, by a filter or without."""

import collections
import os
import struct

import pytest
from support.command.guarded import ALL, calls, command, of_kind
from support.command.targets import program

from sonde.engines.embedded.tracer import stops
from sonde.engines.embedded.tracer.plan import ENTRY, HOLD_ENTRY, HOLD_RETURN, RETURN, StopPlan
from sonde.machine import proc

OPENAT, READ, GETPID, GETPPID, CLOSE = 257, 0, 39, 110, 3

CALLER = r"""
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
    for (int i = 0; i < 10; i++) syscall(SYS_getpid, 11, 12, 13, 14, 15, 16 + i);
    openat(AT_FDCWD, "/nowhere/at/all", O_RDONLY);
    syscall(SYS_close, -1);
    return 0;
}
"""

FOREIGN = r"""
#include <unistd.h>
#include <sys/syscall.h>
static long old(long number) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number) : "memory", "r8", "r9", "r10", "r11");
    return result;
}
int main(void) {
    /* i386: 20 is getpid, 39 mkdir. x32: getpid with bit 30 set, which most kernels refuse. */
    for (int i = 0; i < 5; i++) if (old(20) != getpid()) return 1;
    syscall(0x40000000 + 39);
    return 0;
}
"""


def numbers(traced, kind):
    return collections.Counter(stop.value if kind == stops.ENTRY else stop.a for stop in of_kind(traced, kind))


@pytest.mark.share(1)
@pytest.mark.parametrize("seccomp", [True, False])
def test_only_what_is_wanted_is_told(seccomp):
    plan = StopPlan({GETPID: ENTRY, OPENAT: RETURN, CLOSE: ENTRY | RETURN}, seccomp=seccomp)
    traced = command(program(CALLER), plan)
    assert traced.status == 0
    assert numbers(traced, stops.ENTRY)[GETPID] == 10
    assert set(numbers(traced, stops.ENTRY)) == {GETPID, CLOSE}
    assert set(numbers(traced, stops.RETURN)) == {OPENAT, CLOSE}
    assert {stop.kind for stop in traced.stops} == {stops.START, stops.ENTRY, stops.RETURN, stops.END}


@pytest.mark.share(1)
@pytest.mark.parametrize("seccomp", [True, False])
def test_arguments_and_results_are_those_of_the_call(seccomp):
    traced = command(program(CALLER), StopPlan(dict.fromkeys(ALL, ENTRY | RETURN), seccomp=seccomp))
    entries = [stop for stop in of_kind(traced, stops.ENTRY) if stop.value == GETPID and stop.arg0 == 11]
    assert [(stop.arg1, stop.arg2, stop.arg3, stop.arg4, stop.arg5) for stop in entries] == [
        (12, 13, 14, 15, 16 + index) for index in range(10)
    ]
    results = [stop.value for stop in of_kind(traced, stops.RETURN) if stop.a == GETPID]
    assert results == [traced.pid] * 10
    assert [stop.value for stop in of_kind(traced, stops.RETURN) if stop.a == CLOSE][-1] == -9
    assert [stop.value for stop in of_kind(traced, stops.RETURN) if stop.a == OPENAT][-1] == -2
    assert all(stop.tid == traced.pid and stop.ip and stop.sp for stop in entries)


@pytest.mark.share(1)
@pytest.mark.parametrize("seccomp", [True, False])
def test_time_goes_on_and_entries_precede_their_returns(seccomp):
    traced = command(program(CALLER), StopPlan(dict.fromkeys(ALL, ENTRY | RETURN), seccomp=seccomp))
    told = [stop for stop in traced.stops if stop.kind in (stops.ENTRY, stops.RETURN)]
    assert [stop.time for stop in told] == sorted(stop.time for stop in told)
    pairs = list(zip(told[::2], told[1::2], strict=False))
    assert pairs
    assert all((a.kind, b.kind) == (stops.ENTRY, stops.RETURN) and a.value == b.a for a, b in pairs)


@pytest.mark.share(1)
@pytest.mark.parametrize("seccomp", [True, False])
def test_a_held_thread_has_its_registers_and_memory_read_and_changed(seccomp):
    seen = []

    def held(tracees, stop):
        if stop.kind == stops.ENTRY:
            seen.append(tracees.memory.read_available(stop.tid, stop.arg1, 64).partition(b"\0")[0])
            registers = struct.unpack("=27Q", tracees.registers(stop.flags))
            assert registers[13] == stop.arg1
            assert registers[16] == stop.ip
            assert registers[15] == OPENAT
            if seen[-1] == b"/nowhere/at/all":
                tracees.memory.write(stop.tid, stop.sp - 4096, b"/dev/zero\0")
                assert tracees.memory.read_available(stop.tid, stop.sp - 4096, 64).partition(b"\0")[0] == b"/dev/zero"
        else:
            assert struct.unpack_from("=q", tracees.registers(stop.flags), 80)[0] == stop.value

    plan = StopPlan({OPENAT: ENTRY | RETURN | HOLD_ENTRY | HOLD_RETURN}, registers=True, seccomp=seccomp)
    traced = command(program(CALLER), plan, held)
    assert traced.status == 0
    assert seen[-1] == b"/nowhere/at/all"
    assert len(of_kind(traced, stops.RETURN)) == len(seen)


@pytest.mark.share(1)
@pytest.mark.parametrize("seccomp", [True, False])
def test_calls_of_other_architectures_are_left_alone(seccomp):
    traced = command(program(FOREIGN), StopPlan({GETPID: ENTRY | RETURN, 20: ENTRY}, seccomp=seccomp))
    if traced.status == 11:
        pytest.skip("no system calls of i386 in this kernel")
    assert traced.status == 0
    assert numbers(traced, stops.ENTRY) == {GETPID: 5}


def test_a_filter_needs_no_privilege_and_says_so():
    """no_new_privs is set for the command with a filter, and only for it."""
    for seccomp, expected in ((True, "1"), (False, "0")):
        own = proc.status(os.getpid())["NoNewPrivs"]
        found = []

        def held(tracees, stop, found=found):
            found.append(proc.status(stop.tid)["NoNewPrivs"])

        command(program(CALLER), StopPlan({GETPID: ENTRY | HOLD_ENTRY}, seccomp=seccomp), held)
        assert set(found) == {max(expected, own)}


def test_evaluation_at_exec_sees_the_dynamic_linker():
    at_exec = command(program(CALLER), calls(ENTRY, OPENAT), evaluation="exec")
    at_entry = command(program(CALLER), calls(ENTRY, OPENAT), evaluation="postinit")
    assert len(of_kind(at_entry, stops.ENTRY)) == 1
    assert len(of_kind(at_exec, stops.ENTRY)) > 1


def test_a_small_ring_loses_nothing():
    from support.command import guarded

    from sonde.engines.embedded.tracer.tracees import Tracees

    tracees = Tracees(slots=4)
    pid = tracees.start(program(CALLER))
    tracees.begin(calls(ENTRY, GETPID), "postinit")
    tracees.go()
    found = guarded.follow(tracees, pid)
    tracees.close()
    assert len([stop for stop in found if stop.kind == stops.ENTRY]) == 10
