"""Processes made by clone(2) with CLONE_UNTRACED: they are as they are alone, and are traced."""

import re

import pytest
from support.command.targets import program
from support.command.unprivileged import sonde

MADE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) int step(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
int main(void)
{
    int status;
    for (int i = 0; i < 3; i++) {
        long made = syscall(SYS_clone, SIGCHLD | 0x00800000, 0, 0, 0, 0);
        if (!made) _exit(open("/dev/null", O_RDONLY) >= 0 && step(i) == i + 1 ? 5 : 6);
        waitpid(made, &status, 0);
        printf("status %d\n", status >> 8 | status & 127);
    }
}
"""
PROBES = {
    "syscall::openat:entry { @[copyinstr(arg1)] = count(); }": {"/dev/null": 3},
    "syscall::clone:entry, syscall::wait4:return { @[probename] = count(); }": {"entry": 3, "return": 3},
    "uprobe:%s:step:entry, uprobe:%s:step:return { @[probename] = count(); }": {"entry": 3, "return": 3},
}
"""What is to be counted."""


@pytest.mark.share(1)
@pytest.mark.parametrize("seccomp", ["on", "off"])
@pytest.mark.parametrize("text", PROBES)
def test_untraced_children_are_traced_and_well(text, seccomp):
    """A filter fails the calls of who has no tracer, and a breakpoint ends him."""
    binary = program(MADE)
    done = sonde("--engine", "embedded", "-q", f"-xseccomp={seccomp}", "-n", text.replace("%s", binary), "-c", binary)
    assert done.stdout.count("status 5\n") == 3
    counts = {name: int(count) for name, count in re.findall(r"^ +(\S+) +(\d+)$", done.stdout, re.MULTILINE)}
    assert {name: counts.get(name) for name in PROBES[text]} == PROBES[text]
