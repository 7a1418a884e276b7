/* Processes made in every way, one after the other. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char stack[65536];

/* In memory when they are used: the kernel's probes cannot bring a page in. */
static char echo[] = "/bin/echo", missing[] = "/nonexistent/program";

static void await(pid_t pid) { waitpid(pid, 0, 0); }

static int child(void *unused) {
    syscall(SYS_getpgid, 5);
    _exit(5);
}

int main(int count, char **words) {
    struct rlimit none = {0, 0};
    char *spawned[] = {echo, "spawned", 0};
    pid_t pid;
    setrlimit(RLIMIT_CORE, &none);
    echo[0] = missing[0] = '/';
    if (count > 1) {
        syscall(SYS_getsid, atoi(words[1]));
        return atoi(words[1]);
    }
    for (int n = 0; n < 3; n++) {
        if (!(pid = fork())) { syscall(SYS_getpgid, n); _exit(n); }
        await(pid);
    }
    if (!(pid = fork())) {
        if (!(pid = fork())) { syscall(SYS_getpgid, 40); _exit(41); }
        await(pid);
        _exit(42);
    }
    await(pid);
    if (!(pid = vfork())) { execl(words[0], "again", "6", (char *)0); _exit(1); }
    await(pid);
    if (!(pid = fork())) { execl(missing, "none", (char *)0); execl(words[0], "twice", "7", (char *)0); }
    await(pid);
    posix_spawn(&pid, spawned[0], 0, 0, spawned, environ);
    await(pid);
    pid = clone(child, stack + sizeof stack, CLONE_VM | CLONE_FILES | SIGCHLD, 0);
    await(pid);
    if (!(pid = fork())) { raise(SIGKILL); }
    await(pid);
    if (!(pid = fork())) { abort(); }
    await(pid);
    syscall(SYS_getpgid, 99);
    return 0;
}
