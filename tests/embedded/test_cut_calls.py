"""System calls that a stop of sonde's own interrupts return what they return alone: also such as end short for a reason
of their own."""

import subprocess

import pytest
from support.command import command
from support.command.targets import program
from support.command.unprivileged import sonde, without_privileges
from test_below_filters import PERF_EVENT_OPEN, below

ENGINE = ["--engine", "embedded", "-q"]

WAITING = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { LARGE = 1 << 21 };
static struct timespec const limit = {600, 0};
static char bytes[LARGE], taken[LARGE];
static int results[16], ends[16][2], ready[2][2];
static aio_context_t context;

static long call(long which)
{
    int own = ends[which][0];
    struct iovec vector = {taken, 5};
    struct pollfd asked = {own, POLLIN, 0};
    struct io_event events[2];
    switch (which) {
    case 0: return read(own, taken, 5);
    case 1: return readv(own, &vector, 1);
    case 2: return recv(own, taken, 5, 0);
    case 3: return write(own, bytes, LARGE);
    case 4: return syscall(SYS_ppoll, &asked, 1, &limit, NULL, 8);
    case 5: return syscall(SYS_io_getevents, context, 2, 2, events, NULL);
    case 6: return recv(own, taken, LARGE, MSG_WAITALL);
    case 7: return recv(own, taken, 100, MSG_WAITALL);
    }
    return -1;
}

static void *made(void *which)
{
    long result = call((long)which);
    results[(long)which] = result < 0 ? -errno : result;
    return NULL;
}

int main(void)
{
    pthread_t threads[8];
    struct timeval limited = {600, 0};
    for (long n = 0; n < 8; n++) {
        socketpair(AF_UNIX, n == 7 ? SOCK_DGRAM : SOCK_STREAM, 0, ends[n]);
        setsockopt(ends[n][0], SOL_SOCKET, SO_RCVTIMEO, &limited, sizeof limited);
        setsockopt(ends[n][0], SOL_SOCKET, SO_SNDTIMEO, &limited, sizeof limited);
    }
    syscall(SYS_io_setup, 8, &context);
    for (int n = 0; n < 2; n++) {
        struct iocb asked = {0}, *list = &asked;
        pipe(ready[n]);
        asked.aio_lio_opcode = IOCB_CMD_POLL;
        asked.aio_fildes = ready[n][0];
        asked.aio_buf = POLLIN;
        syscall(SYS_io_submit, context, 1, &list);
    }
    write(ready[0][1], "x", 1);
    write(ends[6][1], bytes, 1000);
    for (long n = 0; n < 8; n++) pthread_create(&threads[n], NULL, made, (void *)n);
    puts("on");
    fflush(stdout);
    getchar();
    for (int n = 0; n < 3; n++) write(ends[n][1], "abcde", 5);
    for (long left = LARGE; left; left -= read(ends[3][1], bytes, LARGE));
    write(ends[4][1], "x", 1);
    write(ready[1][1], "x", 1);
    write(ends[6][1], bytes, 7);
    close(ends[6][1]);
    write(ends[7][1], bytes, 70);
    for (int n = 0; n < 8; n++) {
        pthread_join(threads[n], NULL);
        printf("%d ", results[n]);
    }
    return 0;
}
"""


def test_calls_that_wait_as_tracing_begins_and_ends_go_on():
    with subprocess.Popen(
        [*without_privileges(), program(WAITING, "-pthread")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout.readline() == "on\n"
        for _ in range(3):
            done = sonde(*ENGINE, "-n", "tick-50ms { exit(0); }", "-p", str(child.pid))
            assert done.returncode == 0, done.stderr
        out, _ = child.communicate("\n")
    assert out.split() == ["5", "5", "5", str(1 << 21), "1", "2", "1007", "70"]


ENDING = r"""
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LARGE = 8 << 20, TURNS = 1500 };
static char bytes[LARGE], taken[1 << 16];
static volatile int broken;
static void count(int number) { broken++; }

