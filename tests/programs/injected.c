/* Makes each call once, by its number, and prints what came of them: -1 and errno, or the result. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static char buf[256];
static struct timespec none;
#define CALLS(X) \
    X(getppid, 0, 0, 0, 0) X(getuid, 0, 0, 0, 0) X(getgid, 0, 0, 0, 0) X(gettid, 0, 0, 0, 0) X(getpgrp, 0, 0, 0, 0) \
    X(umask, 022, 0, 0, 0) X(openat, -100, "/etc/passwd", 0, 0) X(open, "/etc/passwd", 0, 0, 0) X(access, "/", 0, 0, 0) \
    X(stat, "/", buf, 0, 0) X(lstat, "/", buf, 0, 0) X(lseek, 0, 0, 1, 0) X(read, 0, buf, 1, 0) X(pread64, 0, buf, 1, 0) \
    X(close, 99, 0, 0, 0) X(dup, 2, 0, 0, 0) X(dup2, 2, 50, 0, 0) X(pipe2, buf, 0, 0, 0) X(fcntl, 2, 3, 0, 0) \
    X(ioctl, 2, 0x5401, buf, 0) X(mkdir, "/nowhere/at/all", 0700, 0, 0) X(rmdir, "/nowhere/at/all", 0, 0, 0) \
    X(unlink, "/nowhere/at/all", 0, 0, 0) X(rename, "/nowhere/a", "/nowhere/b", 0, 0) X(chdir, "/", 0, 0, 0) \
    X(getcwd, buf, 200, 0, 0) X(fsync, 2, 0, 0, 0) X(socket, 1, 1, 0, 0) X(connect, 99, buf, 2, 0) X(bind, 99, buf, 2, 0) \
    X(sendto, 99, buf, 1, 0) X(recvfrom, 99, buf, 1, 0) X(poll, 0, 0, 0, 0) X(nanosleep, &none, 0, 0, 0) \
    X(clock_nanosleep, 0, 0, &none, 0) X(sched_yield, 0, 0, 0, 0) X(kill, 0x7ffffff, 0, 0, 0) X(times, buf, 0, 0, 0) \
    X(futex, buf, 129, 1, 0) X(epoll_create1, 0, 0, 0, 0) X(eventfd2, 0, 0, 0, 0) X(munmap, 0x10000, 4096, 0, 0) \
    X(madvise, 0x10000, 4096, 4, 0) X(mremap, 0x10000, 4096, 4096, 0) X(prctl, 3, 0, 0, 0) X(getpgid, 0, 0, 0, 0)

int main(void)
{
#define CALL(name, a, b, c, d) \
    { errno = 0; long result = syscall(SYS_##name, a, b, c, d); printf(#name " %ld %d\n", result, errno); }
    CALLS(CALL)
    return 0;
}
