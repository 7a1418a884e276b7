"""User stacks of programs as the distribution ships them, against those that perf finds by copies of the stacks."""

import os
import re
import shlex
import subprocess

import pytest
from support.command.command import sonde
from support.machine import packages

from sonde.symbols.elf.file import ET_EXEC, ElfFile

COMMANDS = {
    "ls": ["/bin/ls", "-l", "/"],
    "git": ["/usr/bin/git", "--version"],
    "python3": ["/usr/bin/python3", "-S", "-c", "import json, re, glob; open('/dev/null').close()"],
    "perl": ["/usr/bin/perl", "-MList::Util", "-e", "open(F, '<', '/dev/null')"],
    "bash": ["/bin/bash", "-c", "for n in 1 2 3; do echo $n >/dev/null; done; . /dev/null"],
    "sed": ["/bin/sed", "-n", "p", "/dev/null"],
}
THERE = [name for name, (path, *_) in COMMANDS.items() if os.access(path, os.X_OK)]
COPIED = 65528
"""Bytes of each stack: the most that perf copies."""

FRAME = re.compile(r"^\s+([0-9a-f]+) \((.*)\)$")


ENVIRONMENT = {"LC_ALL": "C", "PATH": os.environ["PATH"], "HOME": "/"}


def theirs(command, directory):
    """For each call the object and the address in it of each frame."""
    data = directory / "perf.data"
    event = ["-e", "syscalls:sys_enter_openat", "--call-graph", f"dwarf,{COPIED}"]
    words = ["perf", "record", "-q", "-m", "16M", "-o", data, *event, "--", *command]
    subprocess.run(words, check=True, capture_output=True, env=ENVIRONMENT)
    words = ["perf", "script", "-i", data, "--no-inline", "-F", "comm,ip,dso"]
    shown = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    found = []
    for block in filter(str.strip, shown.split("\n\n")):
        name, *lines = block.strip("\n").splitlines()
        if not name.startswith("perf"):
            frames = [FRAME.match(line) for line in lines]
            found.append([(each[2].rpartition("/")[2], int(each[1], 16)) for each in frames if each])
    return found


def ours(command, directory):
    """The same; of callers perf shows the byte before, and of a program that is linked to an address file offsets."""
    path = os.path.realpath(command[0])
    program = ElfFile.open(path)
    out = directory / "stacks"
    text = "syscall::openat:entry /pid == $target/ { ustack(); }"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        for name in set(os.environ) - set(ENVIRONMENT):
            patch.delenv(name)
        sonde(
            "-q",
            "-xnoresolve",
            "-xevaltime=exec",
            "-xustackframes=127",
            "-n",
            text,
            "-o",
            str(out),
            "-c",
            shlex.join(command),
        )
    found = []
    for block in filter(str.strip, out.read_text().split("\n\n")):
        places = [line.strip().rpartition(":") for line in block.splitlines()]
        frames = [(name, int(at, 16)) for name, _, at in places if name]
        if program.kind == ET_EXEC:
            frames = [(name, program.offset_of(at) if name == os.path.basename(path) else at) for name, at in frames]
        found.append([(name, at - (number > 0)) for number, (name, at) in enumerate(frames)])
    return found


@pytest.mark.long
@pytest.mark.parametrize("name", THERE)
def test_as_perf_has_it(name, tmp_path):
    packages.require("perf")
    found = ours(COMMANDS[name], tmp_path)
    for _ in range(5):
        expected = theirs(COMMANDS[name], tmp_path)
        if len(expected) == len(found):
            break
        # Copies of 64 KiB each may have found no room.
    assert len(found) == len(expected) > 1
    assert found == expected
