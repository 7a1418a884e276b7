#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* THREADS threads, each of which makes ROUNDS children: by fork, vfork and posix_spawn in turn. Each child tells a
   number, through a pipe, that only it knows how to compute; the program prints the sum. A leaf is this program itself
   with one argument. Any call that fails is an error. */
enum { THREADS = 3 };
static int rounds;
static char *self;

static void require(int condition, const char *what) {
    if (!condition) { fprintf(stderr, "%s failed\n", what); perror("errno"); _exit(3); }
}

static long leaf(long n) {
    char text[64];
    long sum = 0;
    for (int i = 0; i < 5; i++) {
        int fd = open("/dev/zero", O_RDONLY);
        require(fd >= 0, "open");
        require(read(fd, text, sizeof text) == sizeof text, "read");
        require(close(fd) == 0, "close");
        sum += text[i] + n;
    }
    return sum;
}

static long from_child(int fd) {
    long value = 0;
    require(read(fd, &value, sizeof value) == sizeof value, "read of the pipe");
    return value;
}

static void *work(void *argument) {
    long sum = 0, me = (long)argument;
    for (long i = 0; i < rounds; i++) {
        int ends[2], status, n = me * 1000 + i;
        char text[16], descriptor[16];
        pid_t child;
        require(pipe2(ends, O_CLOEXEC) == 0, "pipe");
        snprintf(text, sizeof text, "%d", n);
        char *arguments[] = {self, "leaf", text, NULL};
        if (i % 3 == 0) {
            child = fork();
            if (!child) { long v = leaf(n); _exit(write(ends[1], &v, sizeof v) != sizeof v); }
        } else if (i % 3 == 1) {
            child = vfork();
            if (!child) { dup2(ends[1], 1); execv(self, arguments); _exit(127); }
        } else {
            posix_spawn_file_actions_t actions;
            posix_spawn_file_actions_init(&actions);
            posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
            require(posix_spawn(&child, self, &actions, NULL, arguments, NULL) == 0, "posix_spawn");
            posix_spawn_file_actions_destroy(&actions);
        }
        require(child > 0, "fork");
        close(ends[1]);
        sum += from_child(ends[0]);
        close(ends[0]);
        require(waitpid(child, &status, 0) == child && status == 0, "the child");
    }
    return (void *)sum;
}

int main(int argc, char **argv) {
    if (argc == 3) {
        long value = leaf(atol(argv[2]));
        return write(1, &value, sizeof value) != sizeof value;
    }
    pthread_t threads[THREADS];
    long sum = 0;
    void *part;
    self = argv[0];
    rounds = atoi(argv[1]);
    prctl(0x59616d61, -1); /* PR_SET_PTRACER: Yama lets anybody trace it. */
    require(write(1, "begin\n", 6) == 6, "write");
    for (long i = 0; i < THREADS; i++) require(pthread_create(&threads[i], NULL, work, (void *)i) == 0, "thread");
    for (int i = 0; i < THREADS; i++) { pthread_join(threads[i], &part); sum += (long)part; }
    printf("sum %ld\n", sum);
    fflush(stdout);
    return 7;
}
