"""A program that writes its own registers, stack and mappings, and its callers as glibc's backtrace(3) finds them."""

import subprocess

from support.machine import compilers

SOURCE = r"""
#define _GNU_SOURCE
#include <execinfo.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

static void word(uint64_t value) { fwrite(&value, 8, 1, stdout); }

__attribute__((noinline)) void dump(void) {
    static char maps[1 << 16];
    void *callers[64];
    ucontext_t here;
    uint64_t count = backtrace(callers, 64), size, stack;
    FILE *file = fopen("/proc/self/maps", "r");
    size = fread(maps, 1, sizeof maps, file);
    getcontext(&here);
    stack = here.uc_mcontext.gregs[REG_RSP];
    word(count);
    fwrite(callers, 8, count, stdout);
    for (int i = 0; i < NGREG; i++) word(here.uc_mcontext.gregs[i]);
    word(size);
    fwrite(maps, 1, size, stdout);
    /* As far as the page that the environment is in: all callers are below. */
    size = (uint64_t)environ - stack & -8;
    word(size);
    fwrite((void *)stack, 1, size, stdout);
    fflush(stdout);
    _exit(0);
}

__attribute__((noinline)) int aligned(int n) {
    volatile int block[16] __attribute__((aligned(64)));
    block[n & 15] = n;
    dump();
    return block[3];
}
__attribute__((noinline)) int varying(int n) {
    volatile char *more = __builtin_alloca(n + 10);
    memset((char *)more, n, n);
    return aligned(n) + more[n / 2];
}
static void handler(int number) { varying(number); }
static int compare(const void *one, const void *other) {
    raise(SIGUSR1);
    return *(const char *)one - *(const char *)other;
}
int main(int count, char **words) {
    signal(SIGUSR1, handler);
    char text[] = "unsorted";
    qsort(text, 8, 1, compare);
    return text[0];
}
"""

_ORDER = ("R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15", "DI", "SI", "BP", "BX", "DX", "AX", "CX", "SP", "IP")
"""Of gregs (sys/ucontext.h)."""


class DumpedStack:
    """`callers` are those of the function that dumps; `registers` are by name; `stack` begins at the stack pointer."""

    def __init__(self, *options):
        data = subprocess.run(
            [compilers.built("dumping.c", SOURCE, "gcc", *options)], capture_output=True, check=True
        ).stdout
        self._data = data
        count = self._word()
        self.callers = [self._word() for _ in range(count)][1:]
        words = [self._word() for _ in range(23)]
        self.registers = dict(zip(_ORDER, words, strict=False))
        self.maps = self._bytes(self._word()).decode()
        self.stack = self._bytes(self._word())

    def _bytes(self, size):
        found, self._data = self._data[:size], self._data[size:]
        return found

    def _word(self):
        return int.from_bytes(self._bytes(8), "little")

    def pt_regs(self):
        """As struct pt_regs."""
        order = ("R15", "R14", "R13", "R12", "BP", "BX", "R11", "R10", "R9", "R8", "AX", "CX", "DX", "SI", "DI")
        words = [self.registers[each] for each in order] + [(1 << 64) - 1, self.registers["IP"], 0x33, 0x202]
        return b"".join(each.to_bytes(8, "little") for each in [*words, self.registers["SP"], 0x2B])