static void *drain(void *end)
{
    int own = (int)(long)end;
    for (int n = 0; n < 9 && read(own, taken, sizeof taken) > 0; n++);
    close(own);
    return NULL;
}

static int stream(void)
{
    int wrong = 0;
    for (int n = 0; n < TURNS / 3; n++) {
        int ends[2];
        pthread_t other;
        socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
        pthread_create(&other, NULL, drain, (void *)(long)ends[1]);
        wrong += write(ends[0], bytes, LARGE) <= 0;
        pthread_join(other, NULL);
        close(ends[0]);
    }
    return wrong + broken;
}

static void *send_all(void *end)
{
    for (int n = 0; n < 20 * TURNS; n++) send((int)(long)end, bytes, 100, 0);
    return NULL;
}

static int datagrams(void)
{
    int ends[2], wrong = 0;
    pthread_t other;
    socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
    pthread_create(&other, NULL, send_all, (void *)(long)ends[1]);
    for (int n = 0; n < 20 * TURNS; n++) wrong += recv(ends[0], taken, 4096, MSG_WAITALL) != 100;
    pthread_join(other, NULL);
    return wrong;
}

static int listening;
static struct sockaddr_in place = {AF_INET, 0, {0}};

static void *reset_all(void *unused)
{
    struct linger now = {1, 0};
    for (int n = 0; n < TURNS; n++) {
        int own = accept(listening, NULL, NULL);
        send(own, bytes, 100, 0);
        for (volatile int turn = 0; turn < 20000; turn++);
        setsockopt(own, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        close(own);
    }
    return NULL;
}

static int resets(void)
{
    int wrong = 0;
    socklen_t size = sizeof place;
    pthread_t other;
    inet_pton(AF_INET, "127.0.0.1", &place.sin_addr);
    listening = socket(AF_INET, SOCK_STREAM, 0);
    bind(listening, (struct sockaddr *)&place, size);
    listen(listening, 9);
    getsockname(listening, (struct sockaddr *)&place, &size);
    pthread_create(&other, NULL, reset_all, NULL);
    for (int n = 0; n < TURNS; n++) {
        int own = socket(AF_INET, SOCK_STREAM, 0);
        connect(own, (struct sockaddr *)&place, sizeof place);
        long got = recv(own, taken, 4096, MSG_WAITALL);
        wrong += got >= 0 && recv(own, taken, 4096, MSG_WAITALL) >= 0;
        close(own);
    }
    pthread_join(other, NULL);
    return wrong;
}

static int compat(void)
{
    /* getpid of 32 bits has the number of writev, and is given a pipe. */
    int wrong = 0, ends[2];
    struct { void *place; unsigned long size; } vector[2] = {{bytes, 1000}, {bytes, 1000}};
    pipe(ends);
    for (int n = 0; n < 20 * TURNS; n++) {
        long found = 20;
        __asm__ volatile("int $0x80" : "+a"(found) : "D"((long)ends[1]), "S"(vector), "d"(2L) : "memory", "r8", "r9",
                         "r10", "r11");
        wrong += found != getpid();
    }
    return wrong;
}

int main(int count_of_words, char **words)
{
    signal(SIGPIPE, count);
    int (*all[])(void) = {stream, datagrams, resets, compat};
    printf("%d wrong\n", all[words[1][0] - '0']());
    return 0;
}
"""


@pytest.mark.long
@pytest.mark.parametrize("how", ["by their own clocks", "when they are asked"])
@pytest.mark.parametrize("which", range(4), ids=["stream", "datagrams", "resets", "32 bits"])
def test_calls_that_end_short_by_themselves_are_left_so(which, how):
    """Who may have the time in the kernel counted has no clock that counts it."""
    text = "profile-4999 { @[ustack(1)] = count(); } END { trunc(@); }"
    traced = [*ENGINE, "-n", text, "-c", f"{program(ENDING, '-pthread')} {which}"]
    done = command.sonde(*traced) if how == "by their own clocks" else below([PERF_EVENT_OPEN], *traced)
    assert done.returncode == 0, done.stderr
    assert "0 wrong" in done.stdout.splitlines()
