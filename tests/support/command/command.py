"""Running the installed command, with small C programs as workloads."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from support.machine import compilers, packages

SONDE = str(Path(sys.executable).parent / "sonde")


def _execname():
    """pip has a shell start the interpreter where its path is none that a script's first line can have."""
    first, second, *_ = Path(SONDE).read_text(encoding="utf-8").split("\n")
    return Path(second.split('"')[1]).name[:15] if first == "#!/bin/sh" else "sonde"


EXECNAME = _execname()
"""Of a process that runs the command."""


def environment():
    """This process's environment without what changes the command's behaviour."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("DTRACE_", "_DTRACE"))}


def sonde(*words, status=0):
    """Run the command to its end and give its output; the messages too if it does not end with `status`."""
    done = subprocess.run([SONDE, *words], capture_output=True, text=True, env=environment())
    assert done.returncode == status, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done


def unwrapped(message):
    """A message as one line: what people read is wrapped to their width, wherever paths are long."""
    return " ".join(message.split())


def start(*words, **options):
    """Start the command with its outputs in pipes, unless `options` of Popen say otherwise."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment(), **options}
    return subprocess.Popen([SONDE, *words], **options)


def table(text):
    """The rows of an aggregation as printed by default: keys as words, the last column as number."""
    rows = [line.split() for line in text.splitlines() if line.strip()]
    return {tuple(row[:-1]): int(row[-1]) for row in rows}


def build(directory, name, text, *flags):
    """The path of a C program compiled for a test, in its directory; skips where there is no compiler."""
    words = ["gcc", "-O1", "-w", "-o", name, f"{name}.c", *flags]
    (directory / f"{name}.c").write_text(text)
    if any("/" in flag for flag in flags):
        # Of files whose contents may change.
        packages.require("gcc")
        subprocess.run(words, check=True, cwd=directory)
        return str(directory / name)
    return str(shutil.copy(compilers.kept(words, {f"{name}.c": text}, name), directory / name))
