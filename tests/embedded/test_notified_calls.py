"""System calls told by notification: each once, in order with all else, whoever is killed."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from support.command.guarded import ALL, calls, child_of, command, follow, of_kind
from support.command.targets import program

from sonde.engines.embedded.tracer import notifications, plan, stops
from sonde.engines.embedded.tracer.held_command import HeldCommand
from sonde.engines.embedded.tracer.notifications import notified
from sonde.engines.embedded.tracer.plan import ENTRY, HOLD_ENTRY, RETURN, EntryFetch, StopPlan
from sonde.engines.embedded.tracer.tracees import Tracees
from sonde.machine import proc

GETPPID, GETPID, READ, CLOSE = 110, 39, 0, 3
pytestmark = pytest.mark.skipif(not notified(StopPlan({GETPPID: ENTRY})), reason="the kernel does not notify so")

ALARMED = r"""
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
static volatile long alarms;
static void count(int number) { alarms++; }
int main(int argc, char **argv) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = count;
    sigaction(SIGALRM, &action, 0);
    struct itimerval timer = {{0, 100}, {0, 100}};
    setitimer(ITIMER_REAL, &timer, 0);
    int failed = 0;
    for (int i = 0; i < atoi(argv[1]); i++)
        failed |= syscall(SYS_getppid) != getppid() || (close(-1) != -1 || errno != EBADF);
    memset(&timer, 0, sizeof timer);
    setitimer(ITIMER_REAL, &timer, 0);
    return failed ? 1 : alarms ? 7 : 2;
}
"""

THREADS = r"""
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static void *work(void *argument) {
    for (int i = 0; i < 500; i++)
        syscall(SYS_getppid);
    return 0;
}
int main(void) {
    pthread_t threads[8];
    for (int process = 0; process < 4; process++)
        if (fork() == 0) {
            for (int i = 0; i < 8; i++)
                pthread_create(&threads[i], 0, work, 0);
            for (int i = 0; i < 8; i++)
                pthread_join(threads[i], 0);
            _exit(0);
        }
    while (wait(0) > 0);
    return 7;
}
"""

BOMB = r"""
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    for (int i = 0; i < 500; i++)
        if (fork() == 0) {
            for (int k = 0; k < 5; k++)
                syscall(SYS_getppid);
            _exit(0);
        }
    while (wait(0) > 0);
    return 7;
}
"""

LOOP = r"""
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
    for (int i = 0; i < atoi(argv[1]); i++)
        if (syscall(SYS_getppid) < 1)
            return 1;
    return 7;
}
"""


COMPAT = r"""
#include <unistd.h>
int main(void) {
    long result = 0;
    for (int i = 0; i < 100; i++)
        __asm__ volatile("int $0x80" : "=a"(result) : "a"(64) : "memory", "r8", "r9", "r10", "r11");
    return result == getppid() ? 7 : 1;
}
"""
"""Call 64 of i386 is getppid."""

OWN_LISTENER = r"""
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {1, &allow};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program) >= 0)
        return 1;
    return errno == EBUSY ? 7 : 2;
}
"""


def test_what_is_notified():
    wanted = dict.fromkeys(range(plan.NUMBERS), ENTRY)
    assert {GETPPID, CLOSE} <= notified(StopPlan(wanted))
    assert READ not in notified(StopPlan(wanted))
    assert not notified(StopPlan(wanted, notify=False))
    assert not notified(StopPlan(wanted, seccomp=False))
    wanted = {1: ENTRY, 4: ENTRY | HOLD_ENTRY, 5: ENTRY | RETURN, 21: ENTRY, CLOSE: ENTRY}
    assert notified(StopPlan(wanted, fetches={21: (EntryFetch(0, 8),)})) == {CLOSE}


def test_the_guardian_is_told():
    wanted = StopPlan({GETPPID: ENTRY, READ: ENTRY | RETURN}, notified=frozenset((GETPPID,)), notify=False)
    assert plan.from_bytes(plan.to_bytes(wanted)) == wanted


@pytest.mark.long
def test_each_is_told_once_under_signals():
    rounds = int(os.environ.get("SONDE_NOTIFIED_ROUNDS", "10000"))
    traced = command(f"{program(ALARMED)} {rounds}", calls(ENTRY, GETPPID, CLOSE))
    assert os.waitstatus_to_exitcode(traced.status) == 7
    told = Counter((stop.value, stop.arg0 & 0xFFFFFFFF) for stop in of_kind(traced, stops.ENTRY))
    numbers = Counter(stop.value for stop in of_kind(traced, stops.ENTRY))
    assert numbers[GETPPID] == 2 * rounds
    assert told[CLOSE, 0xFFFFFFFF] == rounds


@pytest.mark.share(1)
@pytest.mark.parametrize(("source", "threads", "each"), [(THREADS, 32, 500), (BOMB, 500, 5)])
def test_in_order_with_what_the_guardian_tells(source, threads, each):
    traced = command(program(source), calls(ENTRY, GETPPID))
    assert os.waitstatus_to_exitcode(traced.status) == 7
    told = Counter()
    alive = set()
    for stop in traced.stops:
        if stop.kind == stops.START:
            alive.add(stop.tid)
        elif stop.kind == stops.END:
            alive.remove(stop.tid)
        elif stop.kind == stops.ENTRY:
            assert stop.tid in alive
            told[stop.tid] += 1
    assert sorted(told.values()) == [each] * threads


@pytest.mark.long
def test_a_killed_notifier_is_replaced_and_nothing_is_lost():
    tracees = Tracees(slots=64)
    try:
        pid = tracees.start(f"{program(LOOP)} 20000")
        tracees.begin(calls(ENTRY, GETPPID))
        tracees.go()
        killed = subprocess.Popen([sys.executable, "-c", KILLER, str(tracees.guardian)])
        found = follow(tracees, pid)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        assert killed.wait() == 0
    finally:
        tracees.close()
    assert sum(stop.kind == stops.ENTRY for stop in found) == 20000


KILLER = """
import os, signal, sys, time
guardian, killed = sys.argv[1], 0
end = time.monotonic() + 20
while os.path.exists(f"/proc/{guardian}/task/{guardian}/children") and time.monotonic() < end:
    try:
        for pid in open(f"/proc/{guardian}/task/{guardian}/children").read().split():
            if "sonde-notifier" in open(f"/proc/{pid}/comm").read():
                os.kill(int(pid), signal.SIGKILL)
                killed += 1
                time.sleep(0.01)
    except (FileNotFoundError, ProcessLookupError):
        pass
    if killed >= 10:
        break
