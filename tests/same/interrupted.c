/* Calls that a signal interrupts: they fail, or begin again behind the handler or where there is none. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int ends[2], word;

static void handler(int number) {
    if (number == SIGUSR2) write(ends[1], "x", 1);
}

/* Whether the process sleeps in the call. */
static int waits(pid_t pid, long call) {
    char path[64], text[512], state = 0;
    long number = -1;
    for (int n = 0; n < 2; n++) {
        snprintf(path, sizeof path, "/proc/%d/%s", pid, n ? "syscall" : "stat");
        FILE *file = fopen(path, "r");
        if (fgets(text, sizeof text, file)) sscanf(text, n ? "%ld" : "%*d (%*[^)]) %c", n ? (void *)&number : &state);
        fclose(file);
    }
    return state == 'S' && number == call;
}

/* A child that stays: its end would be one more signal. */
static pid_t from_another(long call, int first, int second) {
    pid_t parent = getpid(), pid = fork();
    if (pid) return pid;
    while (!waits(parent, call)) usleep(1000);
    kill(parent, first);
    if (second) {
        usleep(20000);
        kill(parent, second);
    }
    for (;;) pause();
}

static void told(pid_t pid, const char *name, long result) {
    printf("%s %ld %d\n", name, result, result < 0 ? errno : 0);
    kill(pid, SIGKILL);
    waitpid(pid, 0, 0);
}

int main(void) {
    struct sigaction once = { .sa_handler = handler }, restarting = { .sa_handler = handler, .sa_flags = SA_RESTART };
    struct timespec second = { 1, 0 }, part = { 0, 300000000 };
    struct epoll_event event;
    char byte;
    pid_t pid;
    int queue = epoll_create1(0);
    sigaction(SIGUSR1, &once, 0);
    sigaction(SIGUSR2, &restarting, 0);
    pipe(ends);
    pid = from_another(SYS_read, SIGUSR1, 0);
    told(pid, "read", read(ends[0], &byte, 1));
    pid = from_another(SYS_pause, SIGUSR1, 0);
    told(pid, "pause", syscall(SYS_pause));
    pid = from_another(SYS_poll, SIGUSR1, 0);
    told(pid, "poll", syscall(SYS_poll, 0, 0, 1000));
    pid = from_another(SYS_nanosleep, SIGUSR1, 0);
    told(pid, "nanosleep", syscall(SYS_nanosleep, &second, 0));
    pid = from_another(SYS_futex, SIGUSR1, 0);
    told(pid, "futex", syscall(SYS_futex, &word, FUTEX_WAIT, 0, &second, 0, 0));
    pid = from_another(SYS_epoll_wait, SIGUSR1, 0);
    told(pid, "epoll_wait", syscall(SYS_epoll_wait, queue, &event, 1, 1000));
    /* Behind this handler the call begins again, and has what the handler has written. */
    pid = from_another(SYS_read, SIGUSR2, 0);
    told(pid, "again", read(ends[0], &byte, 1));
    /* A stop has no handler: the rest of the time is waited for by another call. */
    pid = from_another(SYS_nanosleep, SIGSTOP, SIGCONT);
    told(pid, "rest", syscall(SYS_nanosleep, &part, 0));
    return 0;
}
