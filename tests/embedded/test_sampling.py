"""profile-n over the kernel's own samples: nothing of the target is stopped or fails; each tick is there or told."""

import os
import re
import shlex
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.command.targets import program
from support.command.unprivileged import SONDE, sonde, without_privileges
from support.machine.access import needs
from test_below_filters import PERF_EVENT_OPEN, below

from sonde.engines.embedded.sources.sampling import SampledMemory
from sonde.engines.embedded.sources.task_events import ClockSample, TaskEvents, WantedEvent, WantedEvents
from sonde.engines.kernel.perf_events import TYPE_SOFTWARE, Opening, attributes, enable
from sonde.engines.kernel.syscalls import perf_event_open
from sonde.formats.perf_events import SAMPLE_TID, SAMPLE_TIME
from sonde.formats.perf_ring import PerfRecord
from sonde.machine.system import online_cpus

ENGINE = ["--engine", "embedded", "-q"]
RUNNING = ["-xsampling=running"]
"""What looks at threads would stop them."""

WAITING = r"""
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <time.h>
#include <unistd.h>
static long failed, calls;
static void count(int result) { calls++; failed += result < 0 && errno == EINTR; }
int main(void) {
    struct timespec limit = {0, 200000}, end, now;
    struct epoll_event event;
    struct sembuf down = {0, -1, 0};
    sigset_t wanted;
    int set = epoll_create1(0), semaphores = semget(IPC_PRIVATE, 1, 0600);
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGUSR1);
    sigprocmask(SIG_BLOCK, &wanted, 0);
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += 1;
    do {
        count(sigtimedwait(&wanted, 0, &limit));
        count(semtimedop(semaphores, &down, 1, &limit));
        count(epoll_wait(set, &event, 1, 1));
        count(poll(0, 0, 1));
        for (volatile int i = 0; i < 100000; i++) ;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec < end.tv_sec || now.tv_nsec < end.tv_nsec);
    semctl(semaphores, 0, IPC_RMID);
    printf("%ld %d\n", failed, calls > 400);
}
"""


@pytest.mark.share(1)
@pytest.mark.parametrize(
    "what", ["@ = count();", "@[ustack()] = count();", "@[arg1 != 0, copyinstr(uregs[R_SP])] = count();"]
)
def test_no_call_of_the_target_is_interrupted(what):
    done = sonde(*ENGINE, *RUNNING, "-n", f"profile-997 {{ {what} }}", "-o", "/dev/null", "-c", program(WAITING))
    assert done.stdout == "0 1\n"


def test_nor_where_the_kernel_gives_no_samples(tmp_path):
    out = tmp_path / "out"
    words = [*ENGINE, "-n", "profile-997 { @[execname] = count(); }", "-o", str(out), "-c", program(WAITING)]
    done = below([PERF_EVENT_OPEN], *words)
    assert done.stdout == "0 1\n", done.stderr
    assert int(out.read_text().split()[-1]) > 5


@pytest.mark.share(1)
@pytest.mark.parametrize(
    "text", ["@[arg1] = count();", "ustack();", "@[ustack(3)] = count();", "trace(uregs[R_SP]);", "sample();"]
)
def test_without_samples_registers_and_stacks_are_refused_with_the_remedy(text):
    done = below([PERF_EVENT_OPEN], *ENGINE, *RUNNING, "-n", f"profile-97 {{ {text} }}", "-c", "true")
    message = " ".join(done.stderr.split())
    assert done.returncode == 1
    assert "profile-97: a thread's registers and stack" in message
    assert "perf_event_open(2) is refused" in message
    assert "a seccomp profile that permits it" in message
    paranoid = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    assert ("kernel.perf_event_paranoid=2" in message) == (paranoid > 2)


