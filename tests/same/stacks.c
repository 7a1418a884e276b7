/* System calls deep in functions, whose names a stack shows. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((noinline)) long inner(long number) {
    long result;
    asm volatile("syscall" : "=a"(result) : "a"(SYS_getpgid), "D"(number) : "rcx", "r11", "memory");
    return result + 1;
}

__attribute__((noinline)) long middle(long number) { return inner(number) + 1; }
__attribute__((noinline)) long other(long number) { return inner(number) + 2; }

__attribute__((noinline)) long deep(long levels) { return levels ? deep(levels - 1) + 1 : inner(levels) + 1; }

int main(void) {
    long sum = 0;
    for (int n = 1; n <= 3; n++) sum += middle(n);
    for (int n = 1; n <= 2; n++) sum += other(n);
    return (sum + deep(9)) & 1;
}
