"""Signals under the guardian: what is delivered, with whose information, and job control."""

import os
import signal
import subprocess
import time

import pytest
from support.command.guarded import ALL, comes_to, command, of_kind, process, untraced
from support.command.targets import program

from sonde.engines.embedded.tracer import stops
from sonde.engines.embedded.tracer.plan import ENTRY, HOLD_ENTRY, RETURN, StopPlan
from sonde.machine import proc

SIGNALS = frozenset({stops.SIGNAL, stops.GROUP_STOP})
PLANS = [
    StopPlan(),
    StopPlan(dict.fromkeys(ALL, ENTRY)),
    StopPlan(dict.fromkeys(ALL, ENTRY | RETURN | HOLD_ENTRY), SIGNALS, SIGNALS, True),
    StopPlan(dict.fromkeys(ALL, ENTRY | RETURN), SIGNALS, seccomp=False),
]

INFORMATION = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int count;
static siginfo_t last;
static void handler(int number, siginfo_t *information, void *context) { last = *information; count++; }
static void require(int condition, const char *what) { if (!condition) { fprintf(stderr, "%s\n", what); _exit(1); } }
int main(void) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    for (int i = 1; i < 64; i++) sigaction(i, &action, 0);
    union sigval value = {.sival_int = 4711};
    sigqueue(getpid(), SIGRTMIN + 3, value);
    require(count == 1 && last.si_value.sival_int == 4711 && last.si_code == SI_QUEUE, "sigqueue");
    require(last.si_pid == getpid() && last.si_uid == getuid(), "sigqueue's sender");
    raise(SIGTRAP);
    require(count == 2 && last.si_signo == SIGTRAP && last.si_code == SI_TKILL, "raise(SIGTRAP)");
    __asm__ volatile("int3");
    require(count == 3 && last.si_signo == SIGTRAP && last.si_code > 0, "int3");
    raise(SIGTRAP | 0);
    __asm__ volatile("int3");
    require(count == 5, "SIGTRAP twice");
    /* Real-time signals are queued one by one; blocked ones wait. */
    sigset_t set;
    sigfillset(&set);
    sigprocmask(SIG_BLOCK, &set, 0);
    for (int i = 0; i < 4; i++) sigqueue(getpid(), SIGRTMIN, value);
    require(count == 5, "blocked");
    sigprocmask(SIG_UNBLOCK, &set, 0);
    require(count == 9, "unblocked");
    /* It must not come before the program waits for it. */
    sigprocmask(SIG_BLOCK, &set, 0);
    ualarm(20000, 0);
    usleep(1);
    sigemptyset(&set);
    sigsuspend(&set);
    require(last.si_signo == SIGALRM, "alarm");
    return 0;
}
"""

STOPS_ITSELF = r"""
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    /* A shell's view: the child stops, is seen to stop, is continued, is seen to go on, and ends. */
    int status, child, seen[2];
    char c;
    pipe(seen);
    if (!(child = fork())) { raise(SIGSTOP); read(seen[0], &c, 1); raise(SIGTSTP); read(seen[0], &c, 1); _exit(5); }
    for (int i = 0; i < 2; i++) {
        if (waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status)) return 1;
        if (WSTOPSIG(status) != (i ? SIGTSTP : SIGSTOP)) return 2;
        if (waitpid(child, &status, WNOHANG | WCONTINUED)) return 3;
        kill(child, SIGCONT);
        if (waitpid(child, &status, WCONTINUED) != child || !WIFCONTINUED(status)) return 4;
        write(seen[1], "", 1);
    }
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 5) return 6;
    return 0;
}
"""

TRACES = r"""
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    int status, child = fork();
    if (!child) { _exit(ptrace(PTRACE_TRACEME, 0, 0, 0) == -1 && errno == EPERM ? 8 : 1); }
    if (ptrace(PTRACE_SEIZE, child, 0, 0) != -1 || errno != EPERM) return 2;
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 8) return 3;
    return 0;
}
"""

SLEEPER = r"""
#include <sys/prctl.h>
#include <unistd.h>
int main(void) {
    char c;
    prctl(0x59616d61, -1); /* PR_SET_PTRACER: Yama lets anybody trace it. */
    write(1, "ready\n", 6);
    while (read(0, &c, 1) == 1) {}
    return 4;
}
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("plan", PLANS)
def test_signals_come_with_their_information(plan):
    assert command(program(INFORMATION), plan).status == 0


@pytest.mark.share(1)
@pytest.mark.parametrize("plan", PLANS)
def test_job_control_is_as_without_a_tracer(plan):
    assert command(program(STOPS_ITSELF), plan).status == 0


@pytest.mark.share(1)
@pytest.mark.parametrize("plan", PLANS)
def test_what_the_target_would_trace_itself_is_refused_by_eperm(plan):
    assert command(program(TRACES), plan).status == 0


@pytest.mark.share(1)
@pytest.mark.parametrize("plan", PLANS[2:])
def test_signals_are_told(plan):
    traced = command(program(INFORMATION), plan)
    told = [(stop.a, stop.b, stop.c) for stop in of_kind(traced, stops.SIGNAL)]
    assert told[0] == (signal.SIGRTMIN + 3, -1, traced.pid)
    assert told[1] == (signal.SIGTRAP, -6, traced.pid)
    assert told[-1] == (signal.SIGALRM, 0x80, 0)
    assert len(told) == 10


def test_group_stops_are_told():
    traced = command(program(STOPS_ITSELF), PLANS[3])
    assert [stop.a for stop in of_kind(traced, stops.GROUP_STOP)] == [signal.SIGSTOP, signal.SIGTSTP]


@pytest.mark.long
def test_a_stopped_process_is_traced_and_stays_stopped():
    child = subprocess.Popen([program(SLEEPER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
    os.kill(child.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)

    def started(tracees):
        time.sleep(0.05)
        assert proc.stat(child.pid).state in "tT"
        child.stdin.close()
        time.sleep(0.05)
        assert proc.stat(child.pid).state in "tT"
        os.kill(child.pid, signal.SIGCONT)

    traced = process(child, StopPlan(dict.fromkeys(ALL, ENTRY)), started=started)
    assert traced.status == 4


def test_a_process_stopped_and_let_go_stays_stopped():
    from sonde.engines.embedded.tracer.tracees import Tracees

    child = subprocess.Popen([program(SLEEPER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
    tracees = Tracees()
    tracees.grab(child.pid)
    tracees.begin(StopPlan(dict.fromkeys(ALL, ENTRY)))
    tracees.go()
    os.kill(child.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED)
    tracees.close()
    assert untraced(child.pid)
    assert comes_to(child.pid, "T")
    os.kill(child.pid, signal.SIGCONT)
    child.stdin.close()
    assert child.wait() == 4


@pytest.mark.share(1)
@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGALRM, signal.SIGXCPU, signal.SIGRTMIN],
)
def test_the_guardian_is_not_ended_by_signals_that_ask(number):
    from support.command.guarded import follow

    from sonde.engines.embedded.tracer.tracees import Tracees

    tracees = Tracees()
    pid = tracees.start("sleep 0.05")
    tracees.begin(StopPlan(dict.fromkeys(ALL, ENTRY)))
    os.kill(tracees.guardian, number)
    tracees.go()
    assert follow(tracees, pid)
    tracees.close()
    assert os.waitpid(pid, 0)[1] == 0
