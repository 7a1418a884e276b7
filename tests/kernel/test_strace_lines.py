"""examples/strace.d shows system calls as strace(1) does, line by line, on both engines."""

import os
import shlex
import subprocess

import packages
import pytest
from command import SONDE
from strace_lines import GROUPS, PROGRAM, SCRIPT, compare

DIFFERENT = {
    "rt_sigreturn",  # strace finds the mask in the frame
    "pause",  # D's errno is what the program sees, not what the kernel keeps to itself
    "clock_nanosleep",
    "readv",  # of a call that failed strace still shows where its buffers are
    "socket",  # AF_PACKET's protocol, an unknown type
    "connect",  # the port is another one
}

FEW = ("files", "sockets")
"""Where each start takes seconds; tools/lines_against_strace.py has all of them on both engines."""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    packages.require("gcc", "strace")
    built = tmp_path_factory.mktemp("calls") / "calls"
    subprocess.run(["gcc", "-w", "-O1", "-pthread", "-o", built, PROGRAM], check=True)
    return str(built)


def shown(words, directory):
    output = directory.parent / f"{directory.name}.txt"
    directory.mkdir()
    subprocess.run(
        [*words[:-1], "-o", output, *shlex.split(words[-1])] if words[0] == "strace" else [*words, "-o", output],
        cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True, timeout=120,
        env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    return output.read_text(errors="replace")


@pytest.mark.parametrize(
    ("group", "engine"), [*((each, "kernel") for each in GROUPS), *((each, "embedded") for each in FEW)]
)
def test_every_line_is_strace_s(program, group, engine, tmp_path):
    command = f"{program} {group}"
    # The first line is the exec behind which sonde holds the command.
    theirs = shown(["strace", "-f", "-a1", command], tmp_path / "theirs").partition("\n")[2]
    words = [SONDE, "--engine", engine, "-xevaltime=exec", "-s", str(SCRIPT), "-c", command]
    totals, same, differing = compare(theirs, shown(words, tmp_path / "ours"))
    # The line of an exec is speculated, so the kernel's program does not wait for text that the child has not touched.
    different = DIFFERENT | ({"execve"} if engine == "kernel" else set())
    wrong = {call: differing[call] for call in totals if same[call] < totals[call] and call not in different}
    assert not wrong
    assert same.total() >= 0.9 * totals.total() > 0
