/* Children that end while SIGCHLD is blocked, handled, left to its default, and ignored. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int handled;

static void handler(int number) { handled++; }

static void child(void) {
    if (!fork()) _exit(0);
    while (wait(0) < 0) {}
}

int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    signal(SIGCHLD, handler);
    sigprocmask(SIG_BLOCK, &set, 0);
    for (int n = 0; n < 4; n++) child();
    sigprocmask(SIG_UNBLOCK, &set, 0);
    child();
    signal(SIGCHLD, SIG_DFL);
    child();
    signal(SIGCHLD, SIG_IGN);
    if (!fork()) _exit(0);
    wait(0);
    printf("%d\n", handled);
    return 0;
}
