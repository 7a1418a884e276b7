"""Processes made by clone(2) and clone3(2) with CLONE_UNTRACED: they are as they are alone, and are traced."""

import re
import subprocess

import pytest
from support.command.targets import program
from support.command.unprivileged import sonde

MADE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) int step(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
static const struct clone_args constant = {.flags = CLONE_UNTRACED, .exit_signal = SIGCHLD};
static struct clone_args refused = {.flags = CLONE_UNTRACED | CLONE_SIGHAND, .exit_signal = SIGCHLD};
static void make(long number, long first, long second)
{
    long made, then = first;
    int status;
    __asm__ volatile("xor %%edx, %%edx; xor %%r10d, %%r10d; xor %%r8d, %%r8d; syscall"
                     : "=a"(made), "+D"(then) : "a"(number), "S"(second)
                     : "rcx", "rdx", "r8", "r10", "r11", "memory");
    if (!made)
        _exit(open("/dev/null", O_RDONLY) >= 0 && step(1) == 2 && then == first ? 5 : 6);
    if (made > 0) waitpid(made, &status, 0), made = status >> 8 | status & 127;
    printf("%ld%s\n", made, then == first ? "" : ", with another argument");
}
int main(void)
{
    struct clone_args own = {.flags = CLONE_UNTRACED | CLONE_VM | CLONE_VFORK, .exit_signal = SIGCHLD};
    make(SYS_clone, CLONE_UNTRACED | SIGCHLD, 0);
    make(SYS_clone3, (long)&constant, sizeof constant);
    make(SYS_clone3, (long)&own, CLONE_ARGS_SIZE_VER0);
    make(SYS_clone3, (long)&refused, sizeof refused);
    make(SYS_clone3, 8, sizeof refused);
    printf("%d\n", own.flags == (CLONE_UNTRACED | CLONE_VM | CLONE_VFORK) && refused.flags & CLONE_UNTRACED);
}
"""
SAID = "5\n5\n5\n-22\n-14\n1\n"
PROBES = {
    "syscall::openat:entry { @[copyinstr(arg1)] = count(); }": {"/dev/null": 3},
    "syscall::clone:entry, syscall::clone3:entry, syscall::wait4:return { @[probename] = count(); }": {
        "entry": 5,
        "return": 3,
    },
    "uprobe:%s:step:entry, uprobe:%s:step:return { @[probename] = count(); }": {"entry": 3, "return": 3},
}
"""What is to be counted."""


@pytest.mark.share(1)
@pytest.mark.parametrize("seccomp", ["on", "off"])
@pytest.mark.parametrize("text", PROBES)
def test_untraced_children_are_traced_and_well(text, seccomp):
    """A filter fails the calls of who has no tracer, and a breakpoint ends him."""
    binary = program(MADE)
    assert subprocess.run([binary], stdout=subprocess.PIPE, text=True).stdout == SAID
    done = sonde("--engine", "embedded", "-q", f"-xseccomp={seccomp}", "-n", text.replace("%s", binary), "-c", binary)
    assert SAID in done.stdout
    counts = {name: int(count) for name, count in re.findall(r"^ +(\S+) +(\d+)$", done.stdout, re.MULTILINE)}
    assert {name: counts.get(name) for name in PROBES[text]} == PROBES[text]
