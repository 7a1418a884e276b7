"""examples/strace.d shows system calls as strace(1) does, line by line, on both engines."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from support.command.command import SONDE
from support.files.strace_lines import GROUPS, PROGRAM, SCRIPT, compare
from support.machine import compilers, packages


@pytest.fixture(scope="module")
def program():
    packages.require("strace")
    return compilers.built("calls.c", PROGRAM.read_text(), "gcc", "-w", "-O1", "-pthread")


def shown(words, place):
    """What a command writes; it runs in an empty directory, whose name is in the lines."""
    output = place / f"{Path(words[0]).name}.txt"
    directory = place / "empty"
    directory.mkdir()
    subprocess.run(
        [*words[:-1], "-o", output, *shlex.split(words[-1])] if words[0] == "strace" else [*words, "-o", output],
        cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True,
        env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    shutil.rmtree(directory)
    return output.read_text(errors="replace")


@pytest.mark.long
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_every_line_is_strace_s(program, engine, tmp_path):
    """All groups in one start, which costs more than the calls."""
    command = shlex.join([program, *GROUPS])
    # The first line is the exec behind which sonde holds the command.
    theirs = shown(["strace", "-f", "-a1", command], tmp_path).partition("\n")[2]
    words = [SONDE, "--engine", engine, "-xevaltime=exec", "-s", str(SCRIPT), "-c", command]
    totals, same, differing = compare(theirs, shown(words, tmp_path))
    assert not {call: lines for call, lines in differing.items() if any(lines)}
    assert same.total() == totals.total() > 800
