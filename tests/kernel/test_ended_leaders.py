"""Processes whose first thread has ended while others run: /proc has nothing of their memory at its usual place."""

import re
import subprocess

import pytest
from support.command.command import build, sonde, start
from support.machine import packages
from support.machine.access import needs

pytestmark = [needs("CAP_SYS_ADMIN"), packages.needs("gcc")]

PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) void work(void) { for (int n = 0; n < 3; n++) getppid(); }
static void *others(void *leader) {
    char c;
    pthread_join(*(pthread_t *)leader, 0);
    if (write(1, "ready\n", 6) == 6 && read(0, &c, 1) == 1) for (int n = 0; n < 5; n++) work();
    _exit(5);
}
int main(void) {
    static pthread_t leader, other;
    leader = pthread_self();
    pthread_create(&other, 0, others, &leader);
    pthread_exit(0);
}"""
STACKS = 'BEGIN { printf("begun\\n"); } syscall::getppid:entry /pid == $target/ { @[ustack(3)] = count(); } '
STACKS += "syscall::getppid:return /pid == $target && ++n == 15/ { exit(0); }"


@pytest.fixture
def program(tmp_path):
    """A program whose first thread has ended when it says `ready`; others go on when they read something."""
    return build(tmp_path, "ended", PROGRAM, "-pthread")


@pytest.fixture
def process(program):
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout.readline() == b"ready\n"
        yield running
        running.kill()


def counted(text):
    return sum(map(int, re.findall(r"ended`work\+\S+\n +ended`others\+\S+\n +(\d+)", text)))


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_stacks_are_whole_and_have_names(process, engine):
    with start("-q", "--engine", engine, "-n", STACKS, "-p", str(process.pid), text=True) as tracing:
        assert tracing.stdout.readline() == "begun\n"
        process.stdin.write(b"g")
        process.stdin.flush()
        output, errors = tracing.communicate()
    assert (counted(output), errors) == (15, "")


def test_functions_are_probed_or_refused_with_the_cause(process):
    """The kernel finds nothing of such a process."""
    words = ["-n", "pid$target:a.out:work:entry { @ = count(); }", "-p", str(process.pid)]
    done = sonde("-q", *words, status=1)
    assert "its first thread has ended" in " ".join(done.stderr.split())
    text = 'BEGIN { printf("begun\\n"); } pid$target:a.out:work:entry { @ = count(); } '
    text += "syscall::getppid:return /pid == $target && ++n == 15/ { exit(0); }"
    with start("-q", "--engine", "embedded", "-n", text, "-p", str(process.pid), text=True) as tracing:
        assert tracing.stdout.readline() == "begun\n"
        process.stdin.write(b"g")
        process.stdin.flush()
        output, errors = tracing.communicate()
    assert (output.split(), errors) == (["5"], "")
