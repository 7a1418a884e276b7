"""Threads that block SIGTRAP, by which their clocks would stop them: nothing of that is left when sonde has ended."""

import re
import subprocess
from contextlib import contextmanager

import pytest
from support.command.guarded import comes
from support.command.targets import program
from support.command.unprivileged import sonde, without_privileges
from test_below_filters import PERF_EVENT_OPEN, below

from sonde.machine import proc

ENGINE = ["--engine", "embedded", "-q"]

HOW = ("by their own clocks", "when they are asked")
"""Where perf_event_open(2) is refused, the latter."""

BLOCKING = r"""
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void *computes(void *own) {
    sigset_t all, trap;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    if (own)
        pthread_sigqueue(pthread_self(), SIGTRAP, (union sigval){.sival_int = 77});
    puts("on");
    fflush(stdout);
    for (struct pollfd input = {.fd = 0, .events = POLLIN}; !poll(&input, 1, 0);)
        for (volatile int turn = 0; turn < 20000; turn++);
    siginfo_t found = {0};
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    int number = sigtimedwait(&trap, &found, &(struct timespec){0});
    printf("%d %d\n", number > 0, found.si_value.sival_int);
    pthread_sigmask(SIG_UNBLOCK, &all, NULL);
    return NULL;
}

int main(int count, char **words) {
    void *own = strcmp(words[1], "own") ? NULL : words;
    pthread_t other;
    if (strcmp(words[2], "thread"))
        computes(own);
    else {
        pthread_create(&other, NULL, computes, own);
        pthread_join(other, NULL);
    }
    puts("survived");
    return 0;
}
"""


@contextmanager
def blocking(source, *words):
    """A process that computes until its input ends."""
    command = [*without_privileges(), program(source, "-pthread"), *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "on\n"
        yield child
        child.stdin.close()


@pytest.mark.parametrize(("where", "own", "left"), [("thread", "none", "0 0"), ("first", "own", "1 77")])
def test_a_clock_leaves_no_signal_and_takes_none(where, own, left):
    with blocking(BLOCKING, own, where) as child:
        text = "profile-997 { @[ustack(3)] = count(); } tick-150ms { exit(0); }"
        done = sonde(*ENGINE, "-n", text, "-p", str(child.pid))
        assert done.returncode == 0, done.stderr
        assert comes(lambda: proc.status(child.pid)["TracerPid"] == "0")
        child.stdin.close()
        assert child.stdout.read() == f"{left}\nsurvived\n"
    assert child.returncode == 0


SENDING = r"""
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

int main(void) {
    int wrong = 0, sent = 0;
    sigset_t trap;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    sigprocmask(SIG_BLOCK, &trap, NULL);
    puts("on");
    fflush(stdout);
    for (struct pollfd input = {.fd = 0, .events = POLLIN}; !poll(&input, 1, 0);) {
        siginfo_t found = {0};
        for (volatile int turn = 0; turn < 1000000; turn++);
        pthread_sigqueue(pthread_self(), SIGTRAP, (union sigval){.sival_int = ++sent});
        for (volatile int turn = 0; turn < 1000000; turn++);
        int number = sigtimedwait(&trap, &found, &(struct timespec){0});
        wrong += number != SIGTRAP || found.si_code != SI_QUEUE || found.si_value.sival_int != sent;
    }
    printf("%d wrong\n", wrong);
    return 0;
}
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("how", HOW)
def test_a_thread_that_blocks_the_signal_is_sampled_and_gets_its_own(how):
    text = "profile-997 { @[ustack(3)] = count(); } profile-997 /++n > 9/ { exit(0); } tick-20s { exit(1); }"
    with blocking(SENDING) as child:
        words = [*ENGINE, "-n", text, "-p", str(child.pid)]
        done = sonde(*words) if how == HOW[0] else below([PERF_EVENT_OPEN], *words)
        assert done.returncode == 0, done.stderr
        assert "main" in done.stdout
        child.stdin.close()
        assert child.stdout.read() == "0 wrong\n"


BURNING = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *burns(void *milliseconds) {
    struct timespec now;
    do {
        for (volatile int turn = 0; turn < 50000; turn++);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < (long)milliseconds);
    return NULL;
}

int main(int count, char **words) {
    void *milliseconds = (void *)atol(words[2]);
    pthread_t other;
    if (words[1][0] == 'b') {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
    }
    for (int turn = 0; turn < atoi(words[3]); turn++) {
        pthread_create(&other, NULL, burns, milliseconds);
        pthread_join(other, NULL);
        if (!fork()) {
            burns(milliseconds);
            _exit(0);
        }
        wait(NULL);
    }
    return 0;
}
"""


LOOKING, COUNTING = "@[ustack(1)] = count(); @n = count();", "@n = count();"


@pytest.mark.share(2)
@pytest.mark.parametrize("words", ["blocks 150 1", "none 5 30", "blocks 5 30"])
@pytest.mark.parametrize(("how", "action"), [(HOW[0], LOOKING), (HOW[0], COUNTING), (HOW[1], LOOKING)])
def test_each_period_of_cpu_time_has_a_sample_or_is_told_as_lost(how, words, action, tmp_path):
    """300 ms in all."""
    out = tmp_path / "out"
    command = f"{program(BURNING, '-pthread')} {words}"
    traced = [*ENGINE, "-n", f"profile-97 {{ {action} }}", "-o", str(out), "-c", command]
    done = sonde(*traced) if how == HOW[0] else below([PERF_EVENT_OPEN], *traced)
    assert done.returncode == 0, done.stderr
    samples = int((re.findall(r"^ +(\d+)$", out.read_text(), re.MULTILINE) or ["0"])[-1])
    dropped = sum(int(each) for each in re.findall(r"(\d+) tick drop", done.stderr))
    assert 14 <= samples + dropped <= 60, (samples, done.stderr)
