/* Children that the processor stops. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    struct rlimit none = {0, 0};
    volatile int zero = 0, seven = 7;
    pid_t pid;
    setrlimit(RLIMIT_CORE, &none);
    for (int kind = 0; kind < 3; kind++) {
        if (!(pid = fork())) {
            if (kind == 0) *(volatile int *)8 = 1;
            if (kind == 1) seven /= zero;
            if (kind == 2) __builtin_trap();
        }
        waitpid(pid, 0, 0);
    }
    for (int n = 0; n < 11; n++) sched_yield();
    return 0;
}
