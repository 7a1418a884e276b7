"""A signal that comes while a thread stands before a write to a terminal does not make it fail; one that comes while
it waits does."""

import os
import subprocess

import pytest
from support.command.guarded import follow, process
from support.command.targets import program

from sonde.engines.embedded.tracer.plan import ENTRY, HOLD_ENTRY, RETURN, StopPlan
from sonde.engines.embedded.tracer.tracees import Tracees

WRITES = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
static int own, other;
static volatile int handled, enough;
static void handle(int number) { handled++; }
static void *drain(void *unused) { char bytes[4096]; while (read(own, bytes, sizeof bytes) > 0); return 0; }
static void *disturb(void *thread) {
    while (!enough) { pthread_kill(*(pthread_t *)thread, SIGUSR1); usleep(400); }
    return 0;
}
/* How often it failed with EINTR, of how many signals. */
static int write_often(FILE *report, int times, struct termios *settings) {
    pthread_t reader, sender, self = pthread_self();
    int failed = 0;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_create(&reader, 0, drain, 0);
    pthread_create(&sender, 0, disturb, &self);
    pthread_sigmask(SIG_UNBLOCK, &set, 0);
    for (int n = times; n > 0 || handled < 20; n--) {
        if (write(other, "x", 1) < 0) failed++;
        if (n % 4 == 0 && tcsetattr(other, TCSADRAIN, settings) < 0) failed++;
    }
    enough = 1;
    pthread_join(sender, 0);
    pthread_cancel(reader);
    pthread_join(reader, 0);
    fprintf(report, "failed %d\n", failed);
}
static void wait_in_write(FILE *report, const char *name, int descriptor) {
    char bytes[65536] = {0};
    struct itimerval soon = {{0, 0}, {0, 100000}};
    fcntl(descriptor, F_SETFL, O_NONBLOCK);
    /* What is written to a terminal is moved on a little later, and makes room. */
    for (int times = 0; times < 4; times++) {
        while (write(descriptor, bytes, sizeof bytes) > 0);
        while (write(descriptor, bytes, 1) > 0);
        usleep(50000);
    }
    fcntl(descriptor, F_SETFL, 0);
    setitimer(ITIMER_REAL, &soon, 0);
    int result = write(descriptor, bytes, 1);
    fprintf(report, "%s %d %d\n", name, result, errno);
}
static void write_in_background(FILE *report, struct termios *settings) {
    int status;
    settings->c_lflag |= TOSTOP;
    tcsetattr(other, TCSANOW, settings);
    if (!fork()) {
        setsid();
        ioctl(other, TIOCSCTTY, 1);
        if (!fork()) {
            setpgid(0, 0);
            int before = handled, result = write(other, "x", 1);
            _exit(result < 0 && errno == EINTR && handled == before + 1 ? 7 : 8);
        }
        signal(SIGHUP, SIG_IGN);
        wait(&status);
        _exit(WEXITSTATUS(status));
    }
    wait(&status);
    fprintf(report, "background %d\n", WEXITSTATUS(status));
}
int main(int count, char **words) {
    struct sigaction action = {.sa_handler = handle};
    struct termios settings;
    int ends[2];
    char go;
    FILE *report = fopen(words[2], "w");
    own = posix_openpt(O_RDWR | O_NOCTTY);
    grantpt(own);
    unlockpt(own);
    other = open(ptsname(own), O_RDWR | O_NOCTTY);
    tcgetattr(other, &settings);
    cfmakeraw(&settings);
    tcsetattr(other, TCSANOW, &settings);
    sigaction(SIGUSR1, &action, 0);
    sigaction(SIGALRM, &action, 0);
    sigaction(SIGTTOU, &action, 0);
    read(0, &go, 1);
    write_often(report, atoi(words[1]), &settings);
    write_in_background(report, &settings);
    wait_in_write(report, "terminal", other);
    pipe(ends);
    wait_in_write(report, "pipe", ends[1]);
    fclose(report);
}
"""

EXPECTED = "failed 0\nbackground 7\nterminal -1 4\npipe -1 4\n"
ALL = range(335)
PLANS = {
    "posted": StopPlan(dict.fromkeys(ALL, ENTRY | RETURN)),
    "returns": StopPlan(dict.fromkeys(ALL, RETURN)),
    "held": StopPlan(dict.fromkeys((1, 16), ENTRY | HOLD_ENTRY)),
}


@pytest.mark.long
@pytest.mark.parametrize("plan", PLANS)
def test_calls_of_a_command_begin_behind_a_signal(plan, tmp_path):
    report = tmp_path / "report"
    tracees = Tracees()
    try:
        pid = tracees.start(f"{program(WRITES)} 2000 {report}")
        tracees.begin(PLANS[plan]._replace(seccomp=True))
        tracees.go()
        follow(tracees, pid)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    finally:
        tracees.close()
    assert report.read_text() == EXPECTED


@pytest.mark.long
@pytest.mark.parametrize("plan", PLANS)
def test_calls_of_a_process_begin_behind_a_signal(plan, tmp_path):
    report = tmp_path / "report"
    with subprocess.Popen([program(WRITES), "2000", report], stdin=subprocess.PIPE) as child:
        process(child, PLANS[plan], started=lambda tracees: child.stdin.close())
    assert report.read_text() == EXPECTED


def test_calls_begin_behind_a_signal_when_sonde_has_ended(tmp_path):
    """The filter stays, so that they stop still."""
    report = tmp_path / "report"
    tracees = Tracees()
    try:
        pid = tracees.start(f"{program(WRITES)} 2000 {report}")
        tracees.begin(PLANS["posted"]._replace(seccomp=True))
        tracees.go()
    finally:
        tracees.close()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert report.read_text() == EXPECTED
