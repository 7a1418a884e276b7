"""Processes whose memory or files nobody answers for: they cost names, on both engines, and neither hangs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.command.command import SONDE, environment
from support.files import served_files
from support.files.served_files import serving
from support.machine import compilers
from support.machine.left_behind import ends

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
LOCKED = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
char *data;
void *unmaps(void *name)
{
    data[0] = 1;
    munmap(data, 4096);
    return 0;
}
void *reads(void *name)
{
    int memory = open("/proc/self/mem", O_RDONLY);
    return (void *)pread(memory, &memory, 1, (uintptr_t)data);
}
int main(int count, char **words)
{
    int file = open(words[1], O_RDWR), writes = !strcmp(words[2], "unmaps");
    data = mmap(0, 4096, writes ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file, 0);
    printf("%d\n", getpid());
    fflush(stdout);
    pthread_t thread;
    pthread_create(&thread, 0, writes ? unmaps : reads, 0);
    for (;;)
        pause();
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


@pytest.fixture
def locked(tmp_path, request):
    """The program and the number of a process that holds the lock of its address space for half a minute at most. It
    maps no library: probes that other tests put into one would wait for it, with every fork(2)."""
    built = compilers.built("locked.c", LOCKED, "gcc", "-O1", "-pthread", "-static")
    program = shutil.copy2(built, tmp_path / "locked")
    point = tmp_path / "mount"
    point.mkdir()
    (tmp_path / "content").write_bytes(bytes(1 << 16))
    answered = str(1 << 16) if request.param == "unmaps" else "0"
    words = ["timeout", "30", sys.executable, SERVER, point, answered, f"slow={tmp_path}/content"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout.readline() == b"mounted\n"
        with subprocess.Popen([program, point / "slow", request.param], stdout=subprocess.PIPE) as process:
            pid = process.stdout.readline().strip().decode()
            (thread,) = [each for each in waited_for(pid) if each != pid]
            assert ends(lambda: is_served(pid, thread))
            yield program, pid
            process.kill()
            server.stdin.close()
    subprocess.run(["umount", "-l", point], check=True)


def test_a_process_that_executes_what_is_not_read_is_not_waited_for(tmp_path):
    with serving(tmp_path / "mount", 0, slow="/bin/true") as point:
        process = subprocess.Popen([sys.executable, "-c", f"import os; os.execv('{point}/slow', ['slow'])"])
        try:
            assert ends(lambda: "execve" in Path(f"/proc/{process.pid}/stack").read_text())
            words = [SONDE, "--engine", "embedded", "-p", str(process.pid), "-n", "BEGIN { exit(0); }"]
            done = subprocess.run(words, capture_output=True, timeout=LIMIT, env=environment(), text=True, check=False)
        finally:
            process.kill()
    process.wait()
    assert done.returncode == 1
    assert f"failed to grab pid {process.pid}: it is executing a file whose server" in done.stderr


def waited_for(pid):
    """The threads of the process, once it has two."""
    assert ends(lambda: len(os.listdir(f"/proc/{pid}/task")) == 2)
    return os.listdir(f"/proc/{pid}/task")


def is_served(pid, thread):
    return "fuse" in Path(f"/proc/{pid}/task/{thread}/stack").read_text()


@pytest.mark.parametrize("locked", ["unmaps", "reads"], indirect=True)
def test_nothing_is_attached_where_the_kernel_would_wait_with_every_fork(locked):
    program, pid = locked
    words = [SONDE, "-qn", f"uprobe:{program}:main:entry {{ exit(0); }}"]
    done = subprocess.run(words, capture_output=True, timeout=LIMIT, env=environment(), text=True, check=False)
    assert done.returncode == 1, done
    assert f"process {pid} (locked) has mapped a file to be probed" in done.stderr
    elsewhere = compilers.built("waits.c", TARGET, "gcc", "-O1")
    assert traced("-n", f"uprobe:{elsewhere}:main:entry {{ exit(0); }} tick-1ms {{ exit(0); }}").stderr == ""


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
