"""Running the scripts of examples/ with a workload, and reading what they print."""

import subprocess
import sys
from pathlib import Path

from support.places import EXAMPLES

SONDE = str(Path(sys.executable).parent / "sonde")

NAME = "sonde-work"
"""What the workload calls itself once it has started: all before that is the interpreter's business."""

BEGINNING = f"""
import ctypes, errno, mmap, os, signal, subprocess, sys, time
NAME = "{NAME}"
ctypes.CDLL(None).prctl(15, NAME.encode(), 0, 0, 0)
"""


def run(example, workload, tmp_path, *words):
    """What the script prints while a process does the workload, which may use ctypes, os, signal, time."""
    program = tmp_path / "workload.py"
    program.write_text(BEGINNING + workload)
    command = [SONDE, "-s", str(EXAMPLES / example), "-c", f"'{sys.executable}' {program}", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, errors="replace")
    assert done.returncode == 0, done.stderr
    assert "rror" not in done.stderr, done.stderr
    return done.stdout


def rows(output, first=NAME):
    """The words of the lines that begin with the workload's name."""
    return [line.split()[1:] for line in output.splitlines() if line.split()[:1] == [first]]
