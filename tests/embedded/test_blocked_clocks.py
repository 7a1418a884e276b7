"""Threads that block SIGTRAP, by which their clocks would stop them: nothing of that is left when sonde has ended."""

import subprocess
import time
from contextlib import contextmanager

import pytest
from support.command.targets import program
from support.command.unprivileged import sonde, without_privileges

from sonde.machine import proc

ENGINE = ["--engine", "embedded", "-q"]

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
def blocking(*words):
    """A process that computes until its input ends."""
    command = [*without_privileges(), program(BLOCKING, "-pthread"), *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "on\n"
        yield child
        child.stdin.close()


@pytest.mark.parametrize(("where", "own", "left"), [("thread", "none", "0 0"), ("first", "own", "1 77")])
def test_a_clock_leaves_no_signal_and_takes_none(where, own, left):
    with blocking(own, where) as child:
        text = "profile-997 { @[ustack(3)] = count(); } tick-150ms { exit(0); }"
        done = sonde(*ENGINE, "-n", text, "-p", str(child.pid))
        assert done.returncode == 0, done.stderr
        latest = time.monotonic() + 10
        while proc.status(child.pid)["TracerPid"] != "0":
            assert time.monotonic() < latest
        child.stdin.close()
        assert child.stdout.read() == f"{left}\nsurvived\n"
    assert child.returncode == 0
