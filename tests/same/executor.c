/* A thread that is not the first executes another program while others wait, beside a child made before. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int ways[2];
static char **words;

/* In memory when it is used: the kernel's probes cannot bring a page in. */
static char self[] = "/proc/self/exe";

static void *waiting(void *unused) {
    syscall(SYS_getpgid, 1);
    pause();
    return 0;
}

static void *executing(void *unused) {
    char *again[] = {words[0], "again", 0};
    syscall(SYS_getpgid, 2);
    self[0] = '/';
    execv(self, again);
    return 0;
}

int main(int count, char **given) {
    pthread_t first, second;
    char letter;
    words = given;
    if (count > 1) {
        syscall(SYS_getsid, 3);
        /* Its own end of the pipe is gone, so the child's read has returned. */
        wait(0);
        return 0;
    }
    if (pipe2(ways, O_CLOEXEC)) return 1;
    if (!fork()) {
        close(ways[1]);
        read(ways[0], &letter, 1);
        syscall(SYS_getsid, 4);
        _exit(0);
    }
    syscall(SYS_getpgid, 0);
    pthread_create(&first, 0, waiting, 0);
    pthread_create(&second, 0, executing, 0);
    pause();
    return 1;
}
