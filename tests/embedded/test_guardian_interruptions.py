"""Calls that a stop of the guardian's interrupts begin again; those that a signal interrupts do not."""

import signal
import subprocess
import threading
import time

import pytest
from support.command.guarded import ALL, comes, comes_to, follow
from support.command.targets import program
from support.files.stop_records import StopRecord

from sonde.engines.embedded.tracer import stops
from sonde.engines.embedded.tracer.plan import ENTRY, RETURN, StopPlan
from sonde.engines.embedded.tracer.tracees import Tracees
from sonde.machine import proc

WAITING = r"""
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
static int pipes[2], set, pair[2], semaphores, messages;
static void report(const char *name, long result) { printf("%s %ld %d\n", name, result, result < 0 ? errno : 0); }
static void *epoll(void *unused) {
    struct epoll_event event;
    report("epoll_wait", epoll_wait(set, &event, 1, 20000));
    return 0;
}
static void *signals(void *unused) {
    sigset_t wanted;
    struct timespec limit = {20, 0};
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGUSR1);
    report("sigtimedwait", sigtimedwait(&wanted, 0, &limit));
    return 0;
}
static void *semaphore(void *unused) {
    struct sembuf down = {0, -1, 0};
    struct timespec limit = {20, 0};
    report("semtimedop", semtimedop(semaphores, &down, 1, &limit));
    return 0;
}
static void *message(void *unused) {
    struct { long type; char text[8]; } found;
    report("msgrcv", msgrcv(messages, &found, sizeof found.text, 0, 0));
    return 0;
}
static void *receive(void *unused) {
    char byte;
    struct timeval limit = {20, 0};
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    report("recv", recv(pair[0], &byte, 1, 0));
    return 0;
}
int main(void) {
    void *(*all[])(void *) = {epoll, signals, semaphore, message, receive};
    struct epoll_event event = {EPOLLIN};
    struct { long type; char text[8]; } sent = {1, "abc"};
    struct sembuf up = {0, 1, 0};
    pthread_t threads[5];
    sigset_t blocked;
    char byte;
    setvbuf(stdout, 0, _IOLBF, 0);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, 0);
    pipe(pipes);
    set = epoll_create1(0);
    epoll_ctl(set, EPOLL_CTL_ADD, pipes[0], &event);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    messages = msgget(IPC_PRIVATE, 0600);
    for (int i = 0; i < 5; i++) pthread_create(&threads[i], 0, all[i], 0);
    read(0, &byte, 1);
    write(pipes[1], "a", 1);
    pthread_kill(threads[1], SIGUSR1);
    semop(semaphores, &up, 1);
    msgsnd(messages, &sent, 3, 0);
    write(pair[1], "a", 1);
    for (int i = 0; i < 5; i++) pthread_join(threads[i], 0);
    semctl(semaphores, 0, IPC_RMID);
    msgctl(messages, IPC_RMID, 0);
}
"""

WAITED = {"epoll_wait 1 0", "sigtimedwait 10 0", "semtimedop 0 0", "msgrcv 3 0", "recv 1 0"}


@pytest.mark.long
@pytest.mark.parametrize("how", ["begin", "begin and end"])
def test_a_stop_of_the_guardians_own_fails_no_call(how):
    """Threads that wait in calls that a stop would have fail with EINTR (signal(7))."""
    with subprocess.Popen([program(WAITING)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert comes(lambda: len(proc.threads(child.pid)) == 6)
        for tid in proc.threads(child.pid):
            assert comes_to(tid, "S")
        tracees = Tracees()
        try:
            tracees.grab(child.pid)
            tracees.begin(StopPlan(dict.fromkeys(ALL, ENTRY | RETURN)))
            tracees.go()
            time.sleep(0.1)
            _, records = tracees.take()
            if how == "begin and end":
                tracees.close()
            child.stdin.write("x")
            child.stdin.close()
            found = [StopRecord(*record) for record in records] + (
                [] if how == "begin and end" else follow(tracees, child.pid)
            )
        finally:
            if how != "begin and end":
                tracees.close()
        assert set(child.stdout.read().split("\n")) - {""} == WAITED
        returns = [stop for stop in found if stop.kind == stops.RETURN and stop.value < 0]
        assert not [(stop.a, stop.value) for stop in returns if stop.value in (-4, -512, -513, -514, -516)]


SIGNALLED = r"""
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>
static volatile int handled;
static void handle(int number) { handled++; }
int main(void) {
    struct sigaction action = {.sa_handler = handle};
    struct epoll_event event;
    sigset_t own, none;
    int set = epoll_create1(0);
    sigemptyset(&none);
    sigemptyset(&own);
    sigaddset(&own, SIGUSR1);
    sigprocmask(SIG_BLOCK, &own, 0);
    sigaction(SIGUSR1, &action, 0);
    write(1, "r", 1);
    for (;;) {
        int before = handled;
        if (epoll_pwait(set, &event, 1, 3000, &none) == 0) return 5;
        if (handled != before + 1) return 6;
        write(1, "x", 1);
    }
}
"""


@pytest.mark.long
def test_a_signal_interrupts_a_call_that_a_stop_has_interrupted_too():
    """Whichever comes first, each signal ends a wait, and nothing else does: none is taken for a stop."""
    with subprocess.Popen([program(SIGNALLED)], stdout=subprocess.PIPE) as child:
        assert child.stdout.read(1) == b"r"
        enough, answers = threading.Event(), []
        signals = threading.Thread(target=signal_often, args=(child, enough, answers))
        signals.start()
        try:
            for _ in range(25):
                assert comes(lambda: proc.status(child.pid)["TracerPid"] == "0")
                tracees = Tracees()
                try:
                    tracees.grab(child.pid)
                    tracees.begin(StopPlan({}))
                    tracees.go()
                    drain(tracees)
                finally:
                    tracees.close()
        finally:
            enough.set()
            signals.join()
            child.kill()
    assert set(answers) == {b"x"}


def signal_often(child, enough, answers):
    """Each signal is sent some time after the one before has had its effect."""
    while not enough.is_set() and b"" not in answers:
        time.sleep(0.0005 * (len(answers) % 5))
        child.send_signal(signal.SIGUSR1)
        answers.append(child.stdout.read(1))


def drain(tracees):
    first, records = tracees.take()
    for number, record in enumerate(records, first):
        if record[1] & stops.HELD:
            tracees.resume(number, record[2])
