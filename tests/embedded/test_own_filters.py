"""Seccomp filters of a traced program's own: what they say of a call holds as if nobody traced.

The same program runs alone and traced, and has to print and end alike.
"""

import json
import os
import subprocess
import sys

import pytest
from support.command.guarded import calls, command, of_kind
from support.command.targets import program
from support.places import SUPPORT

from sonde.engines.embedded.tracer import stops
from sonde.engines.embedded.tracer.plan import ENTRY, RETURN, StopPlan

GETPPID, GETPID, GETUID, TIMES = 110, 39, 102, 100
FOLLOW = SUPPORT / "command/follow_all.py"

FILTERED = r"""
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <unistd.h>
#define CALL(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 1, 0), BPF_STMT(BPF_JMP | BPF_JA, 1)
static unsigned answer;
static void trapped(int number, siginfo_t *info, void *context) {
    printf("SIGSYS %d %d\n", info->si_syscall, info->si_errno);
}
static void ask(const char *who) {
    struct tms times;
    int numbers[] = {SYS_getppid, SYS_getpid, SYS_getuid, SYS_times};
    for (int i = 0; i < 4; i++) {
        long result = syscall(numbers[i], &times);
        printf("%s: %d %s\n", who, numbers[i], result < 0 ? strerror(errno) : "done");
        fflush(stdout);
    }
}
static void *thread(void *argument) { ask("thread"); return 0; }
static int install(const char *how, struct sock_fprog *filter) {
    if (strcmp(how, "prctl") == 0)
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter);
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, strcmp(how, "all") ? 0 : SECCOMP_FILTER_FLAG_TSYNC, filter);
}
int main(int argc, char **argv) {
    static const struct sock_filter fixed[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpid, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getuid, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE | 5),
    };
    struct sock_filter own[6], before[6];
    answer = strtoul(argv[2], 0, 16);
    memcpy(own, fixed, sizeof own);
    own[5].k = answer;
    memcpy(before, own, sizeof own);
    struct sock_fprog filter = {6, answer == (SECCOMP_RET_TRACE | 5) ? (struct sock_filter *)fixed : own};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = trapped;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSYS, &action, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    ask("before");
    pid_t child = 0;
    if (strcmp(argv[1], "child") == 0 && (child = fork()) != 0) {
        int status;
        waitpid(child, &status, 0);
        printf("child %x\n", status);
        ask("maker");
        return 7;
    }
    pthread_t other;
    int failed = install(argv[1], &filter);
    printf("installed %d %d\n", failed, memcmp(own, before, sizeof own) || fixed[5].k != (SECCOMP_RET_TRACE | 5));
    ask("filtered");
    pthread_create(&other, 0, thread, 0);
    pthread_join(other, 0);
    if (fork() == 0) {
        ask("grandchild");
        _exit(3);
    }
    wait(0);
    if (argc > 3)
        execl(argv[3], argv[3], argv[4], (char *)0);
    return 7;
}
"""

ACTIONS = {
    "trace": 0x7FF00000, "trace 5": 0x7FF00005, "trace as wanted": 0x7FF00001, "trace all bits": 0x7FF0FFFF,
    "errno": 0x00050001, "trap": 0x00030009, "log": 0x7FFC0000, "allow": 0x7FFF0000, "kill thread": 0x00000000,
    "kill process": 0x80000000, "unknown": 0x12340000,
}  # fmt: skip

PLANS = {
    "notified": calls(ENTRY, GETPPID, GETUID),
    "stopped": calls(ENTRY | RETURN, GETPPID, GETPID),
    "both": StopPlan({GETPPID: ENTRY, GETPID: ENTRY | RETURN, 317: ENTRY | RETURN, 157: ENTRY}),
    "all": calls(ENTRY | RETURN, *range(460)),
    "none": StopPlan({TIMES: ENTRY}),
    "no filter": StopPlan({GETPPID: ENTRY, GETPID: ENTRY | RETURN}, seccomp=False),
}


def alone(words):
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stdout


def traced(words, plan, capfd):
    capfd.readouterr()
    found = command(" ".join(words), plan)
    return found, (os.waitstatus_to_exitcode(found.status), capfd.readouterr().out)


HOWS = ["prctl", "seccomp", "all", "child"]

CASES = [(action, plan, how) for action in ACTIONS if "trace" in action for plan in PLANS for how in HOWS] + [
    (action, plan, how)
    for action in ACTIONS
    if "trace" not in action
    for plan in ("notified", "stopped")
    for how in ("prctl", "child")
]


@pytest.mark.share(1, 40)
@pytest.mark.parametrize(("action", "plan", "how"), CASES)
def test_a_filter_says_what_it_says_alone(action, plan, how, capfd):
    words = [program(FILTERED), how, f"{ACTIONS[action]:x}"]
    expected = alone(words)
    found, outcome = traced(words, PLANS[plan], capfd)
    assert outcome == expected
    if action == "allow" and "stopped" in plan:
        # What its filters allow is told.
        assert sum(stop.kind == stops.RETURN for stop in found.stops) == 2 * (5 if how == "child" else 4)


REFUSING = ("errno", "trap", "kill thread", "kill process", "trace 5", "unknown")


