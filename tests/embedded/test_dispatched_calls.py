"""Processes whose system calls are turned into SIGSYS (syscall user dispatch, prctl(2)) are as they are alone."""

import os
import re
import subprocess

import pytest
from support.command.targets import program
from support.command.unprivileged import SONDE, sonde, without_privileges
from support.places import PROGRAMS

DISPATCHED = (PROGRAMS / "dispatched.c").read_text()
FIRST_THAT_TELLS = (6, 4)
"""The version of Linux from which on a tracer can find out."""

NOT_KNOWN = 77
"""The status of the program where the kernel has not that kind of range."""

TEXT = "pid$target:a.out:step:entry, pid$target:a.out:step:return { @[probename] = count(); }"
SUM = sum(range(1, 8)) + 7 * 4242


def binary_for(where):
    if tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) < FIRST_THAT_TELLS:
        pytest.skip("before Linux 6.4 a tracer cannot find out")
    binary = program(DISPATCHED, "-no-pie")
    done = subprocess.run([binary, where], capture_output=True, text=True)
    if done.returncode == NOT_KNOWN:
        pytest.skip("the kernel has no such range")
    assert done.stdout == f"ready\n{SUM} 7 0\n"
    return binary


@pytest.mark.share(1)
@pytest.mark.parametrize("where", ["outside", "inside"])
def test_no_call_of_sondes_is_turned_into_a_signal(where):
    """Neither that which maps slots, nor that which has SIGTRAP ignored again; the program's own calls are."""
    binary = binary_for(where)
    done = sonde("--engine", "embedded", "-q", "-n", TEXT, "-c", f"{binary} {where}")
    assert f"ready\n{SUM} 7 0\n" in done.stdout
    assert dict(re.findall(r"^ +(entry|return) +(\d+)$", done.stdout, re.MULTILINE)) == {"entry": "7", "return": "7"}


def test_a_process_that_is_let_go_has_its_calls_turned_into_signals():
    """Slots are unmapped at the end, by a call of the process."""
    binary = binary_for("outside")
    words = [*without_privileges(), binary, "outside", "waits"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as target:
        assert target.stdout.readline() == "ready\n"
        end = 'BEGIN { system("echo > /proc/%d/fd/0", $target); } pid$target:a.out:step:entry /++n == 3/ { exit(0); }'
        command = [*without_privileges(), SONDE, "--engine", "embedded", "-q", "-w", "-p", str(target.pid), "-n", end]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert target.stdout.read() == f"{SUM} 7 0\n"
    assert target.returncode == 0
