"""Functions that begin with any kind of instruction, and programs that another thread than the first executes."""

import re
import subprocess

import pytest
from support.command.targets import program
from support.command.unprivileged import sonde

BODIES = {
    "only_ret": "ret",
    "only_jump": "jmp *kept(%rip)",
    "relative_load": "mov data(%rip), %rax; add %rdi, %rax; ret",
    "relative_compare": "cmpq $41, data(%rip); sete %al; movzbl %al, %eax; ret",
    "relative_address": "lea data(%rip), %rax; mov (%rax), %rax; ret",
    "branch": "jmp 1f; nop; 1: lea 1(%rdi), %rax; ret",
    "jump_if_zero": "test %rdi, %rdi; ret",
    "counter_branch": "jrcxz 2f; lea 2(%rdi), %rax; ret; 2: lea 3(%rdi), %rax; ret",
    "marked": "endbr64; lea 4(%rdi), %rax; ret",
    "call": "call only_ret; lea 5(%rdi), %rax; ret",
    "call_indirect": "call *kept(%rip); lea 5(%rdi), %rax; ret",
    "push": "push %rdi; pop %rax; ret",
    "push_flags": "pushf; pop %rcx; lea 6(%rdi), %rax; ret",
    "frame": "enter $16, $0; leave; mov %rdi, %rax; ret",
    "return_far": "ret $0",
    "time_stamp": "rdtsc; mov %rdi, %rax; ret",
    "thread_relative": "mov %fs:0, %rax; mov %rdi, %rax; ret",
    "long_nop": "nopw 0x0(%rax,%rax,1); mov %rdi, %rax; ret",
    "saturating": "xor %eax, %eax; ret",
}
CALLED = {"only_ret": 4}
"""How often in a round, where not once: by `call`, `call_indirect` and `only_jump` as well."""

NO_RESULT = ("only_ret", "only_jump", "return_far")

FIRST = """
#include <stdio.h>
long data = 41;
long only_ret(long);
long (*kept)(long) = only_ret;
%s
int main(void)
{
    long sum = 0;
    for (long i = 0; i < 11; i++) {
        %s
    }
    printf("%%ld\\n", sum);
}
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("flags", [(), ("-no-pie",)])
def test_functions_begin_with_any_instruction(flags):
    """The results are what they are alone, and all calls and returns are told."""
    bodies = "".join(
        f'__asm__(".text; .globl {name}; .type {name}, @function; {name}: {body}; .size {name}, . - {name}");\n'
        f"long {name}(long);\n"
        for name, body in BODIES.items()
    )
    calls = "".join(f"{'' if name in NO_RESULT else 'sum += '}{name}(i);" for name in BODIES)
    binary = program(FIRST % (bodies, calls), *flags)
    probes = ", ".join(f"pid$target:a.out:{name}:entry, pid$target:a.out:{name}:return" for name in BODIES)
    done = sonde("--engine", "embedded", "-q", "-n", f"{probes} {{ @[probefunc, probename] = count(); }}", "-c", binary)
    assert done.stdout.startswith(subprocess.run([binary], capture_output=True, text=True).stdout)
    found = {
        (name, kind): int(n) for name, kind, n in re.findall(r"^ +(\w+) +(\w+) +(\d+)$", done.stdout, re.MULTILINE)
    }
    assert found == {(name, kind): 11 * CALLED.get(name, 1) for name in BODIES for kind in ("entry", "return")}


EXECUTES = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) long step(long a) { __asm__ volatile(""); return a + 1; }
static char word[9];
static volatile long sum;
static void *spins(void *nothing) { for (;;) sum = step(0) - 1; }
static void *executes(void *nothing)
{
    for (int i = 0; i < 9; i++) step(i);
    if (!vfork()) { step(0); execl("/proc/self/exe", word, "0", NULL); _exit(1); }
    wait(NULL);
    execl("/proc/self/exe", word, word, NULL);
    return NULL;
}
int main(int count, char **words)
{
    int left = atoi(words[1]);
    pthread_t thread;
    if (!left) { for (int i = 0; i < 5; i++) step(i); write(1, "end\n", 4); return 0; }
    sprintf(word, "%d", left - 1);
    if (count > 2) pthread_create(&thread, NULL, spins, NULL);
    pthread_create(&thread, NULL, executes, NULL);
    pthread_join(thread, NULL);
}
"""


def test_any_thread_executes_other_programs():
    """What the program before has called is told, what vfork makes until it executes as well, and what comes behind."""
    binary = program(EXECUTES)
    text = f"uprobe:{binary}:step:entry, uprobe:{binary}:step:return {{ @[probename] = count(); }}"
    done = sonde("--engine", "embedded", "-q", "-n", text, "-c", f"{binary} 3")
    assert done.stdout.startswith("end\n" * 4)
    # Three images with nine calls, one in a child, and that child's five; then the last image's five.
    assert re.findall(r"(\w+) +(\d+)$", done.stdout, re.MULTILINE) == [("entry", "50"), ("return", "50")]
    assert sonde("--engine", "embedded", "-q", "-n", text, "-c", f"{binary} 3 spins").stdout.startswith("end\n" * 4)
