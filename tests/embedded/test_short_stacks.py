"""Stacks of processes that live for milliseconds are whole: their tables are there when the first one is walked."""

import shlex

import pytest
from support.command.targets import program
from support.command.unprivileged import sonde

DEEP = r"""
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((noipa)) static int third(int n) { return syscall(SYS_getpgid, n) + 1; }
__attribute__((noipa)) static int second(int n) { char much[n + 300]; much[n] = third(n); return much[n] + 1; }
__attribute__((noipa)) static int first(int n) { return second(n) + 1; }
int main(void) { return first(0) == 0; }
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("options", [[], ["-xunwind=dwarf"], ["-xseccomp=no"]])
def test_each_stack_of_each_process_reaches_its_beginning(options):
    deep = program(DEEP, "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls")
    text = "syscall::getpgid:entry { @[ustack(40)] = count(); }"
    command = shlex.join(["sh", "-c", f"for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do {shlex.quote(deep)}; done"])
    done = sonde("--engine", "embedded", "-q", *options, "-n", text, "-c", command)
    stacks = [
        block.split() for block in done.stdout.split("\n\n") if "third" in block or "getpgid" in block or "`" in block
    ]
    assert sum(int(stack[-1]) for stack in stacks) == 13
    for stack in stacks:
        names = [frame.partition("`")[2].partition("+")[0] for frame in stack[:-1]]
        assert [name for name in ("third", "second", "first", "main", "_start") if name in names] == [
            "third", "second", "first", "main", "_start"
        ], names  # fmt: skip
