/* Calls that wait get a signal when they do: with a handler, with none though it is ignored, and with a handler that
   has SA_RESTART. What each then returns is printed. "signalled ROUNDS" */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int pipes[2], sockets[2], set, semaphores, queue, word;
static volatile int waits, handled;
static volatile long sink;
static void handle(int number) { handled = number; }
static void burn(void) { for (int i = 0; i < 300000; i++) sink += i; }
static char byte;
static struct timespec const limit = {5, 0};

static long reads(void) { return read(pipes[0], &byte, 1); }
static long polls(void) { struct pollfd f = {pipes[0], POLLIN}; return poll(&f, 1, 5000); }
static long epolls(void) { struct epoll_event e; return epoll_wait(set, &e, 1, 5000); }
static long receives(void) { return recv(sockets[0], &byte, 1, 0); }
static long semops(void) { struct sembuf d = {0, -1, 0}; return semtimedop(semaphores, &d, 1, &limit); }
static long messages(void) { struct { long t; char c[8]; } m; return msgrcv(queue, &m, 8, 0, 0); }
static long sigwaits(void) { sigset_t s; sigemptyset(&s); sigaddset(&s, SIGUSR2); return sigtimedwait(&s, 0, &limit); }
static long futexes(void) { word = 0; return syscall(SYS_futex, &word, FUTEX_WAIT, 0, 0, 0, 0); }
static long sleeps(void) { struct timespec t = {0, 60000000}; return nanosleep(&t, 0); }
static long (*const calls[])(void) = {reads, polls, epolls, receives, semops, messages, sigwaits, futexes, sleeps};
static const char *const names[] = {"read", "poll", "epoll_wait", "recv", "semtimedop", "msgrcv", "sigtimedwait", "futex", "nanosleep"};

static void satisfy(pthread_t thread) {
    struct sembuf up = {0, 1, 0};
    struct { long t; char c[8]; } m = {1};
    write(pipes[1], "x", 1);
    write(sockets[1], "x", 1);
    semop(semaphores, &up, 1);
    msgsnd(queue, &m, 8, 0);
    word = 1;
    syscall(SYS_futex, &word, FUTEX_WAKE, 1, 0, 0, 0);
    pthread_kill(thread, SIGUSR2);
}

static long results[2];
static int tid;
static void *call(void *argument) {
    tid = syscall(SYS_gettid);
    burn();
    waits = 1;
    results[0] = ((long (*)(void))argument)();
    results[1] = errno;
    waits = 2;
    return 0;
}

static char state(void) {
    char path[64], text[512];
    sprintf(path, "/proc/self/task/%d/stat", tid);
    int file = open(path, O_RDONLY), size = file < 0 ? 0 : read(file, text, sizeof text - 1);
    close(file);
    text[size > 0 ? size : 0] = 0;
    char *end = strrchr(text, ')');
    return end ? end[2] : 'X';
}

int main(int count, char **words) {
    int numbers[] = {SIGUSR1, SIGCHLD, SIGUSR1};
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    sigprocmask(SIG_BLOCK, &blocked, 0);
    for (int round = 0; round < atoi(words[1]); round++)
        for (int how = 0; how < 3; how++)
            for (unsigned n = 0; n < sizeof calls / sizeof *calls; n++) {
                struct sigaction action = {.sa_handler = handle, .sa_flags = how == 2 ? SA_RESTART : 0};
                struct epoll_event wanted = {EPOLLIN};
                struct timeval patience = {5, 0};
                pthread_t thread;
                sigaction(SIGUSR1, &action, 0);
                pipe(pipes);
                socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
                setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
                set = epoll_create1(0);
                epoll_ctl(set, EPOLL_CTL_ADD, pipes[0], &wanted);
                semaphores = semget(IPC_PRIVATE, 1, 0600);
                queue = msgget(IPC_PRIVATE, 0600);
                waits = handled = 0;
                pthread_create(&thread, 0, call, calls[n]);
                for (int seen = 0; seen < 3 && waits < 2; usleep(300)) seen = waits == 1 && state() == 'S' ? seen + 1 : 0;
                pthread_kill(thread, numbers[how]);
                if (how != 1) while (!handled) usleep(100);
                usleep(2000);
                satisfy(thread);
                pthread_join(thread, 0);
                printf("%d %s %ld %s\n", how, names[n], results[0], results[0] < 0 ? strerror(results[1]) : "");
                semctl(semaphores, 0, IPC_RMID);
                msgctl(queue, IPC_RMID, 0);
                close(pipes[0]), close(pipes[1]), close(sockets[0]), close(sockets[1]), close(set);
            }
    return 0;
}
