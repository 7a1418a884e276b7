#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* FORKERS threads fork `rounds` times each while another calls each of FUNCTIONS functions for the first time. Each
   child calls each function once. What is wrong with a child is printed; a child that is well ends with status 7. */
enum { FORKERS = 3 };

#define ONE(n) __attribute__((noinline)) static int f##n(int x) { __asm__ volatile(""); return x + 1; }
#define TEN(DO, m) DO(m##0) DO(m##1) DO(m##2) DO(m##3) DO(m##4) DO(m##5) DO(m##6) DO(m##7) DO(m##8) DO(m##9)
#define ALL(DO) TEN(DO, 1) TEN(DO, 2) TEN(DO, 3) TEN(DO, 4) TEN(DO, 5) TEN(DO, 6) TEN(DO, 7) TEN(DO, 8)
ALL(ONE)
#define NAME(n) f##n,
static int (*functions[])(int) = {ALL(NAME)};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static int rounds;
static pthread_barrier_t barrier;

static int call_all(void) {
    int sum = 0;
    for (int i = 0; i < FUNCTIONS; i++) sum += functions[i](0);
    return sum;
}

static void *forks(void *unused) {
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < rounds; i++) {
        int status;
        pid_t child = fork();
        if (!child) _exit(call_all() == FUNCTIONS ? 7 : 1);
        waitpid(child, &status, 0);
        if (status != 7 << 8) { printf("a child ended with %#x\n", status); fflush(stdout); }
    }
    return NULL;
}

static void *calls(void *unused) {
    pthread_barrier_wait(&barrier);
    call_all();
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[FORKERS + 1];
    rounds = atoi(argv[1]);
    pthread_barrier_init(&barrier, NULL, FORKERS + 1);
    for (int i = 0; i <= FORKERS; i++) pthread_create(&threads[i], NULL, i ? forks : calls, NULL);
    for (int i = 0; i <= FORKERS; i++) pthread_join(threads[i], NULL);
    puts("well");
    return 0;
}
