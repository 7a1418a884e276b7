/* Two threads that wait for a byte, one on the descriptor given, one on 0: a process to be grabbed. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *thread(void *unused) {
    char byte;
    read(0, &byte, 1);
    for (int n = 0; n < 11; n++) syscall(SYS_getpgid, n);
    return 0;
}

int main(int count, char **words) {
    pthread_t id;
    char byte;
    pthread_create(&id, 0, thread, 0);
    read(atoi(words[1]), &byte, 1);
    for (int n = 0; n < 5; n++) syscall(SYS_getsid, n);
    if (!fork()) { syscall(SYS_getpgid, 50); _exit(3); }
    wait(0);
    pthread_join(id, 0);
    return 0;
}