sys.exit(not killed)
"""


@pytest.mark.long
def test_a_reader_that_is_late_delays_and_loses_nothing():
    tracees = Tracees(slots=64)
    try:
        pid = tracees.start(f"{program(LOOP)} 1000")
        tracees.begin(calls(ENTRY, GETPPID))
        tracees.go()
        while not tracees.has_more():
            time.sleep(0.01)
        time.sleep(0.2)
        assert proc.stat(pid).state != "Z"
        found = follow(tracees, pid)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    finally:
        tracees.close()
    assert sum(stop.kind == stops.ENTRY for stop in found) == 1000


@pytest.mark.long
def test_a_target_outlives_sonde_that_does_not_read():
    """The notifier waits for room when sonde is killed."""
    path = program(LOOP)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(writer, 1)
        tracees = Tracees(slots=64)
        tracees.start(f"sh -c '{path} 1000; echo $?'")
        tracees.begin(calls(ENTRY, GETPPID))
        tracees.go()
        time.sleep(60)
    os.close(writer)
    time.sleep(1)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with os.fdopen(reader, "rb") as file:
        assert file.read() == b"7\n"


@pytest.mark.long
def test_a_command_runs_though_sonde_ends_before_it_gets_its_filter(monkeypatch):
    """It is stopped until the guardian is alone with it."""
    reader, writer = os.pipe()
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        # What the kernel sends to the stopped processes of a group that has lost its last parent.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.dup2(writer, 1)
        let_exec = HeldCommand.exec

        def let_exec_and_end(self, *filters):
            os.kill(self.pid, signal.SIGSTOP)
            let_exec(self, *filters)
            os.write(tell, b"%d" % self.pid)
            os.kill(os.getpid(), signal.SIGKILL)

        monkeypatch.setattr(HeldCommand, "exec", let_exec_and_end)
        tracees = Tracees()
        tracees.start("sh -c 'echo something; ls -d /'")
        tracees.begin(StopPlan(dict.fromkeys(ALL, ENTRY)))
        os._exit(1)
    os.close(writer)
    command_pid = int(os.read(told, 20))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    time.sleep(0.2)
    os.kill(command_pid, signal.SIGCONT)
    limit = time.monotonic() + 10
    while os.path.exists(f"/proc/{command_pid}") and time.monotonic() < limit:
        time.sleep(0.01)
    if os.path.exists(f"/proc/{command_pid}"):
        os.kill(command_pid, signal.SIGKILL)
    with os.fdopen(reader, "rb") as file:
        assert file.read() == b"something\n/\n"
    os.close(told)
    os.close(tell)


def test_the_notifier_goes_with_the_last_thread():
    tracees = Tracees()
    pid = tracees.start("sleep 0.1")
    tracees.begin(calls(ENTRY, GETPPID))
    found = child_of(tracees.guardian, "sonde-notifier")
    tracees.go()
    follow(tracees, pid)
    os.waitpid(pid, 0)
    tracees.close()
    limit = time.monotonic() + 10
    while os.path.exists(f"/proc/{found}") and time.monotonic() < limit:
        time.sleep(0.01)
    assert not os.path.exists(f"/proc/{found}")


def test_calls_of_i386_are_not_notified():
    traced = command(program(COMPAT), calls(ENTRY, GETPPID, 64))
    assert os.waitstatus_to_exitcode(traced.status) == 7
    assert [stop.value for stop in of_kind(traced, stops.ENTRY)] == [GETPPID]


def test_a_listener_of_the_targets_own():
    traced = command(program(OWN_LISTENER), calls(ENTRY, GETPPID))
    assert os.waitstatus_to_exitcode(traced.status) == 7


def test_without_it_all_is_told_by_stops(monkeypatch):
    monkeypatch.setattr(notifications, "_RELEASE", (999, 0))
    traced = command(f"{program(LOOP)} 100", calls(ENTRY, GETPPID))
    assert len(of_kind(traced, stops.ENTRY)) == 100
    assert all(stop.sp for stop in of_kind(traced, stops.ENTRY))
