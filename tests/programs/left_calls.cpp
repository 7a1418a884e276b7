#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <pthread.h>
#include <ucontext.h>

/* Functions f0 ... f7 that call each other at random, and are left at random: by return, longjmp, an exception; on the
   stacks of threads, of coroutines that other threads go on with, and of signal handlers. Each counts how often it is
   entered, and how often it returns: `left_calls SEED THREADS`. */
enum { FUNCTIONS = 8, COROUTINES = 4, ROUNDS = 12, DEPTH = 6, STACK = 1 << 18 };

struct Coroutine {
    ucontext_t own, caller;
    jmp_buf *innermost;
    int catchers;
    bool is_done;
    unsigned seed;
};

static long entries[FUNCTIONS], returns[FUNCTIONS];
static thread_local Coroutine *current;
static void count(long *of) { __atomic_add_fetch(of, 1, __ATOMIC_RELAXED); }

/* Nobody may keep the address of a thread's variable: a coroutine goes on in another thread. */
__attribute__((noinline)) static Coroutine *now(void) { asm volatile(""); return current; }

static unsigned next(unsigned &state) { return (state = state * 1103515245 + 12345) >> 16; }

extern "C" {
#define DECLARE(n) long f##n(unsigned, int);
#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
EACH(DECLARE)
}
#define NAME(n) f##n,
static long (*functions[])(unsigned, int) = {EACH(NAME)};

static void yield(void)
{
    Coroutine *me = now();
    swapcontext(&me->own, &me->caller);
}

/* A function that calls setjmp is not inlined. */
#define ACT(state, depth) \
    long sum = 0; \
    for (int turns = next(state) % 3 + 1; turns && depth; turns--) { \
        long (*called)(unsigned, int) = functions[next(state) % FUNCTIONS]; \
        unsigned given = next(state); \
        jmp_buf here, *outer = now()->innermost; \
        int catchers = now()->catchers; \
        switch (next(state) % 10) { \
        case 0: \
            now()->innermost = &here; \
            if (!setjmp(here)) called(given, depth - 1); \
            now()->innermost = outer; \
            now()->catchers = catchers; \
            break; \
        case 1: \
            now()->innermost = &here; \
            if (setjmp(here)) sum--; else sum += called(given, depth - 1); \
            now()->innermost = outer; \
            now()->catchers = catchers; \
            break; \
        case 2: \
            now()->catchers++; \
            try { called(given, depth - 1); } catch (int) { sum++; } \
            now()->innermost = outer; \
            now()->catchers = catchers; \
            break; \
        case 3: \
            yield(); \
            break; \
        case 4: \
            if (outer) longjmp(*outer, 1); \
            break; \
        case 5: \
            if (catchers) throw 1; \
            break; \
        case 6: \
            raise(SIGUSR1); \
            break; \
        default: \
            sum += called(given, depth - 1); \
        } \
    }

#define DEFINE(n) \
    __attribute__((noinline)) long f##n(unsigned state, int depth) \
    { \
        count(&entries[n]); \
        state += n; \
        ACT(state, depth) \
        count(&returns[n]); \
        return sum; \
    }
extern "C" {
EACH(DEFINE)
}

static void handle(int)
{
    for (int i = 0; i < 3; i++) f0(0, 0);
}

static void body(void)
{
    for (int i = 0; i < ROUNDS; i++) functions[i % FUNCTIONS](next(now()->seed), DEPTH);
    now()->is_done = true;
    yield();
}

struct Group {
    Coroutine each[COROUTINES];
    int turns;
};

static void *run(void *argument)
{
    Group *group = (Group *)argument;
    stack_t stack = {.ss_sp = malloc(STACK), .ss_flags = 0, .ss_size = STACK};
    sigaltstack(&stack, nullptr);
    for (int left = COROUTINES; left && group->turns; group->turns--) {
        left = 0;
        for (Coroutine &each : group->each) {
            if (each.is_done) continue;
            left++;
            current = &each;
            swapcontext(&each.caller, &each.own);
        }
    }
    return nullptr;
}

int main(int, char **words)
{
    int count = atoi(words[2]);
    struct sigaction action = {};
    action.sa_handler = handle;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, nullptr);
    Group *groups = new Group[count]();
    pthread_t *threads = new pthread_t[count];
    for (int i = 0; i < count * COROUTINES; i++) {
        Coroutine &each = groups[i / COROUTINES].each[i % COROUTINES];
        each.seed = atoi(words[1]) * 1000 + i;
        getcontext(&each.own);
        each.own.uc_stack.ss_sp = malloc(STACK);
        each.own.uc_stack.ss_size = STACK;
        makecontext(&each.own, body, 0);
    }
    /* Some turns in one thread, the others in another, of which there are as many when the first ones have ended. */
    for (int turns : {20, 1 << 30}) {
        for (int i = 0; i < count; i++) groups[i].turns = turns;
        for (int i = 0; i < count; i++) pthread_create(&threads[i], nullptr, run, &groups[i]);
        for (int i = 0; i < count; i++) pthread_join(threads[i], nullptr);
    }
    for (int i = 0; i < FUNCTIONS; i++) printf("f%d %ld %ld\n", i, entries[i], returns[i]);
}