@pytest.mark.share(1, 24)
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("plan", ["notified", "stopped", "both", "all"])
@pytest.mark.parametrize("action", REFUSING)
def test_what_another_filter_refuses_is_told_with_its_error(action, plan, how, capfd):
    """As without a filter of sonde's, where each call stops before any filter has a say."""
    words = [program(FILTERED), how, f"{ACTIONS[action]:x}"]
    wanted = PLANS[plan]._replace(calls={n: w for n, w in PLANS[plan].calls.items() if n in ASKED})
    found, _ = traced(words, wanted, capfd)
    expected, _ = traced(words, wanted._replace(seccomp=False), capfd)
    assert told(found) == told(expected)
    if action == "errno" and how == "prctl":
        # Filtered, in a thread and in a child.
        refused = [stop.value for stop in of_kind(found, stops.RETURN) if stop.value < 0]
        returning = [number for number in FILTERED_CALLS if wanted.calls.get(number, 0) & RETURN]
        assert refused == [-1] * 3 * len(returning)


ASKED = (GETPPID, GETPID, GETUID, TIMES)
FILTERED_CALLS = (GETPPID, GETPID, GETUID)


def told(traced):
    """Of each thread, by the order in which they came: kind, number and, of refusals, result."""
    found = {}
    numbers = {}
    for stop in traced.stops:
        number = stop.value if stop.kind == stops.ENTRY else stop.a
        if stop.kind in (stops.ENTRY, stops.RETURN) and number in ASKED:
            place = numbers.setdefault(stop.tid, len(numbers))
            found.setdefault(place, []).append(
                (stop.kind, number, min(stop.value, 0) if stop.kind == stops.RETURN else 0)
            )
    return found


def test_only_what_installs_a_filter_stops_at_each_call(capfd):
    """Asking what the kernel has, or a filter that is refused, changes nothing."""
    found, _ = traced([program(ASKING_ALONE)], calls(ENTRY, TIMES), capfd)
    assert capfd.readouterr().out == ""
    assert len(of_kind(found, stops.ENTRY)) == 3


ASKING_ALONE = r"""
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <unistd.h>
int main(void) {
    unsigned action = SECCOMP_RET_TRACE;
    struct tms times;
    for (int i = 0; i < 3; i++) {
        syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);
        prctl(PR_SET_SECCOMP, 1);
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 0);
        syscall(SYS_times, &times);
    }
}
"""

SYNCHRONIZED = r"""
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile int ready, go;
static int ends[2];
static void *spin(void *argument) {
    __sync_fetch_and_add(&ready, 1);
    while (!go) ;
    syscall(SYS_getppid);
    return 0;
}
static void *wait_for(void *argument) {
    struct epoll_event event = {EPOLLIN};
    int set = epoll_create1(0);
    epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event);
    __sync_fetch_and_add(&ready, 1);
    int found = epoll_wait(set, &event, 1, -1);
    printf("waited %d\n", found);
    syscall(SYS_getuid);
    syscall(SYS_getppid);
    return 0;
}
static void *read_from(void *argument) {
    char byte;
    __sync_fetch_and_add(&ready, 1);
    printf("read %zd\n", read(ends[0], &byte, 1));
    syscall(SYS_getppid);
    return 0;
}
int main(void) {
    struct sock_filter own[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOLCK),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {4, own};
    pthread_t threads[3];
    setvbuf(stdout, 0, _IONBF, 0);
    pipe(ends);
    pthread_create(&threads[0], 0, spin, 0);
    pthread_create(&threads[1], 0, wait_for, 0);
    pthread_create(&threads[2], 0, read_from, 0);
    while (ready < 3) ;
    usleep(100000);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    printf("installed %ld\n", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter));
    go = 1;
    pthread_join(threads[0], 0);
    write(ends[1], "ab", 2);
    pthread_join(threads[1], 0);
    pthread_join(threads[2], 0);
    return 7;
}
"""
"""A filter that a thread puts on all: on one that runs, one that waits in a call that would fail by a stop, and one
that waits in a call that begins again."""


@pytest.mark.share(1)
@pytest.mark.parametrize("wanted", [ENTRY, ENTRY | RETURN])
def test_a_filter_for_all_threads_interrupts_none(wanted, capfd):
    plan = calls(wanted, GETPPID, GETUID, 0, 232)
    found, (status, text) = traced([program(SYNCHRONIZED)], plan, capfd)
    assert status == 7
    assert sorted(text.split("\n")) == ["", "installed 0", "read 1", "waited 1"]
    entries = [stop.value for stop in of_kind(found, stops.ENTRY)]
    assert [entries.count(number) for number in (GETPPID, GETUID, 232)] == [3, 1, 1]
    if wanted & RETURN:
        returns = of_kind(found, stops.RETURN)
        assert [stop.value for stop in returns if stop.a == GETPPID] == [-37] * 3
        assert [stop.value for stop in returns if stop.a == 232] == [1]


@pytest.mark.share(1)
@pytest.mark.parametrize("action", ["trace", "trace as wanted", "errno"])
def test_a_filter_that_was_there_before(action):
    """Where who starts the tracer has one, the tracer puts none behind it."""
    alone = [program(RUNNING), f"{ACTIONS[action]:x}"]
    expected = subprocess.run([*alone, program(ASKING)], capture_output=True, text=True)
    assert expected.returncode == 7
    assert "done" not in expected.stdout
    for wanted in (ENTRY, ENTRY | RETURN):
        spec = json.dumps({"command": program(ASKING), "calls": wanted})
        done = subprocess.run([*alone, sys.executable, str(FOLLOW), spec], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (7, expected.stdout), done.stderr


ASKING = r"""
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
    for (int i = 0; i < 3; i++) {
        long result = syscall(SYS_getuid);
        printf("%s\n", result < 0 ? strerror(errno) : "done");
    }
    return 7;
}
"""

RUNNING = r"""
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
    struct sock_filter own[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getuid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, strtoul(argv[1], 0, 16)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {4, own};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        return 1;
    execv(argv[2], argv + 2);
    return 2;
}
"""
"""Runs a command with a filter for getuid alone, which Python does without."""
