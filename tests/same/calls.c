/* System calls whose numbers, arguments and results are known. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct pair {
    int number;
    char name[12];
    long large;
};

static char bytes[8192];

static void sizes(int fd) {
    for (int n = 0; n < 12; n++) write(fd, bytes, 1 << n);
    for (int n = 1; n <= 7; n++) write(fd, bytes, 100 * n);
}

static void failures(void) {
    for (int n = 0; n < 3; n++) close(777);
    open("/nonexistent/first", O_RDONLY);
    open("/nonexistent/second file", O_RDONLY);
    rmdir("/nonexistent/directory");
    read(778, bytes, 1);
    kill(0x3ffffff, 0);
}

static void strings(void) {
    static char longer[301];
    memset(longer, 'x', 300);
    mkdir("/nonexistent/path/to/some/file.c", 0700);
    mkdir("relative/../and\twith \"odd\" \\ bytes\x01\xff", 0711);
    mkdir("", 0722);
    mkdir(longer, 0733);
    mkdir((char *)0, 0744);
    mkdir((char *)1, 0755);
}

int main(int count, char **words) {
    struct timespec moment = {0, 1000003};
    struct pair pair = {-41, "a pair", 1L << 40};
    struct iovec parts[] = {{bytes, 10}, {bytes, 20}, {bytes, 30}};
    int null = open("/dev/null", O_WRONLY), own = open("/proc/self/exe", O_RDONLY);
    for (int n = 0; n < 13; n++) syscall(SYS_getppid);
    sizes(null);
    for (int n = 0; n < 5; n++) lseek(own, 1000 * n + 7, SEEK_SET);
    failures();
    strings();
    nanosleep(&moment, 0);
    memcpy(bytes, &pair, sizeof pair);
    writev(null, parts, 3);
    pwrite(null, bytes, sizeof pair, 0x123456789aL);
    syscall(SYS_getpriority, 0, 0);
    for (int n = -3; n <= 3; n++) syscall(SYS_setpriority, 99, n, 1L << 33 | 5);
    strcpy(bytes, "before");
    syscall(SYS_getpgid, bytes, 0);
    printf("%s\n", bytes);
    return 23;
}