SPINNING = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long n;
__attribute__((noinline, optimize("O0"))) static void inner(void) { for (int i = 0; i < 1000000; i++) n++; }
__attribute__((noinline)) static void outer(void) { inner(); n++; }
static double used(int who) {
    struct rusage usage;
    getrusage(who, &usage);
    return usage.ru_utime.tv_sec + usage.ru_utime.tv_usec / 1e6 + usage.ru_stime.tv_sec + usage.ru_stime.tv_usec / 1e6;
}
static void *spin(void *argument) {
    double until = used(RUSAGE_THREAD) + atof(argument);
    while (used(RUSAGE_THREAD) < until) outer();
    return 0;
}
int main(int argc, char **argv) {
    pthread_t other;
    if (argc > 3) getchar();
    if (argc > 2 && strchr(argv[2], 't')) pthread_create(&other, 0, spin, argv[1]);
    if (argc > 2 && strchr(argv[2], 'f') && fork() == 0) { spin(argv[1]); _exit(0); }
    if (argc > 2 && strchr(argv[2], 'e') && fork() == 0) { execl(argv[0], "other", argv[1], (char *)0); _exit(1); }
    spin(argv[1]);
    if (argc > 2 && strchr(argv[2], 't')) pthread_join(other, 0);
    while (wait(0) > 0) ;
    printf("%f\n", used(RUSAGE_SELF) + used(RUSAGE_CHILDREN));
    fflush(stdout);
    return 0;
}
"""


def spinning():
    return program(
        SPINNING,
        "-D_GNU_SOURCE",
        "-fno-omit-frame-pointer",
        "-mno-omit-leaf-frame-pointer",
        "-fno-optimize-sibling-calls",
    )


def dropped(text):
    return sum(int(count) for count in re.findall(r"(\d+) tick drops?", " ".join(text.split())))


@pytest.mark.share(0, 4)
@pytest.mark.parametrize("made", ["", "t", "f", "e", "tfe"])
@pytest.mark.parametrize("rate", [199, 997])
def test_there_is_a_tick_for_each_period_of_cpu_time(rate, made, tmp_path):
    """Or it is told that it was lost; threads, children and what they execute are sampled."""
    out = tmp_path / "out"
    text = f"profile-{rate} {{ @ = count(); }}"
    done = sonde("--engine", "embedded", "-n", text, "-o", str(out), "-c", shlex.join([spinning(), "0.4", made]))
    seconds = float(done.stdout.split()[-1])
    ticks = int(out.read_text().split()[-1]) + dropped(done.stderr)
    assert 0.85 * rate * seconds - 5 < ticks < 1.1 * rate * seconds + 5, done.stderr


@pytest.mark.long
@pytest.mark.parametrize("unwind", ["frames", "dwarf"])
def test_stacks_are_those_of_where_the_thread_ran(unwind, tmp_path):
    out = tmp_path / "out"
    text = "profile-997 /arg1/ { @[ustack(3)] = count(); }"
    sonde(*ENGINE, *RUNNING, f"-xunwind={unwind}", "-n", text, "-o", str(out), "-c", shlex.join([spinning(), "0.8"]))
    stacks = [block.split() for block in out.read_text().split("\n\n")]
    counts = {
        tuple(re.sub(r"^.*`|\+0x.*", "", frame) for frame in block[:-1]): int(block[-1]) for block in stacks if block
    }
    inner = {stack: count for stack, count in counts.items() if stack and stack[0] == "inner"}
    assert sum(inner.values()) > 0.9 * sum(counts.values())
    assert sum(inner.get(stack, 0) for stack in inner if stack[1:] == ("outer", "spin")) > 0.9 * sum(inner.values())


@pytest.mark.long
def test_a_process_that_was_there_with_the_threads_it_makes():
    with subprocess.Popen(
        [*without_privileges(), spinning(), "0.4", "tf", "wait"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        words = [*ENGINE, "-n", 'BEGIN { printf("on\\n"); } profile-997 { @[pid == $target, tid == pid] = count(); }']
        tracer = subprocess.Popen(
            [*without_privileges(), SONDE, *words, "-p", str(child.pid)], stdout=subprocess.PIPE, text=True
        )
        assert tracer.stdout.readline() == "on\n"
        child.stdin.write("\n")
        child.stdin.close()
        text = tracer.communicate()[0]
    rows = [line.split() for line in text.split("\n") if line.strip()]
    assert {tuple(row[:2]) for row in rows} >= {("1", "1"), ("1", "0")}
    assert all(int(row[2]) > 100 for row in rows)


def test_what_a_sample_reads_beside_the_stack():
    text = "profile-499 { @[curpsinfo->pr_psargs] = count(); } profile-499 /++n > 20/ { exit(0); }"
    done = sonde(*ENGINE, *RUNNING, "-n", text, "-c", shlex.join([sys.executable, "-c", "while 1: pass"]))
    assert "while 1: pass" in done.stdout


def sampled(sp, stack, live):
    memory = SampledMemory(lambda tid, address, size: live[address : address + size])
    memory.sample = ClockSample(1, 0, 0, 0, b"", sp, stack)
    return memory


def test_the_stack_is_as_it_was_and_its_rest_is_refused():
    live = bytes(4096)
    memory = sampled(1000, b"abcdefgh", live)
    assert memory.read(0, 1000, 8) == b"abcdefgh"
    assert memory.read(0, 1004, 4) == b"efgh"
    assert memory.read(0, 900, 100) == bytes(100)
    for address, size in ((1004, 8), (1008, 1), (996, 8)):
        with pytest.raises(OSError, match="Bad address"):
            memory.read(0, address, size)
    memory.sample = None
    assert memory.read(0, 1008, 1) == b"\0"


TOUCHING = """
#include <sys/mman.h>
int main(void) {
    for (int i = 0; i < 4000; i++) {
        char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        *page = 1;
        munmap(page, 4096);
    }
    return 0;
}
"""
PAGE_FAULTS = 2
"""PERF_COUNT_SW_PAGE_FAULTS."""


@pytest.mark.parametrize("is_watched", [False, pytest.param(True, marks=needs("CAP_PERFMON"))])
def test_events_of_one_kind_are_counted_apart(is_watched):
    """Two clauses count one event to other numbers, and perhaps somebody else counts it with another clock."""
    opening = Opening(TYPE_SOFTWARE, (PAGE_FAULTS, 0, 0), 1, SAMPLE_TID | SAMPLE_TIME, samples=False)
    made = attributes(opening)
    others = [perf_event_open(made, -1, cpu, -1, 0) for cpu in online_cpus()] if is_watched else []
    text = """perf:::page-faults-1 { one++; last = timestamp; } perf:::page-faults-4 { four++; }
              END { printf("%d %d %d %d", one, four, last, timestamp); }"""
    try:
        for each in others:
            enable(each)
        done = sonde(*ENGINE, "-n", text, "-c", program(TOUCHING))
    finally:
        for each in others:
            os.close(each)
    assert done.stderr == ""
    one, four, last, end = map(int, done.stdout.split())
    # Each CPU counts by itself: what it has of four at the end is nowhere.
    assert one // 4 - len(online_cpus()) < four <= one // 4
    assert one >= 4000
    assert end - 10**10 < last <= end


def test_lost_samples_are_counted_to_the_last():
    """The ring has no room for all stacks, and no record of the loss follows, as nothing else is written."""
    kept, dropped_samples = [], []
    for what in ("", "@stacks[ustack()] = count();"):
        done = sonde(
            *ENGINE, *RUNNING, "-n", f"perf:::page-faults-1 {{ {what} @ = count(); }}", "-c", program(TOUCHING)
        )
        kept.append(int(re.findall(r"^ +(\d+)$", done.stdout, re.MULTILINE)[-1]))
        dropped_samples.append(dropped(done.stderr))
    assert dropped_samples[0] == 0 < dropped_samples[1]
    assert abs(sum((*kept[1:], *dropped_samples[1:])) - kept[0]) <= 16


@pytest.mark.parametrize("lockable", ["64", "unlimited"])
def test_rings_share_the_memory_that_may_be_locked(lockable):
    """Those of each event have room, whatever the first could take."""
    text = """perf:::page-faults-1 { one++; } perf:::page-faults-4 { four++; } sched:::off-cpu { off++; }
              END { printf("%d %d", four, off > 0); }"""
    words = shlex.join([*without_privileges(), SONDE, *ENGINE, *RUNNING, "-n", text, "-c", program(TOUCHING)])
    done = subprocess.run(["sh", "-c", f"ulimit -l {lockable}; {words}"], capture_output=True, text=True)
    if "more memory than this user may lock" in " ".join(done.stderr.split()):
        # What others of this user have locked at the same time counts as well.
        assert lockable != "unlimited"
        return
    four, off = done.stdout.split()
    assert (int(four) >= 1000, off) == (True, "1"), done.stderr


def test_throttled_ticks_are_counted():
    events = TaskEvents(WantedEvents((WantedEvent(0, 1000, True, False),), False, False), [])
    found = []
    for kind, body in ((5, struct.pack("=QQQ", 5000, 1, 1)), (6, struct.pack("=QQQ", 12500, 1, 1))):
        events._take_up(PerfRecord(kind, 0, memoryview(body)), 0, found)
    assert (events.lost, found) == (7, [])
    events.close()


@pytest.mark.long
def test_lost_ticks_are_told():
    """sonde stands still for a while, and its rings are full."""
    text = "profile-4999 { @[ustack()] = count(); }"
    words = [*without_privileges(), SONDE, "--engine", "embedded", *RUNNING, "-n", text, "-o", "/dev/null", "-c"]
    with subprocess.Popen(
        [*words, shlex.join([spinning(), "1.5"])], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as tracer:
        time.sleep(1)
        tracer.send_signal(19)
        time.sleep(0.7)
        tracer.send_signal(18)
        _, errors = tracer.communicate()
    assert dropped(errors) > 50, errors
