"""Whoever waits for the line that tells of attached probes loses no firing, and commands are traced from their
exec on."""

import os
import subprocess
import sys

import pytest
from support.command.command import sonde

PROGRAM = "tracepoint:syscalls:sys_enter_getppid /pid == $1/ { exit(7); } interval:s:10 { exit(1); }"
ROUNDS = 6
"""A line that came too early was missed in three of ten."""


def test_what_fires_right_behind_the_line_is_seen():
    words = [sys.executable, "-m", "sonde", "bt", "-e", PROGRAM, str(os.getpid())]
    for _ in range(ROUNDS):
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr.readline() == "Attached 2 probes\n"
            os.getppid()
            assert process.wait(20) == 7


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_a_command_is_traced_from_its_first_system_call(engine):
    """What the dynamic linker opens is as many files as strace(1) sees."""
    program = "tracepoint:syscalls:sys_enter_openat /pid == cpid/ { @opened = count(); }"
    counted = sonde("bt", "-q", "--engine", engine, "-c", "/bin/cat /dev/null", "-e", program).stdout
    words = ["strace", "-e", "trace=openat", "/bin/cat", "/dev/null"]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stderr.splitlines()
    wanted = sum(line.startswith("openat(") for line in lines)
    assert counted.split() == ["@opened:", str(wanted)]


def test_a_command_s_own_exec_is_seen():
    program = "tracepoint:sched:sched_process_exec /pid == cpid/ { print(str(args.filename)); @ = count(); }"
    done = sonde("bt", "-q", "-c", "/bin/cat /dev/null", "-e", program)
    assert done.stdout.split() == ["/bin/cat", "@:", "1"]


@pytest.mark.parametrize(
    ("command", "reason", "status"), [("nosuchcommand", "No such file", 1), ("/etc/passwd", "Permission", 1)]
)
def test_a_command_that_cannot_be_run_is_told(command, reason, status):
    told = sonde("bt", "-q", "-c", command, "-e", "interval:s:1 { exit(); }", status=status).stderr
    assert f"failed to run {command}: {reason}" in told
