"""The sched provider and vtimestamp on threads that sleep, yield and are preempted."""

import os

import pytest
from support.command.command import build, sonde, table
from support.machine.access import version

from sonde.providers.kernel_types import KernelTypes

WORKLOAD = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

static void *thread(void *unused) { return 0; }

int main(void) {
    struct timespec moment = {0, 1000000};
    pthread_t id;
    getppid();
    for (int n = 0; n < 13; n++) sched_yield();
    for (int n = 0; n < 29; n++) nanosleep(&moment, 0);
    for (int n = 0; n < 3; n++) { pthread_create(&id, 0, thread, 0); pthread_join(id, 0); }
    usleep(50000);
    getpgid(0);
    return 0;
}
"""

PROGRAM = """
syscall::getppid:entry /pid == $target/ { self->is_main = 1; on = 1; }
syscall::getpgid:entry /self->is_main/ { on = 0; }
sched:::surrender /on && self->is_main/ { @["surrender", args[0]->pr_lwpid == tid] = count(); }
sched:::sleep /on && self->is_main/ { @["sleep", 0] = count(); }
sched:::wakeup /on && args[1]->pr_pid == $target/ { @["wakeup", 0] = count(); }
sched:::enqueue /on && args[1]->pr_pid == $target/ { @["enqueue", args[2]->cpu_id >= 0] = count(); }
sched:::dequeue /on && args[1]->pr_pid == $target/ { @["dequeue", args[2]->cpu_id == cpu] = count(); }
sched:::off-cpu /on && pid == $target/ { @["off-cpu", args[0]->pr_lwpid == tid] = count(); }
sched:::preempt /on && pid == $target/ { @["preempt", 0] = count(); }
sched:::off-cpu /on && args[1]->pr_pid == $target/ { @["off-cpu for it", 0] = count(); }
sched:::on-cpu /on && pid == $target/ { @["on-cpu", 0] = count(); }
ERROR { printf("fault %d at %x\\n", arg4, arg5); exit(1); }
"""


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    program = build(tmp_path_factory.mktemp("sched"), "load", WORKLOAD, "-pthread")
    text = sonde("-Zqn", PROGRAM, "-c", program).stdout
    return {" ".join(words): count for words, count in table(text).items()}


def test_yields_surrender_the_processor(counts):
    assert counts["surrender 1"] == 13


def test_threads_sleep(counts):
    """30 sleeps, and a wait for each thread's end unless it has ended already."""
    assert 30 <= counts["sleep 0"] <= 33


def test_sleepers_are_woken_and_queued(counts):
    """Threads that are new are queued without being woken."""
    assert counts["wakeup 0"] >= counts["sleep 0"]
    assert counts["enqueue 1"] == counts["wakeup 0"] + 3


def test_who_leaves_for_another_thread_is_not_that_thread(counts):
    assert counts.get("off-cpu 1", 0) == 0
    assert counts["off-cpu 0"] >= 33


def test_whoever_is_not_preempted_leaves_the_queue(counts):
    """Three threads end, the others sleep."""
    assert counts["dequeue 1"] == counts["off-cpu 0"] - counts.get("preempt 0", 0)
    assert counts["dequeue 1"] == counts["sleep 0"] + 3


def test_on_cpu_is_seen_by_the_thread_that_runs(counts):
    if KernelTypes().tracepoint("sched_exit_tp") is None:
        assert version(os.uname().release) < (6, 17)
        pytest.skip("on-cpu needs Linux 6.17")
    # One is on its processor when the trace ends.
    assert 0 <= counts["on-cpu 0"] - counts["off-cpu for it 0"] <= 1


def test_ticks_come_while_something_runs(tmp_path):
    program = build(tmp_path, "spin", "int main(void) { for (volatile long n = 0; n < 1L << 40; n++); }")
    text = """
    sched:::tick /args[1]->pr_pid == $target && args[0]->pr_lwpid == tid && ++n == 5/ { trace("five"); exit(0); }
    """
    assert sonde("-qn", text, "-c", program).stdout.strip() == "five"


INHERITANCE = r"""
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#include <sys/resource.h>

static pthread_mutex_t mutex;
static volatile int held;

static void *low(void *unused) {
    setpriority(PRIO_PROCESS, 0, 10);
    pthread_mutex_lock(&mutex);
    held = 1;
    usleep(100000);
    pthread_mutex_unlock(&mutex);
    return 0;
}

int main(void) {
    pthread_mutexattr_t kind;
    pthread_t id;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&mutex, &kind);
    pthread_create(&id, 0, low, 0);
    while (!held) usleep(1000);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_join(id, 0);
    return 0;
}
"""


def test_priorities_are_inherited(tmp_path):
    """A nice thread that holds what another waits for is lent that one's priority, and gives it back."""
    program = build(tmp_path, "inheritance", INHERITANCE, "-pthread")
    text = 'sched:::change-pri /args[1]->pr_pid == $target/ { printf("%d>%d ", args[0]->pr_pri, args[2]); }'
    own = 120 + os.getpriority(os.PRIO_PROCESS, 0)
    assert sonde("-qn", text, "-c", program).stdout.split() == [f"130>{own}", f"{own}>130"]


CPU_TIME = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static long switches(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_nvcsw + used.ru_nivcsw;
}

/* Nanoseconds of stretches in which this process left its processor not once. */
static long busy(void) {
    long sum = 0;
    for (int found = 0; found < 10;) {
        long before = switches(), begin = now();
        for (volatile int n = 0; n < 100000; n++);
        long end = now();
        if (switches() == before) { sum += end - begin; found++; }
    }
    return sum;
}

int main(void) {
    cpu_set_t set;
    long own, other;
    int ends[2];
    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    sched_setaffinity(0, sizeof set, &set);
    pipe(ends);
    getpgid(0);
    getppid();
    own = busy();
    if (!fork()) {
        other = busy();
        write(ends[1], &other, sizeof other);
        _exit(0);
    }
    read(ends[0], &other, sizeof other);
    getpgid(0);
    wait(NULL);
    fprintf(stderr, "%ld %ld", own, other);
    return 0;
}
"""


def test_vtimestamp_is_the_threads_cpu_time(tmp_path):
    """At least the time in which it surely had its processor; not that in which its child surely had the same one."""
    program = build(tmp_path, "cpu_time", CPU_TIME)
    text = """
    syscall::getppid:entry /pid == $target/ { self->cpu = vtimestamp; self->time = timestamp; }
    syscall::getpgid:entry /self->cpu/ { printf("%d %d", vtimestamp - self->cpu, timestamp - self->time); }
    """
    done = sonde("-qn", text, "-c", program)
    traced, elapsed = map(int, done.stdout.split())
    own, others = map(int, done.stderr.split())
    assert own <= traced <= elapsed - others
