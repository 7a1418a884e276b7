"""Processes whose memory or files nobody answers for: they cost names, on both engines, and neither hangs."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.command.command import SONDE, environment
from support.files import served_files
from support.machine import compilers

SERVER = Path(served_files.__file__)

TARGET = r"""
#include <sys/mman.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(int count, char **words)
{
    int file = open(words[1], O_RDONLY);
    char *data = mmap(0, 1 << 16, PROT_READ, MAP_PRIVATE, file, 0);
    mmap(0, 1 << 16, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    printf("%d\n", getpid());
    fflush(stdout);
    for (;;) {
        write(-1, data, 16);
        usleep(1000);
    }
}
"""
LIMIT = 60
"""Seconds: without a deadline it takes for ever."""


@pytest.fixture
def target(tmp_path):
    """Its number, while its file is served and never read."""
    program = compilers.built("waits.c", TARGET, "gcc", "-O1")
    point = tmp_path / "mount"
    point.mkdir()
    (tmp_path / "content").write_bytes(bytes(1 << 16))
    words = [sys.executable, SERVER, point, "0", f"slow={tmp_path}/content"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout.readline() == b"mounted\n"
        with subprocess.Popen([program, point / "slow"], stdout=subprocess.PIPE) as process:
            yield process.stdout.readline().strip().decode()
            assert process.poll() is None
            process.kill()
            server.stdin.close()
    subprocess.run(["umount", "-l", point], check=True)


def traced(*words):
    return subprocess.run(
        [SONDE, "-q", *words], capture_output=True, timeout=LIMIT, env=environment(), text=True, check=True
    )


@pytest.mark.long
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_functions_and_stacks_of_such_a_process_are_traced(target, engine):
    script = "pid$target:libc*:usleep:entry { @[ustack(2)] = count(); exit(0); }"
    done = traced("--engine", engine, "-p", target, "-n", script)
    assert "usleep" in done.stdout
    assert "main" in done.stdout
    assert f"process {target}" in done.stderr
    assert "did not answer" in done.stderr


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_a_page_that_does_not_come_is_a_fault(target, engine):
    script = "syscall::write:entry /pid == $target/ { @[copyinstr(arg1)] = count(); } ERROR { exit(0); }"
    done = traced("--engine", engine, "-p", target, "-n", script)
    assert "invalid address" in done.stderr


@pytest.mark.long
def test_stacks_have_names_where_all_processes_are_traced(target):
    script = f"syscall::write:entry /pid == {target} && ustackdepth > 1/ {{ @[ustack(2)] = count(); exit(0); }}"
    assert "main" in traced("-n", script).stdout
