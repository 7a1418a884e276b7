"""What outlives the command, 32-bit and setuid programs: told, or followed."""

import os
import re
import shlex
import shutil
import subprocess

import pytest
from support.command.guarded import comes
from support.command.targets import directory, program
from support.command.unprivileged import sonde
from support.machine import compilers

ENGINE = ["--engine", "embedded", "-q"]

DAEMON = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
    if (fork()) return 5;
    setsid();
    close(0); close(1); close(2);
    while (access(argv[2], F_OK)) usleep(1000);
    for (int i = 0; i < 53; i++) syscall(SYS_getpgid, 0);
    creat(argv[1], 0600);
    return 0;
}
"""
"""A daemon that makes 53 calls, and then a file, as soon as there is another file."""

COUNT = "syscall::getpgid:entry { @ = count(); } proc:::exit { @e[execname] = count(); }"


@pytest.mark.share(1)
@pytest.mark.parametrize("options", [[], ["-xseccomp=no"]])
def test_what_goes_on_behind_the_command_is_told(options, tmp_path):
    end, begin = tmp_path / "end", tmp_path / "begin"
    done = sonde(*ENGINE, *options, "-n", COUNT, "-c", shlex.join([program(DAEMON), str(end), str(begin)]))
    message = " ".join(done.stderr.split())
    assert "still running, traced no more: " in message
    assert "-xfollow=all traces to the end of all" in message
    assert ("their probed calls stay slower" in message) == (not options)
    assert re.search(r"^ *53$", done.stdout, re.MULTILINE) is None
    begin.touch()
    assert comes(end.exists)


@pytest.mark.share(1)
@pytest.mark.parametrize("options", [[], ["-xseccomp=no"]])
def test_or_it_is_followed_to_its_end(options, tmp_path):
    words = [*ENGINE, *options, "-xfollow=all", "-xexit=command", "-n", COUNT]
    done = sonde(*words, "-c", shlex.join([program(DAEMON), str(tmp_path / "end"), "/"]), status=5)
    assert done.stderr == ""
    assert (tmp_path / "end").exists()
    assert [line.split()[-1] for line in done.stdout.split("\n") if line.strip()] == ["53", "2"]


def test_who_ends_with_the_command_is_not_told():
    done = sonde(*ENGINE, "-n", COUNT, "-c", "sh -c 'sleep 0.02 & sleep 0.02 & true | true'")
    assert done.stderr == ""


def test_following_is_not_for_the_kernel_engine():
    done = sonde("-xfollow=all", "--engine", "kernel", "-qn", "BEGIN { exit(0); }", "-c", "true", status=2)
    assert "Traceback" not in done.stderr


SMALL = """
.globl _start
_start: movl $64, %eax
 int $0x80
 movl $1, %eax
 movl $0, %ebx
 int $0x80
"""


def small():
    """A 32-bit program that asks for its parent and ends; skips the test where the kernel runs none."""
    path = compilers.built("small.s", SMALL, "gcc", "-m32", "-nostdlib", "-static")
    try:
        subprocess.run([path], check=True)
    except OSError:
        pytest.skip("this kernel runs no 32-bit programs")
    return path


def test_a_32_bit_command_is_refused():
    done = sonde(*ENGINE, "-n", "syscall:::entry { @ = count(); }", "-c", small(), status=1)
    assert "runs a 32-bit program, whose system calls the embedded engine does not see" in " ".join(done.stderr.split())


def test_one_that_is_executed_is_told_once():
    command = f"sh -c '{small()}; {small()}; true'"
    done = sonde(*ENGINE, "-n", "syscall::getppid:entry { @ = count(); }", "-c", command)
    message = " ".join(done.stderr.split())
    assert message.count("small is a 32-bit program: the embedded engine does not see its system calls") == 1
    assert sonde(*ENGINE, "-n", "proc:::exec-success { @ = count(); }", "-c", command).stderr == ""


def test_a_setuid_program_is_told():
    if os.getuid():
        pytest.skip("needs root to make a setuid program")
    path = f"{directory()}/elevated"
    shutil.copy("/bin/true", path)
    os.chown(path, 65534, 65534)
    os.chmod(path, 0o4755)
    done = sonde(*ENGINE, "-n", "proc:::exit { @ = count(); }", "-c", f"sh -c '{path}; true'")
    assert "elevated is setuid" in " ".join(done.stderr.split())
