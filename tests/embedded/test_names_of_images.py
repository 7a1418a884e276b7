"""Names for addresses of processes that execute other programs and end, without the kernel's help."""

import pytest
from support.command.targets import program
from support.command.unprivileged import sonde

SOURCE = r"""
#include <unistd.h>
__attribute__((noinline)) int NAME(void) {
    long result;
    asm volatile("syscall" : "=a"(result) : "0"(110L) : "rcx", "r11", "memory");
    return result + 1;
}
int main(int count, char **words) {
    NAME();
    if (count > 1)
        execv(words[1], words + 1);
    return 0;
}
"""

STATIC = ("-static", "-no-pie")


def names(command, what):
    text = f"syscall::getppid:entry {{ @[{what}] = count(); }}"
    done = sonde("--engine", "embedded", "-q", "-c", command, "-n", text)
    assert done.stderr == ""
    return {word.partition("+")[0].partition("`")[2] for word in done.stdout.split() if "`" in word or "0x" in word}


@pytest.mark.share(1)
@pytest.mark.parametrize("what", ["ustack(1)", "usym(uregs[R_RIP])"])
def test_each_program_has_its_own_names(what):
    second, first = (program(SOURCE, f"-DNAME={name}", *STATIC) for name in ("second_part", "first_part"))
    assert names(f"{first} {second}", what) == {"first_part", "second_part"}


def test_of_a_child_that_has_ended():
    ended = program(SOURCE, "-DNAME=in_a_child")
    assert names(f"sh -c '{ended}; {ended}; :'", "ustack(1)") >= {"in_a_child"}
