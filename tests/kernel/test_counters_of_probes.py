"""Counters of who listens to a static probe: in the data that a process may write, and in no other view of its file."""

import shutil

import pytest
from support.command.command import sonde
from support.machine import compilers
from support.symbols.static_programs import assembler

LIBRARY = (
    assembler("""
.section .probes, "aw"
counter: .2byte 0
.ascii "behind the counter"
.text
""")
    + r"""
extern volatile unsigned short counter __attribute__((visibility("hidden")));
__attribute__((noipa)) int fire(void)
{
    asm volatile("probe shop, sale, counter, 4@$7");
    return counter;
}
"""
)

PROGRAM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static const char mark[] = "behind the counter";
static int counted(const char *view, long size)
{
    return *((const unsigned short *)memmem(view, size, mark, sizeof mark - 1) - 1);
}
int main(int count, char **words)
{
    void *library = dlopen(words[1], RTLD_NOW);
    int (*fire)(void) = (int (*)(void))dlsym(library, "fire"), file = open(words[1], O_RDWR), own = 0;
    long size = lseek(file, 0, SEEK_END);
    char *above = (char *)((long)fire & ~4095L) + (64 << 20);
    char *shared = mmap(above, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    char *reads = mmap(above + (64 << 20), size, PROT_READ, MAP_PRIVATE, file, 0);
    char *executes = mmap(above + (128 << 20), size, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    for (int n = 0; n < 30000 && !own; n++, usleep(1000))
        own = fire();
    printf("%d %d %d %d\n", own, counted(shared, size), counted(reads, size), counted(executes, size));
    fflush(stdout);
    _exit(!own);
}
"""


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_only_what_the_process_may_write_is_counted(engine, tmp_path):
    built = compilers.built("listened.c", LIBRARY, "gcc", "-O1", "-shared", "-fPIC")
    library = shutil.copy2(built, tmp_path / "listened.so")
    before = library.read_bytes()
    program = compilers.built("listens.c", PROGRAM, "gcc", "-O1")
    text = f"usdt:{library}:shop:sale {{ @n = count(); }}"
    done = sonde("-q", "--engine", engine, "-n", text, "-c", f"{program} {library}")
    own, *others = done.stdout.split("\n")[0].split()
    # The kernel counts each place where it puts a breakpoint.
    assert int(own) >= 1
    assert others == ["0", "0", "0"]
    assert library.read_bytes() == before
