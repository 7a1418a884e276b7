"""Whoever waits for the line that tells of attached probes loses no firing."""

import os
import subprocess
import sys

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
