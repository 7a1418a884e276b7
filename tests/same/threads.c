/* Four threads that run side by side, and one that was made without a library. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_barrier_t barrier;
static char stack[65536];
static volatile int ended;

static void *thread(void *number) {
    long times = 10 * (1 + (long)number);
    char name[] = "worker-0";
    name[7] += (long)number;
    prctl(PR_SET_NAME, name, 0, 0, 0);
    pthread_barrier_wait(&barrier);
    for (long n = 0; n < times; n++) syscall(SYS_getpgid, n);
    return 0;
}

static int bare(void *unused) {
    for (int n = 0; n < 7; n++) syscall(SYS_getsid, n);
    ended = 1;
    syscall(SYS_exit, 9);
    return 0;
}

int main(void) {
    pthread_t ids[4];
    pthread_barrier_init(&barrier, 0, 4);
    for (long n = 0; n < 4; n++) pthread_create(&ids[n], 0, thread, (void *)n);
    for (long n = 0; n < 4; n++) pthread_join(ids[n], 0);
    clone(bare, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, 0);
    while (!ended) usleep(1000);
    usleep(1000);
    return 0;
}
