"""examples/strace.d shows system calls as strace(1) does, line by line, on both engines."""

import os
import shlex
import subprocess

import packages
import pytest
from command import SONDE
from strace_lines import GROUPS, PROGRAM, SCRIPT, compare

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
    assert not {call: lines for call, lines in differing.items() if any(lines)}
    assert same.total() == totals.total() > 0
