"""The scripts of tests/same: D programs that mean the same on both engines, with the command each is run over.

A script's first comment says what it shows, and in lines of their own: `Command:`, whose first word is a program of
tests/same/*.c or one of the system's; `Options:` of sonde, `-q` unless given; `Status:`, sonde's exit status, 0 unless
given; `Shows:`, a pattern that the output matches whichever engine runs, so that two silent engines do not agree.
"""

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

from support.command.command import SONDE, build, environment
from support.places import TESTS

SAME = TESTS / "same"
FLAGS = {
    "market": ["-g"],
    "executor": ["-pthread"],
    "threads": ["-pthread"],
    "waits": ["-pthread"],
    "stacks": ["-O0", "-fno-omit-frame-pointer"],
}

_FIELD = re.compile(r"^ \* (Command|Options|Status|Shows): (.*)$", re.MULTILINE)
# Where an engine has a clause's memory, and where in its code the instruction is that faults.
_ADDRESS = re.compile(r"0x[0-9a-f]{9,} = \*")
_PLACE = re.compile(r" at BPF pc \d+")
_NUMBER = re.compile(r"\bpid \d+(?= exited| terminated)")
_CPU = re.compile(r"^ *\d+ ", re.MULTILINE)


class Script(NamedTuple):
    path: Path
    command: str
    shows: str
    options: str = "-q"
    status: str = "0"


class Outcome(NamedTuple):
    """What sonde wrote with -o, its messages together with the command's, what the command wrote, the exit status."""

    output: str
    messages: str
    target: str
    status: int


def scripts():
    for path in sorted(SAME.glob("*.d")):
        fields = {name.lower(): value for name, value in _FIELD.findall(path.read_text())}
        yield Script(path, **fields)


def programs(directory):
    """The compiled programs, by name."""
    found = SAME.glob("*.c")
    return {path.stem: build(directory, path.stem, path.read_text(), *FLAGS.get(path.stem, ())) for path in found}


def outcome(script, engine, compiled, directory):
    """Run the script on the engine over its command."""
    first, _, words = script.command.partition(" ")
    command = f"{compiled.get(first, first)} {words}"
    output = directory / f"{script.path.stem}-{engine}"
    output.unlink(missing_ok=True)
    done = subprocess.run(
        [SONDE, "--engine", engine, *script.options.split(), "-o", output, "-s", script.path, "-c", command],
        capture_output=True, text=True, errors="replace", env=environment(),
    )  # fmt: skip
    text = _ADDRESS.sub("ADDRESS = *", output.read_text(errors="replace") if output.exists() else "")
    if "-q" not in script.options:
        # The first column is the CPU; the embedded engine has one.
        text = _CPU.sub("CPU ", text)
    # A command ends with the session: how far it came after exit() is a matter of time.
    target = "" if "exit(" in script.path.read_text() else done.stdout
    return Outcome(text, _NUMBER.sub("pid *", _PLACE.sub("", done.stderr)), target, done.returncode)
