"""Processes whose first thread has ended before the others: on both engines they are traced to their end."""

import subprocess

import pytest
from support.command.command import build, start

PROGRAM = r"""
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void *other(void *unused) {
    char byte;
    write(1, "x", 1);
    read(0, &byte, 1);
    for (int i = 0; i < 7; i++) getppid();
    exit(3);
}
int main(void) {
    pthread_t made;
    pthread_create(&made, 0, other, 0);
    pthread_exit(0);
}
"""
SCRIPT = """
BEGIN { printf("begun\\n"); }
syscall::getppid:entry /pid == $target/ { @[curpsinfo->pr_psargs, pid == $target, tid == $target] = count(); }
proc:::exit /pid == $target/ { printf("exit %d\\n", args[0]); }
"""


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_a_process_without_its_first_thread(tmp_path, engine):
    program = build(tmp_path, "program", PROGRAM, "-pthread")
    with subprocess.Popen([program, "word"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.read(1) == b"x"
        words = ["--engine", engine, "-q", "-n", SCRIPT, "-p", str(process.pid)]
        with start(*words, text=True) as tracing:
            assert tracing.stdout.readline() == "begun\n"
            process.stdin.write(b"x")
            process.stdin.flush()
            shown, told = tracing.communicate()
    assert tracing.returncode == 0, told
    lines = [line.split() for line in shown.splitlines() if line]
    # pr_psargs has 80 bytes, which a long path fills.
    assert lines[0] == ["exit", "1"]
    *words, of_target, of_first, count = lines[1]
    assert f"{program} word".startswith(" ".join(words)), words
    assert (len(words) > 0, of_target, of_first, count) == (True, "1", "0", "7")
