/* Signals sent, handled, ignored, blocked and waited for. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int handled;

static void handler(int number) { handled += number; }

int main(void) {
    sigset_t set;
    pid_t pid;
    signal(SIGUSR1, handler);
    signal(SIGUSR2, SIG_IGN);
    signal(SIGTERM, handler);
    for (int n = 0; n < 7; n++) kill(getpid(), SIGUSR1);
    for (int n = 0; n < 5; n++) kill(getpid(), SIGUSR2);
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &set, 0);
    for (int n = 0; n < 3; n++) { raise(SIGRTMIN); sigwaitinfo(&set, 0); }
    if (!(pid = fork())) { for (;;) pause(); }
    kill(pid, SIGSTOP);
    waitpid(pid, 0, WUNTRACED);
    kill(pid, SIGCONT);
    waitpid(pid, 0, WCONTINUED);
    kill(pid, SIGINT);
    waitpid(pid, 0, 0);
    syscall(SYS_getpgid, 17);
    printf("%d\n", handled);
    return 0;
}
