/* A child that somebody stops; the parent lets it go on. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    int status = 0, child = fork();
    if (!child) {
        for (int n = 0; n < 3; n++) syscall(SYS_getppid);
        _exit(7);
    }
    waitpid(child, &status, WUNTRACED);
    printf("%d %d\n", WIFSTOPPED(status) != 0, WSTOPSIG(status) == SIGSTOP);
    kill(child, SIGCONT);
    waitpid(child, &status, 0);
    printf("%d\n", WEXITSTATUS(status));
    return 0;
}
